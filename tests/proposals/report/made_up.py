"""Made-up proposals with everything a report can show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any

from ruleminer.learn.curve import CurvePoint
from ruleminer.problem.ontology import Ontology, OntologyClass, Property, PropertyKind
from ruleminer.proposals.proposal import (
    Calibration,
    Proposal,
    Proposals,
    RankerChoice,
    ReliabilityBin,
    RuleEvidence,
    Status,
)
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.printer import name_text
from ruleminer.validation.scoring import Average
from ruleminer.validation.validate import QueryResult, ValidationResult


def evidence(text: str, verdict: str = "chosen", **changes: Any) -> RuleEvidence:
    """A rule's evidence."""
    made = RuleEvidence(
        rule=parse_rule(text),
        origin="extraction",
        posterior=0.9,
        log_prior=-4.25,
        log_likelihood=-31.5,
        length=8.1,
        names=0.75,
        model_log_p=-2.5,
        model_lift=1.5,
        derives=564,
        positives_derived=9,
        positives_missed=1,
        negatives_hit=1,
        alone=2,
        shared=560,
        sql='SELECT DISTINCT t1."ID" AS "x" FROM "Person" AS t1 WHERE t1."is_Author" = TRUE',
        verdict=verdict,
    )
    return replace(made, **changes)


def proposal(name: str, confidence: float | None = 0.97, **changes: Any) -> Proposal:
    """A proposal with one rule and one that lost."""
    head, flag = name_text(name), name_text(f"is_{name}")
    rule, other = f"{head}(x) <- Person(ID: x, {flag}: true)", f"{head}(x) <- Person(ID: x)"
    made = Proposal(
        predicate=name,
        iri=f"http://example.org/{name}",
        kind="class",
        label=f"the {name}",
        status=Status.PROPOSED,
        reason="",
        positives=10,
        negatives=10,
        pooled=42,
        posterior=0.93,
        confidence=confidence,
        rules=(evidence(rule),),
        alternatives=(evidence(other, "derives 774 facts where 564 explain the examples"),),
        choices=(
            RankerChoice("coverage", (parse_rule(other),), 1.0, 774, 10, 3),
            RankerChoice("evidence", (parse_rule(rule),), 0.93, 564, 9, 1),
            RankerChoice("neural", (parse_rule(rule),), 0.9, 564, 9, 1),
        ),
        derives=564,
        sample=(("p1",), ("p2",)),
        missed=(("p9",),),
        hit=(("n1",),),
    )
    return replace(made, **changes)


def bare(name: str, status: Status, reason: str) -> Proposal:
    """A predicate without examples: a guess, or nothing."""
    guess = (evidence(f"{name}(x) <- {name.lower()}s(ID: x)"),) if status is Status.GUESSED else ()
    return proposal(
        name,
        None,
        status=status,
        reason=reason,
        positives=0,
        negatives=0,
        posterior=0.4,
        rules=guess,
        alternatives=(),
        choices=(),
        derives=7 if guess else None,
        sample=(),
        missed=(),
        hit=(),
    )


def proposals(*made: Proposal, **changes: Any) -> Proposals:
    """A run's proposals."""
    whole = Proposals(
        run="runs/first",
        source={"url": "postgresql://reader:***@db/cmt", "schema": "cmt", "dialect": "postgres", "tables": 32},
        ranker="evidence",
        examples={"positives": 20, "negatives": 20},
        proposals=made,
        calibration=Calibration(
            1.12, -0.3, 220, 0.024, 0.012, (ReliabilityBin(0, 0.5, 0, 0, 0), ReliabilityBin(0.5, 1, 220, 0.9, 0.92))
        ),
        identity=("http://example.org/data/Person/{}  Person and the 14 classes of its hierarchy",),
        notes=("table Secret cannot be read (permission denied); rules on it are left out",),
        seconds={"database": 2.5, "ranking": 0.2},
        versions={"ruleminer": "0.1.0"},
    )
    return replace(whole, **changes)


def everything() -> tuple[Proposals, Ontology, tuple[CurvePoint, ...], ValidationResult]:
    """All that a report can show, at once."""
    union = proposal("name", 0.7, kind="datatype property", sample=(("p1", "Ann"),), missed=(), hit=())
    union = replace(union, rules=(*union.rules, evidence('name(x, y) <- Conference(ID: x, "full name": y)')))
    made = proposals(
        proposal("Author"),
        union,
        proposal("writes", 0.85, kind="object property"),
        bare("Chair", Status.GUESSED, "no examples"),
        bare("Bid", Status.NOTHING, "no examples"),
    )
    terms = {one.predicate: one.iri for one in made.proposals}
    ontology = Ontology(
        (
            OntologyClass(terms["Author"], "Author", parents=(terms["Chair"],)),
            OntologyClass(terms["Bid"], "Bid"),
            OntologyClass(terms["Chair"], "Chair", parents=(terms["Author"],)),  # a circle
            OntologyClass("http://example.org/Unheard", "Unheard"),
        ),
        (
            Property(terms["name"], "name", PropertyKind.DATATYPE),
            Property(terms["writes"], "writes", PropertyKind.OBJECT),
        ),
    )
    curve = tuple(CurvePoint(50 * i, 60 / i**3, 1 - 1 / i, 0.1 / i) for i in range(1, 9))
    return made, ontology, curve, validation()


def validation() -> ValidationResult:
    """A validation with a right, a wrong and a broken query."""
    right = QueryResult(
        pair="q1",
        name="all authors",
        categories=("class",),
        target="Author",
        precision=1.0,
        recall=1.0,
        f1=1.0,
        sparql_rows=9,
        sql_rows=9,
        matches=9,
        strict_precision=1.0,
        strict_recall=1.0,
    )
    wrong = replace(right, pair="q2", name="all names", target="name", precision=0.5, recall=0.25, f1=1 / 3, matches=2)
    wrong = replace(wrong, missing=(("p7", None),), extra=(("p8", "Bob"),))
    broken = replace(wrong, pair="q3", name="", target=None, missing=(), extra=(), error="its SQL failed: no table x")
    return ValidationResult(
        mapping="mapping.ttl",
        scenario="cmt",
        database="postgresql://reader:***@db/cmt",
        reasoning="rdfs",
        precision=0.75,
        recall=0.625,
        f1=0.68,
        strict_f1=0.66,
        queries=(right, wrong, broken),
        categories={"class": Average(1, 1.0, 1.0, 1.0), "other": Average(2, 0.5, 0.25, 1 / 3)},
        triples=1200,
        inferred=200,
        seconds=3.4,
        peak_memory_mb=120.0,
        notes=("1 disabled pairs were left out, as the scenario asks",),
    )


def with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """The same value with every text in it changed, however deep."""
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return change(value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: with_texts(getattr(value, f.name), change) for f in fields(value)})
    if isinstance(value, dict):
        return {with_texts(key, change): with_texts(item, change) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(with_texts(item, change) for item in value)
    return value
