"""`propose-mappings` from end to end: proposals, the mapping in every language, JSON and the report, in one folder."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ruleminer.errors import ConnectionLostError, InputError, RuleminerError
from ruleminer.extract.dataset import read_dataset
from ruleminer.problem.database import Database
from ruleminer.problem.ontology import Ontology
from ruleminer.problem.scenario import open_scenario
from ruleminer.propose.files import column_types, mapping_texts, write_texts
from ruleminer.propose.identity import check_overrides, identity_policy, mapping_of, parse_iri_override
from ruleminer.propose.iri_columns import iri_columns
from ruleminer.propose.key_spaces import Place
from ruleminer.propose.proposals import Proposals, Status
from ruleminer.propose.propose import Progress, ProposeRequest, live_database, propose, run_ontology
from ruleminer.propose.report.page import write_report
from ruleminer.propose.validation.reasoning import read_reasoner
from ruleminer.propose.validation.validate import ValidationResult, validate_mapping
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.values import Rule

FOLDER = "proposals"


@dataclass(frozen=True, slots=True)
class Delivery:
    """What was proposed and where it was written."""

    proposals: Proposals
    folder: Path
    files: tuple[Path, ...]
    validation: ValidationResult | None


def propose_mappings(request: ProposeRequest, progress: Progress = lambda stage, what, done, total: None) -> Delivery:
    """Propose a mapping for a run against the live database, and write it down."""
    folder = request.out or request.run / FOLDER
    overrides = dict(parse_iri_override(text) for text in request.iris)
    dataset = read_dataset(request.run)
    ontology = run_ontology(request, dataset)
    # What would be refused after the long work is refused before it.
    check_overrides(ontology, overrides, request.base)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; choose a folder with --out")
    if request.scenario is not None:
        scenario = open_scenario(request.scenario)
        read_reasoner(scenario.ontology_path, request.reasoning)
        if all(pair.disabled for pair in scenario.pairs):
            raise InputError(f"{request.scenario}: has no query pair to validate with")
    with live_database(request, dataset) as database:
        proposals = propose(request, dataset, ontology, database, progress)
        rules = mapped_rules(proposals, request.guess)
        whole, notes = _iri_columns(rules, ontology, database)
        policy = identity_policy(ontology, rules, overrides, request.base, database.schema, whole)
        proposals = replace(proposals, identity=tuple(policy.lines()), notes=(*proposals.notes, *notes))
        mapping = mapping_of(rules, ontology, policy)
        texts = mapping_texts(
            mapping, database.dialect, column_types(database.schema), database.safe_url, database.schema_name
        )
        schema = database.schema_name
    files = write_texts(texts, folder)
    validation = None
    try:
        url = request.db or dataset.manifest["source"]["url"]
        validation = _validated(request, folder / "mapping.ttl", url, schema, progress)
    except RuleminerError as error:  # the mapping is there all the same
        proposals = replace(proposals, notes=(*proposals.notes, f"the mapping could not be validated: {error}"))
    told = {
        **proposals.to_json(),
        "policy": policy.to_json(),
        "made_from": {
            "dataset": dataset.manifest.get("plan"),
            "ontology": ontology.sha256,
            "seed": request.seed,
            "guess": request.guess,
            "iri": list(request.iris),
            "base": request.base,
        },
    }
    text = json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False, default=str) + "\n"
    files += write_texts({"proposals.json": text}, folder)
    report = write_report(
        proposals,
        folder / "report.html",
        title=f"Proposed mapping of {schema or request.run.name}",
        run=request.model or request.run,
        ontology=ontology,
        validation=validation,
    )
    return Delivery(proposals, folder, (*files, report), validation)


def mapped_rules(proposals: Proposals, guess: bool = False) -> tuple[Rule, ...]:
    """The rules that go into the mapping."""
    wanted = {Status.PROPOSED, Status.GUESSED} if guess else {Status.PROPOSED}
    return tuple(parse_rule(text) for one in proposals.proposals if one.status in wanted for text in one.texts)


def _iri_columns(
    rules: tuple[Rule, ...], ontology: Ontology, database: Database
) -> tuple[frozenset[Place], tuple[str, ...]]:
    for _ in range(2):  # a lost connection is opened anew by the next statement
        with suppress(ConnectionLostError):
            return iri_columns(rules, ontology, database), ()
    return frozenset(), ("the connection was lost: which columns hold whole IRIs is not known, none is taken for one",)


def _validated(
    request: ProposeRequest, mapping: Path, db: str, schema: str | None, progress: Progress
) -> ValidationResult | None:
    """The mapping's score on the database that it was made for: its SQL is written for that one."""
    if request.scenario is None:
        return None
    return validate_mapping(
        mapping,
        request.scenario,
        db=db,
        schema=schema,
        reasoning=request.reasoning,
        timeout=request.timeout,
        progress=progress,
    )
