"""`propose-mappings` from end to end: proposals, the mapping in every language, JSON and the report, in one folder."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from ruleminer.extract.dataset import read_dataset
from ruleminer.propose.files import column_types, mapping_texts, write_texts
from ruleminer.propose.identity import identity_policy, mapping_of, parse_iri_override
from ruleminer.propose.iri_columns import iri_columns
from ruleminer.propose.proposals import Proposals, Status
from ruleminer.propose.propose import Progress, ProposeRequest, live_database, propose, run_ontology
from ruleminer.propose.report.page import write_report
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
    overrides = dict(parse_iri_override(text) for text in request.iris)
    dataset = read_dataset(request.run)
    ontology = run_ontology(request, dataset)
    with live_database(request, dataset) as database:
        # Before the long work: a policy that is refused is refused now.
        identity_policy(ontology, (), overrides, request.base, database.schema)
        proposals = propose(request, dataset, ontology, database, progress)
        rules = mapped_rules(proposals, request.guess)
        policy = identity_policy(
            ontology, rules, overrides, request.base, database.schema, iri_columns(rules, ontology, database)
        )
        proposals = replace(proposals, identity=tuple(policy.lines()))
        mapping = mapping_of(rules, ontology, policy)
        texts = mapping_texts(
            mapping, database.dialect, column_types(database.schema), database.safe_url, database.schema_name
        )
        name = database.schema_name or Path(request.run).name
    folder = request.out or request.run / FOLDER
    told = {**proposals.to_json(), "policy": policy.to_json()}
    texts["proposals.json"] = json.dumps(told, indent=1, ensure_ascii=False, default=str) + "\n"
    files = write_texts(texts, folder)
    validation = _validated(request, folder / "mapping.ttl", progress)
    report = write_report(
        proposals,
        folder / "report.html",
        title=f"Proposed mapping of {name}",
        run=request.run,
        ontology=ontology,
        validation=validation,
    )
    return Delivery(proposals, folder, (*files, report), validation)


def mapped_rules(proposals: Proposals, guess: bool = False) -> tuple[Rule, ...]:
    """The rules that go into the mapping."""
    wanted = {Status.PROPOSED, Status.GUESSED} if guess else {Status.PROPOSED}
    return tuple(parse_rule(text) for one in proposals.proposals if one.status in wanted for text in one.texts)


def _validated(request: ProposeRequest, mapping: Path, progress: Progress) -> ValidationResult | None:
    if request.scenario is None:
        return None
    return validate_mapping(
        mapping,
        request.scenario,
        db=request.db,
        schema=request.schema,
        reasoning=request.reasoning,
        timeout=request.timeout,
        progress=progress,
    )
