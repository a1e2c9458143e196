"""Proposals as values: for each class and property, the rule or rules we would write down, and all the evidence."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any

from ruleminer import notebook
from ruleminer.rules.printer import rule_text
from ruleminer.rules.values import Rule


class Status(StrEnum):
    """What stands behind a proposal."""

    PROPOSED = "proposed"  # examples and rules that derive them
    GUESSED = "guessed"  # no example, only names, structure and other terms; in the mapping if sure enough
    NOTHING = "nothing"  # no rule at all


@dataclass(frozen=True, slots=True)
class RuleEvidence:
    """One rule of a predicate and what speaks for and against it."""

    rule: Rule
    origin: str  # extraction, model, refinement, guess or other terms
    posterior: float
    log_prior: float
    log_likelihood: float
    length: float  # description length, nats
    names: float  # how well its names fit, 0 to 1
    model_log_p: float | None  # of the trained model, if there is one
    model_lift: float | None  # how much more probable the model finds it for this predicate than for others, in nats
    derives: int | None  # facts in the live database; None if it could not be asked
    positives_derived: int
    positives_missed: int
    negatives_hit: int
    alone: int  # positives that no higher rule derives
    shared: int | None  # derived facts that the proposal derives too
    sql: str  # with its constants in it, to be pasted into a client
    verdict: str  # why it was chosen, or why it lost

    @property
    def text(self) -> str:
        """The rule as it is written down."""
        return rule_text(self.rule)


@dataclass(frozen=True, slots=True)
class RankerChoice:
    """What one ranker would propose."""

    ranker: str
    rules: tuple[Rule, ...]
    posterior: float
    derives: int | None
    positives_derived: int
    negatives_hit: int

    @property
    def texts(self) -> tuple[str, ...]:
        """The rules as they are written down."""
        return tuple(map(rule_text, self.rules))


@dataclass(frozen=True, slots=True)
class Proposal:
    """What we propose for one class or property."""

    predicate: str
    iri: str
    kind: str  # class, object property or datatype property
    label: str
    status: Status
    reason: str  # for GUESSED and NOTHING: why there is no more
    positives: int
    negatives: int  # that the user gave
    pooled: int  # rules that competed
    posterior: float
    confidence: float | None  # the posterior, calibrated on held-out examples
    rules: tuple[RuleEvidence, ...]  # one, or several: a union
    alternatives: tuple[RuleEvidence, ...]
    choices: tuple[RankerChoice, ...]  # of all rankers, side by side
    derives: int | None  # facts of the union in the live database
    sample: tuple[tuple[str, ...], ...]  # some of them
    missed: tuple[tuple[str, ...], ...]  # positives that the proposal does not derive
    hit: tuple[tuple[str, ...], ...]  # negatives of the user's that it does
    none: float | None = None  # the probability that the database has nothing of the term, where it was asked
    reasons: tuple[str, ...] = ()  # what spoke for the choice and against it, in nats, where the network decided
    sampled: int = 0  # negatives that extraction made by sampling: they may well hold, and do not decide
    sampled_hit: int = 0  # and how many of these it derives
    offered: tuple[Rule, ...] = ()  # that may be further parts, but that no example shows
    derived: int = 0  # positives that the proposal as a whole derives
    denied: int = 0  # and negatives of the user's

    @property
    def certainty(self) -> float | None:
        """How sure the proposal is, the one figure that is shown: its confidence, or the posterior where there is none.

        What names alone suggest has none. What the proposal misses of the examples is counted in either.
        """
        if self.status is not Status.PROPOSED:
            return self.confidence
        return shown_certainty(self.confidence, self.posterior, self.derived, self.positives, self.denied)

    @property
    def shortfall(self) -> str:
        """In words: that it does not derive all that the user says, or derives what the user denies."""
        return told_shortfall(self.derived, self.positives, self.denied)

    @property
    def proposed_rules(self) -> tuple[Rule, ...]:
        """The rules without their evidence."""
        return tuple(evidence.rule for evidence in self.rules)

    @property
    def texts(self) -> tuple[str, ...]:
        """The proposed rules as they are written down."""
        return tuple(map(rule_text, self.proposed_rules))

    @property
    def offered_texts(self) -> tuple[str, ...]:
        """The rules that may be further parts, as they are written down."""
        return tuple(map(rule_text, self.offered))

    def agrees(self, choice: RankerChoice) -> bool:
        """Whether a ranker would propose the same rules."""
        return set(choice.rules) == set(self.proposed_rules)

    def to_json(self) -> dict[str, Any]:
        """Plain dicts and lists, rules as text."""
        told = _plain(self)
        told["rules"] = [_evidence_json(one) for one in self.rules]
        told["alternatives"] = [_evidence_json(one) for one in self.alternatives]
        told["offered"] = [rule_text(rule) for rule in self.offered]
        told["certainty"] = self.certainty
        told["shortfall"] = self.shortfall
        told["choices"] = [{**_plain(one), "rules": one.texts} for one in self.choices]
        return told


_UNSEEN = 6  # what few examples leave open: 2 of them 1 in 10, 5 of them 1 in 16, 47 of them 1 in 100


def within_examples(sure: float, derived: int, positives: int, denied: int) -> float:
    """How sure a choice is, but no more than the share of the examples that it derives: what it misses, it may miss
    elsewhere. And no more than the share of right ones among the given facts that it derives, nor than so few examples
    can tell: of choices that derive all of two to five, one in ten to one in twenty was wrong on real databases."""
    share = min((derived + 1) / (positives + 1), (derived + 1) / (derived + denied + 1))
    return min(sure, share, 1 - 1 / (2 * derived + _UNSEEN))


def shown_certainty(confidence: float | None, posterior: float, derived: int, positives: int, denied: int) -> float:
    """What held-out examples tell of a choice; where nothing was held out, what its posterior and its examples do."""
    return within_examples(posterior, derived, positives, denied) if confidence is None else confidence


def told_shortfall(derived: int, positives: int, denied: int) -> str:
    """What of the examples a choice does not do justice to; nothing if it derives all that hold and no other."""
    told = [f"derives {derived:,} of your {positives:,} examples"] if derived < positives else []
    counter = "1 of your counter-examples" if denied == 1 else f"{denied:,} of your counter-examples"
    return " and ".join([*told, *([counter if told else f"derives {counter}"] if denied else [])])


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Held-out trials whose confidence fell between two bounds."""

    low: float
    high: float
    trials: int
    confidence: float  # mean
    outcome: float  # mean share of held-out positives that the choice derived (0 if it hit a held-out negative)


@dataclass(frozen=True, slots=True)
class Calibration:
    """confidence = σ(slope · logit(posterior) + shift), fitted on held-out examples."""

    slope: float
    shift: float
    trials: int
    error_before: float  # mean |confidence − outcome| over bins, of the posterior as it is
    error: float  # and after calibration
    bins: tuple[ReliabilityBin, ...]


@dataclass(frozen=True, slots=True)
class Proposals:
    """Everything one run of `propose-mappings` found out."""

    run: str
    source: dict[str, Any]  # url without password, schema, dialect, tables, rows
    ranker: str
    examples: dict[str, int]
    proposals: tuple[Proposal, ...]
    calibration: Calibration | None
    identity: tuple[str, ...]  # the IRI policy, line by line
    notes: tuple[str, ...]  # what did not fit: missing tables, no rights, no model
    seconds: dict[str, float]
    versions: dict[str, str]
    statements: dict[str, int] = field(default_factory=dict)  # that the database was asked, by their sort

    @property
    def proposed(self) -> tuple[Proposal, ...]:
        """The proposals with examples behind them."""
        return tuple(p for p in self.proposals if p.status is Status.PROPOSED)

    def _repr_html_(self) -> str:
        rows = (
            (p.predicate, "\n".join(text.partition(" <- ")[2] for text in p.texts), str(p.status),
             notebook.share(p.certainty), p.positives, p.derives)
            for p in self.proposals
        )  # fmt: skip
        headings = ("predicate", "rule", "status", "confidence", "examples", "derives")
        return notebook.table(f"Proposed by {self.ranker}", headings, rows) + notebook.lines(self.notes)

    def to_json(self) -> dict[str, Any]:
        """Plain dicts and lists, rules as text."""
        calibration = None if self.calibration is None else asdict(self.calibration)
        return {**_plain(self), "proposals": [one.to_json() for one in self.proposals], "calibration": calibration}


def _evidence_json(evidence: RuleEvidence) -> dict[str, Any]:
    told = _plain(evidence)
    del told["rule"]
    return {"text": evidence.text, **told}


def _plain(value: Proposals | Proposal | RuleEvidence | RankerChoice) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}
