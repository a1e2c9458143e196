"""The plain layout: a table for each class, joined to its super-class by its key, and one for each link to many.

A column stands for each property with one value, a table of two columns for each with several.
"""

from __future__ import annotations

from dataclasses import replace

from ruleminer.scenarios.domain import Attribute, Domain, Link, Notion
from ruleminer.scenarios.layout import Column, Home, Layout, Reference, Role, Table
from ruleminer.scenarios.population import Population
from ruleminer.scenarios.value_kinds import VALUE_KINDS


def plain_layout(population: Population) -> Layout:
    """The tables that mirror the ontology."""
    domain = population.domain
    layout = Layout({}, {}, {}, {})
    for cls in domain.classes:
        layout = _class_table(layout, population, cls.name)
    for attribute in domain.attributes:
        if attribute.at_most > 1:
            layout = _value_table(layout, population, attribute)
        else:
            layout = _value_columns(layout, domain, attribute)
    for link in domain.links:
        layout = _link_table(layout, population, link) if link.many else _link_columns(layout, population, link)
    return layout


def key_ids(domain: Domain, name: str) -> tuple[str, ...]:
    """The symbolic names of the columns of a class's key."""
    return tuple(part.term.name for part in domain.root(name).key)


def _class_table(layout: Layout, population: Population, name: str) -> Layout:
    domain = population.domain
    cls, root = domain.cls(name), domain.root(name)
    keys = key_ids(domain, name)
    columns = tuple(
        Column(part.term.name, (part.term,), Role.KEY, sql_type, sql, required=True, of=cls.term)
        for part, sql_type, sql in zip(
            root.key, population.key_types(name), population.key_sql(name, "e.i"), strict=True
        )
    )
    if cls.natural:
        code = Column("natural", (cls.natural,), Role.VALUE, "VARCHAR", population.natural_sql(name, "e.i"), True)
        columns += (code,)
    table = Table(
        id=name,
        wording=(cls.term,),
        columns=columns,
        source=f'"e_{root.name}" AS e',
        where=population.members[name].sql("e.i") if cls.parent else "true",
        key=keys,
        unique=(("natural",),) if cls.natural else (),
        references=(Reference(keys, cls.parent),) if cls.parent else (),
    )
    layout = replace(layout.with_table(table), classes={**layout.classes, name: (Home(name, keys),)})
    if not cls.natural:
        return layout
    return replace(layout, naturals={**layout.naturals, name: Home(name, keys, ("natural",))})


def _value_columns(layout: Layout, domain: Domain, attribute: Attribute) -> Layout:
    kind = VALUE_KINDS[attribute.value]
    sql = f'e."a_{attribute.name}"'
    required = not attribute.missing
    column = Column(f"a:{attribute.name}", (attribute.term,), Role.VALUE, kind.sql_type, sql, required)
    homes = dict(layout.attributes)
    for name in attribute.domains:
        table = layout.tables[name]
        layout = layout.with_table(replace(table, columns=(*table.columns, column)))
        homes[attribute.name, name] = (Home(name, table.key, (column.id,)),)
    return replace(layout, attributes=homes)


def _link_columns(layout: Layout, population: Population, link: Link) -> Layout:
    domain = population.domain
    table, target = layout.tables[link.domain], domain.root(link.range)
    extra = [(part.term,) if len(target.key) > 1 else () for part in target.key]
    columns = tuple(
        Column(
            f"l:{link.name}:{part.term.name}",
            (link.term, *more),
            Role.REFERENCE,
            sql_type,
            f'CASE WHEN e."l_{link.name}" IS NOT NULL THEN {sql} END',
            not link.missing,
            domain.cls(link.range).term,
        )
        for part, more, sql_type, sql in zip(
            target.key,
            extra,
            population.key_types(link.range),
            population.key_sql(link.range, f'e."l_{link.name}"'),
            strict=True,
        )
    )
    ids = tuple(column.id for column in columns)
    reference = Reference(ids, link.range)
    changed = replace(table, columns=(*table.columns, *columns), references=(*table.references, reference))
    homes = (Home(link.domain, table.key, ids),)
    return replace(layout.with_table(changed), links={**layout.links, link.name: homes})


def end_columns(population: Population, name: str, number: str, prefix: str) -> tuple[Column, ...]:
    """The columns that hold the key of the entity with a number, at an end of a link table."""
    root, cls = population.domain.root(name), population.domain.cls(name)
    more = [(part.term,) if len(root.key) > 1 else () for part in root.key]
    return tuple(
        Column(f"{prefix}:{part.term.name}", (cls.term, *words), Role.END, sql_type, sql, required=True, of=cls.term)
        for part, words, sql_type, sql in zip(
            root.key, more, population.key_types(name), population.key_sql(name, number), strict=True
        )
    )


def _link_table(layout: Layout, population: Population, link: Link) -> Layout:
    subject = end_columns(population, link.domain, "e.s", "s")
    target = end_columns(population, link.range, "e.o", "o")
    subject_ids, target_ids = tuple(c.id for c in subject), tuple(c.id for c in target)
    table = Table(
        id=f"m:{link.name}",
        wording=(link.term,),
        columns=(*subject, *target),
        source=f'"m_{link.name}" AS e',
        key=(*subject_ids, *target_ids),
        references=(Reference(subject_ids, link.domain), Reference(target_ids, link.range)),
        ends=(population.domain.cls(link.domain).term, population.domain.cls(link.range).term),
    )
    homes = (Home(table.id, subject_ids, target_ids),)
    return replace(layout.with_table(table), links={**layout.links, link.name: homes})


def _value_table(layout: Layout, population: Population, attribute: Attribute) -> Layout:
    owner = attribute.domains[0]
    subject = end_columns(population, owner, "e.s", "s")
    ids = tuple(column.id for column in subject)
    kind = VALUE_KINDS[attribute.value]
    value = Column("value", (Notion("VALUE", ("val", "content", "entry")),), Role.VALUE, kind.sql_type, "e.value", True)
    table = Table(
        id=f"w:{attribute.name}",
        wording=(attribute.term,),
        columns=(*subject, value),
        source=f'"w_{attribute.name}" AS e',
        key=(*ids, value.id),
        references=(Reference(ids, owner),),
        ends=(population.domain.cls(owner).term, attribute.term),
    )
    homes = {**layout.attributes, (attribute.name, owner): (Home(table.id, ids, ("value",)),)}
    return replace(layout.with_table(table), attributes=homes)
