"""Why some facts have no candidate: told per fact, so that a user can mend the example or the template."""

from __future__ import annotations

import duckdb
import pyarrow as pa

from ruleminer.extraction.table_keys import no_table
from ruleminer.sources.schema import Schema

_NOWHERE = "no such value in any column"
_ASKED = 1000  # texts of which it is told that they may name a table


def explain_gaps(work: duckdb.DuckDBPyConnection, schema: Schema, has_iris: bool) -> None:
    """Fill `unexplained(fact, pos, reason)` for the facts without a candidate; `pos` is the first argument at fault."""
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
                   'its values stand in the database, but no template leads from one to the other') AS reason
        FROM place GROUP BY fact
        """
    )
    _tell_tables(work, schema)


def _tell_tables(work: duckdb.DuckDBPyConnection, schema: Schema) -> None:
    """Say of texts that stand nowhere which table they seem to name, if there is none."""
    place = "FROM fact f JOIN argument_text t ON t.fact = f.alike"
    texts = work.execute(
        f"""
        SELECT DISTINCT t.text {place} JOIN unexplained u ON u.fact = f.fact AND u.pos = t.pos
        WHERE u.reason = '{_NOWHERE}' AND contains(t.text, ':') ORDER BY 1 LIMIT {_ASKED}
        """
    ).fetchall()
    told = [{"text": text, "table": why} for (text,) in texts if (why := no_table(text, schema))]
    if not told:
        return
    work.register("missing_table", pa.Table.from_pylist(told))
    work.execute(
        f"""
        UPDATE unexplained SET reason = '{_NOWHERE}, and ' || m.table
        FROM (SELECT f.fact, t.pos, "table" {place} JOIN missing_table USING (text)) m
        WHERE m.fact = unexplained.fact AND m.pos = unexplained.pos AND reason = '{_NOWHERE}'
        """
    )
    work.unregister("missing_table")
