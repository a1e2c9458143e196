"""One spelling for the examples of a term: where some are IRIs and some keys, the keys become IRIs like those.

`MusicAlbum,1` and `MusicAlbum,http://my.org/album/5` are of one kind if one rule derives both but for the spelling:

    MusicAlbum(x) <- album(id: x)
    MusicAlbum(x) <- album(id: a), x = "http://my.org/album/" ++ a

Else each would be the part of a union that derives everything twice. Numbers stand in every table: where examples tell
their tables, only those of the table that most of them tell are taken for the things of the IRIs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ruleminer.proposals.candidate_sets import Arguments, CandidateSet
from ruleminer.rules.body import Body
from ruleminer.rules.canonical import canonical
from ruleminer.rules.mapping import is_absolute, looks_like_iri
from ruleminer.rules.transformations import transformed
from ruleminer.rules.values import Concat, Place, Rule, Transformed, Variable

_VALUE = Variable("a")


def in_one_spelling(positives: Sequence[CandidateSet], facts: Sequence[CandidateSet]) -> list[CandidateSet]:
    """Some facts of a term with IRIs in place of keys, where its positives show rules that differ in that alone."""
    forms = Counter(body for fact in positives if any(map(looks_like_iri, fact.arguments)) for body in fact.bodies)
    spelt = {body: concats for body in forms if (concats := _spelt_ends(body.rule))}
    if not spelt:
        return list(facts)
    votes: Counter[tuple[tuple[int, Concat], ...]] = Counter()
    for body, concats in spelt.items():
        votes[tuple(concats.items())] += forms[body]
    homes = [_commonest(fact.spaces[place] for fact in positives if place < len(fact.spaces)) for place in range(2)]
    spellings = _Spellings(spelt, votes)
    return [fact if _is_elsewhere(fact, homes) else spellings.respelt(fact) for fact in facts]


def _commonest(spaces: Iterable[Place | None]) -> Place | None:
    """The space that most examples tell; None if none does, or none is told more often than others."""
    told = Counter(space for space in spaces if space is not None).most_common(2)
    return told[0][0] if len(told) == 1 or (told and told[0][1] > told[1][1]) else None


def _is_elsewhere(fact: CandidateSet, homes: Sequence[Place | None]) -> bool:
    """Whether an argument is told to be of another space than that of most examples."""
    pairs = zip(fact.spaces, homes, strict=False)
    return any(space is not None and home is not None and space != home for space, home in pairs)


def _spelt_ends(rule: Rule) -> dict[int, Concat]:
    """The arguments that are IRIs put together of one column, by place."""
    found: dict[int, Concat] = {}
    for place, argument in enumerate(rule.arguments):
        concat = rule.definition_of(argument)
        first = concat.parts[0] if concat and concat.parts else None
        if concat is not None and isinstance(first, str) and is_absolute(first) and len(concat.variables) == 1:
            found[place] = Concat(tuple(_anonymous(part) for part in concat.parts))
    return found


def _anonymous(part: str | Variable | Transformed) -> str | Variable | Transformed:
    if isinstance(part, str):
        return part
    return replace(part, variable=_VALUE) if isinstance(part, Transformed) else _VALUE


class _Spellings:
    """The rules that spell IRIs, and the keys in them. Facts share their rules, so each is looked at once."""

    def __init__(
        self,
        spelt: Mapping[Body, Mapping[int, Concat]],
        votes: Mapping[tuple[tuple[int, Concat], ...], int],
    ) -> None:
        self._spelt, self._votes = spelt, votes
        self._canonical: dict[Body, Rule] = {}
        self._keyed: dict[frozenset[int], list[tuple[Rule, tuple[int, ...], Body]]] = {}

    def respelt(self, fact: CandidateSet) -> CandidateSet:
        """The fact with IRIs in place of the keys that most rules with IRIs know of it; itself, if none does."""
        keys = frozenset(place for place, text in enumerate(fact.arguments) if not looks_like_iri(text))
        keyed = self._with_keys(keys)
        own = {self._canonical_of(body) for body in fact.bodies} if keyed else set()
        ways: dict[Arguments, list[Body]] = {}
        weight: Counter[Arguments] = Counter()
        for rule, plain, body in keyed:
            if rule in own:
                concats = self._spelt[body]
                arguments = tuple(
                    _written(concats[place], text) if place in plain else text
                    for place, text in enumerate(fact.arguments)
                )
                ways.setdefault(arguments, []).append(body)
                weight[arguments] = max(weight[arguments], self._votes[tuple(concats.items())])
        if not ways:
            return fact
        arguments = max(ways, key=lambda one: (weight[one], len(ways[one]), one))
        changed = {place for place, text in enumerate(arguments) if text != fact.arguments[place]}
        spaces = tuple(None if place in changed else space for place, space in enumerate(fact.spaces))
        return CandidateSet(arguments, tuple(ways[arguments]), spaces)

    def _with_keys(self, places: frozenset[int]) -> list[tuple[Rule, tuple[int, ...], Body]]:
        """The rules that spell an argument at some of these places, with keys there instead."""
        if places not in self._keyed:
            found = []
            for body, concats in self._spelt.items():
                if plain := tuple(place for place in concats if place in places):
                    found.append((canonical(_as_keys(body.rule, plain)), plain, body))
            self._keyed[places] = found
        return self._keyed[places]

    def _canonical_of(self, body: Body) -> Rule:
        if body not in self._canonical:
            self._canonical[body] = canonical(body.rule)
        return self._canonical[body]


def _as_keys(rule: Rule, places: Sequence[int]) -> Rule:
    """The rule with the columns of some arguments in place of their IRIs."""
    arguments = list(rule.arguments)
    left = set(rule.arguments)
    for place in places:
        left.discard(arguments[place])
        arguments[place] = rule.variables_of(arguments[place])[0]
    kept = tuple((variable, concat) for variable, concat in rule.definitions if variable in left)
    return replace(rule, arguments=tuple(arguments), definitions=kept)


def _written(concat: Concat, key: str) -> str:
    def part_text(part: str | Variable | Transformed) -> str:
        if isinstance(part, str):
            return part
        return str(transformed(part, key)) if isinstance(part, Transformed) else key

    return "".join(map(part_text, concat.parts))
