"""Splitting: what is known of one kind of thing in two tables with the same key, as where columns came later."""

from __future__ import annotations

from dataclasses import replace

from ruleminer.scenarios.domain import Notion
from ruleminer.scenarios.draws import randomness
from ruleminer.scenarios.layout import Column, Home, Layout, Reference, Role, Table
from ruleminer.scenarios.population import Population

_MORE = Notion("details", ("info", "data", "ext", "profile"))
_LEAST = 3  # columns of values, so that both tables have some


def split(layout: Layout, population: Population) -> Layout:
    """The layout with some of its wider class tables cut in two."""
    generator = randomness(population.seed, "splitting")
    for name in population.members:
        table = layout.tables.get(name)
        if table is None or not table.key or generator.random() < 0.5:
            continue
        values = [column.id for column in table.columns if _can_move(layout, table, column)]
        if len(values) >= _LEAST:
            moved = frozenset(generator.sample(values, generator.randint(1, len(values) - 1)))
            layout = _cut(layout, table, moved)
    return layout


def _can_move(layout: Layout, table: Table, column: Column) -> bool:
    """Whether a column holds the value of an attribute, of the rows' own things."""
    homes = [home for home in layout.homes() if home.table == table.id and column.id in home.object]
    own = all(home.subject == table.key and not home.when and len(home.object) == 1 for home in homes)
    return column.role is Role.VALUE and column.id.startswith("a:") and own


def _cut(layout: Layout, table: Table, moved: frozenset[str]) -> Layout:
    other = replace(
        table,
        id=f"more:{table.id}",
        wording=(*table.wording, _MORE),
        columns=tuple(column for column in table.columns if column.id in moved or column.id in table.key),
        unique=(),
        references=(Reference(table.key, table.id),),
    )
    kept = replace(table, columns=tuple(column for column in table.columns if column.id not in moved))

    def home(one: Home) -> Home:
        inside = one.table == table.id and not moved.isdisjoint(one.object)
        return replace(one, table=other.id) if inside else one

    attributes = {name: tuple(map(home, homes)) for name, homes in layout.attributes.items()}
    return replace(layout.with_table(kept).with_table(other), attributes=attributes)
