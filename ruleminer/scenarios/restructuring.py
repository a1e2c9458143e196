"""Restructuring: a hierarchy of classes in one table, and links between the same classes in one link table.

Overlapping sub-classes are told by flags (`is_Author`), disjoint ones mostly by a code (`TYPE = 2`). A code may
tell a whole tree of classes; an inner one then is the union of the codes below it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import replace
from random import Random

from ruleminer.rules.values import Constant
from ruleminer.scenarios.domain import Class, Domain, Link, Notion
from ruleminer.scenarios.draws import randomness
from ruleminer.scenarios.layout import Column, Home, Layout, Reference, Role, Table
from ruleminer.scenarios.plain import end_columns
from ruleminer.scenarios.population import Population

_IS = Notion("is", ("flag", "ind", "has_role"))
_TYPE = Notion("TYPE", ("kind", "category", "sort", "class_code"))
_ROLE = Notion("ROLE", ("function", "relation", "kind", "link_type"))


def restructured(
    layout: Layout, population: Population, roots: Collection[str] | None = None, *, links: bool = True
) -> Layout:
    """The layout with each hierarchy (or those of these roots) in the table of its root, and links by their role."""
    for root in population.domain.roots:
        if population.domain.children(root.name) and (roots is None or root.name in roots):
            layout = _collapsed(layout, population, root.name)
    return _links_by_role(layout, population) if links else layout


def _collapsed(layout: Layout, population: Population, root: str) -> Layout:
    domain = population.domain
    for cls in domain.tree(root)[1:]:
        layout = _folded(layout, cls.name, root)
    keys = layout.tables[root].key
    classes = dict(layout.classes)
    columns: list[Column] = []
    generator = randomness(population.seed, f"restructuring/{root}")
    for column, members in _markers(population, root, generator):
        columns.append(column)
        for name, constants in members.items():
            classes[name] = tuple(Home(root, keys, (), ((column.id, constant),)) for constant in constants)
    table = layout.tables[root]
    layout = layout.with_table(replace(table, columns=(*table.columns, *columns)))
    return replace(layout, classes=classes)


def _folded(layout: Layout, name: str, root: str) -> Layout:
    """The layout with the columns of a sub-class's table in the root's."""
    source, target = layout.tables[name], layout.tables[root]
    fresh = tuple(replace(c, required=False) for c in source.columns if not target.has(c.id))
    references = tuple(r for r in source.references if r.columns != source.key)
    target = replace(target, columns=(*target.columns, *fresh), references=(*target.references, *references))
    layout = layout.with_table(target)
    tables = {
        table.id: replace(
            table, references=tuple(replace(r, table=root) if r.table == name else r for r in table.references)
        )
        for table in layout.tables.values()
        if table.id != name
    }
    return replace(layout, tables=tables).moved(name, root)


def _markers(
    population: Population, parent: str, generator: Random
) -> Iterator[tuple[Column, dict[str, tuple[Constant, ...]]]]:
    """The columns that tell the sub-classes of a class, each with the constants that tell a class."""
    domain = population.domain
    children = domain.children(parent)
    if not children:
        return
    if domain.cls(parent).overlapping or generator.random() < 0.25:
        for child in children:
            yield _flag(population, child), {child.name: (Constant.of(True),)}
            yield from _markers(population, child.name, generator)
        return
    deep = generator.random() < 0.5
    coded = _coded_tree(domain, parent) if deep else list(children)
    yield _code(population, parent, coded, generator)
    for cls in coded:
        if not (deep and cls.name in {c.parent for c in coded}):
            yield from _markers(population, cls.name, generator)


def _coded_tree(domain: Domain, parent: str) -> list[Class]:
    """All classes below a class that are told apart by one code, as long as sub-classes are disjoint."""
    found: list[Class] = []
    for child in domain.children(parent):
        found.append(child)
        if not child.overlapping:
            found += _coded_tree(domain, child.name)
    return found


def _flag(population: Population, cls: Class) -> Column:
    return Column(
        f"is:{cls.name}", (_IS, cls.term), Role.FLAG, "BOOLEAN", population.members[cls.name].sql("e.i"), True
    )


def _code(
    population: Population, parent: str, coded: list[Class], generator: Random
) -> tuple[Column, dict[str, tuple[Constant, ...]]]:
    domain = population.domain
    order = generator.sample(coded, len(coded))
    style = generator.random()
    codes: dict[str, int | str] = {}
    for place, cls in enumerate(order):
        letters = "".join(word[0] for word in cls.name) if style > 0.8 else ""
        codes[cls.name] = place + 1 if style < 0.6 else chr(ord("A") + place) + letters[:1]
    # The most specific class an entity is a member of decides, so deeper ones are asked first.
    deepest_first = sorted(coded, key=lambda cls: -len(domain.lineage(cls.name)))
    branches = " ".join(
        f"WHEN {population.members[cls.name].sql('e.i')} THEN {_literal(codes[cls.name])}" for cls in deepest_first
    )
    otherwise = " ELSE 0" if style < 0.6 else ""
    root = domain.root(parent)
    column = Column(
        f"type:{parent}",
        (_TYPE,) if parent == root.name else (domain.cls(parent).term, _TYPE),
        Role.CODE,
        "INTEGER" if style < 0.6 else "VARCHAR",
        f"CASE {branches}{otherwise} END",
        required=style < 0.6,
    )
    below = {cls.name: [c.name for c in coded if domain.is_within(c.name, cls.name)] for cls in coded}
    return column, {name: tuple(Constant.of(codes[member]) for member in members) for name, members in below.items()}


def _links_by_role(layout: Layout, population: Population) -> Layout:
    """Link tables between the same two hierarchies become one, with a code for what the link is.

    Not where IRIs or codes name the entities: such a rule would be of a shape that no template has.
    """
    domain = population.domain
    together: dict[tuple[str, str], list[Link]] = defaultdict(list)
    for link in domain.links:
        ends = (domain.root(link.domain), domain.root(link.range))
        if link.many and not any(root.iri or root.natural for root in ends):
            together[ends[0].name, ends[1].name].append(link)
    for (start, end), links in together.items():
        if len(links) > 1:
            layout = _united_links(layout, population, start, end, links)
    return layout


def _united_links(layout: Layout, population: Population, start: str, end: str, links: list[Link]) -> Layout:
    subject = end_columns(population, start, "e.s", "s")
    target = end_columns(population, end, "e.o", "o")
    subject_ids, target_ids = tuple(c.id for c in subject), tuple(c.id for c in target)
    role = Column("role", (_ROLE,), Role.CODE, "INTEGER", "e.role", required=True)
    order = randomness(population.seed, f"roles/{start}/{end}").sample(links, len(links))
    codes = {link.name: code for code, link in enumerate(order, start=1)}
    parts = " UNION ALL ".join(f'SELECT s, o, {codes[link.name]} AS role FROM "m_{link.name}"' for link in links)
    ends = (population.domain.cls(start).term, population.domain.cls(end).term)
    table = Table(
        id=f"roles:{start}:{end}",
        wording=ends,
        columns=(*subject, *target, role),
        source=f"({parts}) AS e",
        key=(*subject_ids, *target_ids, "role"),
        references=(Reference(subject_ids, start), Reference(target_ids, end)),
        ends=ends,
    )
    for link in links:
        layout = layout.without_table(f"m:{link.name}")
    homes = {
        link.name: (Home(table.id, subject_ids, target_ids, (("role", Constant.of(codes[link.name])),)),)
        for link in links
    }
    return replace(layout.with_table(table), links={**layout.links, **homes})


def _literal(code: int | str) -> str:
    return str(code) if isinstance(code, int) else f"'{code}'"
