"""How proposals, reviews and the demo look."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table as RichTable

from ruleminer.terminal.console import results, table
from ruleminer.terminal.validation import validation_tables

if TYPE_CHECKING:
    from ruleminer.demo import DemoResult, Found
    from ruleminer.proposals.proposal import Proposal, Proposals
    from ruleminer.proposals.stage import Delivery
    from ruleminer.review.review import TerminalReview


_POLICY_LINES = 12
_SILENT = "none stands out"
_NARROW = 100  # columns of a terminal below which a table leaves out what can be read in the report
_LISTED = 12  # terms that have no rule
_OTHERWISE = {
    "coverage": "by counting examples",
    "evidence": "by examples and names",
    "neural": "by the trained model",
    "joint": "by the network",
}


def proposal_tables(proposals: Proposals) -> list[RichTable]:
    """The proposed rules with their evidence, those that need a look first; what no term has is no column."""
    rows = []
    for one in sorted(proposals.proposed, key=lambda p: p.certainty or 0.0):
        rivals = [_OTHERWISE.get(choice.ranker, choice.ranker) for choice in one.choices if not one.agrees(choice)]
        rows.append(
            (one.predicate, _rules_text(one), _share(one.certainty), f"{one.derived}/{one.positives}",
             one.denied or None, one.derives, ", ".join(rivals))
        )  # fmt: skip
    headings = ("predicate", "rule", "sure", "examples", "negatives", "derives", "chosen otherwise")
    tables = [_filled_table(f"Proposed by {proposals.ranker}", headings, rows)]
    guesses = [p for p in proposals.proposals if p.status == "guessed"]
    for title, some in (
        ("Drafted, but not by its examples: not in the mapping", [p for p in guesses if p.positives]),
        ("Drafted without examples", [p for p in guesses if not p.positives and p.confidence is not None]),
        ("Guessed by names, not in the mapping", [p for p in guesses if not p.positives and p.confidence is None]),
    ):
        if some:
            named = [
                (p.predicate, _rules_text(p), _share(p.confidence), p.derives, next(iter(p.reasons), _SILENT))
                for p in sorted(some, key=lambda p: -p.posterior)
            ]
            tables.append(_filled_table(title, ("predicate", "rule", "sure", "derives", "weightiest reason"), named))
    return tables if proposals.proposed or not guesses else tables[1:]


def _rules_text(one: Proposal) -> str:
    return "\n".join(text.partition(" <- ")[2] for text in one.texts)


def _filled_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[object]]) -> RichTable:
    """A table without the columns that are empty in all rows, nor, where there is little room, the last one."""
    shown = len(headings) - (results.width < _NARROW)
    kept = [i for i in range(shown) if any(row[i] not in (None, "", _SILENT) for row in rows)]
    drawn = table(title, [headings[i] for i in kept], [[row[i] for i in kept] for row in rows])
    for place, column in zip(kept, drawn.columns, strict=True):
        column.no_wrap = headings[place] in ("sure", "examples", "negatives", "derives")
    return drawn


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def delivery_lines(delivery: Delivery) -> list[str]:
    """What did not fit, what was covered, and where to look."""
    told = delivery.proposals
    count = {status: sum(p.status == status for p in told.proposals) for status in ("proposed", "guessed", "nothing")}
    lines = [f"note: {note}" for note in told.notes]
    lines += told.identity[:_POLICY_LINES]
    if len(told.identity) > _POLICY_LINES:
        lines.append(f"… {len(told.identity) - _POLICY_LINES} more lines on IRIs in the report")
    drafts = [p for p in told.proposals if p.status == "guessed" and p.confidence is not None and not p.positives]
    unsure = [p.predicate for p in drafts if p.predicate not in delivery.mapped]
    against = sum(p.status == "guessed" and bool(p.positives) for p in told.proposals)
    by_names = sum(p.status == "guessed" and p.confidence is None and not p.positives for p in told.proposals)
    named = f", {by_names} guessed by names and not mapped" if by_names else ""
    without = [p.predicate for p in told.proposals if p.status == "nothing"]
    drafted = len(drafts) - len(unsure)
    lines.append(
        f"{count['proposed']} of {len(told.proposals)} terms proposed from examples, {drafted} drafted without{named}, "
        f"{count['nothing']} without a rule{_which(without)}"
    )
    if against:
        lines.append(
            f"{against} drafted otherwise than by {'its' if against == 1 else 'their'} examples, and not mapped"
        )
    if unsure:
        lines.append(f"{len(unsure)} drafted but not sure enough for the mapping{_which(unsure)}")
    if count["proposed"] and told.calibration is None:
        lines.append(
            "how sure is what so few examples can tell; of ten of a term some are hidden, and the choice tried on them"
        )
    lost = [p for p in told.proposals if p.positives and p.status != "proposed"]
    for p in lost[:5]:
        lines.append(f"not proposed: {p.predicate}, for {p.reason}")
    lines += [f"not proposed: {len(lost) - 5} more terms with examples; the report has them"] if len(lost) > 5 else []
    lines.append(f"Look at {delivery.folder / 'report.html'} · R2RML: {delivery.folder / 'mapping.ttl'}")
    return lines


def _which(names: Sequence[str]) -> str:
    """Some terms by name, unless they are very many: then the report has them."""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f" ({', '.join(names[:_LISTED])}{more})" if names else ""


def review_lines(result: TerminalReview) -> list[str]:
    """What a review in the terminal came to."""
    dialogue = result.dialogue
    asked = "1 question" if dialogue.asked == 1 else f"{dialogue.asked} questions"
    lines = [f"note: {note}" for note in result.notes]
    lines.append(f"{asked}, {len(dialogue.changed)} terms with other rules than before; {dialogue.ending}.")
    if result.delivery is not None:
        lines.append(f"Look at {result.delivery.report} · R2RML: {result.delivery.mapping}")
    return lines


def demo_tables(result: DemoResult) -> list[RichTable | str]:
    """What the demo proposed, beside the truth, and how its queries fare."""
    rows = (
        (one.predicate, "\n".join(text.partition(" <- ")[2] for text in one.rules), _share(one.confidence),
         one.facts, one.derived, one.right, _verdict(one))
        for one in result.found
    )  # fmt: skip
    headings = ("predicate", "proposed rule", "confidence", "facts", "derived", "right", "")
    tables: list[RichTable | str] = [table("Proposals on the whole database", headings, rows)]
    if result.delivery.validation is not None:
        tables += validation_tables(result.delivery.validation)
    return tables


def _verdict(one: Found) -> str:
    if one.facts == one.derived == one.right:
        return "exact"
    return "a part" if one.right == one.derived and one.right else "differs"


def demo_lines(result: DemoResult, out: Path) -> list[str]:
    """The demo in short, and where to look."""
    exact = sum(_verdict(one) == "exact" for one in result.found)
    folder = result.delivery.folder
    return [
        f"{exact} of {len(result.found)} predicates exactly right. {result.scenario}",
        f"Open {folder / 'report.html'} in a browser; the mapping as R2RML: {folder / 'mapping.ttl'}",
        f"The truth: {out / 'scenario' / 'mapping.rules'} · the learning curve: {result.training.folder / 'curve.png'}",
        f"Look closer: ruleminer inspect {out / 'scenario' / 'database.duckdb'} · ruleminer dataset show {out / 'run'}",
    ]
