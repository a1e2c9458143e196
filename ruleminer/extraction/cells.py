"""The rows that matter: those that hold an argument of some fact, brought over by one scan per table.

A table with no more rows than there are values to ask for comes whole: to bring is cheaper than to ask then.

`cell(row, col, val, raw, space)` has one entry for each value that is not NULL in such a row. `val` numbers the values
(`value(val, family, key)`: equal values have equal numbers); it is a hash, so that it is known as a row arrives.
`raw` is the engine's own text where that is not the key (decimals with a fixed scale), for concatenations. The source
answers one statement per table; what it is asked for, the facts' arguments, goes with the statement as a bound
parameter.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count

import duckdb
import pyarrow as pa
from sqlglot import exp

from ruleminer.extraction.catalog import Catalog, SourceColumn
from ruleminer.extraction.incoming import Source, incoming
from ruleminer.extraction.inner_joins import InnerJoins, inner_joins
from ruleminer.extraction.published import POSITION, can_be_published
from ruleminer.extraction.scan import Wanted, common_query, has_raw, reaches_further, rows_query
from ruleminer.progress import Progress, silent
from ruleminer.rules.sql import Query
from ruleminer.rules.templates import Restriction, Template
from ruleminer.rules.values import Kind, Variable
from ruleminer.sources.patience import patiently

_LARGEST_WHOLE = 50_000  # rows of a table that comes whole
_MOST_FETCHED = 100_000  # rows of a table that come over without a look at which of the values are common


def create_tables(work: duckdb.DuckDBPyConnection, catalog: Catalog) -> None:
    """The empty relations that fetching fills, and the catalogue that statements look names up in."""
    work.execute(
        "CREATE TABLE IF NOT EXISTS cell_text (row BIGINT, col INTEGER, key VARCHAR, raw VARCHAR, val BIGINT, "
        "space INTEGER)"
    )
    work.execute("CREATE TABLE IF NOT EXISTS fetched (pass TINYINT, table_name VARCHAR, rows BIGINT)")
    work.execute("CREATE TABLE IF NOT EXISTS reach (pass TINYINT, label VARCHAR, keys VARCHAR)")
    columns = pa.table(
        {
            "col": pa.array([column.id for column in catalog.columns], pa.int32()),
            "tbl": pa.array([column.table_id for column in catalog.columns], pa.int32()),
            "table_name": pa.array([column.table for column in catalog.columns], pa.string()),
            "column_name": pa.array([column.name for column in catalog.columns], pa.string()),
            "family": pa.array([str(column.family) for column in catalog.columns], pa.string()),
            "is_key": pa.array([column.is_key for column in catalog.columns], pa.bool_()),
            "is_link": pa.array([column.is_link for column in catalog.columns], pa.bool_()),
            "is_code": pa.array([column.is_code for column in catalog.columns], pa.bool_()),
            "is_sparse": pa.array([column.is_sparse for column in catalog.columns], pa.bool_()),
            "space": pa.array([column.space for column in catalog.columns], pa.int32()),
        }
    )
    work.register("columns_now", columns)
    work.execute("CREATE OR REPLACE TABLE source_column AS SELECT * FROM columns_now")
    work.unregister("columns_now")
    work.execute("CREATE OR REPLACE MACRO catalog_table(c) AS (SELECT tbl FROM source_column WHERE col = c)")
    work.execute("CREATE OR REPLACE MACRO catalog_name(c) AS (SELECT column_name FROM source_column WHERE col = c)")
    naming = "CASE WHEN is_key THEN 0 WHEN is_link THEN 1 WHEN is_code THEN 3 ELSE 2 END"
    work.execute(f"CREATE OR REPLACE MACRO catalog_naming(c) AS (SELECT {naming} FROM source_column WHERE col = c)")


def fetch_cells(
    work: duckdb.DuckDBPyConnection,
    source: Source,
    catalog: Catalog,
    templates: Iterable[Template],
    progress: Progress = silent,
    *,
    published: bool = False,
) -> None:
    """Fill `cell` and `value`. A table that is there already, from a run that was cut short, is not asked again.

    With `published`, rows whose values an example may have in another form matter, too.
    """
    templates = list(templates)
    wanted = wanted_values(work, templates)
    arities = {arity for (arity,) in work.execute("SELECT DISTINCT arity FROM fact").fetchall()}
    inner = inner_joins(template for template in templates if len(template.arguments) in arities)
    if work.execute("SELECT count(*) FROM fetched").fetchall() == [(0,)]:
        _note_common(work, catalog, wanted)
    _note_wanted(work, wanted)
    asked = min(_LARGEST_WHOLE, sum(len(json.loads(array)) for array in wanted.values()))
    whole = frozenset(table for table in catalog.by_table if 0 < catalog.rows.get(table, 0) <= asked)
    if work.execute("SELECT count(*) FROM reach").fetchone() == (0,):
        _fetch_pass(work, source, catalog, Wanted(wanted), 1, whole, progress)
        _note_follow(work, inner.across, published and any(map(can_be_published, templates)))
    follow = work.execute("SELECT follow FROM to_follow").fetchone() == (True,)
    for number in range(2, 2 + max(inner.hops, int(follow))):
        further = Wanted(wanted, needed=inner.needed, joints=inner.joints, follow=follow)
        further = _reached(work, inner, further, number, catalog, whole)
        _fetch_pass(work, source, catalog, further, number, whole, progress)
    _number_values(work)
    _relate(work, inner.across)


def number_of(salt: int) -> str:
    """The number that a value goes by, as SQL over its `family` and `key`: a hash, told apart from others by a salt."""
    salted = f"hash(family, key, {salt})" if salt else "hash(family, key)"
    return f"CAST({salted} >> 1 AS BIGINT)"


def _number_values(work: duckdb.DuckDBPyConnection) -> None:
    """Fill `value`. No two values have one number: where hashes meet, which is not to be expected, all get others."""
    for salt in count():
        if salt:
            work.execute(
                f"""
                UPDATE cell_text SET val = {number_of(salt)} FROM source_column s WHERE s.col = cell_text.col;
                """
            )
        work.execute(
            f"""
            CREATE OR REPLACE TABLE value AS SELECT DISTINCT val, family, key FROM (
                SELECT val, family, key FROM cell_text JOIN source_column USING (col)
                UNION ALL SELECT {number_of(salt)} AS val, family, key FROM common_value)
            """
        )
        if work.execute("SELECT count(*) = count(DISTINCT val) FROM value").fetchone() == (True,):
            return


def _relate(work: duckdb.DuckDBPyConnection, across: bool) -> None:
    """The relations that templates are joined with; what hardly a template asks of all rows is a view."""
    work.execute(
        f"""
        CREATE OR REPLACE VIEW cell AS SELECT row, col, val, raw, space FROM cell_text;
        CREATE OR REPLACE TABLE common_place AS
        SELECT DISTINCT col, val, space FROM common_value JOIN value USING (family, key) JOIN source_column USING (col);
        CREATE OR REPLACE VIEW place AS SELECT col, val, space FROM cell UNION FROM common_place;
        CREATE OR REPLACE TABLE argument AS
        SELECT DISTINCT fact, pos, val, CAST(IF(pos = 1, space1, space2) AS INTEGER) AS space
        FROM reading JOIN value USING (family, key) JOIN fact USING (fact) WHERE fits;
        CREATE OR REPLACE TABLE argument_cell AS SELECT * FROM cell SEMI JOIN argument USING (val);
        CREATE OR REPLACE TABLE argument_place AS
        SELECT col, val, space FROM argument_cell UNION (FROM common_place SEMI JOIN argument USING (val));
        CREATE OR REPLACE {"TABLE" if across else "VIEW"} value_rows AS
        SELECT val, space, count(*) AS rows FROM cell GROUP BY ALL;
        CREATE OR REPLACE TABLE lead AS
        SELECT fact, CAST(IF(rows1 <= rows2, 1, 2) AS TINYINT) AS lead, rows1, rows2 FROM (
            SELECT fact, sum(IF(pos = 1, rows, 0)) AS rows1, sum(IF(pos = 2, rows, 0)) AS rows2
            FROM argument a JOIN (SELECT val, space, count(*) AS rows FROM argument_cell GROUP BY ALL) r
            ON r.val = a.val AND (a.space IS NULL OR r.space = a.space) GROUP BY 1);
        """
    )


def _note_follow(work: duckdb.DuckDBPyConnection, across: bool, published: bool) -> None:
    """`to_follow(follow)`: whether the rows that links lead to matter, whatever they hold.

    A row that was left for its common values may be one of them, and so may a row that holds a value which an example
    has in another form: one that no row so far holds.
    """
    missing = f"""
        SELECT 1 FROM reading r JOIN fact f ON f.alike = r.fact LEFT JOIN held USING (family, key)
        WHERE {"true" if published else "false"}
        AND pos = {POSITION} AND positive AND NOT contains(IF(pos = 1, arg1, arg2), '://')
        GROUP BY r.fact HAVING NOT bool_or(held.key IS NOT NULL)
    """
    held = """
        SELECT family, key FROM cell_text JOIN source_column USING (col) SEMI JOIN reading USING (family, key)
        UNION SELECT family, key FROM common_value
    """
    follow = f"EXISTS (FROM common_value) OR EXISTS ({missing})" if across else "false"
    work.execute(f"CREATE OR REPLACE TABLE to_follow AS WITH held AS ({held}) SELECT {follow} AS follow")


def _note_wanted(work: duckdb.DuckDBPyConnection, wanted: Mapping[Kind, str]) -> None:
    """`wanted_value(family, key)`: all that scans look for."""
    work.execute("CREATE OR REPLACE TEMP TABLE wanted_value (family VARCHAR, key VARCHAR)")
    for family, array in wanted.items():
        work.execute("""INSERT INTO wanted_value SELECT ?, unnest(from_json(?, '["VARCHAR"]'))""", [str(family), array])


def _note_common(work: duckdb.DuckDBPyConnection, catalog: Catalog, wanted: Mapping[Kind, str]) -> None:
    """`common_value(col, family, key)`: what is wanted but not looked for in a column, where very many rows hold it."""
    asked = {family: frozenset(json.loads(array)) for family, array in wanted.items()}
    found = [(c.id, str(c.family), v) for c in catalog.columns for v in c.common if v in asked.get(c.family, ())]
    columns = list(zip(*found, strict=True)) or [(), (), ()]
    types = (pa.int32(), pa.string(), pa.string())
    arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
    work.register("common_now", pa.table(arrays, names=["col", "family", "key"]))
    work.execute("CREATE OR REPLACE TABLE common_value AS SELECT * FROM common_now")
    work.unregister("common_now")


def common_places(work: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """The columns in which a wanted value was not looked for, with those values."""
    rows = work.execute(
        """
        SELECT table_name || '.' || column_name, list(common_value.key ORDER BY common_value.key)
        FROM common_value JOIN source_column USING (col) GROUP BY 1 ORDER BY 1
        """
    ).fetchall()
    return dict(rows)


# What the text of a value of each family looks like, so that a piece of an IRI is looked for only where it can be.
_LOOKS = {
    Kind.TEXT: "true",
    Kind.DECIMAL: r"regexp_full_match(text, '-?\d+(\.\d+)?')",
    Kind.DATE: r"regexp_full_match(text, '\d{4}-\d\d-\d\d')",
    Kind.TIMESTAMP: r"regexp_full_match(text, '\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?')",
    Kind.BOOLEAN: "text IN ('true', 'false')",
}


def wanted_values(work: duckdb.DuckDBPyConnection, templates: Iterable[Template]) -> dict[Kind, str]:
    """Per family, the keys that make a row matter, as a JSON array: arguments, and the segments of IRIs."""
    queries = ["SELECT family, key FROM reading"]
    pieces = ["SELECT text FROM segment"] if any(a.spreads for t in templates for a in t.body) else []
    pieces += [query for template in templates for query in _first_parts(template)]
    for piece in pieces:
        queries += [f"SELECT '{name}', text FROM ({piece}) WHERE {looks}" for name, looks in _LOOKS.items()]
    keys = work.execute(
        f"SELECT family, CAST(to_json(list(DISTINCT key)) AS VARCHAR) FROM ({' UNION ALL '.join(queries)}) GROUP BY 1"
    ).fetchall()
    return {Kind(name): array for name, array in keys}


def _first_parts(template: Template) -> Iterable[str]:
    """For `x = "http://…/" ++ a ++ "/" ++ b`: every text that the first variable can have in some argument."""
    for variable, definition in template.definitions:
        parts = list(getattr(definition, "parts", ()))
        if not any(isinstance(part, Variable) for part in parts):
            continue
        prefix = parts.pop(0) if isinstance(parts[0], str) else ""
        follower = parts[1] if len(parts) > 1 and isinstance(parts[1], str) else ""
        literal = exp.Literal.string(follower).sql("duckdb")
        position = template.arguments.index(variable) + 1
        rest = f"""SELECT substr(text, {len(prefix) + 1}) AS rest FROM argument_text
                   WHERE pos = {position} AND starts_with(text, {exp.Literal.string(prefix).sql("duckdb")})"""
        yield f"""SELECT substr(rest, 1, stop) AS text
                  FROM (SELECT rest, unnest(range(1, length(rest) + 1)) AS stop FROM ({rest}))
                  WHERE {"true" if len(parts) > 1 else "stop = length(rest)"}
                    AND substr(rest, stop + 1, {len(follower)}) = {literal}"""


_RESTRICTED = {
    None: "true",
    Restriction.KEY: "is_key",
    Restriction.LINK: "is_link",
    Restriction.CODE: "is_code",
    Restriction.FILLED: "is_sparse",
}


def _left_as_they_are(catalog: Catalog, further: Wanted) -> frozenset[str]:
    """The tables of which a further pass would bring the rows that are there."""
    return frozenset(table for table, columns in catalog.by_table.items() if not reaches_further(columns, further))


def _reached(
    work: duckdb.DuckDBPyConnection,
    inner: InnerJoins,
    wanted: Wanted,
    number: int,
    catalog: Catalog,
    whole: frozenset[str],
) -> Wanted:
    """What is wanted, with the values through which the rows so far can be joined to others.

    The next pass asks for more, and afresh, where a table may have more. In the second pass the rows so far are those
    that hold what is wanted: of a table that came whole, others as well.
    """

    def with_reached() -> Wanted:
        rows = work.execute("SELECT label, keys FROM reach WHERE pass = ? AND label IS NOT NULL", [number]).fetchall()
        return replace(wanted, reached=dict(rows))

    if not work.execute("SELECT 1 FROM reach WHERE pass = ?", [number]).fetchone():
        wide = {None} if wanted.follow else inner.restrictions
        within = " OR ".join(_RESTRICTED[restriction] for restriction in wide) or "false"
        keys = "CAST(to_json(list(DISTINCT key)) AS VARCHAR)"
        cells = "FROM cell_text JOIN source_column s USING (col) WHERE"
        if number == 2 and whole:
            holds = """
                SELECT row FROM cell_text JOIN source_column USING (col) SEMI JOIN wanted_value USING (family, key)
                ANTI JOIN common_value USING (col, key)
                UNION ALL SELECT row FROM cell_text SEMI JOIN wanted_value w ON w.family = 'text' AND w.key = raw"""
            cells += f" row IN ({holds}) AND"
        work.begin()
        work.execute(
            f"""INSERT INTO reach
                SELECT ?, 'space' || s.space, {keys} {cells} s.space IS NOT NULL AND ({within}) GROUP BY s.space
                UNION ALL SELECT ?, family, {keys} {cells} {inner.by_value} GROUP BY family
                UNION ALL SELECT ?, NULL, NULL""",
            [number, number, number],
        )
        left = whole | _left_as_they_are(catalog, with_reached())
        listed = ", ".join(exp.Literal.string(name).sql("duckdb") for name in sorted(left)) or "NULL"
        work.execute(
            "DELETE FROM cell_text WHERE col NOT IN (SELECT col FROM source_column WHERE coalesce("
            f"table_name IN ({listed}), false))"
        )
        work.commit()
    return with_reached()


def _fetch_pass(
    work: duckdb.DuckDBPyConnection,
    source: Source,
    catalog: Catalog,
    wanted: Wanted,
    number: int,
    whole: Collection[str],
    progress: Progress,
) -> None:
    """Bring the rows that are wanted of each table, or all of those that come whole.

    After the first pass, those tables are not asked again whose rows are there: these, and where nothing was reached.
    """
    done = {name for (name,) in work.execute("SELECT table_name FROM fetched WHERE pass = ?", [number]).fetchall()}
    done |= _left_as_they_are(catalog, wanted).union(whole) if number > 1 else set()
    common = _common_values(work)
    for index, (table, columns) in enumerate(catalog.by_table.items()):
        is_empty = catalog.rows.get(table) == 0
        if table not in done and not is_empty:
            fetch = _Fetch(work, source, table, number, None if table in whole else wanted)
            if catalog.common_rows is None or table in whole:
                fetch.store(columns, None)
            elif not fetch.store(_with_common(columns, common), _MOST_FETCHED):
                fetch.note_common(columns, catalog.common_rows)
                common = _common_values(work)
                fetch.store(fetch.told(_with_common(columns, common)), None)
        progress("rows", table, index + 1, len(catalog.by_table))


def _common_values(work: duckdb.DuckDBPyConnection) -> dict[int, list[str]]:
    """What is known to be common by now, by the number of the column."""
    return dict(work.execute("SELECT col, list(key ORDER BY key) FROM common_value GROUP BY col").fetchall())


def _with_common(columns: Sequence[SourceColumn], known: Mapping[int, Sequence[str]]) -> list[SourceColumn]:
    """The columns with what is known to be common in them."""
    return [replace(c, common=tuple(dict.fromkeys((*c.common, *known.get(c.id, ()))))) for c in columns]


class _Fetch:
    """The rows of one table on their way into `cell_text`."""

    def __init__(
        self, work: duckdb.DuckDBPyConnection, source: Source, table: str, number: int, wanted: Wanted | None
    ) -> None:
        self._work, self._source, self._table, self._number, self._wanted = work, source, table, number, wanted
        self._common: dict[int, list[str]] = {}  # by column: reached by other rows, perhaps wanted by nobody

    def store(self, columns: Sequence[SourceColumn], most: int | None) -> bool:
        """Bring the rows over, in one transaction; False if there are more than so many, and then none of them."""
        limit = None if most is None else most + 1
        query = rows_query(self._table, columns, self._source.dialect, self._wanted, limit)
        return query is None or patiently(partial(self._store, query, columns, most))

    def note_common(self, columns: Sequence[SourceColumn], rows: int) -> None:
        """Ask which of the values stand in more than so many rows; those that are wanted are known from now on."""
        wanted = self._wanted or Wanted({})
        query = common_query(self._table, columns, self._source.dialect, wanted, rows)
        if query is None:
            return
        found = patiently(partial(self._ask_common, query))
        families = {column.id: column.family for column in columns}
        asked = {family: frozenset(json.loads(array)) for family, array in wanted.values.items()}
        for column, value in found:
            self._common.setdefault(column, []).append(value)
        missed = [(c, str(families[c]), v) for c, v in found if v in asked.get(families[c], ())]
        if missed:
            self._work.executemany("INSERT INTO common_value VALUES (?, ?, ?)", missed)
            self._work.execute("CREATE OR REPLACE TABLE common_value AS SELECT DISTINCT * FROM common_value")

    def _ask_common(self, query: Query) -> list[tuple[int, str]]:
        with incoming(self._work, self._source, query, self._table):
            return self._work.execute("SELECT n, v FROM incoming WHERE v IS NOT NULL").fetchall()

    def told(self, columns: Sequence[SourceColumn]) -> list[SourceColumn]:
        """The columns with what was found to be common in them."""
        return [
            replace(c, common=tuple(dict.fromkeys((*c.common, *sorted(self._common.get(c.id, ())))))) for c in columns
        ]

    def _store(self, query: Query, columns: Sequence[SourceColumn], most: int | None) -> bool:
        work = self._work
        keys = ", ".join(f"k{column.id}" for column in columns)
        raws = ", ".join(f"r{column.id}" if has_raw(column) else "NULL" for column in columns)
        ids = ", ".join(str(column.id) for column in columns)
        work.begin()
        try:
            ((before,),) = work.execute("SELECT coalesce(max(row), 0) FROM cell_text").fetchall()
            with incoming(work, self._source, query, self._table):
                work.execute(
                    f"""
                    INSERT INTO cell_text
                    SELECT row, col, key, raw, {number_of(0)}, space FROM (
                        SELECT row, unnest([{ids}]) AS col, unnest([{keys}]) AS key, unnest([{raws}]) AS raw
                        FROM (SELECT {before} + row_number() OVER () AS row, * FROM incoming))
                    JOIN source_column USING (col) WHERE key IS NOT NULL
                    """
                )
            ((arrived,),) = work.execute(f"SELECT count(DISTINCT row) FROM cell_text WHERE row > {before}").fetchall()
            if most is not None and arrived > most:
                undo(work)
                return False
            work.execute("INSERT INTO fetched VALUES (?, ?, ?)", [self._number, self._table, arrived])
            work.commit()
        except BaseException:
            undo(work)
            raise
        return True


def undo(work: duckdb.DuckDBPyConnection) -> None:
    """Take back what the transaction has done; one that broke on its way out is taken back already."""
    with suppress(duckdb.TransactionException):
        work.rollback()


def count_fetched(work: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """How many rows of each table came over."""
    return dict(work.execute("SELECT table_name, max_by(rows, pass) FROM fetched GROUP BY 1 ORDER BY 1").fetchall())
