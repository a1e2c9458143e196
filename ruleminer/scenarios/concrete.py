"""A table for each concrete class: sub-classes have all columns of the class above, whose own table holds the rest.

Who is a member of the class above is then found in several tables, and nothing leads from one to the other.
"""

from __future__ import annotations

from dataclasses import replace

from ruleminer.scenarios.domain import Domain, Narrowing, Shortcut
from ruleminer.scenarios.layout import Column, Home, Layout, Reference, Table
from ruleminer.scenarios.population import Population


def can_be_concrete(population: Population, root: str) -> bool:
    """Whether a hierarchy has one level of disjoint sub-classes, whose tables no rule joins and no code names."""
    domain = population.domain
    children = domain.children(root)
    own = {root, *(child.name for child in children)}
    flat = bool(children) and all(not domain.children(child.name) for child in children)
    return (
        flat and not domain.cls(root).overlapping and not domain.cls(root).natural and own.isdisjoint(_composed(domain))
    )


def _composed(domain: Domain) -> set[str]:
    """The classes that properties which are made of others speak of."""
    found: set[str] = set()
    for prop in domain.properties:
        match prop:
            case Shortcut(first=first, second=second):
                inner = (first, second)
            case Narrowing(of=of):
                inner = (prop.name, of)
            case _:
                continue
        for name in inner:
            starts, end = domain.ends(name)
            found |= {*starts, end}
    return found


def by_concrete_class(layout: Layout, population: Population, root: str) -> Layout:
    """The layout with the columns of a root class in the tables of its sub-classes, for their members."""
    parent = layout.tables[root]
    children = [child.name for child in population.domain.children(root)]
    passed = tuple(column for column in parent.columns if column.id not in parent.key)
    kept = tuple(reference for reference in parent.references if reference.columns != parent.key)
    for name in children:
        layout = layout.with_table(_with_columns(layout.tables[name], parent, passed, kept))
    rest = " AND ".join(f"NOT ({population.members[name].sql('e.i')})" for name in children)
    layout = layout.with_table(replace(parent, where=f"({parent.where}) AND {rest}"))
    tables = {  # no key holds all members any more
        table.id: replace(table, references=tuple(r for r in table.references if r.table != root))
        for table in layout.tables.values()
    }

    def spread(homes: tuple[Home, ...]) -> tuple[Home, ...]:
        return tuple(
            replace(home, table=name)
            for home in homes
            for name in ((root, *children) if home.table == root else (home.table,))
        )

    return replace(
        layout,
        tables=tables,
        classes={name: spread(homes) for name, homes in layout.classes.items()},
        links={name: spread(homes) for name, homes in layout.links.items()},
        attributes={name: spread(homes) for name, homes in layout.attributes.items()},
    )


def _with_columns(table: Table, parent: Table, passed: tuple[Column, ...], kept: tuple[Reference, ...]) -> Table:
    fresh = tuple(column for column in passed if not table.has(column.id))
    references = tuple(reference for reference in table.references if reference.table != parent.id)
    return replace(table, columns=(*table.columns, *fresh), references=(*references, *kept))
