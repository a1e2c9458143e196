"""What the page shows, as plain values: the terms with their facets, the question, and one term with its reasons.

Texts travel as texts: the page makes elements of them and never reads any as markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ruleminer.errors import DatabaseError, InputError
from ruleminer.problem.decisions import Said, UserDecision
from ruleminer.problem.ontology import OntologyClass, OntologyTerm, arity
from ruleminer.proposals.derivations import Fact
from ruleminer.proposals.explain import kind_of_term
from ruleminer.proposals.identity import identity_policy, mapping_of
from ruleminer.proposals.iri_columns import iri_columns
from ruleminer.proposals.proposal import Proposal, RuleEvidence, Status
from ruleminer.proposals.report.colouring import rule_pieces, sql_pieces
from ruleminer.proposals.term_proposals import is_shown
from ruleminer.review.called import names_of
from ruleminer.review.hypotheses import entropy
from ruleminer.review.questions import NoQuestion, Question
from ruleminer.review.rows import Row, rows_shown
from ruleminer.review.session import Change, ReviewSession
from ruleminer.review.words import rule_words
from ruleminer.rules.export.r2rml import r2rml_text
from ruleminer.rules.printer import rule_text
from ruleminer.rules.values import Rule

_DIFFERENCES, _RIVALS, _SAID, _NEIGHBOURS = 3, 5, 40, 24
_SURE, _LIKELY = 0.95, 0.8  # as in the report

Json = dict[str, Any]


def screen(session: ReviewSession, focus: str | None = None) -> Json:
    """All that the page shows; with a term in focus its own question, else the one that tells most."""
    with session.lock:
        known = {term.name for term in session.ontology.terms} | session.decisions.keys()
        focus = focus if focus in known else None
        question = session.question(focus)
        told = question.reason if isinstance(question, NoQuestion) else ""
        terms = [_listed(session, name) for name in known]
        terms.sort(key=lambda one: (one["rank"], _shown_as(one["sure"]), -one["doubt"], one["name"]))
        name = focus or (question.term if isinstance(question, Question) else next((t["name"] for t in terms), None))
        return {
            "version": len(session.said.lines),
            "title": f"Review of {session.database.schema_name or session.run.folder.resolve().name}",
            "source": session.database.safe_url,
            "focus": focus,
            "terms": terms,
            "question": question_json(session, question) if isinstance(question, Question) else None,
            "silence": told,
            "term": term_json(session, name) if name else None,
            "said": [_line(one) for one in reversed(session.said.standing[-_SAID:])],
            "notes": list(session.applied.notes),
        }


def _listed(session: ReviewSession, name: str) -> Json:
    """A term as it stands in the list."""
    meant = session.ontology.find(name)
    decision = session.decisions.get(name)
    some = session.hypotheses(name)
    kept = session.said.kept.get(name)
    founded = decision is not None and is_shown(decision, session.request)
    state = "nothing"
    if kept is not None and (kept.said is Said.NO_RULE or (decision is not None and decision.word)):
        state = "yours"
    elif founded and decision is not None:
        state = "proposed" if decision.measured.pool.positives else "guessed"
    sure = 0.0
    if founded:
        sure = session.certainty(name)
    return {
        "name": name,
        "label": next(iter(meant.labels), ""),
        "kind": "class" if isinstance(meant, OntologyClass) else str(meant.kind),
        "state": state,
        "word": str(kept.said) if kept and state == "yours" else "",
        "sure": 1.0 if state == "yours" else sure,
        "trust": _trust(state, sure),
        "hypotheses": sum(1 for one in some if one.rules and one.share >= 0.02),
        "doubt": entropy([one.share for one in some]),
        "differs": name in session.disagreements,
        "rank": {"nothing": 1, "yours": 2}.get(state, 0),
    }


def _shown_as(sure: float) -> float:
    """As the list rounds it: terms that look equally sure are in order of doubt."""
    return round(sure, 2 if 0.1 <= sure <= 0.99 else 3)


def _trust(state: str, sure: float) -> str:
    if state in ("nothing", "guessed"):
        return state
    return "sure" if state == "yours" or sure >= _SURE else "likely" if sure >= _LIKELY else "doubtful"


def question_json(session: ReviewSession, question: Question) -> Json:
    """A question with the rows behind each of its facts, and what things are called."""
    options = []
    for place, fact in enumerate(question.facts):
        rules = session.deriving(question, place)
        called = names_of([fact], rules, session.derivations, session.structure)
        rows = rows_shown(rules, fact, session.derivations)
        shares = sum(question.hypotheses[number].share for number in question.derived_by[place])
        options.append({"fact": _fact(fact, called), "rows": [_row(row) for row in rows], "share": shares})
    meant = session.ontology.find(question.term)
    return {
        "term": question.term,
        "kind": kind_of_term(meant),
        "comment": next(iter(meant.comments), ""),
        "arity": arity(meant),
        "named": question.named,
        "options": options,
        "information": question.information,
    }


def term_json(session: ReviewSession, name: str) -> Json:
    """One term: its rule in three languages, what it derives and misses, its rivals and where they differ."""
    meant = session.ontology.find(name)
    proposal = session.proposal(name)
    rules = proposal.proposed_rules
    called = _called(session, proposal, rules)
    kept = session.said.kept.get(name)
    return {
        "name": name,
        "iri": meant.iri,
        "kind": kind_of_term(meant),
        "label": proposal.label,
        "comment": next(iter(meant.comments), ""),
        "arity": arity(meant),
        "status": str(proposal.status),
        "word": str(kept.said) if kept else "",
        "reason": proposal.reason,
        "posterior": proposal.posterior,
        "confidence": proposal.confidence,
        "positives": proposal.positives,
        "negatives": proposal.negatives,
        "derives": proposal.derives,
        "rules": [_evidence(one) for one in proposal.rules],
        "text": "\n".join(proposal.texts),
        "r2rml": r2rml_of(session, rules),
        "sample": [_fact(fact, called) for fact in proposal.sample],
        "missed": [_fact(fact, called) for fact in proposal.missed],
        "hit": [_fact(fact, called) for fact in proposal.hit],
        "rivals": _rivals(session, name, proposal),
        "neighbours": list(_neighbours(session, meant)),
        "said": [_line(one) for one in reversed(session.said.standing) if one.term == name][:_SAID],
    }


def _called(session: ReviewSession, proposal: Proposal, rules: Sequence[Rule]) -> dict[tuple[int, str], str]:
    facts = [*proposal.sample, *proposal.missed, *proposal.hit]
    return names_of(facts, rules, session.derivations, session.structure) if facts and rules else {}


def _evidence(one: RuleEvidence) -> Json:
    return {
        "text": one.text,
        "pieces": list(rule_pieces(one.text)),
        "words": rule_words(one.rule),
        "sql": list(sql_pieces(one.sql)),
        "verdict": one.verdict,
        "origin": one.origin,
        "derives": one.derives,
        "names": one.names,
    }


def _rivals(session: ReviewSession, name: str, proposal: Proposal) -> list[Json]:
    """What else came into question, and some rows in which it differs from the proposal."""
    chosen = proposal.proposed_rules
    found = []
    shares = {rule: one.share for one in session.hypotheses(name) if len(one.rules) == 1 for rule in one.rules}
    rivals = [(one.rule, one.verdict, one.derives) for one in proposal.alternatives]
    if proposal.status is Status.NOTHING:
        rivals = [(rule, "nothing speaks for it yet", session.derivations.size(rule)) for rule in shares]
    for rule, verdict, derives in rivals[:_RIVALS]:
        more, fewer = _difference(session, [rule], chosen), _difference(session, chosen, [rule])
        more_called = names_of(more, [rule], session.derivations, session.structure)
        fewer_called = names_of(fewer, chosen, session.derivations, session.structure)
        text = rule_text(rule)
        found.append(
            {
                "text": text,
                "pieces": list(rule_pieces(text)),
                "words": rule_words(rule),
                "share": shares.get(rule, 0.0),
                "verdict": verdict,
                "derives": derives,
                "more": [_fact(fact, more_called) for fact in more],
                "fewer": [_fact(fact, fewer_called) for fact in fewer],
            }
        )
    return found


def _difference(session: ReviewSession, these: Sequence[Rule], those: Sequence[Rule]) -> list[Fact]:
    try:
        if not these:
            return []
        derivations = session.derivations
        rows = derivations.difference(these, those, _DIFFERENCES) if those else derivations.sample(these, _DIFFERENCES)
    except DatabaseError:
        return []
    return [tuple(map(str, row)) for row in rows]


def r2rml_of(session: ReviewSession, rules: Sequence[Rule]) -> str:
    """The rules of one term as R2RML, with the IRIs that the whole mapping gives its entities."""
    if not rules:
        return ""
    whole_mapping = [rule for one in session.decisions.values() if is_shown(one, session.request) for rule in one.rules]
    try:
        whole = iri_columns(tuple(rules), session.ontology, session.database, session.structure)
        policy = identity_policy(
            session.ontology, tuple(whole_mapping), {}, session.request.base, session.structure, whole
        )
        mapping = mapping_of(tuple(rules), session.ontology, policy)
        return r2rml_text(mapping, session.database.dialect, session.structure.schema.type_of)
    except (DatabaseError, InputError) as problem:
        return f"# {problem}"


def _neighbours(session: ReviewSession, term: OntologyTerm) -> Iterable[Json]:
    """The terms around one in the ontology, and how each is related to it."""
    ontology = session.ontology
    told: list[tuple[str, str]] = [("above", iri) for iri in term.parents]
    if isinstance(term, OntologyClass):
        told += [("below", one.iri) for one in ontology.classes if term.iri in one.parents]
        told += [("starts", one.iri) for one in ontology.properties if term.iri in one.domains]
        told += [("ends", one.iri) for one in ontology.properties if term.iri in one.ranges]
    else:
        told += [("from", iri) for iri in term.domains]
        told += [("to", iri) for iri in term.ranges]
        told += [("inverse", iri) for iri in term.inverses]
        told += [("below", one.iri) for one in ontology.properties if term.iri in one.parents]
    for relation, iri in dict.fromkeys(told[:_NEIGHBOURS]):
        found = ontology.get(iri)
        if found is not None:
            rules = session.rules.get(found.name, ())
            yield {"relation": relation, "name": found.name, "rules": [text.partition(" <- ")[2] for text in rules]}


def change_json(change: Change) -> Json:
    """A term whose rules an answer changed."""
    return {"term": change.term, "before": list(change.before), "after": list(change.after)}


def _fact(fact: Fact, called: dict[tuple[int, str], str]) -> list[Json]:
    cells = []
    for place, value in enumerate(fact):
        name = called.get((place, value))
        cells.append({"value": value, "name": name if name != value else None})
    return cells


def _row(row: Row) -> Json:
    return {
        "table": row.table,
        "cells": [{"column": name, "value": value, "marked": name in row.marked} for name, value in row.cells],
    }


def _line(line: UserDecision) -> Json:
    return {"id": line.id, "when": line.when, "term": line.term, "said": str(line.said), "told": line.told}
