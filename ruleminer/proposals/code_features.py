"""What is known of a rule by the code that picks out its rows: yes or no, a number of how many, called a type.

Who tells kinds of things apart by a number has listed the kinds. So a number may stand where its class stands among
those beside it, and a column with as many codes as a class has sub-classes may tell these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ruleminer.problem.ontology import Ontology
from ruleminer.rules.lexical import lexical_form
from ruleminer.rules.values import Constant, Kind, Place, Rule
from ruleminer.structure.structure import Structure
from ruleminer.structure.words import best_likeness

CODE_FEATURES = ("code yes", "code no", "code zero", "code number", "codes", "code's share", "code called a type")
"""What each feature of a rule's code is, in order."""

_YES = frozenset({"true", "t", "yes", "y", "ja", "oui", "si", "on", "x"})
_NO = frozenset({"false", "f", "no", "n", "nein", "non", "off"})
_TYPES = ("type", "kind", "category", "class", "role", "status", "sort", "discriminator")


@dataclass(frozen=True, slots=True)
class Listed:
    """Where a class stands among those with the same class above, as people would list them: by name."""

    place: int
    of: int


@dataclass(frozen=True, slots=True)
class Code:
    """The code of a rule, among those of its column; a rule without a code has none of all this."""

    says: float = 0.0  # 1 yes, -1 no
    zero: bool = False
    number: bool = False
    place: int = 0  # among the codes of the column but zero, least first
    of: int = 0
    share: float = 0.0
    called: float = 0.0  # how much the column is called a type

    def features(self) -> tuple[float, ...]:
        """The features of the rule itself."""
        return (
            float(self.says > 0),
            float(self.says < 0),
            float(self.zero),
            float(self.number),
            float(np.log1p(self.of)) / 2.0,
            self.share,
            self.called,
        )

    def among(self, listed: Listed | None) -> tuple[float, float, float]:
        """Features of the rule for a class: numbered as it is listed? How many are beside it, and codes for them?"""
        if listed is None or listed.of < 2:
            return 0.0, 0.0, 0.0
        beside = float(np.log1p(listed.of)) / 2.0
        if self.of < 2 or self.says or self.zero:
            return 0.0, beside, 0.0
        apart = abs(self.place / (self.of - 1) - listed.place / (listed.of - 1))
        return 1.0 - 2.0 * apart, beside, float(np.clip(np.log(self.of / listed.of), -1.5, 1.5))


NO_CODE = Code()


def codes_of(rule: Rule, structure: Structure) -> Code:
    """The code that picks out the rows of a rule, the first if there are several."""
    for atom in rule.body:
        for column, term in atom.columns:
            if isinstance(term, Constant):
                return _code(Place(atom.table, column), term, structure)
    return NO_CODE


def _code(place: Place, constant: Constant, structure: Structure) -> Code:
    profile = structure.profile.column(*place)
    if profile is None:
        return NO_CODE
    text = lexical_form(constant.value)
    values = [value for value, _ in profile.common]
    says = float(text.casefold() in _YES) - float(text.casefold() in _NO) if profile.distinct <= 2 else 0.0
    number = constant.kind in (Kind.INTEGER, Kind.DECIMAL)
    if number and set(values) <= {"0", "1"}:
        says = 1.0 if text == "1" else -1.0
    others = [value for value in values if value != "0"] if number else values
    others.sort(key=lambda value: (_number(value), value) if number else (0.0, value))
    rows = structure.profile.tables[place.table].rows
    return Code(
        says,
        number and text == "0",
        number,
        others.index(text) if text in others else 0,
        len(others),
        profile.frequency(text) / max(1, rows),
        best_likeness(_TYPES, (place.column,)),
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def listed(ontology: Ontology) -> Mapping[str, Listed]:
    """For each class with a class above: its place among those beside it."""
    beside: dict[str, list[tuple[str, str]]] = {}
    for one in ontology.classes:
        for parent in one.parents[:1]:
            beside.setdefault(parent, []).append((one.name.casefold(), one.iri))
    found: dict[str, Listed] = {}
    for names in beside.values():
        for place, (_, iri) in enumerate(sorted(names)):
            found[iri] = Listed(place, len(names))
    return found
