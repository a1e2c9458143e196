"""How right mappings of ordinary databases are: a few examples of each term, extracted from and proposed; truth by SQL.

A unit is one database with so many examples, drawn and written in one way, with the whole ontology or the part of it
that the truth names. What is compared is what would be published: the proposed rules, run, entity by entity.
"""

from __future__ import annotations

import resource
import shutil
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from rdflib import XSD

from ruleminer import api
from ruleminer.bench.real_problem import Problem, problems_in
from ruleminer.bench.real_truth import DRAWS, FORMS, Argument, Entity, Fact, Row, Truth
from ruleminer.bench.tables import Cell, Table
from ruleminer.bench.units import Bench, BenchInfo, BenchOptions, Record, Tick, Unit
from ruleminer.dataset import read_dataset
from ruleminer.errors import DatabaseError, InputError
from ruleminer.problem.ontology import Ontology, Property, read_ontology
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.draft import DraftRequest, draft_mapping
from ruleminer.proposals.identity import entity_arguments, entity_key, leads_to_entity, spells_iri
from ruleminer.proposals.pool import Pool, dataset_pools
from ruleminer.proposals.request import MIN_CONFIDENCE
from ruleminer.proposals.stage import is_mapped
from ruleminer.rules.printer import rule_text
from ruleminer.rules.values import Concat, Kind, Rule, Variable
from ruleminer.sources.data_folder import data_folder
from ruleminer.sources.database import open_database
from ruleminer.structure.files import read_structure
from ruleminer.structure.spaces import compound_root
from ruleminer.structure.structure import learn_structure

NUMBERS = (1, 2, 5, 10)
WHOLE, PART = "whole", "part"
_SURE = 0.9  # the confidence of a draft that should be right
_COMPARED = 5  # examples with which the whole ontology is compared with a part of it
_MOST_RUN = 300  # rules of a pool that are run to find out whether the truth was among them


def _units(options: BenchOptions) -> list[Unit]:
    smoke = options.scale == "smoke"
    numbers, draws, forms = ((_COMPARED,), DRAWS[:1], FORMS[:1]) if smoke else (NUMBERS, DRAWS, FORMS)
    units = [
        Unit(
            f"{problem.name}, no example",
            {"problem": problem.name, "truth": problem.digest, "examples": 0, "draw": "", "form": "",
             "ontology": WHOLE, "seed": 0},
            25.0,
        )
        for problem in _problems(options)
    ]  # fmt: skip
    for problem, number, draw, form in product(_problems(options), numbers, draws, forms):
        ontologies = (WHOLE, PART) if number == _COMPARED and draw == "people" else (WHOLE,)
        for ontology, seed in product(ontologies, range((options.seeds or 1) if draw == "random" else 1)):
            settings = {"problem": problem.name, "truth": problem.digest, "examples": number, "draw": draw}
            settings |= {"form": form, "ontology": ontology, "seed": seed}
            key = f"{problem.name}, {number} {draw}, {form}, {ontology}" + (f", seed {seed}" if seed else "")
            units.append(Unit(key, settings, 25.0))
    return units


def _problems(options: BenchOptions) -> list[Problem]:
    data = data_folder()
    folder = options.data or (None if data is None else data / "real")
    if folder is None:
        raise InputError("the bench real needs databases with their truth: give a folder with ‹data›")
    if (folder / "real").is_dir() and not (folder / "truth.tsv").is_file():
        folder = folder / "real"
    return problems_in(folder)


def _run(unit: Unit, options: BenchOptions, tick: Tick) -> dict[str, Any]:
    wanted = unit.settings
    problem = next(one for one in _problems(options) if one.name == wanted["problem"])
    folder = options.out / "real-runs" / unit.key.replace(", ", "-").replace(" ", "-").replace(":", "-")
    shutil.rmtree(folder, ignore_errors=True)
    url = problem.database()
    if not wanted["examples"]:
        return _drafted(problem, url, folder)
    with open_database(url) as database:
        truth = Truth(problem, database, learn_structure(database))
        rows = {
            term: truth.draw(term, wanted["examples"], wanted["draw"], wanted["form"], wanted["seed"])
            for term in problem.sql
        }
        examples = [(term, *truth.written(row, wanted["form"])) for term, drawn in rows.items() for row in drawn]
    tick(0.1)
    _forget_peak()
    begun = time.process_time()
    ontology = read_ontology(problem.ontology())
    seconds = {"ontology": time.process_time() - begun}
    if wanted["ontology"] == PART:
        ontology = part_of(ontology, problem.sql)
    begun = time.process_time()
    api.extract(url, ontology, examples, folder)
    seconds["extract"] = time.process_time() - begun
    tick(0.6)
    begun = time.process_time()
    delivery = api.propose(folder)
    seconds["propose"] = time.process_time() - begun
    peak = _peak()
    tick(0.9)
    chosen = {one.predicate: one.proposed_rules for one in delivery.proposals.proposed}
    with open_database(url) as database:
        structure = read_structure(folder / "structure.json")
        assert structure is not None
        comparison = Comparison(Truth(problem, database, structure), ontology, Derivations(database, structure))
        terms = comparison.all_terms(chosen, dataset_pools(read_dataset(folder)), rows)
    silent = [term for term in rows if not rows[term]]
    terms = [term for term in terms if term["term"] not in silent]
    return {
        "without_example": silent,
        "terms": len(terms),
        "exact": sum(term["exact"] for term in terms),
        "exact_as_shown": sum(term["exact"] or term["exact_as_shown"] for term in terms),
        "f1": float(np.mean([term["f1"] for term in terms])),
        "examples": len(examples),
        "missed": [term for term in terms if not term["exact"]],
        "seconds": {name: round(value, 2) for name, value in seconds.items()},
        "peak_mb": round(peak),
    }


def _drafted(problem: Problem, url: str, folder: Path) -> dict[str, Any]:
    """A draft from the database and the whole ontology alone: what it maps, and what of that is right."""
    begun = time.process_time()
    ontology = read_ontology(problem.ontology())
    seconds = {"ontology": time.process_time() - begun}
    begun = time.process_time()
    delivery = draft_mapping(DraftRequest(db=url, ontology=ontology, out=folder))
    seconds["propose"] = time.process_time() - begun
    mapped = {one.predicate: one for one in delivery.proposals.proposals if is_mapped(one, MIN_CONFIDENCE)}
    with open_database(url) as database:
        structure = read_structure(folder / "structure.json")
        assert structure is not None
        comparison = Comparison(Truth(problem, database, structure), ontology, Derivations(database, structure))
        rules = {name: one.proposed_rules for name, one in mapped.items()}
        terms = comparison.all_terms(rules, {}, dict.fromkeys(problem.sql, ()))
    exact = {ontology.find(term["term"]).name for term in terms if term["exact"]}
    named = {ontology.find(name).name for name in problem.sql}
    return {
        "terms": len(terms),
        "exact": len(exact),
        "exact_as_shown": len(exact),
        "f1": float(np.mean([term["f1"] for term in terms])),
        "mapped": len(mapped),
        "mapped_exact": len(exact & mapped.keys()),
        "mapped_in_truth": len(named & mapped.keys()),
        "sure": sum(one.confidence >= _SURE for one in mapped.values() if one.confidence is not None),
        "sure_exact": sum(mapped[name].confidence >= _SURE for name in exact & mapped.keys()),  # type: ignore[operator]
        "others": [
            [name, round(one.confidence or 0.0, 2), *map(_body, one.proposed_rules)]
            for name, one in mapped.items()
            if name not in named
        ],
        "missed": [term for term in terms if not term["exact"]],
        "seconds": {name: round(value, 2) for name, value in seconds.items()},
        "peak_mb": round(_peak()),
    }


def part_of(ontology: Ontology, names: Iterable[str]) -> Ontology:
    """The terms of these names, with the classes at their ends and all that lies above."""
    wanted = {ontology.find(name).iri for name in names}
    properties = [term for term in ontology.properties if term.iri in wanted]
    wanted |= {iri for term in properties for iri in (*term.domains, *term.ranges)}
    wanted |= {above for iri in sorted(wanted) for above in ontology.ancestors(iri)}
    return replace(
        ontology,
        classes=tuple(term for term in ontology.classes if term.iri in wanted),
        properties=tuple(term for term in ontology.properties if term.iri in wanted),
        sha256=f"{ontology.sha256} in part",
    )


class Comparison:
    """Proposed rules against the truth, and where a miss comes from."""

    def __init__(self, truth: Truth, ontology: Ontology, derivations: Derivations) -> None:
        self.truth, self.ontology, self.derivations = truth, ontology, derivations

    def all_terms(
        self, chosen: Mapping[str, tuple[Rule, ...]], pools: Mapping[str, Pool], drawn: Mapping[str, Sequence[Row]]
    ) -> list[dict[str, Any]]:
        """For each term of the truth: how right the chosen rules are, and for a miss why."""
        return [self._term(name, chosen, pools, drawn[name]) for name in self.truth.problem.sql]

    def _term(
        self,
        name: str,
        chosen: Mapping[str, tuple[Rule, ...]],
        pools: Mapping[str, Pool],
        drawn: Sequence[Row],
    ) -> dict[str, Any]:
        predicate = self.ontology.find(name).name
        rules = chosen.get(predicate, ())
        true = self.truth.facts(name)
        got = frozenset[Fact]().union(*map(self.published, rules))
        both = len(true & got)
        told = {"term": name, "exact": got == true, "f1": 2 * both / max(1, len(true) + len(got))}
        if got == true:
            return told
        told["exact_as_shown"] = bool(drawn) and got == self.truth.facts(name, drawn)
        told |= {"true": len(true), "proposed": len(got), "both": both, "rules": list(map(_body, rules))}
        if told["exact_as_shown"]:
            return told | {"why": "right but for parts that no example shows"}
        return told | {"why": self._why(true, rules, pools.get(predicate))}

    def _why(self, true: frozenset[Fact], rules: Sequence[Rule], pool: Pool | None) -> str:
        """Whether rules of the pool would have made the truth, or which part of it none makes."""
        reached: set[Fact] = set()
        if pool is not None:
            sizes = self.derivations.sizes(pool.rules, pool.bodies)
            fitting = [(size, rule) for size, rule in zip(sizes, pool.rules, strict=True) if size and size <= len(true)]
            for _, rule in sorted(fitting, key=lambda one: -one[0])[:_MOST_RUN]:
                facts = self.published(rule)
                if facts <= true:
                    reached |= facts
                if len(reached) == len(true):
                    return "in the pool, not chosen" if rules else "in the pool, nothing proposed"
        return f"in the pool for {len(reached):,} of {len(true):,}" if reached else "no rule in the pool"

    def published(self, rule: Rule) -> frozenset[Fact]:
        """The facts of a rule as its triples would tell them: an entity in its space, or a value."""
        entities = set(entity_arguments(self.ontology, rule, self.derivations.structure))
        term = self.ontology.find(rule.predicate)
        is_value = isinstance(term, Property) and not leads_to_entity(term, rule, self.derivations.structure)
        readers = [
            self._reader(rule, place, variable in entities and not (place == 1 and is_value))
            for place, variable in enumerate(rule.arguments)
        ]
        try:
            rows = self.derivations.derived(self._as_written(rule, entities))
        except DatabaseError:
            return frozenset()
        return frozenset(tuple(read(text) for read, text in zip(readers, row, strict=True)) for row in rows)

    def _as_written(self, rule: Rule, entities: Collection[Variable]) -> Rule:
        """The rule with keys of several columns in the order in which the truth writes them."""
        definitions = []
        for variable, concat in rule.definitions:
            parts = concat.variables
            if len(parts) > 1 and variable in entities and not concat.transformations:
                root = compound_root([rule.places_of(part)[0] for part in parts], self.derivations.structure.schema)
                order = self.truth.orders.get(tuple(sorted(root)), tuple(root))
                parts = tuple(parts[root.index(place)] for place in order)
                concat = Concat(tuple(piece for part in parts for piece in ("/", part))[1:])
            definitions.append((variable, concat))
        return replace(rule, definitions=tuple(definitions))

    def _reader(self, rule: Rule, place: int, is_entity: bool) -> Callable[[str], Argument]:
        variable = rule.arguments[place]
        if spells_iri(rule, variable):
            return lambda text: self.truth.entity(text) or text.rstrip()
        if not is_entity:
            day = self._is_day(rule, place)
            return lambda text: self.truth.entity(text) or (text[:10] if day else text.rstrip())
        key, _ = entity_key(rule, variable, self.derivations.structure)
        space = ",".join(".".join(one) for one in key)

        def read(text: str) -> Argument:
            return self.truth.entity(text) or Entity(space, text)  # a column may hold whole IRIs

        return read

    def _is_day(self, rule: Rule, place: int) -> bool:
        """Whether what is published of a timestamp is its day, for the ontology asks for days."""
        variable = rule.arguments[place]
        if place == 0 or rule.definition_of(variable) is not None:
            return False
        column = self.derivations.structure.schema.type_of(*rule.places_of(variable)[0])
        wanted = self.ontology.datatype(self.ontology.find(rule.predicate).iri)
        return column.kind is Kind.TIMESTAMP and wanted == str(XSD.date)


def _body(rule: Rule) -> str:
    return rule_text(rule).partition(" <- ")[2]


def _forget_peak() -> None:
    """Let the kernel begin its measure of the peak anew, where it can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> float:
    """The most memory that the process has had, in MB; since `_forget_peak` on Linux."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _tables(records: Sequence[Record]) -> list[Table]:
    problems = list(dict.fromkeys(record.settings["problem"] for record in records))
    return [
        table for name in problems for table in _tables_of(name, [r for r in records if r.settings["problem"] == name])
    ]


def _tables_of(name: str, records: Sequence[Record]) -> list[Table]:
    cells: dict[tuple[str, str, int], list[Record]] = defaultdict(list)
    drafts = [record for record in records if not record.settings["examples"]]
    records = [record for record in records if record.settings["examples"]]
    found_tables = [_draft_table(name, drafts[0])] if drafts else []
    if not records:
        return found_tables
    for record in records:
        if record.settings["ontology"] == WHOLE:
            cells[record.settings["draw"], record.settings["form"], record.settings["examples"]].append(record)
    numbers = [number for number in NUMBERS if any(place[2] == number for place in cells)]
    rows = []
    for draw in DRAWS:
        for form in FORMS:
            found = [cells.get((draw, form, number)) for number in numbers]
            if any(found):
                rows.append((f"{draw}, {form}", tuple(Cell(_right(one) if one else None) for one in found)))
    terms = records[0].result["terms"]
    silent = dict.fromkeys(term for record in records for term in record.result.get("without_example", ()))
    right = Table(
        f"{name}: of {terms} terms exact, and mean F1, by examples of a term",
        tuple(map(str, numbers)),
        tuple(rows),
        notes=(
            "(+n): as many more are right but for parts of a union that no example shows.",
            *(f"{term} is not counted: all its values are blank, and nobody can write an example." for term in silent),
        ),
    )
    return [*found_tables, right, _time_table(name, records), _missed_table(name, records)]


def _draft_table(name: str, record: Record) -> Table:
    found = record.result
    rows = (
        ("terms of the truth that are exact", Cell(f"{found['exact']} of {found['terms']}")),
        ("mean F1 of these terms", Cell(found["f1"])),
        ("terms that are mapped", Cell(float(found["mapped"]))),
        ("of these in the truth", Cell(float(found["mapped_in_truth"]))),
        ("of these exact", Cell(float(found["mapped_exact"]))),
        (f"mapped with at least {_SURE}", Cell(float(found["sure"]))),
        ("of these exact", Cell(float(found["sure_exact"]))),
        ("processor seconds", Cell(sum(found["seconds"].values()))),
    )
    told = tuple((what, (cell,)) for what, cell in rows)
    notes = (
        "The truth does not name all that the vocabulary could say of the data: not all that it leaves out is wrong.",
    )
    return Table(f"{name}: drafted with no example, whole ontology", ("",), told, notes=notes)


def _right(records: Sequence[Record]) -> str:
    exact, as_shown, f1 = (
        float(np.mean([record.result[name] for record in records])) for name in ("exact", "exact_as_shown", "f1")
    )
    return f"{exact:g}{f' (+{as_shown - exact:g})' if as_shown > exact else ''} · {f1:.2f}"


def _time_table(name: str, records: Sequence[Record]) -> Table:
    def seconds(record: Record) -> float:
        return float(sum(record.result["seconds"].values()))

    pairs = {(r.settings["draw"], r.settings["form"], r.settings["examples"]): seconds(r)
             for r in records if r.settings["ontology"] == PART}  # fmt: skip
    rows = []
    for record in records:
        if record.settings["ontology"] == WHOLE:
            place = record.settings["draw"], record.settings["form"], record.settings["examples"]
            part, whole = pairs.get(place), seconds(record)
            cells = (
                Cell(whole),
                Cell(part),
                Cell(whole / part if part else None),
                Cell(record.result["peak_mb"] * 1.0),
            )
            rows.append((record.key.removeprefix(f"{name}, ").removesuffix(f", {WHOLE}"), cells))
    return Table(f"{name}: seconds and memory", ("whole ontology, s", "part, s", "ratio", "peak, MB"), tuple(rows))


def _missed_table(name: str, records: Sequence[Record]) -> Table:
    whole = [record for record in records if record.settings["ontology"] == WHOLE]
    missed: dict[str, list[tuple[int, dict[str, Any]]]] = defaultdict(list)
    for record in whole:
        for term in record.result["missed"]:
            missed[term["term"]].append((record.settings["examples"], term))
    rows = []
    for term, misses in sorted(missed.items(), key=lambda item: (-len(item[1]), item[0])):
        why = Counter(one["why"] for _, one in misses).most_common(1)[0][0]
        _, last = max(misses, key=lambda miss: miss[0])
        got = " ∪ ".join(last["rules"]) or "nothing"
        told = f"{got} ({last['both']:,} of {last['true']:,} true, {last['proposed'] - last['both']:,} false)"
        rows.append((term, (Cell(f"{len(misses)} of {len(whole)}"), Cell(why), Cell(told))))
    return Table(f"{name}: what was missed", ("runs", "most often because", "what was proposed"), tuple(rows))


BENCH = Bench(
    BenchInfo(
        "real",
        "not in the paper: mappings of ordinary databases from a few examples of each term, against truth by SQL",
        "30 min",
        "RULEMINER_DATA/real, or --data with a database and a truth.tsv",
        (),
    ),
    _units,
    _run,
    _tables,
    lambda records, folder: [],
    (
        "Examples drawn by people: the first rows by key, of each part of a union in turn, and one of each at least, "
        "even where that is more than the number.",
        "As names: by the column name, title, label or one called as its table; things without one by their keys. "
        "A name that several rows have names none of them, and is not drawn.",
        "Compared is what the mapping would publish: an entity is a key in a space, whatever its IRI, and never equal "
        "to a value; values by lexical form without blanks at the end, for char(20) pads them. Empty texts count, but "
        "nobody gives one as an example.",
        "Seconds are processor time, of all cores, of reading the ontology, extracting and proposing. Dumps are loaded "
        "into DuckDB before.",
    ),
)
