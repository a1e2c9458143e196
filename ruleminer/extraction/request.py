"""What a user asks `ruleminer extract` for, and how it is met: from a scenario, a live database, or a recipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from ruleminer.errors import InputError
from ruleminer.extraction.at_hand import at_hand
from ruleminer.extraction.interrupts import heeding_interrupts
from ruleminer.extraction.pipeline import ExtractOptions, extract
from ruleminer.extraction.recipes import Recipe, read_recipe
from ruleminer.extraction.sampling import Negatives
from ruleminer.problem.examples import Examples, read_examples
from ruleminer.problem.ontology import Ontology, read_ontology
from ruleminer.problem.scenario import open_scenario, scenario_database, scenario_examples
from ruleminer.problem.template_files import read_templates
from ruleminer.progress import Progress, silent
from ruleminer.run import RunLike
from ruleminer.sources.data_folder import cache_folder, data_folder
from ruleminer.sources.database import Database, dialect_of, open_database, parse_url
from ruleminer.structure.link_file import read_links
from ruleminer.structure.structure import learn_structure


@dataclass(frozen=True, slots=True)
class ExtractRequest:
    """The options of the command; None and () stand for "not given"."""

    out: RunLike
    scenario: Path | None = None
    db: str | None = None
    schema: str | None = None
    ontology: Path | None = None
    examples: tuple[Path, ...] = ()
    recipe: str | None = None
    positives: int | None = None
    negatives: str | None = None
    templates: Path | None = None
    links: Path | None = None
    max_candidates: int | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    seed: int = 0
    timeout: float = 600.0
    memory: str = "2GB"
    force: bool = False
    trust: bool = False  # run the SQL of query pairs as it is


Report = Callable[[Examples], None]


def extract_datasets(
    request: ExtractRequest,
    progress: Progress = silent,
    report: Report = lambda examples: None,
) -> list[Path]:
    """The dataset folders that the request leads to: one, or with a recipe one per scenario."""
    given = [
        request.scenario is not None,
        request.db is not None and request.scenario is None,
        request.recipe is not None,
    ]
    if sum(given) != 1:
        raise InputError(
            "say where the facts come from: ‹scenario›, ‹database› with ‹ontology› and ‹examples›, or ‹recipe›"
        )
    if request.recipe is None:
        return [_extract_one(request, None, progress, report)]
    recipe = read_recipe(request.recipe, request.seed)
    data = data_folder()
    if data is None:
        raise InputError(f"recipe {recipe.name} needs the RODI scenarios: set RULEMINER_DATA to their folder")
    folders = []
    for name in recipe.scenarios:
        folder = data / "rodi" / name
        one = replace(request, recipe=None, scenario=folder, out=Path(request.out) / name)
        folders.append(_extract_one(one, recipe, lambda s, *p, n=name: progress(f"{n} {s}", *p), report))
    return folders


def _extract_one(request: ExtractRequest, recipe: Recipe | None, progress: Progress, report: Report) -> Path:
    options = _options(request, recipe.options if recipe else ExtractOptions(seed=request.seed))
    files = recipe.templates if recipe and request.templates is None else None
    templates = read_templates(request.templates, files)
    with heeding_interrupts(progress) as progress, _problem(request, options) as (database, ontology, examples):
        report(examples)
        facts = examples.facts
        if recipe and recipe.predicates:
            facts = facts.filter(pc.is_in(facts["predicate"], value_set=pa.array(recipe.predicates)))
        origin, lines = provenance(examples, request.scenario, recipe), examples.lines
        handed_over = [facts]  # there may be millions, and of most nothing is needed when some have been chosen
        del facts, examples
        with at_hand(database, options.bytes_of_source, options.timeout, progress) as near:
            wishes = read_links(request.links, near.schema) if request.links else None
            structure = learn_structure(near, wishes, discover=recipe is None, draw=options.draw, progress=progress)
            return extract(
                near,
                handed_over.pop(),
                templates,
                request.out,
                options,
                structure=structure,
                ontology=ontology,
                provenance=origin,
                lines=lines,
                force=request.force,
                progress=progress,
            )


def provenance(examples: Examples, scenario: Path | None = None, recipe: Recipe | None = None) -> dict[str, object]:
    """What a dataset's manifest says of where its facts are from."""
    pairs = [{"pair": r.pair, "predicate": r.predicate, "facts": r.facts, "reason": r.reason} for r in examples.pairs]
    return {
        "scenario": scenario.name if scenario else None,
        "recipe": recipe.name if recipe else None,
        "pairs": pairs,
    }


def _options(request: ExtractRequest, options: ExtractOptions) -> ExtractOptions:
    """The options with what the user said in place of the defaults; 0 means no limit."""
    changes: dict[str, object] = {"memory": request.memory, "timeout": request.timeout}
    if request.positives is not None:
        changes["positives"] = request.positives or None
    if request.max_candidates is not None:
        changes["max_candidates"] = request.max_candidates or None
    if request.negatives is not None:
        if request.negatives not in (*Negatives,):
            raise InputError(f"‹negatives› must be one of {', '.join(Negatives)}, not {request.negatives!r}")
        changes["negatives"] = Negatives(request.negatives)
    return replace(options, **changes)  # type: ignore[arg-type]


@contextmanager
def _problem(request: ExtractRequest, options: ExtractOptions) -> Iterator[tuple[Database, Ontology, Examples]]:
    if request.scenario is None:
        assert request.db is not None
        if request.ontology is None or not request.examples:
            raise InputError("‹database› needs ‹ontology› and at least one of ‹examples›")
        ontology = read_ontology(request.ontology)
        with _opened(request, request.db) as database, database.memory_limit(options.bytes_of_source):
            yield database, ontology, read_examples(request.examples, ontology, database)
        return
    scenario = open_scenario(request.scenario)
    ontology = read_ontology(request.ontology or scenario.ontology_path)
    url = request.db or scenario_database(scenario, cache_folder())
    with _opened(request, url) as database, database.memory_limit(options.bytes_of_source):
        if request.examples:
            yield database, ontology, read_examples(request.examples, ontology, database)
        else:
            yield database, ontology, scenario_examples(scenario, ontology, database)


def _opened(request: ExtractRequest, url: str) -> Database:
    return open_database(
        url,
        schema=request.schema,
        include=request.include,
        exclude=request.exclude,
        timeout=request.timeout,
        count_rows="views" if dialect_of(parse_url(url)).reads_once else True,  # the structure counts tables on its way
        trust=request.trust,
    )
