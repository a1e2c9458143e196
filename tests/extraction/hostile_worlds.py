"""Databases that are hard on a search: all tables are numbered 1, 2, 3 …, and so are flags, quantities and years.

A world has tables that link to earlier ones and some to themselves, tables of two links, a wide table of small
numbers, a table of codes, values that very many rows repeat, and NULLs. Its examples are those that people write: the
first rows.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import duckdb

FIRST = 2  # rows of each table that the examples tell of
_WIDE = 12  # columns of small numbers
_PREFIXES = (
    "@prefix : <http://e.x/o#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n:Thing a owl:Class .\n"
)


@dataclass(frozen=True)
class HostileTable:
    """A table with its columns as SQL over the row number `i`, and what they link to."""

    name: str
    rows: int
    columns: dict[str, str]
    links: dict[str, str]
    key: tuple[str, ...]


@dataclass(frozen=True)
class HostileWorld:
    """Where the parts of a world lie, and how many rows it has."""

    database: Path
    ontology: Path
    facts: Path
    rows: int
    true_rules: dict[str, str]  # by predicate


def hostile_world(
    folder: Path, seed: int, rows: int, tables: int = 12, *, declared: bool, told: int = 40, wide: int = _WIDE
) -> HostileWorld:
    """Write a database of about so many rows, an ontology and examples of the first `told` tables."""
    folder.mkdir(parents=True, exist_ok=True)
    made = _tables(random.Random(seed), rows, tables, wide)
    database = folder / "hostile.duckdb"
    with duckdb.connect(database) as work:
        for table in made:
            work.execute(_create(table, declared))
            selected = ", ".join(f"{sql} AS {name}" for name, sql in table.columns.items())
            distinct = "DISTINCT" if len(table.key) > 1 else ""
            numbers = f"(SELECT CAST(unnest(range(1, {table.rows + 1})) AS INTEGER) AS i)"
            work.execute(f"INSERT INTO {table.name} SELECT {distinct} {selected} FROM {numbers} ORDER BY ALL")
        facts, classes, properties, rules = _facts(work, made[:told])
    (folder / "facts.csv").write_text("predicate,arg1,arg2\n" + "".join(f"{fact}\n" for fact in facts), "utf-8")
    terms = [f":{name} a owl:Class ; rdfs:subClassOf :Thing .\n" for name in classes]
    terms += [f":{name} a owl:{kind} .\n" for name, kind in properties.items()]
    (folder / "ontology.ttl").write_text(_PREFIXES + "".join(terms), "utf-8")
    total = sum(table.rows for table in made)
    return HostileWorld(database, folder / "ontology.ttl", folder / "facts.csv", total, rules)


def _tables(dice: random.Random, rows: int, count: int, wide: int) -> list[HostileTable]:
    made = [HostileTable("kind", 6, {"id": "i", "name": "'kind ' || i"}, {}, ("id",))]
    shares = [dice.uniform(0.2, 1) ** 3 for _ in range(count - 1)]
    for number, share in enumerate(shares, 1):
        size = max(12, int(rows * share / sum(shares)))
        entities = [table for table in made if len(table.key) == 1]
        link_table = number > 3 and number % 4 == 0
        if link_table:
            one, other = dice.sample(entities, 2)
            ends = {f"{one.name}_id": one, f"{other.name}_id": other}
            columns = {name: _some(dice, end.rows) for name, end in ends.items()} | {"amount": "1 + i % 3"}
            links = {name: end.name for name, end in ends.items()}
            made.append(HostileTable(f"link{number}", size, columns, links, tuple(ends)))
            continue
        columns = {"id": "i", "name": f"'thing {number}-' || i"}
        links = {}
        for end in dice.sample(entities, min(len(entities), dice.randrange(1, 4))):
            columns[f"{end.name}_id"] = _with_nulls(dice, _some(dice, end.rows))
            links[f"{end.name}_id"] = end.name
        if number % 3 == 1:
            columns["parent_id"] = "CASE WHEN i > 1 THEN 1 + i // 3 END"
            links["parent_id"] = f"thing{number}"
        columns |= {
            "flag": "i % 2",
            "active": "i % 5 > 0",
            "quantity": _with_nulls(dice, "1 + i * 7 % 10"),
            "year": "1990 + i % 30",
            "state": "CASE WHEN i % 100 = 99 THEN 'gone' ELSE 'ok' END",
            "amount": "CAST(1 + i % 17 AS DECIMAL(8, 2))",
            "since": "DATE '2020-01-01' + CAST(i % 300 AS INTEGER)",
        }
        if number == 2:
            columns |= {f"measure{place}": f"i * {place + 1} % {place + 2}" for place in range(wide)}
        made.append(HostileTable(f"thing{number}", size, columns, links, ("id",)))
    return made


def _some(dice: random.Random, rows: int) -> str:
    """A key of a table with so many rows: the first ones first."""
    return f"1 + (i - 1) * {dice.choice([1, 7, 13])} % {rows}"


def _with_nulls(dice: random.Random, sql: str) -> str:
    return f"CASE WHEN i % {dice.randrange(7, 15)} > 0 THEN {sql} END"


def _create(table: HostileTable, declared: bool) -> str:
    types = {"name": "VARCHAR", "active": "BOOLEAN", "state": "VARCHAR", "since": "DATE", "amount": "DECIMAL(8, 2)"}
    parts = [f"{name} {types.get(name, 'INTEGER')}" for name in table.columns]
    parts.append(f"PRIMARY KEY ({', '.join(table.key)})")
    if declared:
        others = {column: end for column, end in table.links.items() if end != table.name}  # DuckDB checks row by row
        parts += [f"FOREIGN KEY ({column}) REFERENCES {end} (id)" for column, end in others.items()]
    return f"CREATE TABLE {table.name} ({', '.join(parts)})"


def _facts(
    work: duckdb.DuckDBPyConnection, made: list[HostileTable]
) -> tuple[list[str], list[str], dict[str, str], dict[str, str]]:
    """Lines of facts about the first rows, the classes and properties in them, and the rule of each."""
    facts, classes = list[str](), list[str]()
    properties, rules = dict[str, str](), dict[str, str]()
    for table in made:
        first, wanted = table.key[0], dict[str, str]()
        if len(table.key) == 1:
            name = table.name.capitalize()
            classes.append(name)
            rules[name] = f"{name}(x) <- {table.name}(id: x)"
            facts += [f"{name},{number}," for number in range(1, FIRST + 1)]
            wanted = dict.fromkeys(table.links, "ObjectProperty")
            wanted |= {column: "DatatypeProperty" for column in ("name", "quantity") if column in table.columns}
        else:
            wanted = {table.key[1]: "ObjectProperty"}
        for column, kind in wanted.items():
            name = f"{table.name}_{column}"
            properties[name] = kind
            rules[name] = f"{name}(x, y) <- {table.name}({first}: x, {column}: y)"
            asked = f"SELECT {first}, {column} FROM {table.name} WHERE {column} IS NOT NULL ORDER BY ALL LIMIT {FIRST}"
            facts += [f"{name},{one},{other}" for one, other in work.execute(asked).fetchall()]
    return facts, classes, properties, rules
