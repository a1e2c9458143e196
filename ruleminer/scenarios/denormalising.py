"""Denormalising: what belongs together is stored in one table, so that the same is said over and over.

Of the one end of a link that each row has (a course's department), the attributes stand in every row that leads
there: beside the other table (copied), instead of its columns (moved), or instead of the whole table (absorbed). And
a link to many may be stored in the table of its subject, which then has a row for each target (multiplied).
"""

from __future__ import annotations

from dataclasses import replace

from ruleminer.scenarios.domain import Link, Shortcut
from ruleminer.scenarios.draws import randomness
from ruleminer.scenarios.instance import is_total
from ruleminer.scenarios.layout import Column, Home, Layout, Reference, Role, Table
from ruleminer.scenarios.plain import end_columns
from ruleminer.scenarios.population import Population

_MANNERS = ("absorbed", "moved", "copied")


def denormalised(layout: Layout, population: Population) -> Layout:
    """The layout with some tables stored inside others; which ones is drawn."""
    generator = randomness(population.seed, "denormalising")
    hosts: set[str] = set()
    guests: set[str] = set()
    inner = [link for link in population.domain.links if _can_move_in(population, link) and _stands(layout, link)]
    for number, link in enumerate(generator.sample(inner, len(inner))):
        if link.domain in guests or link.range in guests | hosts:
            continue
        manner = _MANNERS[number] if number < len(_MANNERS) else generator.choice(_MANNERS)
        layout = _with_guest(layout, population, link, manner)
        hosts.add(link.domain)
        guests.add(link.range)
    many = [
        link
        for link in population.domain.links
        if _can_multiply(population, link) and link.domain in layout.tables and f"m:{link.name}" in layout.tables
    ]
    for link in generator.sample(many, len(many)):
        if link.domain not in hosts | guests:
            return _multiplied(layout, population, link)
    return layout


def _stands(layout: Layout, link: Link) -> bool:
    """Whether both ends of a link have tables of their own still, and the link is a column of the first."""
    homes = layout.links[link.name]
    return link.range in layout.tables and len(homes) == 1 and homes[0].table == link.domain


def _can_move_in(population: Population, link: Link) -> bool:
    target = population.domain.cls(link.range)
    is_alone = target.parent is None and not population.domain.children(target.name) and not target.natural
    return is_alone and is_total(population, link)


def _can_multiply(population: Population, link: Link) -> bool:
    """A link to many whose subject's table may lose its key: no rule joins that table by it."""
    domain = population.domain
    joined: set[str] = set()
    for prop in domain.properties:
        if isinstance(prop, Shortcut):
            joined |= {domain.root(name).name for name in (*domain.ends(prop.first)[0], domain.ends(prop.first)[1])}
        elif isinstance(prop, Link) and domain.root(prop.range).natural:
            joined.add(domain.root(prop.domain).name)
    root = domain.root(link.domain)
    return bool(link.many) and not root.natural and root.name not in joined and root != domain.root(link.range)


def _with_guest(layout: Layout, population: Population, link: Link, manner: str) -> Layout:
    domain = population.domain
    host, guest = layout.tables[link.domain], layout.tables[link.range]
    key = layout.links[link.name][0].object
    alias = f'"g_{link.name}"'
    taken = [c for c in guest.columns if c.id not in guest.key and (c.role is Role.VALUE or manner == "absorbed")]
    copies = {column.id: f"g:{link.name}:{column.id}" for column in taken}
    columns = tuple(
        replace(c, id=copies[c.id], wording=(domain.cls(link.range).term, *c.wording), sql=f'{alias}."{c.id}"')
        for c in taken
    )
    inner = ", ".join(["e.i", *(f'{column.sql} AS "{column.id}"' for column in taken)])
    # Only a guest that stays a table keeps a reference to it; its own references come along with it.
    references = host.references
    if manner == "absorbed":
        references += tuple(
            Reference(tuple(copies[column] for column in reference.columns), reference.table)
            for reference in guest.references
        )
    layout = layout.with_table(
        replace(
            host,
            columns=(*host.columns, *columns),
            source=f"{host.source} JOIN (SELECT {inner} FROM {guest.source}) AS {alias} "
            f'ON {alias}.i = e."l_{link.name}"',
            references=references,
        )
    )
    at = dict(zip(guest.key, key, strict=True)) | copies
    match manner:
        case "absorbed":
            return layout.moved(guest.id, host.id, at).without_table(guest.id)
        case "moved":
            layout = layout.with_table(replace(guest, columns=tuple(c for c in guest.columns if c.id not in copies)))
            return replace(
                layout,
                attributes={
                    name: tuple(_moved_home(home, guest, host, at) for home in homes)
                    for name, homes in layout.attributes.items()
                },
            )
        case _:
            return layout


def _moved_home(home: Home, guest: Table, host: Table, at: dict[str, str]) -> Home:
    if home.table != guest.id:
        return home
    return Home(host.id, tuple(at[c] for c in home.subject), tuple(at[c] for c in home.object), home.when)


def _multiplied(layout: Layout, population: Population, link: Link) -> Layout:
    least, _ = population.fan_out(link)
    table = layout.tables[link.domain]
    columns = tuple(_target_column(column, link, least) for column in end_columns(population, link.range, "m.o", "o"))
    ids = tuple(column.id for column in columns)
    fresh = (Reference(ids, link.range),) if link.range in layout.tables else ()
    multiplied = replace(
        table,
        columns=(*table.columns, *columns),
        source=f'{table.source} {"" if least else "LEFT "}JOIN "m_{link.name}" AS m ON m.s = e.i',
        key=(*table.key, *ids) if least else (),
        references=(*(r for r in table.references if r.table != table.id), *fresh),
    )
    homes = {**layout.links, link.name: (Home(table.id, table.key, ids),)}
    layout = layout.without_table(f"m:{link.name}").without_table(table.id)
    return replace(layout.with_table(multiplied), links=homes)


def _target_column(column: Column, link: Link, least: int) -> Column:
    return replace(
        column,
        id=f"m:{link.name}:{column.id}",
        wording=(link.term, *column.wording[1:]),
        role=Role.REFERENCE,
        sql=column.sql if least else f"CASE WHEN m.o IS NOT NULL THEN {column.sql} END",
        required=least > 0,
    )
