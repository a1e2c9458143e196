"""How results look in a terminal: tables on stdout, progress on stderr."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.segment import Segment
from rich.table import Table as RichTable

from ruleminer.errors import printable
from ruleminer.extraction.summary import DatasetSummary, Gap, doubtful_names, told_contradictions
from ruleminer.problem.examples import Examples
from ruleminer.problem.ontology import Ontology, Property
from ruleminer.progress import Progress
from ruleminer.rules.values import Place
from ruleminer.sources.schema import Table
from ruleminer.structure.overview import DECLARED, told_codes, told_keys, told_links
from ruleminer.structure.structure import Structure

if TYPE_CHECKING:
    from ruleminer.bench.runner import BenchRun
    from ruleminer.bench.units import BenchInfo
    from ruleminer.demo import DemoResult, Found
    from ruleminer.proposals.proposal import Proposal, Proposals
    from ruleminer.proposals.stage import Delivery
    from ruleminer.review.diff import MappingDifference
    from ruleminer.review.review import TerminalReview
    from ruleminer.validation.own_facts import FactCheck
    from ruleminer.validation.validate import QueryResult, ValidationResult

# In a pipe or a file there is no terminal to be as wide as.
_WIDTH = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 160

_POLICY_LINES = 12
_SILENT = "none stands out"
_LARGE, _TOP = 200, 25  # terms of an ontology of which not all are listed, and classes that are
_NARROW = 100  # columns of a terminal below which a table leaves out what can be read in the report
_LONGEST_CODE, _CODES = 24, 12  # characters of a code, codes of a column


class PlainConsole(Console):
    """A console on which only we draw: names and values of a database may hold what would steer a terminal."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Rich's own segments; their texts come from the data, so what is not for print stands as its code."""
        for text, style, control in super().render(renderable, options):
            yield Segment(printable(text) if control is None else text, style, control)


results = PlainConsole(highlight=False, width=_WIDTH)
log = PlainConsole(stderr=True, highlight=False)


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


def structure_tables(structure: Structure, source: str) -> list[RichTable | str]:
    """What is known of a database: tables, columns, links, which columns name the same kind of thing, and codes."""
    schema = structure.schema
    name = f" · schema {schema.name}" if schema.name else ""
    tables = [
        (_name(t), _rows(structure, t), _keys(structure, t), ", ".join(structure.naming_columns(t)))
        for t in schema.tables
    ]
    links = [
        (link.start, link.end, f"discovered: {link.why}" if link.why else DECLARED) for link in told_links(structure)
    ]
    spaces = [(".".join(s.key), ", ".join(map(".".join, s.places[1:]))) for s in structure.spaces if len(s.places) > 1]
    codes = [(".".join(place), _code_values(structure, place, told)) for place, told in told_codes(structure).items()]
    parts: list[tuple[str, tuple[str, ...], Sequence[tuple[object, ...]]]] = [
        ("", ("table", "rows", "key", "rows are called by"), tables),
        ("Columns", ("table", "columns"), [(t.name, _columns(t)) for t in schema.tables]),
        (f"{len(links)} links", ("column", "leads to", "why"), links),
        ("Columns that name the same kind of thing", ("key", "columns that hold it"), spaces),
        ("Codes: columns of few values", ("column", "values (rows)"), codes),
    ]
    title = f"[bold]{escape(f'{source}{name} · {len(tables)} tables')}[/bold]"  # a table's own would be as narrow as it
    return [title, *(table(*part) for part in parts if part[2])]


def _name(t: Table) -> str:
    return f"{t.name} (view)" if t.is_view else t.name


def _rows(structure: Structure, t: Table) -> int | None:
    known = structure.profile.tables[t.name]
    return t.rows if known.trouble else known.rows


def _keys(structure: Structure, t: Table) -> str:
    told = told_keys(structure, t)
    return "; ".join(", ".join(key.columns) + (f" (discovered: {key.why})" if key.why else "") for key in told)


def _columns(t: Table) -> str:
    return ", ".join(f"{column.name}: {column.kind}" for column in t.columns)


def _code_values(structure: Structure, place: Place, told: Sequence[tuple[str, int]]) -> str:
    one = structure.profile.column(*place)
    if not told or one is None:
        return f"{one.distinct if one else 0} values, few of them twice"
    values = [f"{_clipped(value)} ({rows:,})" for value, rows in told[:_CODES]]
    return ", ".join(values) + (f" and {one.distinct - _CODES} more" if one.distinct > _CODES else "")


def _clipped(value: str) -> str:
    line = " ".join(value.split())
    return line if len(line) <= _LONGEST_CODE else line[: _LONGEST_CODE - 1] + "…"


def is_large(ontology: Ontology) -> bool:
    """Whether an ontology has more terms than anybody reads."""
    return len(ontology.terms) > _LARGE


def ontology_tables(ontology: Ontology, everything: bool = False) -> list[RichTable | str]:
    """The classes and the properties of an ontology; of a large one what it is about, if not `everything` is asked."""
    if is_large(ontology) and not everything:
        return _ontology_summary(ontology)

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


def _ontology_summary(ontology: Ontology) -> list[RichTable | str]:
    """The uppermost classes, with how many lie below them and how many properties these have."""
    known = {one.iri for one in ontology.classes}
    above = {one.iri: {*one.parents} & known for one in ontology.classes}
    top = [one for one in ontology.classes if not above[one.iri]]
    weight = {one.iri: len(ontology.descendants(one.iri)) for one in ontology.classes}
    widest = max(top, key=lambda one: weight[one.iri], default=None)
    if widest is not None and 2 * weight[widest.iri] > len(known):  # one class above nearly all says little
        top = [widest, *(one for one in ontology.classes if widest.iri in above[one.iri])]
    rows = []
    for one in sorted(top, key=lambda one: (-weight[one.iri], one.name)):
        within = {one.iri, *ontology.descendants(one.iri)}
        rows.append((one.name, weight[one.iri], sum(1 for p in ontology.properties if within & {*p.domains})))
    kinds = Counter(str(one.kind) for one in ontology.properties)
    told = ", ".join(f"{number:,} {kind}" for kind, number in sorted(kinds.items()))
    more = f" and {len(rows) - _TOP:,} more" if len(rows) > _TOP else ""
    return [
        table("The uppermost classes", ("class", "classes below", "properties of these"), rows[:_TOP]),
        f"{len(ontology.classes):,} classes{f', of which {_TOP} are shown{more}' if more else ''}, "
        f"{len(ontology.properties):,} properties ({told})",
    ]


def _short(ontology: Ontology, iri: str) -> str:
    term = ontology.get(iri)
    return term.name if term else iri.rsplit("#", 1)[-1].rsplit("/", 1)[-1]


def dataset_tables(summary: DatasetSummary) -> list[RichTable]:
    """What `dataset show` prints."""
    title = f"{summary.facts:,} facts · {summary.rules:,} rules · {summary.candidates:,} candidates"
    predicates = table(
        title,
        ("predicate", "positives", "negatives", "sampled", "fewest", "median", "most", "rule shared by most", "pos",
         "neg"),
        (
            (p.predicate, p.positives, p.negatives, p.sampled, p.smallest, p.median, p.largest,
             *((p.rules[0].text, p.rules[0].positives, p.rules[0].negatives) if p.rules else ("(none)", None, None)))
            for p in summary.predicates
        ),
    )  # fmt: skip
    if any(p.sampled for p in summary.predicates):
        predicates.caption = "sampled: negatives that nobody gave, made for training; neg counts them, too"
    tables = [predicates]
    if summary.gaps:
        rows = ((g.predicate, "+" if g.positive else "-", g.facts, g.reason, g.example) for g in summary.gaps)
        tables.append(table("Facts without a candidate", ("predicate", "", "facts", "why", "such as"), rows))
    return tables


_NAMED = 3  # predicates of a kind
_LISTED = 12  # terms that have no rule
_WRONG = 5  # reasons for which examples have no rule


def dataset_line(folder: Path, summary: DatasetSummary) -> str:
    """A dataset in one line."""
    positives = sum(p.positives for p in summary.predicates)
    negatives = sum(p.negatives for p in summary.predicates)
    sampled = sum(p.sampled for p in summary.predicates)
    cut = summary.manifest["cut"]
    seconds = sum(summary.times.get("seconds", {}).values())
    line = (
        f"{folder}: {len(summary.predicates)} predicates, {positives:,} positives, {negatives:,} negatives"
        f"{f' (and {sampled:,} made by sampling)' if sampled else ''}, {summary.rules:,} rules, "
        f"{summary.candidates:,} candidates in {seconds:.1f} s"
    )
    if without := sum(gap.facts for gap in summary.gaps if gap.positive):
        line += f"; {without:,} of the positives {'has' if without == 1 else 'have'} no rule"
    denied = {p.predicate for p in summary.predicates if p.negatives}  # what was drawn at random is nobody's word
    for what, why in (  # datasets made before there was such a thing lack them
        ("refined", "refined by narrower rules"),
        ("too_wide", "too wide (all rules of some example derive a counter-example, too)"),
    ):
        if names := [name for name in summary.manifest.get(what, ()) if what == "refined" or name in denied]:
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            line += f"; {why}: {', '.join(names[:_NAMED])}{more}"
    return line + (f"; cut {cut['candidates']:,} candidates of {cut['facts']:,} facts" if cut["candidates"] else "")


def dataset_notes(summary: DatasetSummary) -> list[str]:
    """How examples were read, what is wrong with some, and what the search left out; older datasets tell less."""
    wrong = [gap for gap in summary.gaps if gap.positive]
    lines = [f"no rule: {_gap(gap)}" for gap in wrong[:_WRONG]]
    if len(wrong) > _WRONG:
        lines.append(f"no rule: for {len(wrong) - _WRONG} more reasons; ruleminer dataset show has them")
    lines += told_contradictions(summary.manifest)
    for one in summary.manifest.get("entities", ()):
        place = ("first", "second")[one["argument"] - 1]
        lines.append(
            f"{one['predicate']}: {one['read']} of {one['of']} texts in the {place} place are read as names, by "
            f"{one['read_as']}"
        )
    lines += _bare_keys(summary.manifest.get("bare", ()))
    lines += doubtful_names(summary.manifest)
    if cut := summary.manifest.get("cut_searches"):
        facts, first = sum(one["facts"] for one in cut), max(cut, key=lambda one: int(one["facts"]))
        lines.append(
            f"the search was cut {facts:,} times, by {len(cut)} templates; most often {first['template']}: "
            f"{first['why']}, such as for {first['example']}. dataset/manifest.json has all of them (cut_searches)"
        )
    if common := summary.manifest.get("common_values"):
        some = "; ".join(f"{place}: {', '.join(values[:_NAMED])}" for place, values in list(common.items())[:_NAMED])
        lines.append(
            f"values that very many rows hold are not followed ({some}{'; …' if len(common) > _NAMED else ''})"
        )
    return lines


def _bare_keys(bare: Sequence[Mapping[str, str]]) -> list[str]:
    """What are numbers among names, in a line for each table."""
    by_table: dict[str, list[str]] = {}
    for one in bare:
        by_table.setdefault(one["table"], []).append(f"{one['predicate']},{one['text']}")
    return [
        f"{', '.join(said[:_WRONG])}{f' and {len(said) - _WRONG} more' if len(said) > _WRONG else ''}: a number among "
        f"names of {table}; if it is a key of that, write {table}:{said[0].partition(',')[2]}"
        for table, said in by_table.items()
    ]


def _gap(gap: Gap) -> str:
    """An example without a rule, and how many more are like it."""
    more = f", and {gap.facts - 1:,} more examples so" if gap.facts > 1 else ""
    which = "" if gap.example == gap.fact else f": {gap.example}"
    where = f"{gap.where}: " if gap.where else ""
    return f"{where}{gap.predicate}({gap.fact}): {gap.reason}{which}{more}"


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
def progress_bars(quiet: bool = False) -> Iterator[Progress]:
    """A progress bar per stage on stderr, with the time left, and in the end the time it took."""
    columns = (TextColumn("{task.fields[stage]:<12}"), BarColumn(), MofNCompleteColumn(),
               TimeRemainingColumn(elapsed_when_finished=True), TextColumn("{task.description}"))  # fmt: skip
    bars = Bars(*columns, console=log, transient=False, disable=quiet)
    tasks: dict[str, TaskID] = {}

    def show(stage: str, what: str, done: int, total: int) -> None:
        if not tasks:  # bars that never come leave no empty line
            bars.start()
        if stage not in tasks:
            tasks[stage] = bars.add_task("", total=total, stage=stage)
        bars.update(tasks[stage], completed=done, total=total, description=escape(what))

    try:
        yield show
    finally:
        if tasks:
            bars.stop()


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
        ("Drafted: no rule explains the examples", [p for p in guesses if p.positives]),
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
    drafts = [p for p in told.proposals if p.status == "guessed" and p.confidence is not None]
    unsure = [p.predicate for p in drafts if p.predicate not in delivery.mapped]
    named = (
        f", {count['guessed'] - len(drafts)} guessed by names and not mapped" if count["guessed"] > len(drafts) else ""
    )
    without = [p.predicate for p in told.proposals if p.status == "nothing"]
    drafted = len(drafts) - len(unsure)
    lines.append(
        f"{count['proposed']} of {len(told.proposals)} terms proposed from examples, {drafted} drafted without{named}, "
        f"{count['nothing']} without a rule{_which(without)}"
    )
    if unsure:
        lines.append(f"{len(unsure)} drafted but not sure enough for the mapping{_which(unsure)}")
    if count["proposed"] and told.calibration is None:
        lines.append(
            "how sure is what so few examples can tell; of ten of a term some are hidden, and the choice tried on them"
        )
    lost = [p for p in told.proposals if p.positives and p.status != "proposed"]
    for p in lost[:5]:
        told_as = "drafted, and not by its examples" if p.predicate in delivery.mapped else "not proposed"
        lines.append(f"{told_as}: {p.predicate}, for {p.reason}")
    lines += [f"not proposed: {len(lost) - 5} more terms with examples; the report has them"] if len(lost) > 5 else []
    lines.append(f"Look at {delivery.folder / 'report.html'} · R2RML: {delivery.folder / 'mapping.ttl'}")
    return lines


def _which(names: Sequence[str]) -> str:
    """Some terms by name, unless they are very many: then the report has them."""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f" ({', '.join(names[:_LISTED])}{more})" if names else ""


def typed(prompt: str) -> str | None:
    """What the user types behind a prompt; None at the end of the input."""
    try:
        return log.input(escape(prompt))
    except EOFError:
        return None


def review_lines(result: TerminalReview) -> list[str]:
    """What a review in the terminal came to."""
    dialogue = result.dialogue
    asked = "1 question" if dialogue.asked == 1 else f"{dialogue.asked} questions"
    lines = [f"note: {note}" for note in result.notes]
    lines.append(f"{asked}, {len(dialogue.changed)} terms with other rules than before; {dialogue.ending}.")
    if result.delivery is not None:
        lines.append(f"Look at {result.delivery.report} · R2RML: {result.delivery.mapping}")
    return lines


def difference_tables(difference: MappingDifference) -> list[RichTable | str]:
    """The terms that two mappings differ in."""
    rows = [
        (one.term, *("\n".join(text.partition(" <- ")[2] for text in texts) for texts in (one.before, one.after)),
         _signed("+", one.gained), _signed("−", one.lost),
         "\n".join([*(f"+ {', '.join(fact)}" for fact in one.gained_facts[:2]),
                    *(f"− {', '.join(fact)}" for fact in one.lost_facts[:2])]))
        for one in difference.terms
    ]  # fmt: skip
    told = f"{len(rows)} terms differ, {difference.same} are the same"
    notes = [escape(f"note: {note}") for note in difference.notes]
    if not rows:
        return [told, *notes]
    return [table(told, ("term", "rules before", "rules after", "gained", "lost", "such as"), rows), *notes]


def _signed(sign: str, count: int | None) -> str:
    return "" if count is None else f"{sign}{count:,}" if count else "0"


def say(line: str) -> None:
    """A line on stderr, above the progress bars if there are any."""
    log.print(line, markup=False, soft_wrap=True)


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


def print_bench(run: BenchRun) -> None:
    """The tables of a bench, in as many parts as the terminal is wide for, and what to know when reading them."""
    from ruleminer.bench.tables import fitting, rich_of

    for one in run.tables:
        results.print(f"\n{one.title}", style="bold", markup=False)
        for part in fitting(one, results):
            results.print(rich_of(part))
        for note in one.notes:
            results.print(f"  {note}", style="dim", markup=False)
    for note in run.notes:
        results.print(f"· {note}", markup=False)
    results.print(f"files: {run.folder}", markup=False)
