"""The stages for programs and notebooks: `import ruleminer` offers all that is here (docs/api.md).

Each takes what it works on, then its options, and gives back a result that a notebook shows. A path is a text or a
`Path`; a database is one that is open, which stays open, or a URL or file; an ontology is one that was read, or a file.
Nothing that is there is replaced unless `force` says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

from ruleminer.dataset import Dataset, read_dataset
from ruleminer.extraction import pipeline
from ruleminer.extraction.at_hand import at_hand
from ruleminer.extraction.pipeline import ExtractOptions
from ruleminer.extraction.request import provenance
from ruleminer.extraction.summary import DatasetSummary, summarise
from ruleminer.learn.options import TrainOptions
from ruleminer.learn.training import TrainResult, train_run
from ruleminer.problem.examples import example_sources, read_examples
from ruleminer.problem.ontology import Ontology, read_ontology
from ruleminer.problem.template_files import read_templates
from ruleminer.progress import Progress, Say, silent, unsaid
from ruleminer.proposals.draft import DraftRequest, draft_mapping
from ruleminer.proposals.request import MIN_CONFIDENCE, ProposeRequest
from ruleminer.proposals.stage import Delivery, propose_mappings
from ruleminer.run import Run, RunLike
from ruleminer.sources.database import Database, using
from ruleminer.structure.link_file import read_links
from ruleminer.structure.structure import learn_structure
from ruleminer.validation import materialise as materialising
from ruleminer.validation.r2rml import read_r2rml
from ruleminer.validation.triple_files import WrittenTriples, mapping_file, materialise_files
from ruleminer.validation.validate import ValidationResult, validate_mapping

PathLikeText = str | PathLike[str]
DatabaseLike = Database | str | Path
OntologyLike = Ontology | str | Path


@dataclass(frozen=True)
class ExtractResult:
    """A dataset that was extracted into a run."""

    run: Run
    notes: tuple[str, ...]  # what was left out of the examples

    @cached_property
    def dataset(self) -> Dataset:
        """Facts, rules, and which rule derives which fact, as Arrow tables."""
        return read_dataset(self.run)

    @cached_property
    def summary(self) -> DatasetSummary:
        """Counts for each predicate, the rules that explain most, and the facts that nothing explains."""
        return summarise(self.run)

    def __fspath__(self) -> str:
        return str(self.run)

    def _repr_html_(self) -> str:
        return self.summary._repr_html_()


def extract(
    database: DatabaseLike,
    ontology: OntologyLike,
    examples: object,
    out: RunLike,
    options: ExtractOptions | None = None,
    *,
    templates: PathLikeText | None = None,
    links: PathLikeText | None = None,
    force: bool = False,
    trust: bool = False,
    progress: Progress = silent,
) -> ExtractResult:
    """Find, for each example, every mapping rule that derives it, and leave the dataset in the run folder `out`.

    Examples are a file (CSV, Parquet, RDF, query pairs) or several; tuples `(predicate, argument[, argument])`; an
    Arrow table or a data frame with the columns of the CSV file. `links` is a file that adds links or forbids them.
    With `trust`, SQL of query pairs runs as it is, unchecked.
    """
    terms = _ontology(ontology)
    known = read_templates(None if templates is None else Path(templates))
    with using(database, timeout=600.0, trust=trust) as source:
        read = read_examples(example_sources(examples), terms, source)
        options = options or ExtractOptions()
        with at_hand(source, options.bytes_of_source, options.timeout, progress) as near:
            learnt = None  # if the user says nothing of links, extraction learns the structure by itself
            if links is not None:
                learnt = learn_structure(near, read_links(Path(links), near.schema), progress=progress)
            pipeline.extract(
                near,
                read.facts,
                known,
                out,
                options,
                structure=learnt,
                ontology=terms,
                provenance=provenance(read),
                lines=read.lines,
                force=force,
                progress=progress,
            )
    return ExtractResult(Run.of(out), read.notes)


def train(
    run: RunLike,
    options: TrainOptions | None = None,
    *,
    resume: bool = False,
    force: bool = False,
    progress: Progress = silent,
    say: Say = unsaid,
) -> TrainResult:
    """Train a model on a run's dataset and leave it in the run; `say` hears each validation."""
    return train_run(run, options, resume=resume, force=force, progress=progress, say=say)


def propose(
    run: RunLike,
    *,
    database: DatabaseLike | None = None,
    ontology: OntologyLike | None = None,
    ranker: str | None = None,
    model: RunLike | None = None,
    iris: Iterable[str] = (),
    base: str | None = None,
    datatypes: str | None = None,
    min_confidence: float = MIN_CONFIDENCE,
    noise: bool = False,
    scenario: PathLikeText | None = None,
    reasoning: str = "rdfs",
    out: PathLikeText | None = None,
    device: str = "auto",
    seed: int = 0,
    progress: Progress = silent,
) -> Delivery:
    """Propose a mapping for a run against its live database, and write it down with the report.

    Without `database` and `ontology` they are those that were extracted with. The options are those of
    `ruleminer propose-mappings`; `iris` has texts such as "Person=http://example.org/person/{}".
    """
    request = ProposeRequest(
        run=Run.of(run),
        db=database,
        ontology=None if ontology is None else _ontology(ontology),
        ranker=ranker,
        model=model,
        iris=tuple(iris),
        base=base,
        datatypes=datatypes,
        min_confidence=min_confidence,
        noise=noise,
        scenario=None if scenario is None else Path(scenario),
        reasoning=reasoning,
        out=None if out is None else Path(out),
        device=device,
        seed=seed,
    )
    return propose_mappings(request, progress)


def draft(
    database: DatabaseLike,
    ontology: OntologyLike,
    out: RunLike,
    *,
    min_confidence: float = MIN_CONFIDENCE,
    iris: Iterable[str] = (),
    base: str | None = None,
    datatypes: str | None = None,
    scenario: PathLikeText | None = None,
    reasoning: str = "rdfs",
    force: bool = False,
    progress: Progress = silent,
) -> Delivery:
    """Draft a mapping from a database and an ontology alone, without examples; the new run is `out`.

    A term is in the mapping if the decision is at least as sure as `min_confidence`; the others are shown.
    """
    request = DraftRequest(
        db=database,
        ontology=_ontology(ontology),
        out=Run.of(out),
        min_confidence=min_confidence,
        iris=tuple(iris),
        base=base,
        datatypes=datatypes,
        scenario=None if scenario is None else Path(scenario),
        reasoning=reasoning,
        force=force,
    )
    return draft_mapping(request, progress)


def validate(
    mapping: PathLikeText,
    scenario: PathLikeText,
    *,
    database: DatabaseLike | None = None,
    reasoning: str = "rdfs",
    trust: bool = False,
    progress: Progress = silent,
) -> ValidationResult:
    """Run an R2RML mapping and score its triples by a scenario's query pairs, as RODI does.

    With `trust`, SQL of the mapping and the pairs runs as it is, unchecked.
    """
    return validate_mapping(
        Path(mapping), Path(scenario), db=database, reasoning=reasoning, trust=trust, progress=progress
    )


def materialise(
    mapping: PathLikeText, database: DatabaseLike, *, trust: bool = False, progress: Progress = silent
) -> Iterator[tuple[str, str, str]]:
    """The triples that an R2RML mapping (a file, or that of a run) makes of a database, as they come.

    Each term is as N-Triples writes it. A triple that several rows make comes several times; `write_triples` writes it
    once. With `trust`, the mapping's SQL runs as it is, unchecked.
    """
    document = read_r2rml(mapping_file(mapping))
    with using(database, count_rows=False, trust=trust) as source:
        for subject, predicate, value, _ in materialising.materialise(document, source, progress=progress):
            yield subject, predicate, value


def write_triples(
    mapping: PathLikeText,
    out: PathLikeText,
    *,
    database: DatabaseLike | None = None,
    form: str = "nt",
    force: bool = False,
    trust: bool = False,
    jobs: int = 1,
    progress: Progress = silent,
) -> WrittenTriples:
    """Write the triples of an R2RML mapping (a file, or that of a run) into the new folder `out`, each once.

    They go to files of N-Triples ("nt"), N-Quads ("nq") or Parquet ("parquet"), in parts, and memory does not grow with
    them. A run knows its database; a file needs one. `jobs` processes make them; Spark's executors do so themselves.
    """
    return materialise_files(
        mapping, Path(out), db=database, form=form, force=force, trust=trust, jobs=jobs, progress=progress
    )


def _ontology(given: OntologyLike) -> Ontology:
    return given if isinstance(given, Ontology) else read_ontology(given)
