"""What changed between two mappings, by term: rules, and with the database the facts that were gained and lost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ruleminer.errors import DatabaseError, InputError
from ruleminer.problem.rule_files import read_rule_file
from ruleminer.proposals.derivations import Derivations, Fact
from ruleminer.rules.body import Body
from ruleminer.rules.printer import rule_text
from ruleminer.rules.values import Rule
from ruleminer.run import Run
from ruleminer.sources.database import Database

_SAMPLE = 5


@dataclass(frozen=True, slots=True)
class TermDifference:
    """A term whose rules differ; facts are counted only with a database."""

    term: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    gained: int | None = None
    lost: int | None = None
    gained_facts: tuple[Fact, ...] = ()
    lost_facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class MappingDifference:
    """All terms that differ, and how many are the same."""

    terms: tuple[TermDifference, ...]
    same: int


def mapping_rules(place: Path) -> dict[str, tuple[Rule, ...]]:
    """The rules of a mapping by term: of a run, of a folder of proposals, or of a file."""
    files = [place, Run(place).proposals / "mapping.rules", place / "mapping.rules"]
    path = next((one for one in files if one.is_file()), None)
    if path is None:
        raise InputError(f"{place}: no mapping.rules there; `ruleminer propose-mappings` writes it")
    found: dict[str, list[Rule]] = {}
    for _, rule in read_rule_file(path):
        found.setdefault(rule.predicate, []).append(rule)
    return {term: tuple(rules) for term, rules in found.items()}


def mapping_difference(before: Path, after: Path, database: Database | None = None) -> MappingDifference:
    """What the second mapping has that the first has not, and the other way round."""
    old, new = mapping_rules(before), mapping_rules(after)
    derivations = Derivations(database) if database is not None else None
    terms = []
    same = 0
    for term in sorted({*old, *new}):
        one, other = old.get(term, ()), new.get(term, ())
        if set(map(Body, one)) == set(map(Body, other)):
            same += 1
            continue
        gained, gained_facts = _more(other, one, derivations)
        lost, lost_facts = _more(one, other, derivations)
        terms.append(TermDifference(term, _texts(one), _texts(other), gained, lost, gained_facts, lost_facts))
    return MappingDifference(tuple(terms), same)


def _more(
    these: tuple[Rule, ...], those: tuple[Rule, ...], derivations: Derivations | None
) -> tuple[int | None, tuple[Fact, ...]]:
    """How many facts these rules derive and those do not, and some of them."""
    if derivations is None:
        return None, ()
    if not these:
        return 0, ()
    together, alone = derivations.union_size([*these, *those]), derivations.union_size(those) if those else 0
    if together is None or alone is None:
        return None, ()
    try:
        rows = derivations.difference(these, those, _SAMPLE) if those else derivations.sample(these, _SAMPLE)
    except DatabaseError:
        rows = []
    return together - alone, tuple(tuple(map(str, row)) for row in rows)


def _texts(rules: Iterable[Rule]) -> tuple[str, ...]:
    return tuple(sorted(map(rule_text, rules)))
