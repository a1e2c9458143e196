"""What a table is asked for its profile: by two statements, or by one that reads it once.

Where an engine keeps what a WITH brings (`Dialect.reads_once`), all questions about a table go into one statement:
its rows, each column's values with how often they stand, and of these what the profile wants.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from ruleminer.rules.dialects import BOUND, Dialect
from ruleminer.rules.expressions import column_of
from ruleminer.rules.lexical import family
from ruleminer.rules.values import Kind
from ruleminer.sources.schema import Column, Table, quote_identifier

COMMON = 40  # values of a column whose frequencies are kept
FREQUENT = 1_000  # rows from which a value is known for it, however many are more frequent
FEW = 2_000  # distinct values up to which a column's values are counted one by one
ROWS = -1
"""The number, in the answer to `at_once_sql`, of the table itself; constants come with lower ones, by family."""

FAMILIES = tuple(dict.fromkeys(family(kind) for kind in Kind))
_ORDERED = (Kind.INTEGER, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP)
_KEPT = f"(place <= {COMMON} OR c > {FREQUENT})"
_LADDER = 3  # steps in which an MD5 is bounded, each of one more zero in front


def constants_number(of: Kind) -> int:
    """What the constants of a family are numbered in the answer to `at_once_sql`."""
    return ROWS - 1 - FAMILIES.index(of)


def family_of(number: int) -> Kind:
    """The family whose constants have this number."""
    return FAMILIES[ROWS - 1 - number]


def measures_sql(table: Table, columns: Sequence[Column], name: str, dialect: Dialect, later: bool = False) -> str:
    """A number, the rows of a table, and by column: filled, distinct, least, greatest, mean length, whether padded.

    What `later_sql` tells for less, now that these are known, is NULL if it is asked `later`, and each column then has
    a row of its own.

    Where an engine can tell them on the way (`Dialect.counted_values`), also all values with how often they stand, as
    pairs, of columns with few that repeat; NULL otherwise.
    """
    measures = [", ".join(_measures(table, column, dialect, later)) for column in columns]
    if later:  # by columns, numbered: many values told apart side by side fit into no cache
        return " UNION ALL ".join(f"SELECT {n}, count(*), {some} FROM {name}" for n, some in enumerate(measures))
    return f"SELECT 0, count(*), {', '.join(measures)} FROM {name}"


def later_sql(table: Table, asked: Sequence[tuple[Column, tuple[int, int] | None]], name: str, dialect: Dialect) -> str:
    """Of whole numbers how many differ, by their span if there is one; of texts of one length whether any is padded."""
    answers = []
    for column, span in asked:
        value = _value(table, column, dialect)
        if column.kind is Kind.TEXT:
            answers.append(_filled_up(value, dialect))
        elif span is None or dialect.distinct_within is None:
            answers.append(f"count(DISTINCT {value})")
        else:
            answers.append(dialect.distinct_within(value, *span))
    return f"SELECT {', '.join(answers)} FROM {name}"


def common_sql(table: Table, columns: Sequence[Column], name: str, dialect: Dialect) -> str:
    """The most frequent values of some columns: (number of the column, lexical form, rows)."""
    # Where columns are read one by one, to hold them together is one read more.
    apart = dialect.reads_columns and not table.is_view
    counts = " UNION ALL ".join(
        f"SELECT {number} AS n, {_form(table, column, dialect)} AS v, c "
        f"FROM (SELECT {_value(table, column, dialect)} AS x, count(*) AS c FROM {name if apart else 'ruleminer_all'} "
        f"WHERE {quote_identifier(column.name)} IS NOT NULL GROUP BY 1) AS t"
        for number, column in enumerate(columns)
    )
    ranked = f"SELECT n, v, c, row_number() OVER (PARTITION BY n ORDER BY c DESC, v) AS place FROM ({counts}) AS q"
    held = f"WITH ruleminer_all AS (SELECT {', '.join(quote_identifier(c.name) for c in columns)} FROM {name}) "
    return f"{'' if apart else held}SELECT n, v, c FROM ({ranked}) AS r WHERE {_KEPT} ORDER BY n, c DESC, v"


def at_once_sql(table: Table, columns: Sequence[Column], name: str, dialect: Dialect, constants: int) -> str:
    """All of that by one statement: (number, lexical form, rows, distinct or place, least, greatest, mean length,
    whether padded).

    With `constants`, so many of each family whose MD5, with the bound seed, comes first; `BOUND` stands for the seed
    once for each column.
    """
    whole, text = dialect.whole_type, dialect.text_type
    nothing = f"CAST(NULL AS {text}), CAST(NULL AS {text}), CAST(NULL AS double precision), CAST(NULL AS {whole})"
    kept = dialect.materialized
    named = ", ".join(f"{_value(table, column, dialect)} AS x{n}" for n, column in enumerate(columns))
    relations = [f"ruleminer_all AS {kept}(SELECT {named} FROM {name})"]
    answers = [f"SELECT {ROWS}, CAST(NULL AS {text}), count(*), CAST(NULL AS {whole}), {nothing} FROM ruleminer_all"]
    chosen: dict[Kind, list[str]] = {}
    for n, column in enumerate(columns):
        counted, measured = f"ruleminer_values{n}", f"ruleminer_column{n}"
        ordered = column.kind in _ORDERED
        low, high = (dialect.text_of(f"{end}(x)" if ordered else "NULL") for end in ("min", "max"))
        length = f"sum({dialect.length}(x) * c) * 1.0 / sum(c)" if column.kind is Kind.TEXT else "NULL"
        may_be_padded = column.kind is Kind.TEXT and table.type_of(column.name).is_text
        padded = _padded("x", dialect) if may_be_padded else "NULL"
        relations += [
            f"{counted} AS {kept}(SELECT x{n} AS x, count(*) AS c FROM ruleminer_all "
            f"WHERE x{n} IS NOT NULL GROUP BY x{n})",
            f"{measured} AS {kept}(SELECT CAST(coalesce(sum(c), 0) AS {whole}) AS filled, count(*) AS differ, "
            f"{low} AS low, {high} AS high, CAST({length} AS double precision) AS length, "
            f"CAST({padded} AS {whole}) AS padded FROM {counted})",
        ]
        form = _form(table, column, dialect)
        few = f"(SELECT differ <= {FEW} AND differ * 2 <= filled FROM {measured})"
        repeated = f"SELECT {form} AS v, c FROM {counted} AS t WHERE {few}"
        ranked = f"SELECT v, c, row_number() OVER (ORDER BY c DESC, v) AS place FROM ({repeated}) AS q"
        answers += [
            f"SELECT {n}, CAST(NULL AS {text}), filled, differ, low, high, length, padded FROM {measured}",
            f"SELECT {n}, v, c, place, {nothing} FROM ({ranked}) AS r WHERE {_KEPT}",
        ]
        if constants:
            # A constant whose MD5 is not among the least of its own column is none of the first.
            steps = (
                f"WHEN differ >= {2 * constants * 16**step} THEN '{'0' * (step - 1)}1'"
                for step in range(_LADDER, 0, -1)
            )
            bound = f"(SELECT CASE {' '.join(steps)} ELSE 'g' END FROM {measured})"
            is_padded = f"(SELECT padded FROM {measured}) = 1"
            own = f"CASE WHEN {is_padded} THEN {dialect.unpadded(form)} ELSE {form} END" if may_be_padded else form
            forms = f"SELECT {own} AS v FROM {counted} AS t"
            seeded = f"SELECT v, md5({dialect.text_of(BOUND)} || v) AS card FROM ({forms}) AS d"
            chosen.setdefault(family(column.kind), []).append(
                f"SELECT v, card FROM ({seeded}) AS e WHERE card < {bound}"
            )
    for of, queries in chosen.items():
        distinct = f"SELECT DISTINCT v, card FROM ({' UNION ALL '.join(queries)}) AS f"
        ranked = f"SELECT v, row_number() OVER (ORDER BY card, v) AS place FROM ({distinct}) AS g"
        answers.append(
            f"SELECT {constants_number(of)}, v, CAST(NULL AS {whole}), place, {nothing} FROM ({ranked}) AS h "
            f"WHERE place <= {constants}"
        )
    return f"WITH {', '.join(relations)} {' UNION ALL '.join(answers)}"


def _measures(table: Table, column: Column, dialect: Dialect, later: bool) -> Iterator[str]:
    name = quote_identifier(column.name)
    value = _value(table, column, dialect)
    yield f"count({name})"
    yield "NULL" if later and column.kind is Kind.INTEGER else f"count(DISTINCT {value})"
    ordered = column.kind in _ORDERED
    for end in ("min", "max"):
        yield dialect.text_of(dialect.extreme(end, name, table.type_of(column.name))) if ordered else "NULL"
    is_text = column.kind is Kind.TEXT
    yield f"avg({dialect.length}({value}))" if is_text else "NULL"
    if not (is_text and table.type_of(column.name).is_text):
        yield "0"
    elif later:  # most texts are refused by their lengths alone
        length = f"{dialect.length}({value})"
        yield f"CASE WHEN min(NULLIF({length}, 0)) = max({length}) AND max({length}) > 1 THEN NULL ELSE 0 END"
    else:
        yield _padded(value, dialect)
    if dialect.counted_values is None:
        yield "NULL"
    else:
        few = f"count(DISTINCT {value}) <= {FEW} AND count(DISTINCT {value}) * 2 <= count({name})"
        form = _form(table, column, dialect, ("e", "item"))
        yield f"CASE WHEN {few} THEN {dialect.counted_values(value, FEW, form)} END"


def _padded(value: str, dialect: Dialect) -> str:
    """Whether all texts but empty ones have one length, of more than one character, and some end in a blank.

    Then the blanks fill them up: two such texts that differ still do without them.
    """
    length, bare = f"{dialect.length}({value})", f"{dialect.length}({dialect.unpadded(value)})"
    filled, left = (f"CASE WHEN {length} > 0 THEN {one} END" for one in (length, bare))
    of_one_length = f"min({filled}) = max({length}) AND max({length}) > 1 AND max({length} - {bare}) > 0"
    return f"CASE WHEN {of_one_length} AND (min({length}) > 0 OR min({left}) > 0) THEN 1 ELSE 0 END"


def _filled_up(value: str, dialect: Dialect) -> str:
    """The same as `_padded` of texts that have one length but for empty ones: few of them end in a blank."""
    ends, bare = f"{value} LIKE '% '", dialect.unpadded(value)
    blank, empty, only_blanks = (
        f"max(CASE WHEN {one} THEN 1 ELSE 0 END)"
        for one in (ends, f"{value} = ''", f"CASE WHEN {ends} THEN {bare} = '' ELSE false END")
    )
    return f"CASE WHEN {blank} = 1 AND NOT ({empty} = 1 AND {only_blanks} = 1) THEN 1 ELSE 0 END"


def _value(table: Table, column: Column, dialect: Dialect) -> str:
    """What is counted of a column: not every type that is read as text can be compared."""
    name, column_type = quote_identifier(column.name), table.type_of(column.name)
    is_written = dialect.keeps_texts and column.kind is Kind.DECIMAL
    if is_written and column_type.is_float:  # by their forms some would be one, and by their texts 0 is two
        return f"CASE WHEN {name} = '-0' THEN '0' ELSE {name} END"
    if column_type.is_array or is_written:
        form = dialect.lexical(exp.column(exp.to_identifier(column.name, quoted=True)), column_type)
        return str(form.sql(dialect.name))
    return dialect.text_of(name) if column.kind is Kind.TEXT else name


def _form(table: Table, column: Column, dialect: Dialect, place: tuple[str, str] = ("t", "x")) -> str:
    """The lexical form of a counted value, which is the same on all engines."""
    column_type, counted = table.type_of(column.name), column_of(*place)
    # An array is counted by its form already.
    return str((counted if column_type.is_array else dialect.lexical(counted, column_type)).sql(dialect.name))
