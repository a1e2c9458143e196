"""SQL that a stranger wrote (in a query pair, in an R2RML mapping), let through only if it can do nothing but read.

A read-only transaction does not stop functions with effects outside it (files of the server, other back ends), nor
reading what is none of a mapping's business. So the text is parsed, refused unless it is one query over the tables
of the schema with harmless functions, and printed anew: what was checked is what runs. A user who knows the author
opens the database with `trust`; then only what guards every statement is left (engines/).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from ruleminer.errors import DatabaseError
from ruleminer.rules.dialects import Dialect
from ruleminer.sources.database import Database
from ruleminer.sources.engines.engine import one_line
from ruleminer.sources.schema import nearest

LONGEST = 100_000
"""Characters of a query."""
DEEPEST = 100
"""Brackets and CASEs within each other; the parser and the engines recurse."""
MOST_JOINS = 12
"""JOINs that have no ON or USING yet."""

_TRUST = "‹trust=True› runs it all the same, if you know who wrote it"
_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
_SIGNS = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE}
_WRITES = {
    exp.DDL: "a statement that writes",
    exp.DML: "a statement that writes",
    exp.Command: "a command",
    exp.QueryTransform: "a call of a program (TRANSFORM)",
    exp.Into: "SELECT INTO",
    exp.Lock: "a lock (FOR UPDATE)",
    exp.Describe: "DESCRIBE",
    exp.Pragma: "PRAGMA",
    exp.Set: "SET",
    exp.Copy: "COPY",
    exp.Summarize: "SUMMARIZE",
    exp.Parameter: "a variable",
    exp.SessionParameter: "a variable",
    exp.Placeholder: "a placeholder",
    exp.PropertyEQ: "an assignment",
    exp.ByteString: "a string with escapes (E'…' or b'…')",
    exp.UnicodeString: "a string with escapes (U&'…')",
    exp.Hint: "a hint",
    exp.Dot: "a field of a value (PostgreSQL reads it as a call)",
}
_ANY_WRITE = tuple(_WRITES)
_MODEST_FORMAT = re.compile(r"(?:[^%]|%%|%(?:\d{1,2}\$)?[-+ 0#,!]*\d{0,3}(?:\.\d{1,3})?[a-zA-Z])*")


def caged(sql: str, database: Database) -> str:
    """A stranger's query as it may run in this database: printed from what was checked, or refused with a reason."""
    if database.trusts:
        return sql.strip().rstrip(";").rstrip()
    query, printed, called = _parsed(sql, database.dialect)
    if problem := next(_problems(query, called, database), None):
        raise DatabaseError(f"refused, for it {problem} ({one_line(sql)[:80]}); {_TRUST}")
    return printed


@lru_cache(maxsize=512)
def _parsed(sql: str, dialect: Dialect) -> tuple[exp.Query, str, frozenset[str]]:
    """The one query in a text, printed anew, and every name in it that stands before a bracket."""
    if len(sql) > LONGEST:
        raise DatabaseError(f"a query of more than {LONGEST:,} characters: {one_line(sql[:100])[:80]}")
    try:
        statements = parsed_statements(sql, dialect.name)
        if len(statements) > 1:
            raise DatabaseError(f"more than one statement where one query is expected: {one_line(sql)[:80]}")
        if not statements or not isinstance(query := statements[0], exp.Query):
            raise DatabaseError(f"not a query (SELECT, WITH or VALUES): {one_line(sql)[:80]}")
        _quote_tables(query, dialect)
        printed = query.sql(dialect.name, comments=False)
        tokens = sqlglot.tokenize(printed, read=dialect.name)
    except (SqlglotError, RecursionError) as error:
        raise DatabaseError(f"cannot read this SQL: {one_line(error)}") from None
    called = frozenset(token.text for token, after in pairwise(tokens) if after.token_type is TokenType.L_PAREN)
    return query, printed, called


def parsed_statements(sql: str, dialect: str) -> list[exp.Expr]:
    """The statements of a text, refused before it is parsed if it would take the parser too deep, or too long."""
    reader = sqlglot.Dialect.get_or_raise(dialect)
    tokens = reader.tokenize(sql)
    _refuse_depth(sql, tokens)
    return [statement for statement in reader.parser().parse(tokens, sql) if statement is not None]


def _refuse_depth(sql: str, tokens: Iterable[Token]) -> None:
    """Each bracket takes the parser deeper, and each JOIN that waits for its ON doubles its time."""
    depth = signs = joins = 0
    before = None
    for token in tokens:
        kind = token.token_type
        depth += (kind in _OPENING) - (kind in _CLOSING)
        signs = signs + 1 if kind in _SIGNS else 0
        if kind is TokenType.JOIN and before is not TokenType.CROSS:
            joins += 1
        elif kind in (TokenType.ON, TokenType.USING):
            joins = max(0, joins - 1)
        before = kind
        if max(depth, signs) > DEEPEST:
            raise DatabaseError(f"a query nested more than {DEEPEST} deep: {one_line(sql[:100])[:80]}")
        if joins > MOST_JOINS:
            raise DatabaseError(f"a query with more than {MOST_JOINS} JOINs without ON: {one_line(sql[:100])[:80]}")


def _problems(query: exp.Query, called: frozenset[str], database: Database) -> Iterator[str]:
    """Why the query may not run, reason by reason."""
    for node in query.walk():
        if isinstance(node, _ANY_WRITE):
            yield from (f"holds {told}" for forbidden, told in _WRITES.items() if isinstance(node, forbidden))
    yield from _unknown_tables(query, database)
    refused = database.refused_functions(called)
    if refused:
        yield f"calls {', '.join(sorted(refused)).lower()}"
    yield from _fields_that_are_calls(query, database)
    for call in query.find_all(exp.Func):
        if call.sql_name().lower() in ("printf", "format") or call.name.lower() in ("printf", "format"):
            pattern = next((arg for arg in call.iter_expressions()), None)
            if not (isinstance(pattern, exp.Literal) and _MODEST_FORMAT.fullmatch(pattern.name)):
                yield "formats with widths that only the data tell, or very large ones"


def _quote_tables(query: exp.Query, dialect: Dialect) -> None:
    """Write the names of tables and of WITHs in quotes, as the engine would read them: no second reading is left."""
    for node in list(query.find_all(exp.Table, exp.CTE)):
        named = node.args.get("alias") if isinstance(node, exp.CTE) else node
        for part in ("this", "db", "catalog"):
            name = named.args.get(part) if named is not None else None
            if isinstance(name, exp.Identifier):
                if not dialect.folds_quoted_names and not name.quoted:
                    name.set("this", _lowered(name.name))
                name.set("quoted", True)


def _lowered(name: str) -> str:
    """Engines fold the letters of ASCII only, where Python would make a k of the sign for kelvin."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


def _folded(name: str, dialect: Dialect) -> str:
    """What two quoted names have in common if the engine takes them for one; never more than the engine."""
    return _lowered(name) if dialect.folds_all_names else name


def _unknown_tables(query: exp.Query, database: Database) -> Iterator[str]:
    """Tables are those of the schema that was opened; a name that a WITH gives is one only where it is in force."""
    schema, dialect = database.schema, database.dialect
    if dialect.reads_tables_in_lists and any(one.args.get("field") is not None for one in query.find_all(exp.In)):
        yield "holds IN with a name and no brackets, which is a table to SQLite (write IN (SELECT … FROM …))"
    names = [*(table.name for table in schema.tables), *(name for name, _ in schema.unreadable)]
    cased = not dialect.folds_quoted_names
    known = {name if cased else name.lower() for name in names}
    for table in query.find_all(exp.Table):
        if isinstance(table.this, exp.Func) or (not table.db and not table.catalog and _of_a_with(table, dialect)):
            continue
        if table.catalog or (table.db and table.db.lower() != (schema.name or "").lower()):
            yield f"reads {one_line(table.sql())}, outside the schema that was opened"
        elif (table.name if cased else table.name.lower()) not in known:
            yield f"reads a table {one_line(table.name)!r} that is not there{nearest(table.name, sorted(known))}"


def _of_a_with(table: exp.Table, dialect: Dialect) -> bool:
    """Whether a table's own name (its alias says nothing) is that of a WITH in force where the table stands."""
    wanted = _folded(table.name, dialect)
    below: exp.Expression = table
    inside: exp.CTE | None = None  # the part of the next WITH above that the table stands in
    while isinstance(above := below.parent, exp.Expression):
        if isinstance(above, exp.With):
            inside = below if isinstance(below, exp.CTE) else None
        elif isinstance(given := above.args.get("with_"), exp.With):
            beside = isinstance(above, exp.Subquery) and below.arg_key in ("joins", "laterals")
            for cte in () if beside else given.expressions:
                if inside is not None and cte is inside and below is given:
                    if given.args.get("recursive") and _folded(inside.alias, dialect) == wanted:
                        return _in_the_step(table, inside)
                    break
                if _folded(cte.alias, dialect) == wanted:
                    return True
        below = above
    return False


def _in_the_step(table: exp.Table, cte: exp.CTE) -> bool:
    """Whether a table stands where a recursive WITH means itself: what the UNION starts from is read before it is."""
    step = cte.this.expression if isinstance(cte.this, exp.Union) else None
    node: exp.Expression | None = table
    while node is not None and node is not cte:
        if node is step:
            return True
        parent = node.parent
        node = parent if isinstance(parent, exp.Expression) else None
    return False


def _fields_that_are_calls(query: exp.Query, database: Database) -> Iterator[str]:
    """PostgreSQL takes `t.f` for `f(t)` where t has no column f: a column must be one, and no function's name."""
    columns = {column.name.lower() for table in database.schema.tables for column in table.columns}
    fields = {
        column.name
        for column in query.find_all(exp.Column)
        if column.table and not isinstance(column.this, exp.Star) and column.name.lower() not in columns
    }
    refused = database.refused_functions(fields) if fields else set()
    if refused:
        yield f"calls {', '.join(sorted(refused)).lower()}"
