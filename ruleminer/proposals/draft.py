"""`draft` from end to end: a mapping from a database and an ontology alone, without any example.

It leaves a run like every other, with a dataset of no facts, so that all that can be done with a run can be done with
a draft: proposing again with other options, reviewing, validating.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from pathlib import Path

import ruleminer
from ruleminer.dataset import read_dataset, write_empty_dataset
from ruleminer.problem.ontology import Ontology, read_ontology
from ruleminer.progress import Progress, silent
from ruleminer.proposals.request import MIN_CONFIDENCE, ProposeRequest
from ruleminer.proposals.stage import Delivery, propose_held
from ruleminer.rules.mapping import refuse_illegal_terms
from ruleminer.run import Run, RunLike
from ruleminer.sources.database import Database, using
from ruleminer.structure.files import write_structure
from ruleminer.structure.link_file import read_links
from ruleminer.structure.structure import Structure, learn_structure


@dataclass(frozen=True, slots=True)
class DraftRequest:
    """The options of `draft`; None and () stand for "not given"."""

    db: str | Path | Database  # one that is open stays so
    ontology: Ontology | Path
    out: RunLike
    schema: str | None = None
    min_confidence: float = MIN_CONFIDENCE
    links: Path | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    iris: tuple[str, ...] = ()
    base: str | None = None
    datatypes: str | None = None
    scenario: Path | None = None  # whose query pairs check the mapping
    reasoning: str = "rdfs"
    timeout: float = 300.0
    force: bool = False


def draft_mapping(request: DraftRequest, progress: Progress = silent) -> Delivery:
    """Draft a mapping and write it down with its report, in a new run."""
    run = Run.of(request.out)
    ontology = request.ontology if isinstance(request.ontology, Ontology) else read_ontology(request.ontology)
    refuse_illegal_terms(term.iri for term in ontology.terms)
    with using(
        request.db, schema=request.schema, include=request.include, exclude=request.exclude, timeout=request.timeout
    ) as database:
        proposing = ProposeRequest(
            run=run,
            db=database,
            iris=request.iris,
            base=request.base,
            datatypes=request.datatypes,
            scenario=request.scenario,
            reasoning=request.reasoning,
            min_confidence=request.min_confidence,
            timeout=request.timeout,
        )
        started = time.perf_counter()
        wishes = read_links(request.links, database.schema) if request.links else None
        structure = learn_structure(database, wishes, progress=progress)
        seconds = time.perf_counter() - started
        with run.held("draft"):
            _keep_or_write(run, database, structure, ontology, seconds, request.force)
            return propose_held(proposing, progress)


def _keep_or_write(
    run: Run, database: Database, structure: Structure, ontology: Ontology, seconds: float, force: bool
) -> None:
    """The run's dataset of no facts; one that was made from the very same things is taken as it is."""
    plan = _plan(database, structure, ontology)
    if force or not run.has_dataset or read_dataset(run).manifest.get("plan") != plan:
        schema = database.schema
        manifest = {
            "ruleminer": ruleminer.__version__,
            "plan": plan,
            "source": {"url": database.safe_url, "schema": database.schema_name, "dialect": database.dialect.name},
            "ontology": {"sha256": ontology.sha256},
            "drafted": True,
            "counts": {
                "predicates": {},
                "templates": {},
                "tables": len(schema.tables),
                "columns": sum(len(table.columns) for table in schema.tables),
            },
        }
        times = {"seconds": {"structure": round(seconds, 3)}}
        write_empty_dataset(run, schema, manifest, times, ontology, force)
    write_structure(structure, run.structure)


def _plan(database: Database, structure: Structure, ontology: Ontology) -> str:
    """A hash of all that a draft is made from."""
    asked = [ruleminer.__version__, database.safe_url, structure.to_json(), ontology.to_json()]
    return hashlib.sha256(json.dumps(asked, default=str).encode()).hexdigest()
