"""Why some facts have no candidate: told per fact, so that a user can mend the example or the template."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import duckdb
import pyarrow as pa

from ruleminer.extraction.table_keys import no_table
from ruleminer.rules.values import Place
from ruleminer.sources.schema import Schema

_NOWHERE = "no such value in any column"
_ASKED = 1000  # texts of which more is told
_TRUTH = frozenset({"yes", "no", "y", "n", "t", "f"})
_OTHER_DATE = re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{2,4}|\d{4}([./])\d{1,2}\2\d{1,2}")


def explain_gaps(
    work: duckdb.DuckDBPyConnection,
    schema: Schema,
    has_iris: bool,
    hints: Mapping[str, str] | None = None,
    spaces: Sequence[Place] = (),
) -> None:
    """Fill `unexplained(fact, pos, reason)` for the facts without a candidate; `pos` is the first argument at fault.

    `hints` tell more of texts that stand nowhere; `spaces` are the keys of the spaces, by number.
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
    _tell_joins(work, spaces)


def tables_that_are_not_there(work: duckdb.DuckDBPyConnection, schema: Schema) -> list[tuple[int, int, str, str]]:
    """Of examples without a candidate, those that tell such a table: number, argument, its text, and what to say.

    A text of several words may be a title; and where another example that begins so has a rule, `HGNC:` is no table.
    """
    rows = work.execute(
        f"""
        WITH told AS (SELECT f.fact, t.pos, t.text, split_part(t.text, ':', 1) AS before
                      FROM fact f JOIN argument_text t ON t.fact = f.alike WHERE f.positive AND contains(t.text, ':'))
        SELECT fact, t.pos, t.text FROM told t JOIN unexplained u USING (fact)
        WHERE u.pos = t.pos AND starts_with(u.reason, '{_NOWHERE}, and no table')
              AND NOT regexp_matches(t.text, '\\s')
              AND before NOT IN (SELECT before FROM told WHERE fact NOT IN (SELECT fact FROM unexplained))
        ORDER BY fact LIMIT {_ASKED}
        """
    ).fetchall()
    told = ((*row, no_table(row[2], schema)) for row in rows)
    return [(fact, pos, text, f"{why}?" if "did you mean" in why else why) for fact, pos, text, why in told]


def _tell_joins(work: duckdb.DuckDBPyConnection, spaces: Sequence[Place]) -> None:
    """Say of facts whose one argument stands in a row of the other, in a column that no link leads on from, where."""
    keys = pa.table(
        {
            "number": pa.array(range(len(spaces)), pa.int32()),
            "key": pa.array([".".join(one) for one in spaces], pa.string()),
        }
    )
    work.register("space_name", keys)
    work.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE joined_by AS
        WITH gap AS (SELECT f.fact, predicate, alike FROM fact f JOIN unexplained u USING (fact)
                     WHERE u.pos IS NULL AND positive AND arity = 2 ORDER BY f.fact LIMIT {_ASKED}),
        beside AS (
            SELECT DISTINCT g.fact, predicate, s.table_name || '.' || s.column_name AS place, k.key
            FROM gap g JOIN argument own ON own.fact = g.alike
            JOIN argument other ON other.fact = g.alike AND other.pos <> own.pos AND other.space IS NOT NULL
            JOIN cell c ON c.val = own.val AND (own.space IS NULL OR c.space = own.space)
            JOIN cell d ON d.row = c.row AND d.col <> c.col AND d.val = other.val
                          AND d.space IS DISTINCT FROM other.space
            JOIN source_column t ON t.col = c.col AND t.is_key
            JOIN source_column s ON s.col = d.col JOIN space_name k ON k.number = other.space)
        SELECT fact, place, key FROM beside JOIN (
            SELECT predicate, place, key, count(DISTINCT fact) AS facts FROM beside GROUP BY ALL)
            USING (predicate, place, key)
        QUALIFY row_number() OVER (PARTITION BY fact ORDER BY facts DESC, place, key) = 1;
        UPDATE unexplained SET reason = reason || '; the examples join ' || place || ' to ' || key
               || ': if that is a link, say so in a file of links' FROM joined_by j WHERE j.fact = unexplained.fact
        """
    )
    work.unregister("space_name")


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
    if text.lower() in _TRUTH:
        return "; what is true or false is written true or false"
    if _OTHER_DATE.fullmatch(text):
        return "; a day is written as in 2023-12-31"
    first, slash, rest = text.partition("/")
    named = next((table.name for table in schema.tables if table.name.lower() == first.lower()), None)
    return f"; a key of {named} is written {named}:{rest}" if named and slash and rest else ""
