"""How validations look, and differences between mappings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table as RichTable

from ruleminer.terminal.console import table

if TYPE_CHECKING:
    from ruleminer.review.diff import MappingDifference
    from ruleminer.validation.own_facts import FactCheck
    from ruleminer.validation.validate import QueryResult, ValidationResult


def validation_tables(result: ValidationResult) -> list[RichTable | str]:
    """The score by category, the queries that are not perfect, what was left out, and all in one line."""
    perfect = sum(query.perfect for query in result.queries)
    headings = ("category", "queries", "precision", "recall", "F")
    averages = [(name, a.queries, a.precision, a.recall, a.f1) for name, a in result.categories.items()]
    averages.append(("All", len(result.queries), result.precision, result.recall, result.f1))
    rows = ((name, count, *(f"{value:.4f}" for value in scores)) for name, count, *scores in averages)
    drawn: list[RichTable | str] = []
    wrong = [query for query in result.queries if not query.perfect]
    if wrong:
        details = ("query", "asks for", "precision", "recall", "SPARQL", "SQL", "missing, such as", "too much, such as")
        drawn.append(table("Queries with another result", details, map(_validation_row, wrong)))
    drawn += _cause_tables(result)
    title = f"{result.scenario} · reasoning: {result.reasoning}"
    drawn.append(table(title, headings, rows))
    drawn += [escape(f"note: {note}") for note in result.notes]
    memory = f", {result.peak_memory_mb:,.0f} MB at most" if result.peak_memory_mb else ""
    drawn.append(
        f"F {result.f1:.4f} (rows matched one to one: {result.strict_f1:.4f}), reasoning {result.reasoning}; "
        f"{perfect} of {len(result.queries)} queries exact; {result.triples:,} triples and {result.inferred:,} "
        f"inferred in {result.seconds:.1f} s{memory}"
    )
    return drawn


def _cause_tables(result: ValidationResult) -> list[RichTable | str]:
    """Why pairs are lost: each with where its fault lies, then how many by cause, and what could be reached."""
    if not result.causes:
        return []
    f1 = {query.pair: query.f1 for query in result.queries}
    headings = ("query", "asks for", "cause", "missing", "too much", "where")
    rows = (
        (one.pair, one.target or "", str(one.cause), one.missing, one.too_much, "\n".join((*one.parts, *one.maps)))
        for one in result.causes
    )
    by_cause: dict[str, list[float]] = {}
    for one in result.causes:
        by_cause.setdefault(str(one.cause), []).append(1 - f1[one.pair])
    counts = (
        (cause, len(lost), f"{sum(lost):.1f}") for cause, lost in sorted(by_cause.items(), key=lambda c: -len(c[1]))
    )
    told = "" if result.reference_f1 is None else f"; the reference has F {result.reference_f1:.4f}"
    return [
        table("Why queries are lost", headings, rows),
        table("By cause", ("cause", "queries", "F lost, summed"), counts),
        f"within reach: F {result.reachable_f1:.4f}{told}",
    ]


def fact_check_tables(check: FactCheck) -> list[RichTable | str]:
    """How many of the user's facts a mapping derives, those that hold and those that do not."""

    def shown(facts: tuple[tuple[str, ...], ...]) -> str:
        return "; ".join(", ".join(fact) for fact in facts[:3])

    rows = (
        (one.predicate, f"{one.derived}/{one.positives}", f"{one.derived_negatives}/{one.negatives}",
         ", ".join(one.things[:3]), shown(one.missed), shown(one.wrong))
        for one in check.predicates
    )  # fmt: skip
    headings = (
        *("predicate", "positives derived", "negatives derived", "things by", "not derived, such as", "wrong, such as"),
    )
    good = sum(one.passes for one in check.predicates)
    return [
        table(f"{check.mapping} · reasoning: {check.reasoning}", headings, rows),
        *(escape(f"note: {note}") for note in check.notes),
        f"{good} of {len(check.predicates)} predicates as the examples say",
    ]


def _validation_row(query: QueryResult) -> tuple[object, ...]:
    def shown(rows: tuple[tuple[str | None, ...], ...]) -> str:
        return "; ".join(", ".join(" ".join(str(value).split())[:60] for value in row) for row in rows[:2])

    counts = (f"{query.precision:.3f}", f"{query.recall:.3f}", query.sparql_rows, query.sql_rows)
    return (query.name, query.target or "", *counts, query.error or shown(query.missing), shown(query.extra))


def difference_tables(difference: MappingDifference) -> list[RichTable | str]:
    """The terms that two mappings differ in."""
    rows = [
        (one.term, *("\n".join(text.partition(" <- ")[2] for text in texts) for texts in (one.before, one.after)))
        for one in difference.terms
    ]
    told = f"{len(rows)} terms differ, {difference.same} are the same"
    notes = [escape(f"note: {note}") for note in difference.notes]
    if not rows:
        return [told, *notes]
    columns = ("term", "rules before", "rules after")
    if not difference.counted:
        uncounted = "facts gained and lost are not counted where no database is given"
        return [table(told, columns, rows), uncounted, *notes]
    facts = [
        (_signed("+", one.gained), _signed("−", one.lost),
         "\n".join([*(f"+ {', '.join(fact)}" for fact in one.gained_facts[:2]),
                    *(f"− {', '.join(fact)}" for fact in one.lost_facts[:2])]))
        for one in difference.terms
    ]  # fmt: skip
    counted = [(*row, *more) for row, more in zip(rows, facts, strict=True)]
    return [table(told, (*columns, "gained", "lost", "such as"), counted), *notes]


def _signed(sign: str, count: int | None) -> str:
    return "" if count is None else f"{sign}{count:,}" if count else "0"
