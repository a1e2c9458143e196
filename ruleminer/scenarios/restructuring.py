"""Restructuring: a hierarchy of classes in one table, and links between the same classes in one link table.

Overlapping sub-classes are told by flags (`is_Author`: true, 1, Y), disjoint ones mostly by a code (`TYPE = 2`, `kind =
'manager'`). A code may tell a whole tree of classes; an inner one then is the union of the codes below it.
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
from ruleminer.scenarios.words import words_of

_IS = Notion("is", ("flag", "ind", "has_role"))
_TYPE = Notion("TYPE", ("kind", "category", "sort", "class_code"))
_ROLE = Notion("ROLE", ("function", "relation", "kind", "link_type"))
_YES_AND_NO: tuple[tuple[str, int | str | bool, str], ...] = (  # SQL type, yes, and no as SQL
    ("BOOLEAN", True, "FALSE"),
    ("BOOLEAN", True, "FALSE"),
    ("BOOLEAN", True, "FALSE"),
    ("INTEGER", 1, "0"),
    ("INTEGER", 1, "0"),
    ("VARCHAR", "Y", "'N'"),
    ("VARCHAR", "yes", "'no'"),
    ("BOOLEAN", True, "NULL"),
    ("INTEGER", 1, "NULL"),
)


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
        written = generator.choice(_YES_AND_NO)
        for child in children:
            yield _flag(population, child, *written), {child.name: (Constant.of(written[1]),)}
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


def _flag(population: Population, cls: Class, sql_type: str, yes: int | str | bool, no: str) -> Column:
    condition = population.members[cls.name].sql("e.i")
    sql = f"CASE WHEN {condition} THEN {_literal(yes)} ELSE {no} END"
    return Column(f"is:{cls.name}", (_IS, cls.term), Role.FLAG, sql_type, sql, required=no != "NULL")


def _code(
    population: Population, parent: str, coded: list[Class], generator: Random
) -> tuple[Column, dict[str, tuple[Constant, ...]]]:
    domain = population.domain
    codes = _codes(population, coded, generator)
    numbered = isinstance(next(iter(codes.values())), int)
    # The most specific class an entity is a member of decides, so deeper ones are asked first.
    deepest_first = sorted(coded, key=lambda cls: -len(domain.lineage(cls.name)))
    branches = " ".join(
        f"WHEN {population.members[cls.name].sql('e.i')} THEN {_literal(codes[cls.name])}" for cls in deepest_first
    )
    filled = numbered and generator.random() < 0.7
    root = domain.root(parent)
    column = Column(
        f"type:{parent}",
        (_TYPE,) if parent == root.name else (domain.cls(parent).term, _TYPE),
        Role.CODE,
        "INTEGER" if numbered else "VARCHAR",
        f"CASE {branches}{' ELSE 0' if filled else ''} END",
        required=filled,
    )
    below = {cls.name: [c.name for c in coded if domain.is_within(c.name, cls.name)] for cls in coded}
    return column, {name: tuple(Constant.of(codes[member]) for member in members) for name, members in below.items()}


def _codes(population: Population, coded: list[Class], generator: Random) -> dict[str, int | str]:
    """A number, a letter or a word for each class; numbers and letters as somebody would have listed the classes."""
    listed = generator.choices(("by name", "as thought of", "by size", "anyhow"), (7, 5, 2, 6))[0]
    match listed:
        case "by name":
            order = sorted(coded, key=lambda cls: cls.name.casefold())
        case "by size":
            order = sorted(coded, key=lambda cls: -population.members[cls.name].size)
        case "anyhow":
            order = generator.sample(coded, len(coded))
        case _:
            order = list(coded)
    style = generator.choices(("numbers", "letters", "initials", "words"), (10, 2, 2, 7))[0]
    if style == "numbers":
        first, step = generator.choice(((1, 1), (1, 1), (1, 1), (10, 10)))
        return {cls.name: first + step * place for place, cls in enumerate(order)}
    if style == "words":
        return _as_words(order, generator)
    initials = {cls.name: "".join(word[0] for word in cls.name)[:1] if style == "initials" else "" for cls in order}
    return {cls.name: chr(ord("A") + place) + initials[cls.name] for place, cls in enumerate(order)}


def _as_words(order: list[Class], generator: Random) -> dict[str, int | str]:
    """Codes that are words: what a class is called, or only what sets it apart; perhaps cut short."""
    short, upper = generator.random() < 0.25, generator.random() < 0.4
    alone = generator.random() < 0.7
    found: dict[str, int | str] = {}
    for cls in order:
        own = words_of(cls.name)
        said = (own[:1] if alone else own) if len(own) > 1 else own
        text = "_".join(word[:3] if short else word for word in said)
        text = text.upper() if upper else text
        while text in found.values():
            text += "2"
        found[cls.name] = text
    return found


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


def _literal(code: int | str | bool) -> str:
    return str(code).upper() if isinstance(code, int) else "'" + code.replace("'", "''") + "'"
