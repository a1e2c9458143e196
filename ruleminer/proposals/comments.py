"""What comments say of terms: a name whose words a comment uses early, and few other comments use, may be meant by it.

"Given name. In the U.S., the first name of a Person" tells which column holds it, whatever the two are called.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping

from ruleminer.problem.ontology import OntologyTerm
from ruleminer.structure.words import SAYS_LITTLE, words

_SENTENCE = re.compile(r"(?<=[.;])\s")
_LATER = 0.5  # what a word is worth behind the first two sentences
_RARE = 4.0  # nats from which a word that few comments use is rare


class Comments:
    """The words of all comments of an ontology, and how rare each is among them."""

    def __init__(self, terms: Iterable[OntologyTerm]) -> None:
        self._said = {term.iri: _said(term) for term in terms if term.comments}
        self._used = Counter(word for said in self._said.values() for word in said)

    def of(self, term: OntologyTerm) -> Mapping[str, float]:
        """The words of a term's comments, with what each is worth."""
        return self._said.get(term.iri) or _said(term)

    def use(self, said: Mapping[str, float], name: str) -> float:
        """How far a comment uses the words of a name, from 0 to 1."""
        own = [word for word in words(name) if word not in SAYS_LITTLE and len(word) > 2]
        if not own or not any(word in said for word in own):
            return 0.0
        rarity = [math.log((1 + len(self._said)) / (1 + self._used[word])) + 0.1 for word in own]
        found = sum(rare * said.get(word, 0.0) for rare, word in zip(rarity, own, strict=True))
        return found / sum(rarity) * min(1.0, sum(rarity) / len(own) / _RARE)


def _said(term: OntologyTerm) -> dict[str, float]:
    found: dict[str, float] = {}
    for comment in term.comments:
        for number, sentence in enumerate(_SENTENCE.split(comment)):
            for word in words(sentence):
                if word not in SAYS_LITTLE:
                    found.setdefault(word, 1.0 if number < 2 else _LATER)
    return found
