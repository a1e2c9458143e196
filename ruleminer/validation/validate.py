"""`ruleminer validate`: a mapping's triples, reasoned over, held against the query pairs of a scenario."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyoxigraph import QuerySolutions, Store

from ruleminer import notebook
from ruleminer.errors import ConnectionLostError, DatabaseError, InputError
from ruleminer.problem.ontology import Ontology, read_ontology
from ruleminer.problem.pair_facts import run_pair_sql
from ruleminer.problem.pair_target import PairTarget, pair_target
from ruleminer.problem.pairs import QueryPair
from ruleminer.problem.scenario import open_scenario, scenario_database
from ruleminer.progress import Progress, silent
from ruleminer.sources.data_folder import cache_folder
from ruleminer.sources.database import Database, using
from ruleminer.sources.engines.engine import one_line
from ruleminer.validation.causes import LostPair, PairCause, causes_of
from ruleminer.validation.materialise import materialise
from ruleminer.validation.r2rml import read_r2rml
from ruleminer.validation.reasoning import read_reasoner
from ruleminer.validation.row_terms import Tally
from ruleminer.validation.scoring import Average, Row, Score, average, by_category, f_measure, score, strict
from ruleminer.validation.store import loaded_store

# RODI's store knows these without being told, and some of its pairs rely on that.
_PREFIXES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_NOTHING = Score(0.0, 0.0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class QueryResult:
    """How one pair fared; `target` is the class or property it asks for, if it asks for one."""

    pair: str
    name: str
    categories: tuple[str, ...]
    target: str | None
    precision: float
    recall: float
    f1: float
    sparql_rows: int
    sql_rows: int
    matches: int
    strict_precision: float
    strict_recall: float
    missing: tuple[Row, ...] = ()
    extra: tuple[Row, ...] = ()
    error: str = ""

    @property
    def perfect(self) -> bool:
        """Whether SPARQL gives what SQL gives, row by row; RODI's score is 1 even where one entity stands for all."""
        return self.precision == self.recall == 1 and not self.missing and not self.extra


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """RODI's score of a mapping, and `strict_f1`, where each row is matched once.

    `causes` say why each pair is lost that is not exact. `reachable_f1` is the score of a mapping that answers every
    pair that can be answered: not those whose SQL repeats itself, nor, where a reference was given (its score is
    `reference_f1`), those that it does not answer either. `notes` tell what could not be run, and what was left out.
    """

    mapping: str
    scenario: str
    database: str
    reasoning: str
    precision: float
    recall: float
    f1: float
    strict_f1: float
    queries: tuple[QueryResult, ...]
    categories: Mapping[str, Average]
    triples: int
    inferred: int
    seconds: float
    peak_memory_mb: float | None
    notes: tuple[str, ...] = ()
    causes: tuple[PairCause, ...] = ()
    reachable_f1: float | None = None
    reference_f1: float | None = None

    def _repr_html_(self) -> str:
        scores = [(name, a.queries, a.precision, a.recall, a.f1) for name, a in self.categories.items()]
        scores.append(("All", len(self.queries), self.precision, self.recall, self.f1))
        rows = ((name, count, *map(notebook.share, figures)) for name, count, *figures in scores)
        title = f"{self.scenario} · reasoning: {self.reasoning}"
        return notebook.table(title, ("category", "queries", "precision", "recall", "F"), rows) + notebook.lines(
            self.notes
        )


def validate_mapping(
    mapping: Path | str,
    scenario: Path | str,
    *,
    db: str | Path | Database | None = None,
    schema: str | None = None,
    reasoning: str = "rdfs",
    timeout: float = 300.0,
    reference: Path | str | None = None,
    trust: bool = False,
    progress: Progress = silent,
) -> ValidationResult:
    """Run an R2RML mapping on the scenario's database (or the one at `db`) and score it against the query pairs.

    A map that the database refuses is told in the notes, and the others are run; if it refuses all, that is an error.
    A `reference` is another mapping, which tells what can be reached at all.
    SQL of the mapping and the pairs that may do more than read the schema is refused, unless there is `trust`.
    """
    started = time.perf_counter()
    given = open_scenario(scenario)
    enabled = [pair for pair in given.pairs if not pair.disabled]
    if not enabled:
        raise InputError(f"{scenario}: has no query pair to validate with")
    reasoner = read_reasoner(given.ontology_path, reasoning)
    document, ontology = read_r2rml(mapping), read_ontology(given.ontology_path)
    known = None if reference is None else read_r2rml(reference)
    tally = Tally()
    with using(
        db or scenario_database(given, cache_folder()), schema=schema, timeout=timeout, count_rows=False, trust=trust
    ) as database:
        quads = materialise(document, database, tally, skip_broken=True, progress=progress)
        with loaded_store(quads, reasoner) as loaded:
            if len(tally.problems) == len(document.maps):
                raise InputError(tally.problems[0])
            results = _results(enabled, database, loaded.store, ontology, progress)
            triples, inferred = loaded.triples, loaded.inferred
            lost = [
                LostPair(pair, one.target, one.error, one.sparql_rows, one.missing, one.extra)
                for pair, one in zip(enabled, results, strict=True)
                if not one.perfect
            ]
            causes = causes_of(lost, given.pairs, ontology, database, loaded.store, document, reasoner)
        best: list[QueryResult] | None = None
        if known is not None:
            with loaded_store(materialise(known, database, Tally(), skip_broken=True), reasoner) as loaded:
                best = _results(enabled, database, loaded.store, ontology, progress)
        shown = database.safe_url
    overall = average((one.precision, one.recall) for one in results)
    return ValidationResult(
        mapping=str(mapping),
        scenario=given.name,
        database=shown,
        reasoning=reasoning,
        precision=overall.precision,
        recall=overall.recall,
        f1=overall.f1,
        strict_f1=average((one.strict_precision, one.strict_recall) for one in results).f1,
        queries=tuple(results),
        categories=by_category((one.categories, one.precision, one.recall) for one in results),
        triples=triples,
        inferred=inferred,
        seconds=time.perf_counter() - started,
        peak_memory_mb=_peak_memory(),
        notes=_notes(tally, len(given.pairs) - len(enabled)),
        causes=causes,
        reachable_f1=_reachable(results, causes, best),
        reference_f1=None if best is None else average((one.precision, one.recall) for one in best).f1,
    )


def _results(
    pairs: list[QueryPair], database: Database, store: Store, ontology: Ontology, progress: Progress
) -> list[QueryResult]:
    results = []
    for number, pair in enumerate(pairs, 1):
        results.append(_query_result(pair, database, store, ontology))
        progress("queries", pair.stem, number, len(pairs))
    return results


def _reachable(results: list[QueryResult], causes: tuple[PairCause, ...], reference: list[QueryResult] | None) -> float:
    """The score of a mapping that answers all that can be answered, and the rest as well as was seen."""
    out_of_reach = {cause.pair for cause in causes if not cause.reachable}
    scores = []
    for ours, theirs in zip(results, reference or results, strict=True):
        better = max(ours, theirs, key=lambda one: one.f1)
        known = reference is None or theirs.perfect
        exact = ours.perfect or (known and ours.pair not in out_of_reach)
        scores.append((1.0, 1.0) if exact else (better.precision, better.recall))
    return average(scores).f1


def _query_result(pair: QueryPair, database: Database, store: Store, ontology: Ontology) -> QueryResult:
    error = ""
    try:
        found = _scored(pair, database, store)
    except ConnectionLostError:
        raise
    except DatabaseError as problem:
        found, error = _NOTHING, f"its SQL failed: {problem}"
    except (SyntaxError, ValueError, OSError) as problem:  # what pyoxigraph raises
        found, error = _NOTHING, f"its SPARQL failed: {one_line(problem)}"
    except InputError as problem:
        found, error = _NOTHING, str(problem)
    target = pair_target(pair, ontology)
    return QueryResult(
        pair.stem,
        pair.name,
        pair.categories,
        target.term.name if isinstance(target, PairTarget) else None,
        found.precision,
        found.recall,
        f_measure(found.precision, found.recall),
        found.sparql_rows,
        found.sql_rows,
        found.matches,
        *strict(found),
        found.missing,
        found.extra,
        error,
    )


def _scored(pair: QueryPair, database: Database, store: Store) -> Score:
    solutions = store.query(pair.sparql, prefixes=_PREFIXES)
    if not isinstance(solutions, QuerySolutions):
        raise InputError("its SPARQL is no SELECT")
    rows = run_pair_sql(database, pair)
    first = next(rows, None)
    if first is None:
        return score((), (tuple(solution) for solution in solutions), pair.entity_id_columns)
    width, variables = len(first), len(solutions.variables)
    if variables < width:
        raise InputError(f"its SQL has {width} columns, its SPARQL only {variables} variables")

    def sql_rows() -> Iterator[tuple[object, ...]]:
        yield first
        yield from rows

    return score(sql_rows(), (tuple(solution)[:width] for solution in solutions), pair.entity_id_columns)


def _notes(tally: Tally, disabled: int) -> tuple[str, ...]:
    notes = list(tally.problems)
    notes += tally.notes
    if disabled:
        notes.append(f"{disabled} disabled pairs were left out, as the scenario asks")
    return tuple(notes)


def _peak_memory() -> float | None:
    if sys.platform == "win32":
        return None
    import resource

    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
