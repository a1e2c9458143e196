"""Ways of storing the same: a table for each concrete class, and tables cut in two."""

from __future__ import annotations

import pytest

from ruleminer.scenarios.concrete import by_concrete_class, can_be_concrete
from ruleminer.scenarios.layout import Layout
from ruleminer.scenarios.plain import plain_layout
from ruleminer.scenarios.population import Population, populated
from ruleminer.scenarios.random_domain import random_domain
from ruleminer.scenarios.splitting import split


def _population(seed: int) -> Population:
    return populated(random_domain(seed), 300, seed)


def _known_columns(layout: Layout) -> bool:
    """Whether every home is in a table that has its columns."""
    return all(
        layout.tables[home.table].has(column)
        for home in layout.homes()
        for column in (*home.subject, *home.object, *(name for name, _ in home.when))
    )


def _concrete() -> tuple[Population, str]:
    for seed in range(40):
        population = _population(seed)
        for root in population.domain.roots:
            if can_be_concrete(population, root.name):
                return population, root.name
    pytest.fail("no hierarchy of forty domains can be stored by concrete classes")


def test_members_of_a_concrete_hierarchy_stand_in_the_tables_of_their_own_class() -> None:
    population, root = _concrete()
    plain = plain_layout(population)
    layout = by_concrete_class(plain, population, root)
    children = [child.name for child in population.domain.children(root)]
    assert [home.table for home in layout.classes[root]] == [root, *children]
    own = {column.id for column in plain.tables[root].columns}
    for child in children:
        assert own <= {column.id for column in layout.tables[child].columns}
        assert all(reference.table != root for reference in layout.tables[child].references)
        assert [home.table for home in layout.classes[child]] == [child]
    assert _known_columns(layout)


def test_a_table_that_is_cut_in_two_keeps_its_key_in_both_and_each_value_in_one() -> None:
    cut = 0
    for seed in range(12):
        population = _population(seed)
        plain = plain_layout(population)
        layout = split(plain, population)
        assert _known_columns(layout)
        for name in layout.tables.keys() - plain.tables.keys():
            cut += 1
            other, first = layout.tables[name], layout.tables[name.removeprefix("more:")]
            values, left = ({c.id for c in table.columns} - {*table.key} for table in (other, first))
            assert other.key == first.key
            assert values
            assert values.isdisjoint(left)
            assert [reference.table for reference in other.references] == [first.id]
    assert cut > 3
