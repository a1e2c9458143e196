"""Distortions: layouts that differ from the ontology as the paper's table of distortions says.

renaming        the plain tables under other names: all done by names.py
cleaning        no foreign keys, and keys under names that tell less
restructuring   hierarchies in one table, sub-classes told by flags and codes
denormalising   what belongs together stored in one table, over and over
mixed           each hierarchy and link in its own way (a table for each class, for all, for each concrete one), tables
                stored in others or cut in two, and some foreign keys missing, as in schemas that have grown
"""

from __future__ import annotations

from dataclasses import replace

from ruleminer.scenarios.concrete import by_concrete_class, can_be_concrete
from ruleminer.scenarios.denormalising import denormalised
from ruleminer.scenarios.draws import randomness
from ruleminer.scenarios.layout import Layout
from ruleminer.scenarios.plain import plain_layout
from ruleminer.scenarios.population import Population
from ruleminer.scenarios.restructuring import restructured
from ruleminer.scenarios.splitting import split

KINDS = ("plain", "renaming", "cleaning", "restructuring", "denormalising", "mixed")


def distorted_layout(population: Population, kind: str) -> Layout:
    """The layout of a kind."""
    layout = plain_layout(population)
    match kind:
        case "cleaning":
            return _without_references(layout)
        case "restructuring":
            return restructured(layout, population)
        case "denormalising":
            return denormalised(layout, population)
        case "mixed":
            return _mixed(layout, population)
        case _:
            return layout


def _without_references(layout: Layout) -> Layout:
    return replace(layout, tables={name: replace(table, references=()) for name, table in layout.tables.items()})


def _mixed(layout: Layout, population: Population) -> Layout:
    generator = randomness(population.seed, "mixed layout")
    folded, concrete = generator.choice((0.0, 0.3, 0.6, 1.0, 1.0)), generator.choice((0.0, 0.0, 0.5))
    roots = [root.name for root in population.domain.roots if generator.random() < folded]
    layout = restructured(layout, population, roots, links=generator.random() < 0.3)
    for root in population.domain.roots:
        if root.name not in roots and can_be_concrete(population, root.name) and generator.random() < concrete:
            layout = by_concrete_class(layout, population, root.name)
    if generator.random() < 0.3:
        layout = denormalised(layout, population)
    if generator.random() < 0.2:
        layout = split(layout, population)
    missing = generator.choice((0.0, 0.0, 0.0, 0.2, 0.5, 1.0))
    return replace(
        layout,
        tables={
            name: replace(table, references=tuple(r for r in table.references if generator.random() >= missing))
            for name, table in layout.tables.items()
        },
    )
