"""`ruleminer export`: a run's rules, perhaps edited by hand, in the mapping language that is asked for.

Entities keep the IRIs that the run's proposals gave them: what an edit adds gets new ones, by the same policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruleminer.dataset import proposals_are_stale, read_dataset
from ruleminer.errors import InputError
from ruleminer.problem.ontology import Ontology
from ruleminer.problem.rule_files import body_problems, head_problem, read_rule_file
from ruleminer.proposals.identity import check_overrides, parse_iri_override
from ruleminer.proposals.live_structure import live_structure
from ruleminer.proposals.made_from import as_proposed, proposed_before
from ruleminer.proposals.request import ProposeRequest, live_database, run_ontology
from ruleminer.proposals.stage import map_rules
from ruleminer.proposals.written_forms import days_of
from ruleminer.rules.values import Rule
from ruleminer.run import Run
from ruleminer.sources.schema import Schema
from ruleminer.whole_files import write_whole

FILES = {
    "r2rml": "mapping.ttl",
    "obda": "mapping.obda",
    "yarrrml": "mapping.yarrrml.yml",
    "sql": "mapping.sql",
    "rules": "mapping.rules",
}


@dataclass(frozen=True, slots=True)
class ExportedMapping:
    """A mapping's text in one language, how its entities are named, and what could not be found out."""

    text: str
    rules: int
    identity: tuple[str, ...]
    notes: tuple[str, ...]
    file: Path | None = None


def export_mapping(
    request: ProposeRequest, language: str, rules_file: Path | None = None, out: Path | None = None
) -> ExportedMapping:
    """The rules of a file (or those that were proposed) in a language; written to `out`, if it is given.

    The request names the run and, where they differ from what was proposed with, database, ontology and IRIs.
    """
    if language not in FILES:
        raise InputError(f"‹format› must be one of {', '.join(FILES)}, not {language!r}")
    if out is not None and out.is_dir():
        raise InputError(f"{out} is a folder; ‹out› names the file to write")
    run = Run.of(request.run)
    dataset = read_dataset(run)
    ontology = run_ontology(request, dataset)
    proposed = proposed_before(run)
    stale = proposals_are_stale(run)
    if stale and rules_file is None:
        raise InputError(
            f"the proposals in {run} are older than its dataset: run ruleminer propose-mappings {run} first"
        )
    wished = as_proposed(request, proposed)
    overrides = dict(parse_iri_override(text) for text in wished.iris)
    with live_database(request, dataset) as database:
        rules = _read_rules(rules_file or run.proposals / FILES["rules"], ontology, database.schema)
        check_overrides(ontology, overrides, wished.base, database.schema)
        notes = (
            [f"the proposals in {run}, which entities keep their IRIs by, are older than its dataset"] if stale else []
        )
        structure = live_structure(run, database, notes)
        settled = {} if request.iris or request.base else _settled(proposed)
        mapped = map_rules(
            rules, ontology, database, structure, overrides, wished.base, settled,
            wished.datatypes, days_of(dataset),
        )  # fmt: skip
    text = mapped.texts[FILES[language]]
    if out is not None:
        write_whole(out, text)
    return ExportedMapping(text, len(rules), tuple(mapped.policy.lines()), tuple(notes), out)


def _read_rules(file: Path, ontology: Ontology, schema: Schema) -> tuple[Rule, ...]:
    """The rules of a file; what the ontology or the database does not have is refused with its line."""
    if not file.exists():
        raise InputError(f"{file}: is not there; name the rules with ‹start›")
    rules = []
    for line, rule in read_rule_file(file):
        problem = head_problem(rule, ontology) or next(iter(body_problems(rule, schema)), None)
        if problem:
            raise InputError(f"{file}:{line}: {problem}")
        rules.append(rule)
    if not rules:
        raise InputError(f"{file}: has no rule")
    return tuple(dict.fromkeys(rules))


def _settled(proposed: dict[str, Any]) -> dict[tuple[str, ...], str]:
    """The IRI templates of the proposals, by the columns of their keys."""
    return {tuple(space["key"]): space["template"] for space in proposed.get("policy", {}).get("spaces", ())}
