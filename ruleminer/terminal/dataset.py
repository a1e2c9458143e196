"""How datasets, and models of them, look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table as RichTable

from ruleminer.extraction.summary import DatasetSummary, Gap, doubtful_names, told_contradictions
from ruleminer.terminal.console import table


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
    lines += _names_read(summary.manifest.get("entities", ()))
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


def _names_read(entities: Sequence[Mapping[str, Any]]) -> list[str]:
    """What texts were read as names, by how they were read: of many terms one line, not one for each."""
    told: dict[str, list[Mapping[str, Any]]] = {}
    for one in entities:
        told.setdefault(one["read_as"], []).append(one)
    lines = []
    for read_as, some in told.items():
        terms = [f"{one['predicate']} ({('first', 'second')[one['argument'] - 1]} place)" for one in some]
        more = f" and {len(terms) - _NAMED} more" if len(terms) > _NAMED else ""
        read, of = (sum(one[name] for one in some) for name in ("read", "of"))
        lines.append(f"{read} of {of} texts of {', '.join(terms[:_NAMED])}{more} are read as names, by {read_as}")
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


def metrics_table(metrics: Mapping[str, Any]) -> RichTable:
    """The metrics of one split, with the ceilings that the data allow."""
    rows = [("probability", metrics["p_pos"], metrics["p_neg"])]
    rows += [(f"H@{k}", metrics[f"hit_pos_{k}"], metrics[f"hit_neg_{k}"]) for k in (1, 5, 10)]
    title = f"{metrics['facts']:,} facts of the {metrics['split']} split · at best {metrics['ceiling_pos']:.3f}"
    return table(title, ("", "an allowed rule", "a forbidden rule"), ((n, f"{p:.3f}", f"{q:.3f}") for n, p, q in rows))
