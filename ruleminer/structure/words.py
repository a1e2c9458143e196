"""Words of names, and how alike two names are: `pc_members` and ProgramCommitteeMember.

Names are cut into words. Two words are alike when they are the same but for their ending, when one abbreviates the
other (`doc`, `dcmnt`: document), or when their trigrams largely agree; and the first letters of several words may stand
for them (`pc`: program committee).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

_RUN = re.compile(r"[^\W\d_]+|\d+")
SAYS_LITTLE = frozenset({"has", "is", "be", "of", "the", "a", "an", "by", "to", "in", "for", "was", "id", "fk", "pk"})
_LITTLE = 0.15


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
    if "".join(ours) == "".join(theirs):  # invoiceline, InvoiceLine
        return 1.0
    found = _covered(ours, theirs)
    if not found:
        return 0.0
    back = _covered(theirs, ours)
    return 2 * found * back / (found + back) if back else 0.0


def best_likeness(titles: Iterable[str], names: Iterable[str]) -> float:
    """The best of all pairs."""
    names = list(names)
    return max((likeness(title, name) for title in titles for name in names), default=0.0)


class NameIndex:
    """Names, for finding those that a title is like at all: of most, no word is like any of the title's."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(dict.fromkeys(names))
        self._words: dict[str, set[int]] = {}
        self._joined: dict[str, set[int]] = {}
        self._initials: dict[str, set[int]] = {}
        for place, name in enumerate(self.names):
            own = words(name)
            for word in own:
                self._words.setdefault(word, set()).add(place)
            self._joined.setdefault("".join(own), set()).add(place)
            for short in _acronyms(own):
                self._initials.setdefault(short, set()).add(place)
        self._known: dict[str, set[int]] = {}  # of a title's word: the names with a word that is like it

    def best(self, titles: Iterable[str]) -> float:
        """The best likeness of any title and any name."""
        found = (likeness(title, self.names[place]) for title in titles for place in self.near(title))
        return max(found, default=0.0)

    def near(self, title: str) -> set[int]:
        """The places of the names that are like a title at all."""
        ours = words(title)
        found = set(self._joined.get("".join(ours), ()))
        for word in ours:
            found |= self._with(word)
        for short in _acronyms(ours):
            found |= self._words.get(short, set())
        return found

    def _with(self, word: str) -> set[int]:
        if word not in self._known:
            found = set(self._initials.get(word, ()))
            for other, places in self._words.items():
                if _alike(word, other) > 0:
                    found |= places
            self._known[word] = found
        return self._known[word]


def _acronyms(some: tuple[str, ...]) -> Iterator[str]:
    """What two to four words that follow each other may be shortened to."""
    for start in range(len(some)):
        for end in range(start + 2, min(start + 4, len(some)) + 1):
            yield "".join(word[0] for word in some[start:end])


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
    weights = [_LITTLE if word in SAYS_LITTLE else 1.0 for word in wanted]
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
    if word in SAYS_LITTLE or other in SAYS_LITTLE or min(len(word), len(other)) < 2:
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
