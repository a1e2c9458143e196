"""What people call the things in a fact: a column of names, first and last name, else what tells rows apart."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ruleminer.proposals.derivations import Derivations, Fact
from ruleminer.rules.body import Body
from ruleminer.rules.values import Atom, Concat, Place, Rule, Variable
from ruleminer.sources.schema import Table
from ruleminer.structure.structure import Structure
from ruleminer.structure.words import best_likeness, likeness

_X, _NAME, _FIRST, _LAST = Variable("x"), Variable("called"), Variable("first"), Variable("last")
_FIRST_NAMES, _LAST_NAMES = ("first name", "given name", "forename"), ("last name", "family name", "surname")
_SAME = 0.9  # how alike a column's name must be to one of these
_ADDRESS = re.compile(r"\S+@\S+|(https?|ftp)://\S*|www\.\S*")  # what people have, and are not called


def names_of(
    facts: Sequence[Fact], rules: Sequence[Rule], derivations: Derivations, structure: Structure
) -> dict[tuple[int, str], str]:
    """What people call the entities in some facts: for an argument's place and its text, a name, where there is one."""
    called: dict[tuple[int, str], str] = {}
    for place in range(len(rules[0].arguments) if rules else 0):
        naming = _naming_rule(rules, place, structure)
        if naming is None:
            continue
        texts: dict[str, list[str]] = {}  # by key: as it is written, with its table or without
        for text in dict.fromkeys(fact[place] for fact in facts):
            told = derivations.texts.told(text)
            if told is None or told[0] == naming.places_of(_X)[0]:
                texts.setdefault(text if told is None else told[1], []).append(text)
        (found,) = derivations.companions([(naming, [(key,) for key in texts])])
        for (key,), name in sorted(found or ()):
            for text in texts.get(key, ()):
                called.setdefault((place, text), name)
    return called


def _naming_rule(rules: Sequence[Rule], place: int, structure: Structure) -> Rule | None:
    """A rule for the names of an argument's entities, by the table of their key."""
    for rule in rules:
        argument = rule.arguments[place]
        if rule.definition_of(argument) is not None:
            continue
        for column in rule.places_of(argument):
            space = structure.space(column)
            if space is not None and space.key.table in structure.schema:
                naming = _naming(structure.schema.table(space.key.table), space.key, structure)
                if naming is not None:
                    return naming.of(rule.predicate)
    return None


def _naming(table: Table, key: Place, structure: Structure) -> Body | None:
    """What the rows of a table are called: a column of names, a first and a last name, else any that tells rows apart.

    An address tells them apart as well, and is taken last.
    """
    columns = structure.naming_columns(table)
    best = max(columns, key=lambda name: _is_name(table.name, name, structure), default=None)
    first, last = (_called_like(names, table, structure) for names in (_FIRST_NAMES, _LAST_NAMES))
    if first and last and (best in (None, first, last) or _is_name(table.name, best, structure) <= 0.0):
        atom = Atom(table.name, ((key.column, _X), (first, _FIRST), (last, _LAST)))
        return Body(Rule("_", (_X, _NAME), (atom,), ((_NAME, Concat((_FIRST, " ", _LAST))),)))
    if best is None:
        return None
    return Body(Rule("_", (_X, _NAME), (Atom(table.name, ((key.column, _X), (best, _NAME))),)))


def _is_name(table: str, column: str, structure: Structure) -> float:
    """How far a column is one of names, by what it is called; less than nothing for one of addresses."""
    known = structure.profile.column(table, column)
    ends = (known.low or "", known.high or "") if known else ("", "")
    if all(_ADDRESS.fullmatch(text) for text in ends):
        return -1.0
    return likeness("name", column) + likeness("title", column)


def _called_like(names: Sequence[str], table: Table, structure: Structure) -> str | None:
    """The column of short texts that is called like one of these names."""
    alike = {column: best_likeness(names, [column]) for column in structure.short_texts(table)}
    best = max(alike, key=lambda column: alike[column], default=None)
    return best if best is not None and alike[best] >= _SAME else None


def told_fact(term: str, fact: Fact, called: Mapping[tuple[int, str], str]) -> str:
    """A fact for the terminal: `hasAuthor(12 “On rules”, 7 “Ann Lee”)`."""
    parts = []
    for place, value in enumerate(fact):
        name = called.get((place, value))
        parts.append(f"{value} “{name}”" if name is not None and name != value else value)
    return f"{term}({', '.join(parts)})"
