"""Things that are named by what they belong to: the line of an order, a salary since a day, an enrolment of two.

Their table has no number of its own: a link and a running number, a link and a day, or two links are its key. Here such
tables are made of those that have a number to which nothing leads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from random import Random

import duckdb

from ruleminer.rules.values import Atom, Concat, Rule, Term, Variable
from ruleminer.scenarios.domain import Domain
from ruleminer.scenarios.layout import Home, Layout, Role
from ruleminer.scenarios.names import Naming
from ruleminer.scenarios.value_kinds import VALUE_KINDS
from ruleminer.sources.schema import quote_identifier

_SEQUENCES = ("line_no", "seq", "position", "no", "number", "nr", "part", "version")
_OFTEN, _SELDOM = 0.8, 0.25  # of tables whose rows join two things, and of others


def with_weak_keys(
    connection: duckdb.DuckDBPyConnection,
    domain: Domain,
    layout: Layout,
    naming: Naming,
    rules: list[tuple[str, Rule]],
    generator: Random,
) -> list[tuple[str, Rule]]:
    """The true rules once some tables of the database have such keys; the tables are changed."""
    for name, owners in _fit(domain, layout):
        if generator.random() >= (_OFTEN if len(owners) > 1 else _SELDOM):
            continue
        table, (own,) = naming.tables[name], layout.tables[name].key
        number = naming.columns[name, own]
        key = _rebuilt(connection, domain, layout, naming, name, generator.sample(owners, len(owners)), generator)
        rules = [(what, _rewritten(rule, table, number, key)) for what, rule in rules]
    return rules


def _fit(domain: Domain, layout: Layout) -> Iterator[tuple[str, list[str]]]:
    """Classes with a table of their own, to whose number nothing leads, with their links that are never empty."""
    for cls in domain.classes:
        name = cls.name
        if name not in layout.tables or len(layout.tables[name].key) != 1 or cls.parent or cls.natural or cls.iri:
            continue
        key = layout.tables[name].key
        single = layout.classes[name] == (Home(name, key),) and not domain.children(name)
        led_to = any(link.range == name or (link.many and link.domain == name) for link in domain.links)
        many = any(prop.at_most > 1 and name in prop.domains for prop in domain.attributes)
        copied = any(
            column.of == cls.term and column.role in (Role.END, Role.REFERENCE)
            for table in layout.tables.values()
            for column in table.columns
        ) or any(one.table != name for (_, owner), homes in layout.attributes.items() if owner == name for one in homes)
        owners = [
            homes[0].object[0]
            for link in domain.links
            if link.domain == name and not link.many and not link.missing
            and len(homes := layout.links[link.name]) == 1
            and homes[0].table == name and len(homes[0].object) == 1 and homes[0].subject == key
        ]  # fmt: skip
        homes_of_own = [home for home in layout.homes() if home.table == name]
        whole = all(home.subject == key and not home.when for home in homes_of_own)
        if single and owners and whole and not led_to and not many and not copied:
            yield name, list(dict.fromkeys(owners))


def _rebuilt(
    connection: duckdb.DuckDBPyConnection,
    domain: Domain,
    layout: Layout,
    naming: Naming,
    name: str,
    owners: list[str],
    generator: Random,
) -> tuple[str, ...]:
    """Make the table anew with another key; the columns of the key."""
    table, number = naming.tables[name], naming.columns[name, layout.tables[name].key[0]]
    ends = [naming.columns[name, owner] for owner in owners]
    quoted, id_ = quote_identifier(table), quote_identifier(number)
    days = [
        naming.columns[name, home.object[0]]
        for prop in domain.attributes
        if VALUE_KINDS[prop.value].sql_type == "DATE" and name in prop.domains
        for home in layout.attributes[prop.name, name]
        if layout.tables[name].column(home.object[0]).required
    ]
    if len(ends) > 1 and generator.random() < 0.6:
        key = (ends[0], ends[1])
    elif days and generator.random() < 0.6:
        key = (ends[0], generator.choice(days))
    else:
        key = (ends[0], "")
    first, second = quote_identifier(key[0]), quote_identifier(key[1]) if key[1] else ""
    if second:
        partition = f"PARTITION BY {first}, {second}"
        rows = f"SELECT * EXCLUDE ({id_}) FROM {quoted} QUALIFY row_number() OVER ({partition} ORDER BY {id_}) = 1"
    else:
        taken = {one.casefold() for (at, _), one in naming.columns.items() if at == name}
        sequence = next(one for one in generator.sample(_SEQUENCES, len(_SEQUENCES)) if one not in taken)
        key = (key[0], sequence.upper() if number.isupper() else sequence)
        rows = (
            f"SELECT row_number() OVER (PARTITION BY {first} ORDER BY {id_}) :: INTEGER AS {quote_identifier(key[1])}, "
            f"* EXCLUDE ({id_}) FROM {quoted}"
        )
    connection.execute(f"CREATE TEMP TABLE kept AS {rows}")
    connection.execute(f"DROP TABLE {quoted}")
    columns = connection.execute("SELECT column_name, column_type FROM (DESCRIBE kept)").fetchall()
    lines = [f"{quote_identifier(column)} {sql_type}" for column, sql_type in columns]
    lines.append(f"PRIMARY KEY ({', '.join(map(quote_identifier, key))})")
    connection.execute(f"CREATE TABLE {quoted} ({', '.join(lines)})")
    connection.execute(f"INSERT INTO {quoted} SELECT * FROM kept")
    connection.execute("DROP TABLE kept")
    return key


def _rewritten(rule: Rule, table: str, number: str, key: tuple[str, ...]) -> Rule:
    """The rule with the columns of the new key where the number stood."""
    body: list[Atom] = []
    definitions = list(rule.definitions)
    for atom in rule.body:
        columns: dict[str, Term] = dict(atom.columns)
        if atom.table == table and number in columns:
            named = columns.pop(number)
            assert isinstance(named, Variable)
            parts = [columns.setdefault(column, Variable(f"k{place}")) for place, column in enumerate(key)]
            if named in rule.arguments:
                definitions.append((named, Concat(tuple(_between(parts)))))
            atom = replace(atom, columns=tuple(columns.items()))
        body.append(atom)
    return replace(rule, body=tuple(body), definitions=tuple(definitions))


def _between(parts: Iterable[Term]) -> Iterator[str | Variable]:
    for place, part in enumerate(parts):
        assert isinstance(part, Variable)
        yield from ("/", part) if place else (part,)
