"""How databases, ontologies and examples look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.markup import escape
from rich.table import Table as RichTable

from ruleminer.problem.examples import Examples
from ruleminer.problem.ontology import Ontology, Property
from ruleminer.rules.values import Place
from ruleminer.sources.schema import Table
from ruleminer.structure.overview import DECLARED, told_codes, told_keys, told_links
from ruleminer.structure.structure import Structure
from ruleminer.terminal.console import log, table

_LARGE, _TOP = 200, 25  # terms of an ontology of which not all are listed, and classes that are
_LONGEST_CODE, _CODES = 24, 12  # characters of a code, codes of a column


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
