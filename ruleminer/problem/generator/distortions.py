"""Distortions: layouts that differ from the ontology as the paper's table of distortions says.

renaming        the plain tables under other names: all done by names.py
cleaning        no foreign keys, and keys under names that tell less
restructuring   hierarchies in one table, sub-classes told by flags and codes
denormalising   what belongs together stored in one table, over and over
"""

from __future__ import annotations

from dataclasses import replace

from ruleminer.problem.generator.denormalising import denormalised
from ruleminer.problem.generator.layout import Layout
from ruleminer.problem.generator.plain import plain_layout
from ruleminer.problem.generator.population import Population
from ruleminer.problem.generator.restructuring import restructured

KINDS = ("plain", "renaming", "cleaning", "restructuring", "denormalising")


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
        case _:
            return layout


def _without_references(layout: Layout) -> Layout:
    return replace(layout, tables={name: replace(table, references=()) for name, table in layout.tables.items()})
