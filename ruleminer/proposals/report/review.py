"""What a reviewer looks at first: proposals in order of doubt, each with its place in the report."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from ruleminer.proposals.proposal import Proposal, Proposals, Status

if TYPE_CHECKING:
    from ruleminer.validation.validate import QueryResult

_SURE, _LIKELY = 0.95, 0.8
_FEW = 40  # terms without anything to show that have a page each


class Trust(StrEnum):
    """How far a proposal can be relied on."""

    DOUBTFUL = "doubtful"
    LIKELY = "likely"
    SURE = "sure"
    GUESSED = "guessed"
    NOTHING = "nothing"

    @property
    def meaning(self) -> str:
        """In words, for a legend."""
        return _MEANINGS[self]


_MEANINGS = {
    Trust.DOUBTFUL: f"below {_LIKELY:.0%}: look closely",
    Trust.LIKELY: f"{_LIKELY:.0%} to {_SURE:.0%}",
    Trust.SURE: f"{_SURE:.0%} and above",
    Trust.GUESSED: "drafted without examples",
    Trust.NOTHING: "no rule",
}


@dataclass(frozen=True, slots=True)
class Page:
    """One predicate's place in the report."""

    proposal: Proposal
    anchor: str
    trust: Trust
    certainty: float | None  # the confidence; else what the examples can tell
    derived: int  # positives
    hits: int  # negatives
    agreeing: tuple[bool, ...]  # for each ranker's choice: is it the proposal?
    remarks: tuple[str, ...]
    query: QueryResult | None  # the query pair that asks for this predicate, if it was validated
    mapped: bool  # whether its rules are in the mapping

    @property
    def rankers_differ(self) -> bool:
        """Whether some ranker would propose something else."""
        return not all(self.agreeing)


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures on top of the report."""

    predicates: int
    proposed: int  # that are in the mapping
    rules: int
    unions: int
    facts: int | None
    positives: int
    certainty: float | None  # mean over what is proposed
    calibrated: bool
    trusts: dict[Trust, int]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How one ranker's choices compare with the proposals."""

    ranker: str
    same: int
    different: tuple[Page, ...]
    positives: int
    negatives_hit: int


def pages_of(
    proposals: Proposals, queries: Iterable[QueryResult] = (), mapped: Collection[str] | None = None
) -> tuple[Page, ...]:
    """All predicates, in the order a reviewer needs: what has examples and no rule for them, then the least certain
    proposals first, then guesses, then what has no rule.

    `mapped` names those whose rules are in the mapping, if these are not just those with examples.
    """
    if mapped is None:
        mapped = {one.predicate for one in proposals.proposed}
    asked = {query.target: query for query in reversed(tuple(queries)) if query.target}
    taken: set[str] = set()
    pages = []
    for proposal in sorted(proposals.proposals, key=_doubt):
        certainty = proposal.certainty
        pages.append(
            Page(
                proposal,
                _anchor(proposal.predicate, taken),
                _trust(proposal, certainty),
                certainty,
                proposal.derived,
                proposal.denied,
                tuple(proposal.agrees(choice) for choice in proposal.choices),
                _remarks(proposal),
                asked.get(proposal.predicate),
                proposal.predicate in mapped,
            )
        )
    return tuple(pages)


def folded(pages: Sequence[Page]) -> tuple[tuple[Page, ...], tuple[str, ...]]:
    """The pages that are shown, and the names of terms of which there is nothing to show, if these are many.

    A large ontology has thousands of them: a page for each says no more than a list of their names.
    """
    silent = [page for page in pages if page.trust is Trust.NOTHING and not page.proposal.positives and not page.query]
    if len(silent) <= _FEW:
        return tuple(pages), ()
    gone = {page.anchor for page in silent}
    names = sorted((page.proposal.predicate for page in silent), key=lambda name: (name.casefold(), name))
    return tuple(page for page in pages if page.anchor not in gone), tuple(names)


def summary_of(proposals: Proposals, pages: Sequence[Page]) -> Summary:
    """The figures of all pages together."""
    proposed = [page.proposal for page in pages if page.mapped]
    certainties = [page.certainty for page in pages if page.mapped and page.certainty is not None]
    sizes = [proposal.derives for proposal in proposed if proposal.derives is not None]
    trusts = Counter(page.trust for page in pages)
    return Summary(
        predicates=len(pages),
        proposed=len(proposed),
        rules=sum(len(proposal.rules) for proposal in proposed),
        unions=sum(len(proposal.rules) > 1 for proposal in proposed),
        facts=sum(sizes) if sizes or not proposed else None,
        positives=sum(proposal.positives for proposal in proposals.proposals),
        certainty=sum(certainties) / len(certainties) if certainties else None,
        calibrated=proposals.calibration is not None,
        trusts={trust: trusts[trust] for trust in Trust},
    )


def agreement_of(proposals: Proposals, pages: Sequence[Page]) -> tuple[Agreement, ...]:
    """Each ranker's choices beside what is proposed, over the predicates that have examples."""
    rankers = dict.fromkeys(choice.ranker for proposal in proposals.proposed for choice in proposal.choices)
    found = []
    for ranker in rankers:
        chosen = [
            (page, choice, same)
            for page in pages
            if page.proposal.status is Status.PROPOSED
            for choice, same in zip(page.proposal.choices, page.agreeing, strict=True)
            if choice.ranker == ranker
        ]
        found.append(
            Agreement(
                ranker,
                sum(same for _, _, same in chosen),
                tuple(page for page, _, same in chosen if not same),
                sum(choice.positives_derived for _, choice, _ in chosen),
                sum(choice.negatives_hit for _, choice, _ in chosen),
            )
        )
    return tuple(found)


_STATUSES = (Status.PROPOSED, Status.GUESSED, Status.NOTHING)


def _doubt(proposal: Proposal) -> tuple[int, float, str]:
    certainty = proposal.posterior if proposal.certainty is None else proposal.certainty
    rank = -1 if proposal.positives and proposal.status is not Status.PROPOSED else _STATUSES.index(proposal.status)
    return rank, certainty, proposal.predicate


def _trust(proposal: Proposal, certainty: float | None) -> Trust:
    if proposal.status is Status.GUESSED:
        return Trust.GUESSED
    if certainty is None:
        return Trust.NOTHING
    return Trust.SURE if certainty >= _SURE else Trust.LIKELY if certainty >= _LIKELY else Trust.DOUBTFUL


def _remarks(proposal: Proposal) -> tuple[str, ...]:
    remarks = [proposal.shortfall] if proposal.status is Status.PROPOSED and proposal.shortfall else []
    if proposal.positives and proposal.status is not Status.PROPOSED:
        remarks.append(f"{proposal.positives} examples, no rule for them")
    if len(proposal.rules) > 1:
        remarks.append(f"union of {len(proposal.rules)}")
    if proposal.status is Status.PROPOSED and proposal.derives == 0:
        remarks.append("derives nothing")
    if proposal.status is Status.PROPOSED:
        others = sum(not proposal.agrees(choice) for choice in proposal.choices)
        if others:
            remarks.append(f"{others} ranker{'s' if others > 1 else ''} differ{'' if others > 1 else 's'}")
    return tuple(remarks)


def _anchor(predicate: str, taken: set[str]) -> str:
    """A name for links: letters, digits, `-` and `_` only, whatever the predicate is called."""
    plain = f"p-{re.sub(r'[^A-Za-z0-9_-]+', '-', predicate)[:60]}"
    anchor, number = plain, 1
    while anchor in taken:
        number += 1
        anchor = f"{plain}-{number}"
    taken.add(anchor)
    return anchor
