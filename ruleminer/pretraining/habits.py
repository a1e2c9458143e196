"""What people do in schemas, and say in ontologies, that the scenarios of the generator have not.

Rows that join two things and say something of it (an enrolment, a salary); days kept as texts; codes that are numbers
with a table that tells what each means; keys that are values, too (a flight's code).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

import duckdb

from ruleminer.problem.ontology import Ontology, Property, PropertyKind
from ruleminer.rules.values import Atom, Constant, Rule, Variable
from ruleminer.scenarios.domain import Attribute, Class, Domain, Link, Notion
from ruleminer.scenarios.domain_file import checked_domain
from ruleminer.scenarios.layout import Column, Home, Layout, Role
from ruleminer.scenarios.names import Naming
from ruleminer.scenarios.words import cased, words_of
from ruleminer.sources.engines.duckdb import KEYS_TABLE
from ruleminer.sources.schema import quote_identifier

_X = Variable("x")
_RECORDS = {  # and what else people call such rows
    "Membership": ("affiliation", "belonging"), "Enrolment": ("registration", "inscription"),
    "Assignment": ("allocation", "posting"), "Attendance": ("presence", "participation"),
    "Rating": ("score", "evaluation"), "Vote": ("ballot", "poll"), "Comment": ("remark", "note"),
    "Result": ("outcome", "finding"), "Entry": ("item", "record"), "Position": ("post", "role"),
    "Salary": ("pay", "remuneration"), "Line": ("item", "row"), "Grade": ("mark", "assessment"),
    "Visit": ("call", "stay"), "Message": ("mail", "note"), "Application": ("request", "candidacy"),
    "Purchase": ("sale", "acquisition"), "Standing": ("rank", "placing"), "Stop": ("halt", "break"),
    "Absence": ("leave", "holiday"), "Skill": ("ability", "competence"), "Request": ("demand", "query"),
}  # fmt: skip
_SAID = {"startDate": "date", "endDate": "date", "since": "date", "amount": "money", "points": "small-integer",
         "rank": "small-integer", "status": "status", "remarks": "short-text", "quantity": "integer",
         "createdAt": "timestamp", "isConfirmed": "boolean", "score": "score"}  # fmt: skip
_AS_TEXT = {"DATE": 0.5, "TIMESTAMP": 0.6}
_CALLED = ("number", "code", "id", "identifier", "no")


def with_records(domain: Domain, generator: Random) -> Domain:
    """The domain with up to three classes of rows that join two things, or belong to one, and say something of it."""
    taken = {one.name.casefold() for one in (*domain.classes, *domain.properties)}
    ends = [cls.name for cls in domain.classes if len(cls.key) == 1 and not cls.natural and not cls.iri]
    classes, properties = list(domain.classes), list(domain.properties)

    def free(*texts: str) -> str | None:
        for text in texts:
            name = cased(words_of(text), "camel")
            if name.casefold() not in taken:
                taken.add(name.casefold())
                return name
        return None

    for noun in generator.sample(list(_RECORDS), generator.choice((0, 1, 1, 2, 3))):
        if noun.casefold() in taken or not ends:
            continue
        taken.add(noun.casefold())
        classes.append(Class(Notion(noun, _RECORDS[noun]), size=round(10 ** generator.uniform(1.5, 2.6), 1)))
        own = noun.lower()
        for end in generator.sample(ends, min(len(ends), generator.choice((1, 2, 2)))):
            texts = generator.sample((end, f"{own} {end}", f"{own} of {end}", f"of {end}", f"for {end}"), 3)
            if name := free(*texts, f"{own} for {end}"):
                properties.append(Link(Notion(name), noun, end, missing=generator.choice((0.0, 0.0, 0.0, 0.1))))
        for said in generator.sample(list(_SAID), generator.randint(1, 4)):
            spoken = (said, f"{own} {said}") if generator.random() < 0.5 else (f"{own} {said}", said)
            if name := free(*spoken):
                missing = generator.choice((0.0, 0.0, 0.2))
                properties.append(Attribute(Notion(name), (noun,), _SAID[said], missing=missing))
    return checked_domain(replace(domain, classes=tuple(classes), properties=tuple(properties)), domain.name)


def with_texts(layout: Layout, generator: Random) -> Layout:
    """The layout where some days are texts and truth is 1: as engines without such types have it, or files."""
    if generator.random() >= 0.3:
        return layout
    as_text = {sql_type for sql_type, share in _AS_TEXT.items() if generator.random() < share}
    truth = generator.choice((None, "INTEGER", "INTEGER"))

    def stored(column: Column) -> Column:
        if column.role is Role.VALUE and column.sql_type in as_text:
            return replace(column, sql_type="VARCHAR", sql=f"CAST({column.sql} AS VARCHAR)")
        if column.role is Role.VALUE and column.sql_type == "BOOLEAN" and truth:
            return replace(column, sql_type=truth, sql=f"CAST({column.sql} AS {truth})")
        return column

    tables = {
        name: replace(table, columns=tuple(one if one.id in table.key else stored(one) for one in table.columns))
        for name, table in layout.tables.items()
    }
    return replace(layout, tables=tables)


@dataclass(frozen=True)
class Lookup:
    """A column of codes that are numbers, and what each of them means."""

    table: str
    column: str
    meanings: tuple[tuple[int, str], ...]


def with_lookups(layout: Layout, generator: Random) -> tuple[Layout, list[Lookup]]:
    """The layout with numbers for some codes, whose meanings a table of their own is to tell."""
    share = generator.choice((0.0, 0.3, 0.7))
    found: list[Lookup] = []
    for table in list(layout.tables.values()):
        for column in table.columns:
            if column.role is not Role.CODE or not column.id.startswith("type:") or generator.random() >= share:
                continue
            codes: dict[Constant, list[str]] = {}
            for name, homes in layout.classes.items():
                for home in homes:
                    for at, constant in home.when:
                        if home.table == table.id and at == column.id:
                            codes.setdefault(constant, []).append(name)
            if len(codes) < 2:
                continue
            order = list(codes) if generator.random() < 0.5 else generator.sample(list(codes), len(codes))
            numbers = {
                code: int(str(code.value)) if isinstance(code.value, int) else place
                for place, code in enumerate(order, start=1)
            }
            style = generator.choice(("spaced", "pascal", "snake", "upper"))
            short = generator.random() < 0.5
            meanings = []
            for code, names in codes.items():
                # The class that a code tells alone is the deepest; those above share it.
                said = words_of(min(names, key=lambda name: sum(name in others for others in codes.values())))
                meanings.append((numbers[code], cased(said[:1] if short and len(said) > 1 else said, style)))
            changed = column
            if column.sql_type == "VARCHAR":
                branches = " ".join(f"WHEN '{code.value}' THEN {number}" for code, number in numbers.items())
                changed = replace(column, sql_type="INTEGER", sql=f"CASE ({column.sql}) {branches} END", required=False)
                layout = _numbered(layout, table.id, column.id, numbers)
            now = layout.tables[table.id]
            columns = tuple(changed if one.id == column.id else one for one in now.columns)
            layout = layout.with_table(replace(now, columns=columns))
            found.append(Lookup(table.id, column.id, tuple(sorted(meanings))))
    return layout, found


def _numbered(layout: Layout, table: str, column: str, numbers: dict[Constant, int]) -> Layout:
    def moved(home: Home) -> Home:
        if home.table != table:
            return home
        return replace(
            home, when=tuple((at, Constant.of(numbers[code]) if at == column else code) for at, code in home.when)
        )

    return replace(
        layout,
        classes={name: tuple(map(moved, homes)) for name, homes in layout.classes.items()},
        links={name: tuple(map(moved, homes)) for name, homes in layout.links.items()},
        attributes={name: tuple(map(moved, homes)) for name, homes in layout.attributes.items()},
    )


def fill_lookups(
    connection: duckdb.DuckDBPyConnection, lookups: list[Lookup], naming: Naming, generator: Random
) -> None:
    """Make the tables that tell what codes mean; links to them are declared or not."""
    known = connection.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = ?", [KEYS_TABLE]).fetchone()
    for one in lookups:
        table, column = naming.tables[one.table], naming.columns[one.table, one.column]
        name = f"{generator.choice((table, 'lookup', 'ref'))}_{column}{generator.choice(('s', '', '_values'))}"
        key, said = generator.choice(("id", "code", "nr")), generator.choice(("name", "label", "description", "title"))
        if table.isupper():
            name, key, said = name.upper(), key.upper(), said.upper()
        exists = connection.execute("SELECT count(*) FROM duckdb_tables() WHERE lower(table_name) = ?", [name.lower()])
        if (exists.fetchone() or (1,))[0]:
            continue
        connection.execute(f"CREATE TABLE {quote_identifier(name)} ({key} INTEGER PRIMARY KEY, {said} VARCHAR)")
        connection.executemany(f"INSERT INTO {quote_identifier(name)} VALUES (?, ?)", [list(m) for m in one.meanings])
        if known and known[0] and generator.random() < 0.7:
            connection.execute(
                f"INSERT INTO {KEYS_TABLE} VALUES (?, 'FOREIGN KEY', ?, ?, ?)", [table, [column], name, [key]]
            )


def key_values(
    domain: Domain, layout: Layout, naming: Naming, ontology: Ontology, generator: Random
) -> Iterator[tuple[Property, Rule]]:
    """Properties that say the key of some things as a value, each with its true rule."""
    taken = {term.name.casefold() for term in ontology.terms}
    by_name = {cls.name: cls.iri for cls in ontology.classes}
    for cls in domain.classes:
        homes = layout.classes[cls.name]
        plain = not (cls.parent or cls.natural or cls.iri) and len(homes) == 1 and len(homes[0].subject) == 1
        if not plain or homes[0].when or generator.random() >= 0.12:
            continue
        said = generator.choice(_CALLED)
        name = cased((*words_of(cls.name), said) if generator.random() < 0.7 else (said,), "camel")
        if name.casefold() in taken:
            continue
        taken.add(name.casefold())
        iri = f"{domain.namespace}{name}"
        table, column = homes[0].table, homes[0].subject[0]
        body = (Atom(naming.tables[table], ((naming.columns[table, column], _X),)),)
        yield (
            Property(iri, name, PropertyKind.DATATYPE, domains=(by_name[cls.name],)),
            Rule(name, (_X, _X), body),
        )
