"""`propose-mappings` from end to end: proposals, the mapping in every language, JSON and the report, in one folder."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ruleminer import notebook
from ruleminer.dataset import Dataset, read_dataset, require_dataset
from ruleminer.errors import InputError, RuleminerError
from ruleminer.learn.curve import read_curve
from ruleminer.problem.decisions import read_decisions
from ruleminer.problem.ontology import Ontology
from ruleminer.problem.scenario import open_scenario
from ruleminer.progress import Progress, silent
from ruleminer.proposals.files import MAPPING_FILES, mapping_texts, write_texts
from ruleminer.proposals.identity import (
    Datatypes,
    IdentityPolicy,
    check_overrides,
    identity_policy,
    mapping_of,
    parse_iri_override,
)
from ruleminer.proposals.iri_columns import iri_columns
from ruleminer.proposals.live_structure import live_structure
from ruleminer.proposals.made_from import wishes
from ruleminer.proposals.proposal import Proposal, Proposals, Status
from ruleminer.proposals.report.page import report_html
from ruleminer.proposals.request import MIN_CONFIDENCE, ProposeRequest, live_database, run_ontology
from ruleminer.proposals.same_spaces import united
from ruleminer.proposals.term_proposals import propose_terms
from ruleminer.proposals.written_forms import days_of
from ruleminer.rules.mapping import refuse_illegal_terms
from ruleminer.rules.values import Rule
from ruleminer.run import Run
from ruleminer.sources.database import Database
from ruleminer.sources.schema import Schema
from ruleminer.structure.structure import Structure
from ruleminer.validation.reasoning import read_reasoner
from ruleminer.validation.validate import ValidationResult, validate_mapping
from ruleminer.whole_files import whole_folder, write_whole


@dataclass(frozen=True, slots=True)
class Delivery:
    """What was proposed and where it was written."""

    proposals: Proposals
    folder: Path
    files: tuple[Path, ...]
    validation: ValidationResult | None
    mapped: frozenset[str] = frozenset()  # the terms whose rules are in the mapping

    @property
    def mapping(self) -> Path:
        """The mapping as R2RML."""
        return self.folder / "mapping.ttl"

    @property
    def report(self) -> Path:
        """The page that shows why."""
        return self.folder / "report.html"

    def _repr_html_(self) -> str:
        shown = self.proposals._repr_html_() + notebook.lines([f"Report: {self.report}", f"R2RML: {self.mapping}"])
        return shown if self.validation is None else shown + self.validation._repr_html_()


def propose_mappings(request: ProposeRequest, progress: Progress = silent) -> Delivery:
    """Propose a mapping for a run against the live database, and write it down."""
    run = Run.of(request.run)
    require_dataset(run)
    if request.out is not None:  # the run's own results stay as they are; it may not even allow writing
        return propose_held(request, progress)
    with run.held("propose-mappings"):
        return propose_held(request, progress)


def propose_held(request: ProposeRequest, progress: Progress = silent) -> Delivery:
    """Propose a mapping for a run that is held already."""
    run = Run.of(request.run)
    folder = Path(request.out or run.proposals)
    dataset = read_dataset(run)
    ontology = run_ontology(request, dataset)
    overrides = _checked(request, ontology, dataset.schema, folder)
    with live_database(request, dataset) as database:
        told: list[str] = []
        said = read_decisions(run.decisions)
        structure = united(live_structure(run, database, told), said, told)
        proposals = propose_terms(request, dataset, ontology, database, structure, progress, said)
        rules = mapped_rules(proposals, request.min_confidence)
        mapped = map_rules(
            rules, ontology, database, structure, overrides, request.base,
            datatypes=request.datatypes, days=days_of(dataset),
        )  # fmt: skip
    validation, failure = _validated(request, mapped.texts["mapping.ttl"], dataset, mapped.schema, progress)
    notes = (*told, *proposals.notes, *failure)
    proposals = replace(proposals, identity=tuple(mapped.policy.lines()), notes=notes)
    in_mapping = frozenset(one.predicate for one in proposals.proposals if is_mapped(one, request.min_confidence))
    report = report_html(
        proposals,
        title=f"Proposed mapping of {mapped.schema or run.folder.name}",
        ontology=ontology,
        curve=read_curve(Run.of(request.model or run).model),
        validation=validation,
        mapped=in_mapping,
    )
    texts = {
        **mapped.texts,
        "proposals.json": _json_text(proposals, mapped.policy, request, dataset, ontology),
        "report.html": report,
        "times.json": json.dumps({"seconds": proposals.seconds, "statements": proposals.statements}, indent=1) + "\n",
    }
    if request.out is not None:  # somebody's folder, with who knows what in it
        write_texts(texts, folder)
    else:
        with whole_folder(folder, _is_ours) as fresh:
            write_texts(texts, fresh)
    return Delivery(proposals, folder, tuple(folder / name for name in texts), validation, in_mapping)


def _is_ours(name: str) -> bool:
    """Whether a file of `RUN/proposals` is one of those that are always written anew; what else lies there stays."""
    return name in MAPPING_FILES or name in ("proposals.json", "report.html", "times.json")


def _checked(request: ProposeRequest, ontology: Ontology, schema: Schema, folder: Path) -> dict[str, str]:
    """The user's IRI templates by name; what would be refused after the long work is refused here, before it."""
    overrides = dict(parse_iri_override(text) for text in request.iris)
    check_overrides(ontology, overrides, request.base, schema)
    refuse_illegal_terms(term.iri for term in ontology.terms)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; choose a folder with ‹out›")
    if request.scenario is not None:
        scenario = open_scenario(request.scenario)
        read_reasoner(scenario.ontology_path, request.reasoning)
        if all(pair.disabled for pair in scenario.pairs):
            raise InputError(f"{request.scenario}: has no query pair to validate with")
    return overrides


def mapped_rules(proposals: Proposals, min_confidence: float = MIN_CONFIDENCE) -> tuple[Rule, ...]:
    """The rules that go into the mapping: of terms with examples, and of those that were decided surely enough.

    What rankers that decide term by term make of a term without examples has no confidence: it is shown, not mapped.
    """
    return tuple(rule for one in proposals.proposals if is_mapped(one, min_confidence) for rule in one.proposed_rules)


def is_mapped(one: Proposal, min_confidence: float = MIN_CONFIDENCE) -> bool:
    """Whether the rules of a proposal go into the mapping.

    What is drafted of a term does not if it has examples, which no rule derives.
    """
    sure = one.confidence is not None and one.confidence >= min_confidence and not one.positives
    return one.status is Status.PROPOSED or (one.status is Status.GUESSED and sure)


@dataclass(frozen=True, slots=True)
class MappedRules:
    """A mapping in every language, and how entities are named in it."""

    texts: dict[str, str]
    policy: IdentityPolicy
    schema: str | None


def map_rules(
    rules: tuple[Rule, ...],
    ontology: Ontology,
    database: Database,
    structure: Structure,
    overrides: Mapping[str, str],
    base: str | None,
    settled: Mapping[tuple[str, ...], str] | None = None,
    datatypes: str | None = None,
    days: Collection[str] = (),
) -> MappedRules:
    """The rules in every language; entities are named as an earlier policy `settled` it, if there was one.

    `days` are the properties whose examples are written as days: so are their values, unless the user wants the
    `datatypes` of the ontology or of the database.
    """
    whole = iri_columns(rules, ontology, database, structure)
    policy = identity_policy(ontology, rules, overrides, base, structure, whole, settled)
    kept_links = database.schema.links if database.dialect.keeps_links else ()
    wanted = Datatypes(datatypes or Datatypes.ONTOLOGY)
    mapping = mapping_of(rules, ontology, policy, kept_links, wanted, () if datatypes else days)
    schema = database.schema_name
    texts = mapping_texts(mapping, database.dialect, structure.schema.type_of, database.safe_url, schema)
    return MappedRules(texts, policy, schema)


def _validated(
    request: ProposeRequest, mapping: str, dataset: Dataset, schema: str | None, progress: Progress
) -> tuple[ValidationResult | None, tuple[str, ...]]:
    """The mapping's score on the database that it was made for, whose SQL it speaks; or a note why there is none."""
    if request.scenario is None:
        return None, ()
    with tempfile.TemporaryDirectory(prefix="ruleminer-") as place:
        file = Path(place) / "mapping.ttl"
        write_whole(file, mapping)
        return _validated_file(request, file, dataset, schema, progress)


def _validated_file(
    request: ProposeRequest, mapping: Path, dataset: Dataset, schema: str | None, progress: Progress
) -> tuple[ValidationResult | None, tuple[str, ...]]:
    assert request.scenario is not None
    try:
        result = validate_mapping(
            mapping,
            request.scenario,
            db=request.db or dataset.manifest["source"]["url"],
            schema=None if isinstance(request.db, Database) else schema,
            reasoning=request.reasoning,
            timeout=request.timeout,
            progress=progress,
        )
    except RuleminerError as error:  # the mapping is there all the same
        return None, (f"the mapping could not be validated: {error}",)
    return result, ()


def _json_text(
    proposals: Proposals, policy: IdentityPolicy, request: ProposeRequest, dataset: Dataset, ontology: Ontology
) -> str:
    """All evidence, and what it was made from."""
    evidence = {name: value for name, value in proposals.to_json().items() if name not in ("seconds", "statements")}
    told = {
        **evidence,
        "policy": policy.to_json(),
        "made_from": {
            "dataset": dataset.manifest.get("plan"),
            "ontology": ontology.sha256,
            **wishes(request),
        },
    }
    return json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False, default=str) + "\n"
