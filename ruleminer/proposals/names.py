"""How much a rule's names say of a predicate: `is_Author` of Author, `pc_members` of ProgramCommitteeMember.

A predicate's words are looked for in each name of a rule; the name that fits best counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ruleminer.rules.values import Constant, Kind, Place, Rule, Variable
from ruleminer.structure.words import likeness

Links = Mapping[Place, str]

_LONGEST_TEXT = 40  # a constant longer than this is content, not a name


def telling_names(rule: Rule, links: Links = MappingProxyType({})) -> list[str]:
    """The names closest to what the rule derives.

    For a class: the tables (where the members stand in a link to another table: that table), the columns that choose
    rows and their texts. For a property: the columns of its second argument, together with their tables, and the tables
    that only join.
    """
    if len(rule.arguments) == 1:
        x = rule.arguments[0]
        names = []
        for atom in rule.body:
            own = next(iter(atom.columns_of(x)), "")
            names.append(links.get(Place(atom.table, own), atom.table))
            for column, term in atom.columns:
                if isinstance(term, Constant):
                    names.append(column)
                    if term.kind is Kind.TEXT and len(str(term.value)) <= _LONGEST_TEXT:
                        names.append(str(term.value))
                elif term == x:
                    names.append(column)
        return names + iri_words(rule, x)
    x, y = rule.arguments
    ends = rule.variables_of(y)
    names = []
    for atom in rule.body:
        columns = atom.columns_of(*ends)
        names += columns
        names += [f"{atom.table}_{column}" for column in columns]
        if atom.columns_of(x) or not columns:
            names.append(atom.table)
            names += [column for column, term in atom.columns if isinstance(term, Variable) and term not in ends]
    return names + iri_words(rule, y)


def name_fit(titles: Sequence[str], rule: Rule, links: Links = MappingProxyType({})) -> float:
    """How well a rule's names fit a predicate that goes by these titles (its name and labels), from 0 to 1.

    `links` are the columns that are foreign keys, with the table that each leads to.
    """
    told = telling_names(rule, links)
    return max((likeness(title, name) for title in titles for name in told), default=0.0)


def iri_words(rule: Rule, argument: Variable) -> list[str]:
    """The words of the fixed text in an argument's IRI."""
    concat = rule.definition_of(argument)
    return [] if concat is None else [n for p in concat.parts if isinstance(p, str) for n in _path_names(p)]


def _path_names(text: str) -> list[str]:
    """The segments of an IRI's fixed text that are words; its host says nothing."""
    path = re.sub(r"^[A-Za-z][A-Za-z0-9+.-]*://[^/]*", "", text)
    return [segment for segment in re.split(r"[/#?=&]", path) if segment]
