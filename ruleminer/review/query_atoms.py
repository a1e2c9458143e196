"""A simple SQL query as the atoms of a rule: tables joined by equal columns, and constants that choose rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp
from sqlglot.errors import SqlglotError

from ruleminer.errors import DatabaseError, RuleminerError
from ruleminer.rules.lexical import constant_of
from ruleminer.rules.values import Atom, Constant, Place, Term, Variable
from ruleminer.sources.foreign_sql import parsed_statements
from ruleminer.sources.schema import Schema
from ruleminer.structure.spaces import Partition

_CLAUSES = frozenset({"expressions", "from_", "from", "joins", "where", "distinct", "order"})
_OF_TABLES = frozenset({"this", "alias", "db", "catalog"})
_OF_JOINS = frozenset({"this", "on", "kind"})

Spot = tuple[str, str]
"""A table's alias and one of its columns."""


class UnreadableQueryError(RuleminerError):
    """A query, or what a triples map makes of it, that no rule says."""


@dataclass(frozen=True)
class TableColumns:
    """What a query reads: its tables by alias, which columns are equal, constants, and what it calls its columns."""

    tables: Mapping[str, str]
    equal: tuple[tuple[Spot, Spot], ...]
    constants: tuple[tuple[Spot, Constant], ...]
    named: Mapping[str, Spot]  # the query's own columns
    filled: tuple[Spot, ...] = ()  # that must hold a value

    def atoms(self, wanted: Mapping[str, Term], prefix: str = "v") -> tuple[Atom, ...]:
        """The atoms of the query, with these terms in its columns; other joins get variables of their own."""
        partition: Partition[Spot] = Partition()
        for one, other in self.equal:
            partition.join(one, other)
        terms: dict[Spot, Term] = {}
        for name, term in wanted.items():
            spot = self._spot(name)
            if terms.setdefault(partition.of(spot), term) != term:
                raise UnreadableQueryError("two of its columns are equal by a join")
        columns: dict[str, dict[str, Term]] = {alias: {} for alias in self.tables}
        for name in wanted:
            alias, column = self._spot(name)
            columns[alias][column] = terms[partition.of((alias, column))]
        for spot in dict.fromkeys(end for pair in self.equal for end in pair):
            root = partition.of(spot)
            terms.setdefault(root, Variable(f"{prefix}{len(terms)}"))
            columns[spot[0]][spot[1]] = terms[root]
        for (alias, column), constant in self.constants:
            if column in columns[alias]:
                raise UnreadableQueryError(f"{column} is both joined or selected and compared with a constant")
            columns[alias][column] = constant
        for number, (alias, column) in enumerate(dict.fromkeys(self.filled)):  # a column that a rule names is not NULL
            columns[alias].setdefault(column, Variable(f"{prefix}{len(terms) + number}"))
        if not all(columns.values()):
            raise UnreadableQueryError("a table of its query is joined with nothing")
        return tuple(Atom(self.tables[alias], tuple(own.items())) for alias, own in columns.items())

    def place(self, name: str) -> Place:
        """The column of a table that the query calls so."""
        alias, column = self._spot(name)
        return Place(self.tables[alias], column)

    @property
    def is_table(self) -> bool:
        """Whether it reads one table, all of it."""
        return len(self.tables) == 1 and not (self.constants or self.equal or self.filled)

    def _spot(self, name: str) -> Spot:
        found = self.named.get(name) or self.named.get(name.lower())
        if found is None:
            raise UnreadableQueryError(f"its table or query has no plain column {name}")
        return found


def table_atom(table: str, schema: Schema, folder: str = "") -> TableColumns:
    """A table as it is; `folder` is the schema that it is said to be of."""
    _check_folder(folder, schema)
    name = _named(table, [one.name for one in schema.tables], "table")
    columns = [column.name for column in schema.table(name).columns]
    known = {column.lower(): ("t", column) for column in columns} | {column: ("t", column) for column in columns}
    return TableColumns({"t": name}, (), (), known)


def query_atoms(sql: str, schema: Schema, dialect: str) -> TableColumns:
    """A query of joins, equalities and constants; anything else is refused by name."""
    try:
        statements = parsed_statements(sql, dialect)
    except (SqlglotError, DatabaseError, RecursionError) as problem:
        raise UnreadableQueryError(f"its query cannot be parsed ({str(problem).splitlines()[0]})") from None
    if len(statements) != 1:
        raise UnreadableQueryError(f"its query is {len(statements)} statements")
    (parsed,) = statements
    if not isinstance(parsed, exp.Select):
        raise UnreadableQueryError(f"its query is no plain SELECT but {parsed.key}")
    _refuse_more(parsed, _CLAUSES)
    if (distinct := parsed.args.get("distinct")) is not None and distinct.args.get("on"):
        raise UnreadableQueryError("its query has a DISTINCT ON clause")
    return _Reader(parsed, schema).read()


def _refuse_more(node: exp.Expr, known: Set[str]) -> None:
    """Refuse what a query, a table or a join has beyond what is read here: it may choose other rows."""
    for clause, value in node.args.items():
        if value and clause not in known:
            raise UnreadableQueryError(f"its query has a {clause.strip('_').upper()} clause")


def _check_folder(folder: str, schema: Schema) -> None:
    if folder and schema.name and folder.lower() != schema.name.lower():
        raise UnreadableQueryError(f"it reads the schema {folder}, and the database that is read here is {schema.name}")


class _Reader:
    def __init__(self, query: exp.Select, schema: Schema) -> None:
        self.query, self.schema = query, schema
        self.tables: dict[str, str] = {}
        self.equal: list[tuple[Spot, Spot]] = []
        self.constants: list[tuple[Spot, Constant]] = []
        self.filled: list[Spot] = []

    def read(self) -> TableColumns:
        from_ = self.query.args.get("from_") or self.query.args.get("from")
        if from_ is None:
            raise UnreadableQueryError("its query reads no table")
        self._table(from_.this)
        for join in self.query.args.get("joins") or ():
            if join.side or join.args.get("using") or join.kind not in ("", "INNER", "CROSS"):
                raise UnreadableQueryError(f"its query has a {join.side or join.kind or 'USING'} join")
            if join.method:
                raise UnreadableQueryError(f"its query has a {join.method} join")
            _refuse_more(join, _OF_JOINS)
            self._table(join.this)
        for condition in self._conditions():
            self._condition(condition)
        named: dict[str, Spot] = {}
        for selected in self.query.expressions:
            named |= self._selected(selected)
        return TableColumns(self.tables, tuple(self.equal), tuple(self.constants), named, tuple(self.filled))

    def _table(self, node: exp.Expr) -> None:
        if not isinstance(node, exp.Table):
            raise UnreadableQueryError("its query reads another query")
        _refuse_more(node, _OF_TABLES)
        if node.args.get("alias") is not None and node.args["alias"].args.get("columns"):
            raise UnreadableQueryError("its query gives the columns of a table other names")
        if node.alias_or_name in self.tables:
            raise UnreadableQueryError(f"its query calls two tables {node.alias_or_name}")
        _check_folder(node.db, self.schema)
        name = _named(node.name, [one.name for one in self.schema.tables], "table")
        self.tables[node.alias_or_name] = name

    def _conditions(self) -> Iterator[exp.Expr]:
        for join in self.query.args.get("joins") or ():
            on = join.args.get("on")
            if on is not None:
                yield from on.flatten() if isinstance(on, exp.And) else (on,)
        where = self.query.args.get("where")
        if where is not None:
            yield from where.this.flatten() if isinstance(where.this, exp.And) else (where.this,)

    def _condition(self, node: exp.Expr) -> None:
        node = node.unnest()
        if isinstance(node, exp.Not) and isinstance(asked := node.this.unnest(), exp.Is):
            column = asked.this.unnest()
            if not isinstance(asked.expression, exp.Null) or not isinstance(column, exp.Column):
                raise UnreadableQueryError(f"its query has a condition that no rule says: {node.sql()}")
            alias, name = self._spot(column)
            if self.schema.table(self.tables[alias]).column(name).nullable:
                self.filled.append((alias, name))
            return
        if isinstance(node, exp.Column):
            self.constants.append((self._spot(node), Constant.of(True)))
            return
        if not isinstance(node, exp.EQ):
            raise UnreadableQueryError(f"its query has a condition that no rule says: {node.sql()}")
        left, right = node.this.unnest(), node.expression.unnest()
        if isinstance(right, exp.Column) and not isinstance(left, exp.Column):
            left, right = right, left
        if not isinstance(left, exp.Column):
            raise UnreadableQueryError(f"its query has a condition that no rule says: {node.sql()}")
        if isinstance(right, exp.Column):
            self.equal.append((self._spot(left), self._spot(right)))
        else:
            spot = self._spot(left)
            self.constants.append((spot, self._constant(spot, right)))

    def _constant(self, spot: Spot, node: exp.Expr) -> Constant:
        kind = self.schema.type_of(self.tables[spot[0]], spot[1]).kind
        inner = node.this if isinstance(node, exp.Cast) else node
        text = "true" if isinstance(inner, exp.Boolean) and inner.this else "false"
        if isinstance(inner, exp.Literal):
            text = str(Decimal(inner.name)) if not inner.is_string else inner.name
        elif isinstance(inner, exp.Neg) and isinstance(inner.this, exp.Literal):
            text = f"-{inner.this.name}"
        elif not isinstance(inner, exp.Boolean):
            raise UnreadableQueryError(f"its query compares with what is no constant: {node.sql()}")
        constant = constant_of(text, kind)
        if constant is None:
            raise UnreadableQueryError(f"its query compares {spot[1]} with {text}, which it cannot hold")
        return constant

    def _selected(self, node: exp.Expr) -> dict[str, Spot]:
        if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
            aliases = [node.table] if isinstance(node, exp.Column) and node.table else list(self.tables)
            if strange := [alias for alias in aliases if alias not in self.tables]:
                raise UnreadableQueryError(f"its query names a table that it does not read: {strange[0]}")
            return {
                name: (alias, column.name)
                for alias in aliases
                for column in self.schema.table(self.tables[alias]).columns
                for name in (column.name.lower(), column.name)
            }
        inner = node.this if isinstance(node, exp.Alias) else node
        while isinstance(inner, exp.Cast | exp.Paren):  # a cast to text is how values are made
            inner = inner.this
        if not isinstance(inner, exp.Column):
            return {}
        return {node.alias_or_name: self._spot(inner)}

    def _spot(self, node: exp.Column) -> Spot:
        aliases = [node.table] if node.table else list(self.tables)
        for alias in aliases:
            if alias in self.tables:
                for column in self.schema.table(self.tables[alias]).columns:
                    if column.name == node.name or (not node.this.quoted and column.name.lower() == node.name.lower()):
                        return alias, column.name
        raise UnreadableQueryError(f"its query names a column that is not there: {node.sql()}")


def _named(name: str, known: list[str], what: str) -> str:
    """The name as the database spells it."""
    if name in known:
        return name
    alike = [one for one in known if one.lower() == name.lower()]
    if len(alike) != 1:
        raise UnreadableQueryError(f"the database has no {what} {name}")
    return alike[0]
