"""Which facts to learn from: a sample of the positives, and as many negatives.

All choices are by the MD5 of the seed and the fact's own text, so they depend neither on the order in which a database
returns its rows nor on the engine: the same seed draws the same facts from DuckDB and from PostgreSQL.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum

import duckdb
import pyarrow as pa
from sqlglot import exp

from ruleminer.extraction.catalog import Catalog, SourceColumn
from ruleminer.extraction.entities import with_spaces
from ruleminer.extraction.incoming import Source, incoming
from ruleminer.rules.dialects import BOUND, Dialect
from ruleminer.rules.expressions import column_of, identifier
from ruleminer.rules.sql import Query
from ruleminer.rules.values import Kind

# Of each table and family, this many constants at most take part in the draw of uniform negatives.
POOL = 20_000
# So many tuples are drawn for each negative that is wanted; some are positives, or drawn before.
_DRAWS = 12
# Mostly, fewer are enough.
_DRAWS_AT_FIRST = 2
# So few of one origin are picked out without a look at the order of the others.
_FEW = 10_000
# The greatest BIGINT.
_GREATEST = 2**63 - 1
# Where one column alone has so many times as many constants, only those are looked at whose MD5 is small enough.
_MANY = 2
# Of a column whose values stand in so many rows on average, they are told apart first.
_REPEATED = 2
# So many columns are not asked one by one.
_WIDE = 60


class Negatives(StrEnum):
    """Where the constants of negative facts come from (paper, Sections 5.1 and 5.2)."""

    UNIFORM = "uniform"  # all constants of the database
    REALISTIC = "realistic"  # constants in positive facts of other predicates
    NONE = "none"


def sample_facts(
    work: duckdb.DuckDBPyConnection,
    examples: pa.Table,
    source: Source,
    catalog: Catalog,
    *,
    positives: int | None,
    negatives: Negatives,
    seed: int,
) -> pa.Table:
    """The facts to extract for, in the columns of `examples`.

    `positives` is the most to take per predicate, without replacement; None takes all. Query pairs take turns, so
    that a pair with few facts is not drowned by another of the same predicate. Negatives that the user
    gave are all kept; the drawn ones come in addition, one for each positive.
    """
    examples = with_spaces(examples)
    work.register("examples_now", examples)
    work.execute(
        """
        CREATE OR REPLACE TEMP TABLE example AS
        SELECT predicate, arg1, arg2, kind1, kind2, positive, space1, space2, min(origin) AS origin
        FROM examples_now GROUP BY ALL
        """
    )
    work.unregister("examples_now")
    _deal(work, positives, seed)
    work.execute(
        """
        CREATE OR REPLACE TEMP TABLE chosen AS
        WITH dealt AS (
            SELECT *, row_number() OVER (
                       PARTITION BY predicate, origin
                       ORDER BY card, arg1, arg2, kind1, kind2, space1, space2) AS turn
            FROM hand)
        SELECT * EXCLUDE (card, turn, origin) FROM dealt
        QUALIFY row_number() OVER (
            PARTITION BY predicate ORDER BY turn, card, arg1, arg2, kind1, kind2, space1, space2) <= ?
        """,
        [positives if positives is not None else 2**62],
    )
    work.execute("DROP TABLE hand")
    work.execute("INSERT INTO chosen SELECT * EXCLUDE (origin) FROM example WHERE NOT positive")
    if negatives is not Negatives.NONE:
        _find_positions(work)
        if negatives is Negatives.UNIFORM:
            _pool_of_database(work, source, catalog, seed)
        else:
            _pool_of_positives(work)
        _draw_negatives(work, seed)
    columns = ", ".join(name for name in examples.column_names if name != "origin")
    facts = work.sql(f"SELECT {columns} FROM chosen ORDER BY ALL").to_arrow_table()
    for name in ("example", "chosen", "argument_type", "constant_found", "pool"):
        work.execute(f"DROP TABLE IF EXISTS {name}")
    return facts


def _deal(work: duckdb.DuckDBPyConnection, positives: int | None, seed: int) -> None:
    """`hand`: the positive examples that may be chosen, each with its card; of one origin, no more than can be taken.

    There may be millions: to sort them all takes long, and to keep them all beside their cards takes much memory.
    """
    card = "md5(concat_ws(chr(31), ?, predicate, arg1, arg2)) AS card"
    if positives is None or positives > _FEW:
        work.execute(f"CREATE OR REPLACE TEMP TABLE hand AS SELECT *, {card} FROM example WHERE positive", [str(seed)])
        return
    work.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE low_card AS
        WITH dealt AS MATERIALIZED (SELECT rowid AS number, predicate, origin, {card} FROM example WHERE positive)
        SELECT number, card FROM dealt d
        JOIN (SELECT predicate, origin, list_last(min(card, {positives})) AS last FROM dealt GROUP BY ALL) l
        ON l.predicate = d.predicate AND l.origin IS NOT DISTINCT FROM d.origin AND d.card <= l.last
        """,
        [str(seed)],
    )
    work.execute(
        """
        CREATE OR REPLACE TEMP TABLE hand AS
        SELECT example.*, card FROM example JOIN low_card ON example.rowid = low_card.number
        """
    )
    work.execute("DROP TABLE low_card")


def _find_positions(work: duckdb.DuckDBPyConnection) -> None:
    """`argument_type`: per predicate and position, the type its constants have, and how many negatives are wanted.

    Where arguments come without a kind, the family that all of them can be read as is taken. IRIs are a type of
    their own: no class has the text NO for a member.
    """
    work.execute(
        r"""
        CREATE OR REPLACE TEMP TABLE argument_type AS
        WITH argument AS (
            SELECT predicate, 1 AS pos, arg1 AS text, kind1 AS kind FROM chosen WHERE positive
            UNION ALL SELECT predicate, 2, arg2, kind2 FROM chosen WHERE positive AND arg2 IS NOT NULL)
        SELECT predicate, pos, count(*) AS wanted, mode(kind) AS kind,
               CASE WHEN mode(kind) IN ('integer', 'decimal') THEN 'decimal'
                    WHEN bool_and(regexp_matches(text, '^[A-Za-z][A-Za-z0-9+.-]*://')) THEN 'iri'
                    WHEN mode(kind) IS NOT NULL THEN mode(kind)
                    WHEN bool_and(regexp_full_match(text, '[+-]?\d+(\.\d+)?')) THEN 'decimal'
                    WHEN bool_and(regexp_full_match(text, '\d{4}-\d\d-\d\d')) THEN 'date'
                    WHEN bool_and(regexp_full_match(text, '\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d.*')) THEN 'timestamp'
                    WHEN bool_and(text IN ('true', 'false')) THEN 'boolean'
                    ELSE 'text' END AS family
        FROM argument GROUP BY predicate, pos
        """
    )


def _pool_of_positives(work: duckdb.DuckDBPyConnection) -> None:
    """`pool`: the constants of the positives drawn; `only` names the predicate of one that has no other."""
    work.execute(
        """
        CREATE OR REPLACE TEMP TABLE pool AS
        WITH argument AS (
            SELECT c.predicate, p.family, IF(p.pos = 1, c.arg1, c.arg2) AS text
            FROM chosen c JOIN argument_type p USING (predicate) WHERE c.positive)
        SELECT family, text, IF(count(DISTINCT predicate) = 1, any_value(predicate), NULL) AS only,
               row_number() OVER (PARTITION BY family ORDER BY text) - 1 AS number
        FROM argument GROUP BY family, text
        """
    )


def _pool_of_database(work: duckdb.DuckDBPyConnection, source: Source, catalog: Catalog, seed: int) -> None:
    """`pool`: constants of the database, of the families that positives have."""
    work.execute("UPDATE argument_type SET family = 'text' WHERE family = 'iri'")  # a database knows no IRIs
    families = {name for (name,) in work.execute("SELECT DISTINCT family FROM argument_type").fetchall()}
    work.execute("CREATE OR REPLACE TEMP TABLE constant_found (family VARCHAR, text VARCHAR)")
    drawn = catalog.constants
    known: Collection[str] = ()
    if drawn is not None and (drawn.seed, drawn.most) == (seed, POOL):
        _note_constants(work, ((str(of), text) for of, texts in drawn.kept.items() for text in texts if of in families))
        known = drawn.tables
    left = {table: columns for table, columns in catalog.by_table.items() if table not in known}
    _ask_constants(work, source, left, catalog, families, seed)
    work.execute(
        """
        CREATE OR REPLACE TEMP TABLE pool AS
        SELECT family, text, NULL AS only, row_number() OVER (PARTITION BY family ORDER BY text) - 1 AS number
        FROM (SELECT family, text FROM (SELECT DISTINCT family, text FROM constant_found)
              QUALIFY row_number() OVER (PARTITION BY family ORDER BY md5(? || text), text) <= ?)
        """,
        [str(seed), POOL],
    )


def _ask_constants(
    work: duckdb.DuckDBPyConnection,
    source: Source,
    tables: Mapping[str, list[SourceColumn]],
    catalog: Catalog,
    families: Collection[str],
    seed: int,
) -> None:
    """Fill `constant_found` from some tables.

    The source is not asked for what its profile tells: the values of codes, and whole numbers where some column holds
    each of a range.
    """
    asked = [column for columns in tables.values() for column in columns if column.family in families]
    _note_constants(work, ((str(column.family), value) for column in asked for value in column.values))
    ranges = full_ranges(asked) if source.dialect.types_values else []
    most = {of: max(column.distinct for column in asked if column.family == of) for of in {c.family for c in asked}}
    for low, high in ranges:
        bound = _bound(most[Kind.DECIMAL])
        early = f"WHERE md5(? || v) < '{bound}'" if bound else "WHERE ? IS NOT NULL"
        numbers = f"SELECT CAST(range AS VARCHAR) AS v FROM range({low}, {high + 1})"
        work.execute(f"INSERT INTO constant_found SELECT '{Kind.DECIMAL}', v FROM ({numbers}) {early}", [str(seed)])
    for table, of_table in tables.items():
        left = [c for c in of_table if c.family in families and not c.values and not _lies_in(c, ranges)]
        rows = catalog.rows.get(table)
        told = None if table in catalog.views else rows
        query = constants_query(table, left, source.dialect, seed, most, told) if rows != 0 else None
        if query is not None:
            with incoming(work, source, query, table):
                work.execute("INSERT INTO constant_found SELECT family, v FROM incoming")


def _note_constants(work: duckdb.DuckDBPyConnection, constants: Iterable[tuple[str, str]]) -> None:
    known = sorted(set(constants))
    columns = [pa.array([constant[place] for constant in known], pa.string()) for place in (0, 1)]
    work.register("constants_now", pa.table(columns, names=["family", "text"]))
    work.execute("INSERT INTO constant_found SELECT * FROM constants_now")
    work.unregister("constants_now")


def full_ranges(columns: Sequence[SourceColumn]) -> list[tuple[int, int]]:
    """The ranges of several whole numbers of which some column holds each; none of them in another.

    Numbers that DuckDB cannot count up to are left out.
    """
    found: list[tuple[int, int]] = []
    spans = (column.span for column in columns if column.span and column.distinct == _size(column.span))
    countable = (span for span in spans if -_GREATEST < span[0] < span[1] < _GREATEST)
    for low, high in sorted(countable, key=lambda span: (span[0], -span[1])):
        if not found or high > found[-1][1]:
            found.append((low, high))
    return found


def _size(span: tuple[int, int]) -> int:
    return span[1] - span[0] + 1


def _lies_in(column: SourceColumn, ranges: Sequence[tuple[int, int]]) -> bool:
    return column.span is not None and any(low <= column.span[0] and column.span[1] <= high for low, high in ranges)


def constants_query(
    table: str,
    columns: list[SourceColumn],
    dialect: Dialect,
    seed: int,
    most: Mapping[Kind, int] | None = None,
    rows: int | None = None,
) -> Query | None:
    """One scan of a table: of each family, the distinct constants whose MD5 with the seed comes first.

    Constants that cannot be among the first, as some column of their family is known to have so `most` of them, are
    left before they are told apart, or a table of millions would not fit. Where a column is read alone, and the table
    has so many `rows`, which nobody needs to compute, values that repeat are told apart before their MD5s are made.
    """
    columns = [column for column in columns if not column.type.is_opaque]
    if not columns:
        return None
    seeded = f"md5({dialect.text_of(BOUND)} || v)"
    families = {column.family for column in columns}
    known = {of: max(column.distinct for column in columns if column.family == of) for of in families} | dict(
        most or {}
    )
    bounds = {of: _bound(known[of]) for of in families}
    place, relations, parts = identifier(table).sql(dialect.name), list[str](), list[str]()
    once, seeds = list[tuple[str, str]](), 1
    for column in columns:
        of = exp.Literal.string(str(column.family)).sql(dialect.name)
        form = dialect.lexical(column_of("t", column.name), column.type).sql(dialect.name)
        if not dialect.reads_columns or rows is None or len(columns) > _WIDE:
            once.append((of, form))
            continue
        name, own = place, column_of("t", column.name).sql(dialect.name)
        if column.distinct * _REPEATED <= rows:
            name = f"ruleminer_values{column.id}"
            if column.family is Kind.TEXT:  # a column may have a collation of its own, by which AB is ab
                own = f'{own} COLLATE "C" AS {identifier(column.name).sql(dialect.name)}'
            # Without the limit an engine may look for early MD5s first, in all rows.
            distinct = f"SELECT DISTINCT {own} FROM {place} AS t LIMIT {_GREATEST}"
            relations.append(f"{name} AS {dialect.materialized}({distinct})")
        bound = bounds[column.family]
        early = f"{seeded} < '{bound}'" if bound else "v IS NOT NULL"
        seeds += bool(bound)
        parts.append(
            f"SELECT {of} AS family, v FROM (SELECT {form} AS v FROM {name} AS t) AS c{column.id} WHERE {early}"
        )
    if once:
        bounded = [f"(family <> '{of}' OR {seeded} < '{bound}')" for of, bound in sorted(bounds.items()) if bound]
        seeds += len(bounded)
        early = " AND ".join(["v IS NOT NULL", *bounded])
        parts.append(f"SELECT family, v FROM ({dialect.cells(place, once)}) AS c WHERE {early}")
    values = f"WITH {', '.join(relations)} " if relations else ""
    sql = (
        f"{values}SELECT family, v FROM (SELECT family, v, row_number() OVER (PARTITION BY family "
        f"ORDER BY {seeded}, v) AS place FROM (SELECT DISTINCT family, v FROM ({' UNION ALL '.join(parts)}) AS d"
        f") AS e) AS f WHERE place <= {POOL}"
    )
    return Query(sql, (str(seed),) * seeds)


def _bound(known: int) -> str:
    """What the MD5 of the first of so many constants is certainly less than, as they are very many; '' for anything.

    So many more than are wanted lie below it on average that fewer are not to be expected in the life of the world:
    ten standard deviations.
    """
    share = (POOL + 10 * math.sqrt(POOL)) / max(1, known)
    return f"{int(share * 16**8):08x}" if known > _MANY * POOL and share < 1 else ""


def _draw_negatives(work: duckdb.DuckDBPyConnection, seed: int) -> None:
    """Tuples of constants drawn position by position, without positives and repeats."""
    # The database says 12.3 where a CSV may say 12.30.
    work.execute(
        r"""
        CREATE OR REPLACE TEMP MACRO meant(text) AS
        CASE WHEN NOT substr(text, 1, 1) BETWEEN '+' AND '9' THEN text
             WHEN regexp_full_match(text, '[+-]?\d+(\.\d+)?')
             THEN regexp_replace(regexp_replace(text, '^\+?(-?)0*(\d)', '\1\2'), '(\.\d*?)0+$', '\1').rtrim('.')
             WHEN regexp_full_match(text, '\d{4}-\d\d-\d\dT\d\d:\d\d:.*') THEN replace(text, 'T', ' ')
             ELSE text END
        """
    )
    for draws in (_DRAWS_AT_FIRST, _DRAWS):
        _draw_tuples(work, seed, draws)
        short = """SELECT count(*) FROM argument_type LEFT JOIN (
                       SELECT predicate, count(*) AS drawn FROM drawn_now GROUP BY 1) USING (predicate)
                   WHERE coalesce(drawn, 0) < wanted"""
        if work.execute(short).fetchone() == (0,):
            break
    work.execute("INSERT INTO chosen SELECT * FROM drawn_now")
    work.execute("DROP TABLE drawn_now")


def _draw_tuples(work: duckdb.DuckDBPyConnection, seed: int, draws: int) -> None:
    """`drawn_now`: the first of so many draws for each negative that is wanted."""
    work.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE drawn_now AS
        WITH draw AS (
            SELECT predicate, pos, kind, family, wanted, max(pos) OVER (PARTITION BY predicate) AS arity,
                   unnest(range({draws} * wanted)) AS number
            FROM argument_type),
        throw AS (
            SELECT d.*, md5_number_lower(concat_ws(chr(31), ?, predicate, pos, number)) % size AS dice
            FROM draw d JOIN (SELECT family, count(*) AS size FROM pool GROUP BY 1) USING (family)),
        drawn AS (
            SELECT t.*, p.text FROM throw t JOIN pool p
              ON p.family = t.family AND p.number = t.dice AND p.only IS DISTINCT FROM t.predicate),
        pair AS (
            SELECT predicate, number, any_value(wanted) AS wanted,
                   any_value(text) FILTER (pos = 1) AS arg1, any_value(text) FILTER (pos = 2) AS arg2,
                   any_value(kind) FILTER (pos = 1) AS kind1, any_value(kind) FILTER (pos = 2) AS kind2
            FROM drawn GROUP BY predicate, number HAVING count(*) = any_value(arity))
        SELECT predicate, arg1, arg2, kind1, kind2, false AS positive, NULL::INTEGER AS space1, NULL::INTEGER AS space2
        FROM (SELECT *, min(number) OVER (PARTITION BY predicate, arg1, arg2) AS earliest FROM pair
              WHERE NOT EXISTS (
                  SELECT 1 FROM example e WHERE e.positive AND e.predicate = pair.predicate
                    AND meant(e.arg1) = meant(pair.arg1) AND meant(e.arg2) IS NOT DISTINCT FROM meant(pair.arg2)))
        WHERE number = earliest
        QUALIFY row_number() OVER (PARTITION BY predicate ORDER BY number) <= wanted
        """,
        [f"{seed}-negative"],
    )
