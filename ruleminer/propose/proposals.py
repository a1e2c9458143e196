"""Proposals as values: for each class and property, the rule or rules we would write down, and all the evidence."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """What stands behind a proposal."""

    PROPOSED = "proposed"  # examples and rules that derive them
    GUESSED = "guessed"  # no example, only names and structure; not part of the mapping unless asked for
    NOTHING = "nothing"  # no rule at all


@dataclass(frozen=True, slots=True)
class RuleEvidence:
    """One rule of a predicate and what speaks for and against it."""

    text: str
    origin: str  # extraction, model, refinement or guess
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


@dataclass(frozen=True, slots=True)
class RankerChoice:
    """What one ranker would propose."""

    ranker: str
    rules: tuple[str, ...]
    posterior: float
    derives: int | None
    positives_derived: int
    negatives_hit: int


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
    negatives: int
    pooled: int  # rules that competed
    posterior: float
    confidence: float | None  # the posterior, calibrated on held-out examples
    rules: tuple[RuleEvidence, ...]  # one, or several: a union
    alternatives: tuple[RuleEvidence, ...]
    choices: tuple[RankerChoice, ...]  # of all rankers, side by side
    derives: int | None  # facts of the union in the live database
    sample: tuple[tuple[str, ...], ...]  # some of them
    missed: tuple[tuple[str, ...], ...]  # positives that the proposal does not derive
    hit: tuple[tuple[str, ...], ...]  # negatives that it does

    @property
    def texts(self) -> tuple[str, ...]:
        """The proposed rules."""
        return tuple(rule.text for rule in self.rules)


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

    @property
    def proposed(self) -> tuple[Proposal, ...]:
        """The proposals with examples behind them."""
        return tuple(p for p in self.proposals if p.status is Status.PROPOSED)

    def to_json(self) -> dict[str, Any]:
        """Plain dicts and lists."""
        return asdict(self)
