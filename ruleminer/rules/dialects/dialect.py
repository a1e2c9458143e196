"""What differs between SQL engines: a value with a word, a yes or no, or one small function for each difference.

Everybody else asks the value and never which engine it is. Each engine has its file beside this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from ruleminer.rules.columns import ColumnType
from ruleminer.rules.expressions import as_text, call, unpadded, verbatim
from ruleminer.rules.values import Kind, Scalar

BOUND = "\0"
"""Stands for a bound value in any SQL of ours; no database admits it in a name, and no text of ours holds it."""

Quote = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class JsonScalar:
    """What lies at a step of a JSON value, as SQL: its text; when it is a number; when a text or a truth value."""

    text: str
    is_number: str
    is_plain: str


TextOf = Callable[[exp.Expression, ColumnType], exp.Expression]
Lookups = Sequence[tuple[str, Sequence[str]]]
"""Relations of wanted values, each with the columns that may hold them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One engine's SQL. The defaults are what most engines do."""

    name: str
    """As sqlglot calls it."""
    scheme: str
    """Of the engine's URLs."""

    # What is simple: a word each.
    placeholder: str = "?"
    truths: tuple[str, str] = ("true", "false")
    """What the engine's own cast to text makes of truth values."""
    by_character: str = ""
    """What an ORDER BY adds to a text to go by its characters, not by some language."""
    text_type: str = "text"
    """What a cast to text names."""
    whole_type: str = "bigint"
    """What a cast to whole numbers names."""
    length: str = "length"
    """The function that counts the characters of a text."""
    materialized: str = "MATERIALIZED "
    """What makes a relation of a WITH be computed once; some engines do so unasked."""
    value_list: str
    """A relation `v` of the values of a bound JSON array, as the body of a WITH."""
    formulation: str = "sql2008"
    """What YARRRML calls queries of this engine."""
    jdbc_driver: str
    """Empty where engines of mappings that are written in Java cannot reach it."""
    jdbc_schema: str | None = None
    """The option of a server's JDBC URL that names the schema; empty if it is the database. A file has none."""
    tables_schema: str | None = None
    """The schema that views must name to reach tables, if the engine would not find them."""
    iri_safe_function: str = ""
    """The statement that defines "mapping".iri_safe, which percent-encodes; an engine without functions has none."""

    # What it has, and what it refuses.
    has_schemas: bool = True
    replaces_views: bool = True
    types_values: bool = True
    """Whether a value has the type that its column declares."""
    listed_types: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Of types of columns, in small letters, the types that texts are cast to, to be compared with them in lists."""
    compares_exactly: bool = True
    """Whether texts of columns are equal just if their characters are; where not, their casts to text are compared."""
    widens_singles: bool = False
    """Whether numbers of single precision come with digits that the engine does not print."""
    folds_quoted_names: bool = True
    """Whether names in quotes are the same in other cases; PostgreSQL's are not, and it writes others small."""
    folds_all_names: bool = False
    """Whether the names of WITHs are the same in other cases, in quotes or not."""
    reads_tables_in_lists: bool = False
    """Whether `x IN name` reads a table."""
    reads_once: bool = False
    """Whether a relation of a WITH is read once, however often it is asked, and a count reads all rows: much is then
    asked of a table by one statement."""
    table_bytes: str = ""
    """A query for the bytes that a table takes, whose name in quotes is bound, without a look at its rows."""
    parts_are_dear: bool = False
    """Whether each part of a statement is planned and run by itself, and a relation of a WITH anew for each: then what
    many ask of the same rows is grouped, made distinct at once, and short lists are written out, not joined."""
    gathered: str = ""
    """A hint behind SELECT by which one task has the rows of all parts of a UNION; for small sources only."""
    reads_columns: bool = False
    """Whether what is asked of a column reads no other: several looks at a few are then cheaper than one at all."""
    kept_as: Dialect | None = None
    """How tables of this engine are asked that are kept here as it wrote them; None if none ever are."""
    keeps_texts: bool = False
    """Whether numbers are kept as some engine wrote them, so that two texts may be one number."""
    keeps_links: bool = False
    """Whether a declared foreign key is enforced, always."""
    escapes_percent: bool = False
    """Whether a `%` beside placeholders is written twice."""

    lacks: frozenset[str] = frozenset()
    """Transformations that we have no SQL of its own for."""
    position: str = "STRPOS"
    """The function that finds a text in another, from 1."""
    folds_all_letters: bool = True
    """Whether LOWER and UPPER know other letters than those of ASCII."""
    checks_json: bool = True
    """Whether a text that is no JSON can be told from one that is."""

    # What takes a function of its own; what may be None is refused where it is.
    trim: Callable[[str, str, str], str] = lambda side, text, characters: (
        f"{'L' if side == 'LEADING' else 'R'}TRIM({text}, {characters})"
    )
    """A text without certain characters (a literal) at its LEADING or TRAILING end."""
    is_digits: Callable[[str], str] = lambda text: f"({text} <> '' AND LTRIM({text}, '0123456789') = '')"
    """Whether a text is digits of ASCII and nothing else."""
    joined: Callable[[Sequence[str]], str] = lambda parts: f"({' || '.join(parts)})"
    """Texts one after the other."""
    since_1970: Callable[[str], str]
    """The lexical form of a moment, from a text of digits that counts the seconds since 1970."""
    number_text: TextOf
    """The lexical form of a decimal or float."""
    character: Callable[[int], exp.Expression] = lambda number: call("CHR", exp.Literal.number(number))
    """A character by its number, for what is not to be printed."""
    truth_text: TextOf = lambda value, column: as_text(value)
    timestamp_text: TextOf
    array_text: TextOf = lambda value, column: as_text(value)
    """An array as JSON."""
    is_number: Callable[[str], str] | None = None
    """Whether a text is digits with at most a sign and a dot."""
    json_scalar: Callable[[str, str | int, Quote], JsonScalar] | None = None
    """The field of this name, or the item of this number (from 1), of a text that may be JSON."""
    percent_encoded: Callable[[str, bool], str] | None = None
    """A text with what is not unreserved in IRIs percent-encoded; with True, all but ASCII as well."""
    other_text: TextOf = lambda value, column: as_text(value)
    """The lexical form of everything else: whole numbers, dates and texts."""
    bindable: Callable[[Scalar], Scalar | float] = lambda value: value
    """A constant as the engine's driver takes it."""
    cells: Callable[[str, Sequence[tuple[str, str]]], str]
    """For a table t and pairs of expressions: the query of all these pairs, as `family` and `v`."""
    rows_by_cell: Callable[[str, Lookups, Lookups, int], tuple[str, str]] | None = None
    """For a scan of very many columns: a further WITH and the query of its rows that hold a value of the first
    relations, or so many of the second; None where one condition per column does."""
    counted_values: Callable[[str, int, str], str] | None = None
    """An aggregate of a column: the pairs (form, rows) of all its values, if these are no more than so many; the form
    is an expression over `e.item`. None where values are counted by a statement of their own."""
    extreme: Callable[[str, str, ColumnType], str] = lambda end, value, column: f"{end}({value})"
    """An aggregate: the least or the greatest value of a column (`min`, `max`)."""
    ordered: Callable[[str, ColumnType], str] = lambda value, column: value
    """What the values of a column are ordered by."""
    number: Callable[[str, ColumnType], str] = lambda value, column: value
    """What a number is compared with those of other columns as."""
    distinct_within: Callable[[str, int, int], str] | None = None
    """An aggregate: how many whole numbers differ that lie between two, where there is one cheaper than all others."""
    iri_safe: Callable[[exp.Expression], exp.Expression]
    """A text percent-encoded for an IRI."""
    rephrased: Callable[[exp.Expr], exp.Expr] = lambda query: query
    """A query of PostgreSQL with what this engine lacks said otherwise."""

    def lexical(self, value: exp.Expression, column: ColumnType) -> exp.Expression:
        """The expression for the lexical form of a column (docs/architecture.md, "Values and their kinds")."""
        match column.kind:
            case Kind.DECIMAL:
                return self.number_text(value, column)
            case Kind.BOOLEAN:
                return self.truth_text(value, column)
            case Kind.TIMESTAMP:
                return self.timestamp_text(value, column)
            case Kind.TEXT if column.is_array:
                return self.array_text(value, column)
            case Kind.TEXT if column.padded:
                return unpadded(self.other_text(value, column))
            case _:
                return self.other_text(value, column)

    def comparable(self, value: exp.Expression, column: ColumnType) -> exp.Expression:
        """The column as it is compared: cast where only a cast compares, or compares exactly (uuid, json, …)."""
        if column.kind is Kind.TEXT and not (column.is_text and self.compares_exactly):
            value = as_text(value)
        return unpadded(value) if column.padded else value

    def text_of(self, sql: str) -> str:
        """The engine's own cast to text, of an expression that is SQL already."""
        return f"CAST({sql} AS {self.text_type})"

    def unpadded(self, sql: str) -> str:
        """A text, which is SQL already, without the blanks that fill it up."""
        return str(unpadded(verbatim(sql)).sql(self.name))

    def bound(self, sql: str) -> str:
        """SQL as the engine's driver takes it along with values: `BOUND` as its own placeholder."""
        if self.escapes_percent:
            sql = sql.replace("%", "%%")
        return sql.replace(BOUND, self.placeholder)


def zoned_timestamp_text(value: exp.Expression, column: ColumnType) -> exp.Expression:
    """The lexical form of a timestamp where a zone is known to the engine: in UTC."""
    if column.has_zone:
        value = exp.AtTimeZone(this=value, zone=exp.Literal.string("UTC"))
    return as_text(value)


def iri_safe_call(text: exp.Expression) -> exp.Expression:
    """The function that `iri_safe_function` defines, on a text."""
    function = exp.Anonymous(this="iri_safe", expressions=[text])
    return exp.Dot(this=exp.to_identifier("mapping", quoted=True), expression=function)


def concat_of_what_is_there(query: exp.Expr) -> exp.Expr:
    """A query whose CONCATs take NULL for an empty text, as PostgreSQL's do, where they are NULL if a part is."""
    return query.transform(_filled_concat)


def _filled_concat(node: exp.Expr) -> exp.Expr:
    if not isinstance(node, exp.Concat):
        return node
    parts = [
        part if isinstance(part, exp.Literal) else call("COALESCE", part, exp.Literal.string(""))
        for part in node.expressions
    ]
    return call("CONCAT", *parts)
