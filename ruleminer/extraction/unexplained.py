"""Why some facts have no candidate: told per fact, so that a user can mend the example or the template."""

from __future__ import annotations

import re
from collections.abc import Mapping

import duckdb
import pyarrow as pa

from ruleminer.extraction.table_keys import no_table
from ruleminer.sources.schema import Schema

_NOWHERE = "no such value in any column"
_ASKED = 1000  # texts of which more is told
_OTHER_DATE = re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{2,4}|\d{4}([./])\d{1,2}\2\d{1,2}")


def explain_gaps(
    work: duckdb.DuckDBPyConnection, schema: Schema, has_iris: bool, hints: Mapping[str, str] | None = None
) -> None:
    """Fill `unexplained(fact, pos, reason)` for the facts without a candidate; `pos` is the first argument at fault.

    `hints` tell more of texts that stand nowhere.
    """
    spelled = "SELECT DISTINCT iri FROM spelling" if has_iris else "SELECT NULL AS iri WHERE false"
    work.execute(
        f"""
        CREATE OR REPLACE TABLE unexplained AS
        WITH place AS (
            SELECT f.fact, t.pos, t.text, t.kind, a.fact IS NOT NULL OR s.iri IS NOT NULL AS found, o.family AS other
            FROM fact f JOIN argument_text t ON t.fact = f.alike
            LEFT JOIN (SELECT DISTINCT fact, pos FROM argument) a ON a.fact = t.fact AND a.pos = t.pos
            LEFT JOIN ({spelled}) s ON s.iri = IF(t.pos = 1, f.iri1, f.iri2)
            LEFT JOIN (SELECT fact, pos, min(family) AS family FROM reading SEMI JOIN value USING (family, key)
                       WHERE NOT fits GROUP BY 1, 2) o ON o.fact = t.fact AND o.pos = t.pos
            WHERE f.positive IS NOT NULL AND f.fact NOT IN (SELECT fact FROM candidate))
        SELECT fact, min(pos) FILTER (NOT found) AS pos, coalesce(
                   min_by(CASE WHEN other IS NULL THEN '{_NOWHERE}'
                               ELSE 'wrong type: it stands in the database as ' || replace(other, 'decimal', 'number')
                                    || ', not as ' || kind END, pos) FILTER (NOT found),
                   IF(count(*) = 1, 'it stands in the database, but not as a key of such a thing',
                      'its values stand in the database, but no template leads from one to the other')) AS reason
        FROM place GROUP BY fact
        """
    )
    _tell_more(work, schema, hints or {})


def _tell_more(work: duckdb.DuckDBPyConnection, schema: Schema, hints: Mapping[str, str]) -> None:
    """Say of texts that stand nowhere what else is known of them."""
    place = "FROM fact f JOIN argument_text t ON t.fact = f.alike"
    texts = work.execute(
        f"""
        SELECT DISTINCT t.text {place} JOIN unexplained u ON u.fact = f.fact AND u.pos = t.pos
        WHERE u.reason = '{_NOWHERE}' ORDER BY 1 LIMIT {_ASKED}
        """
    ).fetchall()
    told = [{"text": text, "more": more} for (text,) in texts if (more := hints.get(text) or _hint(text, schema))]
    if not told:
        return
    work.register("told_more", pa.Table.from_pylist(told))
    work.execute(
        f"""
        UPDATE unexplained SET reason = '{_NOWHERE}' || m.more
        FROM (SELECT f.fact, t.pos, more {place} JOIN told_more USING (text)) m
        WHERE m.fact = unexplained.fact AND m.pos = unexplained.pos AND reason = '{_NOWHERE}'
        """
    )
    work.unregister("told_more")


def _hint(text: str, schema: Schema) -> str:
    """What a text that stands nowhere seems to be, and how that is written."""
    if table := no_table(text, schema):
        return f", and {table}"
    if _OTHER_DATE.fullmatch(text):
        return "; a day is written as in 2023-12-31"
    first, slash, rest = text.partition("/")
    named = next((table.name for table in schema.tables if table.name.lower() == first.lower()), None)
    return f"; a key of {named} is written {named}:{rest}" if named and slash and rest else ""
