"""What a dump declares: its tables, keys and views, and which schema each name belongs to."""

from __future__ import annotations

import logging
import re
from collections import Counter
from pathlib import Path

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from ruleminer.errors import InputError
from ruleminer.rules.dialects import Dialect
from ruleminer.sources.pgdump.declared import Columns, DumpColumn, DumpForeignKey, DumpTable, DumpView, Name
from ruleminer.sources.pgdump.reader import Statement

_PART = r'(?:"(?:[^"]|"")+"|[\w$]+)'
_ATTACH = re.compile(rf"ALTER TABLE (?:ONLY )?({_PART}(?:\.{_PART})?) ATTACH PARTITION ({_PART}(?:\.{_PART})?) ", re.I)
_DOMAIN = re.compile(
    rf"CREATE DOMAIN ({_PART}(?:\.{_PART})?) AS (.*?)"
    r"(?:\s+COLLATE \S+)?(?:\s+(NOT NULL))?(?:\s+(?:DEFAULT|NULL|CONSTRAINT|CHECK)\b.*)?$",
    re.IGNORECASE | re.DOTALL,
)
_MATERIALIZED = re.compile(r"^CREATE MATERIALIZED VIEW\b(.*?)(?:\s+WITH (?:NO )?DATA)?$", re.IGNORECASE | re.DOTALL)
_SEARCH_PATH = re.compile(r"SET search_path\s*(?:=|TO)\s*(.*)|SELECT .*set_config\('search_path', '(.*?)'", re.I | re.S)
_KEY = re.compile(r"\bADD CONSTRAINT .*\b(?:PRIMARY KEY|UNIQUE|FOREIGN KEY)\b", re.IGNORECASE | re.DOTALL)
# Types of PostgreSQL that the SQL parser stumbles over. None of them is more than text to us.
_UNPARSED_TYPES = re.compile(r"\bbit varying(?:\s*\(\d+\))?|\binterval second\s*\(\d\)", re.IGNORECASE)


class SearchPath:
    """Where unqualified names of a dump belong; follows the settings of the dump's session."""

    def __init__(self) -> None:
        self._schema = "public"

    def follow(self, statement: Statement) -> None:
        """Heed the statement if it sets the search path."""
        if found := _SEARCH_PATH.match(statement.text):
            first = (found[1] or found[2] or "").split(",")[0].strip().strip("'")
            named = first[1:-1].replace('""', '"') if first.startswith('"') else first.lower()
            self._schema = named if named not in ("", "$user") else "public"

    def name(self, table: exp.Table) -> Name:
        """The schema and name of a table as PostgreSQL understands them."""
        schema = table.args.get("db")
        return (folded(schema) if schema else self._schema, folded(table.this))

    def name_of(self, text: str) -> Name:
        """The same for a name as text."""
        return self.name(exp.to_table(text, dialect="postgres"))


class Declarations:
    """Everything a dump declares, gathered statement by statement."""

    def __init__(self, path: Path) -> None:
        self.tables: dict[Name, DumpTable] = {}
        self.views: list[DumpView] = []
        self.partition_of: dict[Name, Name] = {}
        self.skipped: Counter[str] = Counter()
        self.path = path
        self.search_path = SearchPath()
        self._domains: dict[Name, exp.ColumnDef] = {}
        self._moved: dict[str, str] = {}

    def add(self, statement: Statement) -> None:
        """Take in a statement, or count it as skipped."""
        self.search_path.follow(statement)
        words = statement.label
        if words == "CREATE TABLE":
            self._add_table(statement)
        elif words in ("CREATE VIEW", "CREATE MATERIALIZED VIEW"):
            self._add_view(statement)
        elif words == "CREATE DOMAIN" and (domain := _DOMAIN.match(statement.text)):
            as_table = self._parsed(Statement(statement.line, f"CREATE TABLE t (c {domain[2]} {domain[3] or ''})"))
            self._domains[self.search_path.name_of(domain[1])] = next(as_table.find_all(exp.ColumnDef))
        elif words == "ALTER TABLE":
            self._alter(statement)
        elif words != "CREATE SCHEMA":
            self.skipped[words] += 1

    @property
    def schemas(self) -> list[str]:
        """The schemas of the target that get tables."""
        return sorted({table.schema for table in self.tables.values()})

    def root(self, name: Name) -> Name:
        """The partitioned table a partition's rows belong to; other tables are their own."""
        while name in self.partition_of:
            name = self.partition_of[name]
        return name

    def move_to(self, schema: str) -> None:
        """Send all tables and views to one schema."""
        own = self.schemas
        if len(own) > 1:
            raise InputError(
                f"{self.path} has several schemas ({', '.join(own)}), which cannot all go to {schema!r}; "
                "leave the schema out to keep them"
            )
        self._moved = {own[0]: schema}
        for table in self.tables.values():
            table.schema = schema

    def target(self, key: DumpForeignKey) -> tuple[DumpTable, Columns]:
        """The table a foreign key refers to, and its columns."""
        table = self.tables[self.root(key.table)]
        return table, key.referenced or table.primary_key

    def view_sql(self, view: DumpView, dialect: Dialect) -> str:
        """The statement that makes the view, in another dialect and with the schemas of the target."""
        create = view.create.copy()
        for table in create.find_all(exp.Table):
            if schema := table.args.get("db"):
                moved = exp.to_identifier(self._moved.get(schema.name, schema.name), quoted=True)
                table.set("db", moved if dialect.has_schemas else None)
        return create.sql(dialect.name)

    def settle(self) -> None:
        """Once all is read: partitions are no tables of their own, and keys need both their ends."""
        for name in self.partition_of:
            self.tables.pop(name, None)
        for table in self.tables.values():
            for key in list(table.foreign_keys):
                target = self.tables.get(self.root(key.table))
                if target is None or not (key.referenced or target.primary_key):
                    table.foreign_keys.remove(key)
                    self.skipped["FOREIGN KEY to a table that is not in the dump"] += 1

    def _add_table(self, statement: Statement) -> None:
        create = self._parsed(statement)
        if not isinstance(create, exp.Create) or not isinstance(create.this, exp.Schema):
            raise self._error(statement, "cannot read this CREATE TABLE")
        name = self.search_path.name(create.this.this)
        if name in self.tables:
            raise self._error(statement, f"table {'.'.join(name)} is declared twice")
        table = DumpTable(*name, columns=())
        columns: list[DumpColumn] = []
        for inherits in create.find_all(exp.InheritsProperty):
            self.skipped["INHERITS"] += 1
            parents = [self.tables.get(self.search_path.name(parent)) for parent in inherits.expressions]
            columns += [column for parent in parents if parent for column in parent.columns]
        for part in create.this.expressions:
            if isinstance(part, exp.ColumnDef):
                columns.append(self._column(table, part))
            else:
                self._constrain(table, part, valid=True)
        table.columns = tuple({column.name: column for column in columns}.values())
        if not columns:
            raise self._error(statement, f"table {'.'.join(name)} has no columns")
        self.tables[name] = table

    def _column(self, table: DumpTable, column: exp.ColumnDef) -> DumpColumn:
        name, nullable = folded(column.this), True
        sql_type = column.args["kind"].sql("postgres")
        if domain := self._domain(column):
            sql_type, nullable = domain.args["kind"].sql("postgres"), not domain.constraints
        for constraint in column.constraints:
            match constraint.kind:
                case exp.NotNullColumnConstraint() if not constraint.kind.args.get("allow_null"):
                    nullable = False
                case exp.ComputedColumnConstraint():
                    self.skipped[f"generated values of {table.name}.{name}"] += 1
                    return DumpColumn(name, sql_type, nullable=True)
                case exp.PrimaryKeyColumnConstraint():
                    table.primary_key = (name,)
                case exp.UniqueColumnConstraint():
                    table.unique.append((name,))
                case exp.Reference() as reference:
                    table.foreign_keys.append(self._foreign_key((name,), reference, valid=True))
        return DumpColumn(name, sql_type, nullable)

    def _domain(self, column: exp.ColumnDef) -> exp.ColumnDef | None:
        declared: exp.Expr = column.args["kind"]
        named = declared.args.get("kind")
        if declared.this is not exp.DataType.Type.USERDEFINED or not isinstance(named, exp.Identifier | exp.Dot):
            return None
        return self._domains.get(self.search_path.name_of(named.sql("postgres")))

    def _constrain(self, table: DumpTable, part: exp.Expr, valid: bool) -> None:
        match part:
            case exp.Constraint():
                for inner in part.expressions:
                    self._constrain(table, inner, valid)
            case exp.PrimaryKey():
                table.primary_key = tuple(map(folded, part.expressions))
            case exp.UniqueColumnConstraint() if part.this is not None:
                table.unique.append(tuple(map(folded, part.this.expressions)))
            case exp.ForeignKey():
                columns = tuple(map(folded, part.expressions))
                table.foreign_keys.append(self._foreign_key(columns, part.args["reference"], valid))
            case exp.CheckColumnConstraint():
                self.skipped["CHECK"] += 1
            case _:
                self.skipped[part.key.upper()] += 1

    def _foreign_key(self, columns: Columns, reference: exp.Reference, valid: bool) -> DumpForeignKey:
        target = reference.this
        referenced = tuple(map(folded, target.expressions)) if isinstance(target, exp.Schema) else ()
        table = target.this if isinstance(target, exp.Schema) else target
        return DumpForeignKey(columns, self.search_path.name(table), referenced, valid)

    def _alter(self, statement: Statement) -> None:
        if attach := _ATTACH.match(" ".join(statement.text.split())):
            self.partition_of[self.search_path.name_of(attach[2])] = self.search_path.name_of(attach[1])
            return
        if not _KEY.search(statement.text):
            self.skipped["CHECK" if " ADD CONSTRAINT " in statement.text else "ALTER TABLE"] += 1
            return
        alter = self._parsed(statement)
        if not isinstance(alter, exp.Alter):
            raise self._error(statement, "cannot read this ALTER TABLE")
        name = self.search_path.name(alter.this)
        if name not in self.tables:
            raise self._error(statement, f"a constraint of table {'.'.join(name)}, which is not declared before")
        valid = not re.search(r"\bNOT VALID$", statement.text, re.IGNORECASE)
        for action in alter.args["actions"]:
            for part in action.expressions if isinstance(action, exp.AddConstraint) else [action]:
                self._constrain(self.tables[name], part, valid)

    def _add_view(self, statement: Statement) -> None:
        try:
            create = parse_quietly(_MATERIALIZED.sub(r"CREATE VIEW\1", statement.text))
        except SqlglotError:
            create = None
        if not isinstance(create, exp.Create) or create.kind != "VIEW":
            self.skipped["CREATE VIEW"] += 1
            return
        within = {folded(cte.args["alias"].this) for cte in create.find_all(exp.CTE)}
        for table in create.find_all(exp.Table):
            if isinstance(table.this, exp.Identifier) and (table.args.get("db") or folded(table.this) not in within):
                schema, name = self.search_path.name(table)
                table.set("this", exp.to_identifier(name, quoted=True))
                table.set("db", exp.to_identifier(schema, quoted=True))
        target = create.this.this if isinstance(create.this, exp.Schema) else create.this
        self.views.append(DumpView(*self.search_path.name(target), create=create))

    def _parsed(self, statement: Statement) -> exp.Expr:
        last: SqlglotError | None = None
        for text in (statement.text, _UNPARSED_TYPES.sub("text", statement.text)):
            try:
                return parse_quietly(text)
            except SqlglotError as error:
                last = error
        reason = re.sub(r"\x1b\[\d+m", "", str(last)).split("\n")[0]
        raise self._error(statement, f"cannot read this {statement.label}: {reason}")

    def _error(self, statement: Statement, reason: str) -> InputError:
        return InputError(f"{self.path}:{statement.line}: {reason}")


def parse_quietly(text: str) -> exp.Expr:
    """One PostgreSQL statement parsed; what sqlglot does not know it keeps as a Command, without a warning."""
    logger = logging.getLogger("sqlglot")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        return sqlglot.parse_one(text, dialect="postgres")
    except RecursionError:
        raise ParseError("it is nested too deeply") from None
    finally:
        logger.setLevel(level)


def folded(identifier: exp.Expr) -> str:
    """An identifier as PostgreSQL folds it: unquoted is lower case."""
    if isinstance(identifier, exp.Column | exp.Ordered):
        return folded(identifier.this)
    return identifier.name if identifier.args.get("quoted") else identifier.name.lower()
