"""How results look in a terminal: tables on stdout, progress on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as RichTable

from ruleminer.extract.summary import DatasetSummary
from ruleminer.problem.examples import Examples
from ruleminer.problem.ontology import Ontology, Property
from ruleminer.problem.schema import Schema, Table

if TYPE_CHECKING:
    from ruleminer.bench.frame import BenchInfo
    from ruleminer.demo import DemoResult, Found
    from ruleminer.propose.deliver import Delivery
    from ruleminer.propose.proposals import Proposal, Proposals
    from ruleminer.propose.validation.validate import QueryResult, ValidationResult

# In a pipe or a file there is no terminal to be as wide as.
_WIDTH = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 160

_POLICY_LINES = 12

results = Console(highlight=False, width=_WIDTH)
log = Console(stderr=True, highlight=False)


def table(title: str, headings: Iterable[str], rows: Iterable[Iterable[object]]) -> RichTable:
    """A table whose numbers are right-aligned and whose texts mean no markup."""
    cells = [list(row) for row in rows]
    drawn = RichTable(title=title, title_justify="left", title_style="bold", header_style="bold", expand=False)
    for index, heading in enumerate(headings):
        numeric = bool(cells) and all(isinstance(row[index], int | float | None) for row in cells)
        drawn.add_column(heading, justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        drawn.add_row(*(_cell(value) for value in row))
    return drawn


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else escape(str(value))


def schema_table(schema: Schema, source: str) -> RichTable:
    """The tables of a database with their columns and keys."""
    title = f"{source}{f' · schema {schema.name}' if schema.name else ''} · {len(schema.tables)} tables"
    headings = ("table", "rows", "columns", "key", "refers to")
    return table(
        title, headings, ((_name(t), t.rows, _columns(t), ", ".join(t.primary_key), _links(t)) for t in schema.tables)
    )


def _name(t: Table) -> str:
    return f"{t.name} (view)" if t.is_view else t.name


def _columns(t: Table) -> str:
    return ", ".join(f"{column.name}: {column.kind}" for column in t.columns)


def _links(t: Table) -> str:
    return ", ".join(f"{', '.join(key.columns)} → {key.table}" for key in t.foreign_keys)


def ontology_tables(ontology: Ontology) -> list[RichTable]:
    """The classes and the properties of an ontology."""

    def names(iris: Iterable[str]) -> str:
        return ", ".join(_short(ontology, iri) for iri in iris)

    classes = table(
        f"{len(ontology.classes)} classes",
        ("class", "label", "sub-class of"),
        ((c.name, "; ".join(c.labels), names(c.parents)) for c in ontology.classes),
    )
    properties = table(
        f"{len(ontology.properties)} properties",
        ("property", "kind", "domain", "range", "sub-property of", "inverse"),
        (
            (p.name, str(p.kind), names(p.domains), names(p.ranges), names(p.parents), names(p.inverses))
            for p in ontology.properties
            if isinstance(p, Property)
        ),
    )
    return [classes, properties]


def _short(ontology: Ontology, iri: str) -> str:
    term = ontology.get(iri)
    return term.name if term else iri.rsplit("#", 1)[-1].rsplit("/", 1)[-1]


def dataset_tables(summary: DatasetSummary) -> list[RichTable]:
    """What `dataset show` prints."""
    title = f"{summary.facts:,} facts · {summary.rules:,} rules · {summary.candidates:,} candidates"
    predicates = table(
        title,
        ("predicate", "positives", "negatives", "fewest", "median", "most", "rule shared by most", "pos", "neg"),
        (
            (p.predicate, p.positives, p.negatives, p.smallest, p.median, p.largest,
             *((p.rules[0].text, p.rules[0].positives, p.rules[0].negatives) if p.rules else ("(none)", None, None)))
            for p in summary.predicates
        ),
    )  # fmt: skip
    tables = [predicates]
    if summary.gaps:
        rows = ((g.predicate, "+" if g.positive else "-", g.facts, g.reason, g.example) for g in summary.gaps)
        tables.append(table("Facts without a candidate", ("predicate", "", "facts", "why", "such as"), rows))
    return tables


_NAMED = 3  # predicates of a kind


def dataset_line(folder: Path, summary: DatasetSummary) -> str:
    """A dataset in one line."""
    positives = sum(p.positives for p in summary.predicates)
    cut = summary.manifest["cut"]
    seconds = sum(summary.manifest["seconds"].values())
    line = (
        f"{folder}: {len(summary.predicates)} predicates, {positives:,} positives, {summary.facts - positives:,} "
        f"negatives, {summary.rules:,} rules, {summary.candidates:,} candidates in {seconds:.1f} s"
    )
    for what in ("refined", "too_wide"):  # datasets made before there was such a thing lack them
        if names := summary.manifest.get(what):
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            line += f"; {what.replace('_', ' ')}: {', '.join(names[:_NAMED])}{more}"
    return line + (f"; cut {cut['candidates']:,} candidates of {cut['facts']:,} facts" if cut["candidates"] else "")


def tell_examples(examples: Examples) -> None:
    """Say on stderr what the examples are, and which pairs gave nothing and why."""
    silent = [pair for pair in examples.pairs if pair.predicate is None or not pair.facts]
    given = len(examples.pairs) - len(silent)
    parts = [f"{examples.facts.num_rows:,} example facts"]
    if examples.pairs:
        parts.append(f"{given} of {len(examples.pairs)} query pairs gave some")
    log.print(" · ".join(parts), markup=False)
    for pair in silent:
        log.print(f"  nothing from {pair.pair}: {pair.reason or 'it has no rows'}", markup=False)
    for note in examples.notes:
        log.print(f"  {note}", markup=False)


@contextmanager
def progress_bars(quiet: bool = False) -> Iterator[Callable[[str, str, int, int], None]]:
    """A progress bar per stage on stderr; call with stage, what of it, done, total."""
    columns = (TextColumn("{task.fields[stage]:<12}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
               TextColumn("{task.description}", table_column=None))  # fmt: skip
    with Progress(*columns, console=log, transient=False, disable=quiet) as progress:
        tasks: dict[str, object] = {}

        def show(stage: str, what: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = progress.add_task("", total=total, stage=stage)
            progress.update(tasks[stage], completed=done, total=total, description=escape(what))  # type: ignore[arg-type]

        yield show


def metrics_table(metrics: Mapping[str, Any]) -> RichTable:
    """The metrics of one split, with the ceilings that the data allow."""
    rows = [("probability", metrics["p_pos"], metrics["p_neg"])]
    rows += [(f"H@{k}", metrics[f"hit_pos_{k}"], metrics[f"hit_neg_{k}"]) for k in (1, 5, 10)]
    title = f"{metrics['facts']:,} facts of the {metrics['split']} split · at best {metrics['ceiling_pos']:.3f}"
    return table(title, ("", "an allowed rule", "a forbidden rule"), ((n, f"{p:.3f}", f"{q:.3f}") for n, p, q in rows))


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


def _validation_row(query: QueryResult) -> tuple[object, ...]:
    def shown(rows: tuple[tuple[str | None, ...], ...]) -> str:
        return "; ".join(", ".join(" ".join(str(value).split())[:60] for value in row) for row in rows[:2])

    counts = (f"{query.precision:.3f}", f"{query.recall:.3f}", query.sparql_rows, query.sql_rows)
    return (query.name, query.target or "", *counts, query.error or shown(query.missing), shown(query.extra))


def proposal_tables(proposals: Proposals) -> list[RichTable]:
    """The proposed rules with their evidence, those that need a look first."""
    rows = []
    for one in sorted(proposals.proposed, key=lambda p: p.posterior if p.confidence is None else p.confidence):
        rivals = [choice.ranker for choice in one.choices if set(choice.rules) != set(one.texts)]
        rows.append(
            (one.predicate, "\n".join(text.partition(" <- ")[2] for text in one.texts), _share(one.confidence),
             f"{_derived(one)}/{one.positives}",
             _negatives_hit(one), one.derives, ", ".join(rivals))
        )  # fmt: skip
    headings = ("predicate", "rule", "confidence", "positives", "negatives hit", "derives", "other choice of")
    tables = [table(f"Proposed by {proposals.ranker}", headings, rows)]
    guesses = [p for p in proposals.proposals if p.status == "guessed"]
    if guesses:
        named = ((p.predicate, "\n".join(t.partition(" <- ")[2] for t in p.texts), p.derives) for p in guesses)
        tables.append(table("Guessed by name alone: no example", ("predicate", "rule", "derives"), named))
    return tables


def _derived(one: Proposal) -> int:
    """Positives that the proposal as a whole derives."""
    own = next((c for c in one.choices if set(c.rules) == set(one.texts)), None)
    return own.positives_derived if own else max((rule.positives_derived for rule in one.rules), default=0)


def _negatives_hit(one: Proposal) -> int:
    own = next((c for c in one.choices if set(c.rules) == set(one.texts)), None)
    return own.negatives_hit if own else len(one.hit)


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
    lines.append(
        f"{count['proposed']} of {len(told.proposals)} terms proposed from examples, {count['guessed']} guessed by "
        f"name, {count['nothing']} without a rule"
    )
    lost = [p for p in told.proposals if p.positives and p.status != "proposed"]
    lines += [f"not proposed: {p.predicate}, for {p.reason}" for p in lost[:5]]
    lines += [f"not proposed: {len(lost) - 5} more terms with examples; the report has them"] if len(lost) > 5 else []
    lines.append(f"Look at {delivery.folder / 'report.html'} · R2RML: {delivery.folder / 'mapping.ttl'}")
    return lines


def step(line: str) -> None:
    """Say on stderr what happens next."""
    log.print(f"[bold]{escape(line)}[/bold]")


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


def bench_table(benches: Iterable[BenchInfo]) -> RichTable:
    """What benches there are."""
    rows = ((info.name, info.reproduces, info.cost, info.data, ", ".join(info.losses)) for info in benches)
    return table("Benches", ("name", "reproduces", "cost (2 cores)", "data", "losses"), rows)
