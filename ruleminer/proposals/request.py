"""What a user asks `ruleminer propose-mappings` for, and what it is asked of: the ontology and the live database."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from ruleminer.dataset import Dataset
from ruleminer.errors import InputError
from ruleminer.learn.options import DEVICES
from ruleminer.problem.ontology import Ontology, read_ontology
from ruleminer.proposals.identity import Datatypes
from ruleminer.proposals.ranking import Ranker
from ruleminer.run import RunLike
from ruleminer.sources.database import Database, using

MIN_CONFIDENCE = 0.25
"""From here on a term without examples is in the mapping: where, on generated databases that were held out, the rules
that are right among those mapped and the terms that are mapped among those in the data balance best."""


@dataclass(frozen=True, slots=True)
class ProposeRequest:
    """The options of `propose-mappings`; None stands for "not given"."""

    run: RunLike
    db: str | Path | Database | None = None  # one that is open stays so
    schema: str | None = None
    ontology: Ontology | Path | None = None
    ranker: str | None = None
    model: RunLike | None = None  # a run whose model is asked instead of this run's own
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    device: str = "auto"
    timeout: float = 300.0
    out: Path | None = None
    iris: tuple[str, ...] = ()  # "Class=template" of the user
    base: str | None = None
    datatypes: str | None = None  # whose datatypes values get; None: the ontology's, but days where the examples are
    scenario: Path | None = None  # whose query pairs check the mapping
    reasoning: str = "rdfs"
    min_confidence: float = MIN_CONFIDENCE  # of a term without examples, to be in the mapping
    noise: bool = False  # some examples may be wrong: a rule need not derive all of them
    seed: int = 0

    def __post_init__(self) -> None:
        if self.ranker is not None and self.ranker not in (*Ranker,):
            raise InputError(f"‹ranker› must be one of {', '.join(Ranker)}, not {self.ranker!r}")
        if self.datatypes is not None and self.datatypes not in (*Datatypes,):
            raise InputError(f"‹datatypes› must be one of {', '.join(Datatypes)}, not {self.datatypes!r}")
        if self.device not in DEVICES:
            raise InputError(f"‹device› must be one of {', '.join(DEVICES)}, not {self.device!r}")
        if not 0.0 <= self.min_confidence <= 1.0:
            raise InputError(f"‹min_confidence› must be a probability from 0 to 1, not {self.min_confidence}")
        if self.seed < 0:
            raise InputError(f"‹seed› must be a whole number from 0, not {self.seed}")


def run_ontology(request: ProposeRequest, dataset: Dataset) -> Ontology:
    """The ontology of a run, or the one that the user gives."""
    if request.ontology is not None:
        return request.ontology if isinstance(request.ontology, Ontology) else read_ontology(request.ontology)
    if dataset.ontology is None:
        raise InputError(f"the dataset in {request.run} has no ontology with it: give it with ‹ontology›")
    return dataset.ontology


def live_database(request: ProposeRequest, dataset: Dataset) -> AbstractContextManager[Database]:
    """The database that the user names, or the one that the run was extracted from."""
    source = dataset.manifest["source"]
    return using(
        request.db or source["url"],
        schema=request.schema or (source["schema"] if request.db is None else None),
        include=request.include,
        exclude=request.exclude,
        timeout=request.timeout,
    )
