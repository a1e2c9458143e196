"""How much a rule's names say of a predicate: `is_Author` of Author, `pc_members` of ProgramCommitteeMember.

Names are cut into words. Two words are alike when they are the same but for their ending, when one abbreviates the
other (`doc`, `dcmnt`: document), or when their trigrams largely agree; and the first letters of several words may stand
for them (`pc`: program committee). A predicate's words are looked for in each name of a rule; the name that fits best
counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from ruleminer.rules.values import Constant, Kind, Rule, Variable

_RUN = re.compile(r"[^\W\d_]+|\d+")
_SAYS_LITTLE = frozenset({"has", "is", "be", "of", "the", "a", "an", "by", "to", "in", "for", "was", "id", "fk", "pk"})
_LITTLE = 0.15
Links = Mapping[tuple[str, str], str]

_LONGEST_TEXT = 40  # a constant longer than this is content, not a name


@lru_cache(maxsize=100_000)
def words(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case and without a plural's s.

    >>> words("ProgramCommitteeChairs"), words("pc_members"), words("hasPCChair")
    (('program', 'committee', 'chair'), ('pc', 'member'), ('has', 'pc', 'chair'))
    """
    return tuple(_singular(word.lower()) for run in _RUN.findall(name) for word in _cut(run))


@lru_cache(maxsize=100_000)
def likeness(name: str, other: str) -> float:
    """How alike two names are, from 0 to 1: the mean of what each has of the other's words.

    >>> round(likeness("ProgramCommitteeMember", "pc_members"), 2), likeness("Author", "ID")
    (0.94, 0.0)
    """
    ours, theirs = words(name), words(other)
    if not ours or not theirs:
        return 0.0
    found = _covered(ours, theirs)
    if not found:
        return 0.0
    back = _covered(theirs, ours)
    return 2 * found * back / (found + back) if back else 0.0


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
            own = next((column for column, term in atom.columns if term == x), "")
            names.append(links.get((atom.table, own), atom.table))
            for column, term in atom.columns:
                if isinstance(term, Constant):
                    names.append(column)
                    if term.kind is Kind.TEXT and len(str(term.value)) <= _LONGEST_TEXT:
                        names.append(str(term.value))
                elif term == x:
                    names.append(column)
        return names + _iri_names(rule, x)
    x, y = rule.arguments
    ends = _variables_of(rule, y)
    names = []
    for atom in rule.body:
        columns = [column for column, term in atom.columns if term in ends]
        names += columns
        names += [f"{atom.table}_{column}" for column in columns]
        if any(term == x for _, term in atom.columns) or not columns:
            names.append(atom.table)
            names += [column for column, term in atom.columns if isinstance(term, Variable) and term not in ends]
    return names + _iri_names(rule, y)


def name_fit(titles: Sequence[str], rule: Rule, links: Links = MappingProxyType({})) -> float:
    """How well a rule's names fit a predicate that goes by these titles (its name and labels), from 0 to 1.

    `links` are the columns that are foreign keys, with the table that each leads to.
    """
    told = telling_names(rule, links)
    return max((likeness(title, name) for title in titles for name in told), default=0.0)


def best_likeness(titles: Iterable[str], names: Iterable[str]) -> float:
    """The best of all pairs."""
    names = list(names)
    return max((likeness(title, name) for title in titles for name in names), default=0.0)


def _variables_of(rule: Rule, argument: Variable) -> set[Variable]:
    concat = rule.definition_of(argument)
    return {argument} if concat is None else {part for part in concat.parts if isinstance(part, Variable)}


def _iri_names(rule: Rule, argument: Variable) -> list[str]:
    concat = rule.definition_of(argument)
    return [] if concat is None else [n for p in concat.parts if isinstance(p, str) for n in _path_names(p)]


def _path_names(text: str) -> list[str]:
    """The segments of an IRI's fixed text that are words; its host says nothing."""
    path = re.sub(r"^[A-Za-z][A-Za-z0-9+.-]*://[^/]*", "", text)
    return [segment for segment in re.split(r"[/#?=&]", path) if segment]


def _cut(run: str) -> Iterator[str]:
    """The words of a run of letters: a capital starts one; of several, the last does if a small letter follows."""
    start = 0
    for i in range(1, len(run)):
        if run[i].isupper() and (not run[i - 1].isupper() or run[i + 1 : i + 2].islower()):
            yield run[start:i]
            start = i
    yield run[start:]


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _covered(wanted: tuple[str, ...], given: tuple[str, ...]) -> float:
    """The share of the wanted words that the given ones hold; small words weigh little."""
    weights = [_LITTLE if word in _SAYS_LITTLE else 1.0 for word in wanted]
    best = [max(_alike(word, other) for other in given) for word in wanted]
    for word in given:  # the given word is an acronym of wanted ones, or the other way round
        for start in range(len(wanted)):
            end = start + len(word)
            if 2 <= len(word) <= 4 and end <= len(wanted) and word == "".join(w[0] for w in wanted[start:end]):
                best[start:end] = [max(b, 0.9) for b in best[start:end]]
    for i, word in enumerate(wanted):
        for start in range(len(given)):
            end = start + len(word)
            if 2 <= len(word) <= 4 and end <= len(given) and word == "".join(g[0] for g in given[start:end]):
                best[i] = max(best[i], 0.9)
    return sum(w * b for w, b in zip(weights, best, strict=True)) / sum(weights)


@lru_cache(maxsize=200_000)
def _alike(word: str, other: str) -> float:
    if word == other:
        return 1.0
    if word in _SAYS_LITTLE or other in _SAYS_LITTLE or min(len(word), len(other)) < 2:
        return 0.0
    short, long = sorted((word, other), key=len)
    if len(short) >= 3 and long.startswith(short):
        return 0.85
    if len(short) >= 3 and len(long) >= 5 and short[0] == long[0] and _abbreviates(short, long):
        return 0.7
    shared = _trigrams(word) & _trigrams(other)
    ratio = 2 * len(shared) / (len(_trigrams(word)) + len(_trigrams(other)))
    return ratio if ratio >= 0.5 else 0.0


def _abbreviates(short: str, long: str) -> bool:
    """The letters of the short word stand in the long one in this order, its consonants first of all."""
    letters = iter(long)
    return all(letter in letters for letter in short) and len(short) <= 0.7 * len(long)


@lru_cache(maxsize=100_000)
def _trigrams(word: str) -> frozenset[str]:
    padded = f"  {word} "
    return frozenset(padded[i : i + 3] for i in range(len(padded) - 2))
