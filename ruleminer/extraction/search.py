"""The rules that derive some facts: a search as `extract` makes it, for whoever has a question between two stages."""

from __future__ import annotations

from collections.abc import Sequence
from tempfile import TemporaryDirectory

from ruleminer.dataset import read_dataset
from ruleminer.extraction.pipeline import ExtractOptions, extract
from ruleminer.extraction.sampling import Negatives
from ruleminer.problem.facts import Fact, fact_table
from ruleminer.problem.ontology import Ontology
from ruleminer.problem.template_files import read_templates
from ruleminer.rules.body import Body
from ruleminer.sources.database import Database
from ruleminer.structure.structure import Structure

_MOST = 100  # rules of a fact
_SECONDS = 30.0  # that a step of the search may take
_OPTIONS = ExtractOptions(positives=None, negatives=Negatives.NONE, max_candidates=_MOST, timeout=_SECONDS)


def rules_deriving(
    facts: Sequence[Fact], database: Database, structure: Structure, ontology: Ontology
) -> dict[str, tuple[Body, ...]]:
    """By predicate, what rules of the shipped templates derive any of its facts, which are read as examples are."""
    with TemporaryDirectory(prefix="ruleminer-") as folder:
        extract(database, fact_table(facts), read_templates(), folder, _OPTIONS, structure=structure, ontology=ontology)
        found = read_dataset(folder)
        bodies = found.bodies(found.rules["rule"].to_pylist())
        rules: dict[str, dict[Body, None]] = {}
        for one in found.facts_with_rules():
            rules.setdefault(one.predicate, {}).update((bodies[number], None) for number in one.rules)
        return {predicate: tuple(own) for predicate, own in rules.items()}
