"""The tables that the fixtures of the exports speak of, on a PostgreSQL server, with a few odd rows in each."""

from __future__ import annotations

from collections import defaultdict

import psycopg2
from psycopg2.sql import SQL, Identifier

from ruleminer.rules.parser import parse_rules
from ruleminer.rules.values import Constant, Kind, Scalar

from .small_mappings import types

SCHEMA = "fixtures"
ROWS = 6
_SAMPLES: dict[Kind, tuple[object, ...]] = {
    Kind.INTEGER: (1, 2, 3, 4, 5, 6),
    Kind.DECIMAL: ("12.30", "-1.5", "0.00", "1000000.00", "2.50", "7.00"),
    Kind.BOOLEAN: (True, False, True, None, True, False),
    Kind.DATE: ("1970-01-01", "2014-05-04", None, "1999-12-31", "2000-02-29", "2014-05-04"),
    Kind.TIMESTAMP: ("2014-05-04 10:00:00", "1999-12-31 23:59:59.5", None, "2000-01-01", "2014-05-04", "2001-01-01"),
    Kind.TEXT: ("a b/c", "x-1", None, "it's {x} $(y)", 'say "yes"', "back\\slash & <b>"),
}


def load_tables(url: str, rules: str) -> None:
    """Make every table that the rules name, with rows that hold their constants too."""
    tables: dict[str, dict[str, set[Scalar]]] = defaultdict(lambda: defaultdict(set))
    for rule in parse_rules(rules):
        for atom in rule.body:
            for column, term in atom.columns:
                tables[atom.table][column].update([term.value] if isinstance(term, Constant) else [])
    connection = psycopg2.connect(url)
    with connection, connection.cursor() as cursor:
        cursor.execute(SQL("CREATE SCHEMA {}").format(Identifier(SCHEMA)))
        for table, columns in tables.items():
            place = SQL("{}.{}").format(Identifier(SCHEMA), Identifier(table))
            declared = [
                SQL("{} {}").format(Identifier(name), SQL(types(table, name).sql_type + _null(table, name)))
                for name in columns
            ]
            cursor.execute(SQL("CREATE TABLE {} ({})").format(place, SQL(", ").join(declared)))
            for row in range(2 * ROWS):
                values = [_value(types(table, name).kind, row, given, table, name) for name, given in columns.items()]
                holes = SQL(", ").join([SQL("%s")] * len(values))
                name = place.as_string(cursor).replace("%", "%%")
                cursor.execute(SQL(f"INSERT INTO {name} VALUES ({{}})").format(holes), values)
    connection.close()


def _null(table: str, column: str) -> str:
    return "" if types(table, column).nullable else " NOT NULL"


def _value(kind: Kind, row: int, given: set[Scalar], table: str, column: str) -> object:
    """The column's own samples in the first rows, constants of the rules in the others."""
    if given and row >= ROWS:
        return sorted(given, key=str)[row % len(given)]
    sample = _SAMPLES[kind][row % ROWS]
    return _SAMPLES[kind][0] if sample is None and not types(table, column).nullable else sample
