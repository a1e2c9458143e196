"""A mapping that is there already as the starting point of a review: its rules enter as pinned by the user.

`mapping.rules` is read as it is. Of a foreign R2RML document those triples maps are read that say what a rule can say:
a table, or a query that joins tables by equal columns and compares columns with constants; subjects and objects of one
column, or values. The IRIs are made by our own identity policy (‹iri› sets it). The rest is told, line by line.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from ruleminer.errors import RuleminerError
from ruleminer.problem.decisions import Said, UserDecision, append_decisions
from ruleminer.problem.ontology import Ontology
from ruleminer.problem.rdf import RDF_SUFFIXES
from ruleminer.problem.rule_files import head_problem, read_rule_file
from ruleminer.review.query_atoms import TableColumns, UnreadableQueryError, query_atoms, table_atom
from ruleminer.rules.values import Rule, Term, Variable
from ruleminer.run import Run
from ruleminer.sources.schema import Schema
from ruleminer.validation.r2rml import read_r2rml
from ruleminer.validation.r2rml_values import Join, R2RMLMapping, RefObject, TermMap, TermType, TriplesMap

_X, _Y = Variable("x"), Variable("y")


@dataclass(frozen=True, slots=True)
class Started:
    """What was read of a mapping."""

    rules: tuple[Rule, ...]
    notes: tuple[str, ...]  # what could not be read as a rule
    unread: frozenset[str] = frozenset()  # terms of R2RML of which something could not be read


def start_from(run: Run, path: Path, ontology: Ontology, schema: Schema, dialect: str) -> Started:
    """Pin the rules of a mapping; the same file pins them once, however often it is given."""
    started = read_start(path, ontology, schema, dialect)
    by_term: dict[str, list[Rule]] = {}
    for rule in started.rules:
        by_term.setdefault(rule.predicate, []).append(rule)
    lines = [UserDecision(term, Said.PINNED, rules=tuple(rules)) for term, rules in by_term.items()]
    append_decisions(run.decisions, [replace(line, about=f"from {path.name}", id=_mark(line)) for line in lines])
    return started


def read_start(path: Path, ontology: Ontology, schema: Schema, dialect: str) -> Started:
    """The rules of a mapping in our own language or in R2RML."""
    if path.suffix.lower() in RDF_SUFFIXES:
        return _read_r2rml(read_r2rml(path), ontology, schema, dialect)
    rules, notes = [], []
    for line, rule in read_rule_file(path):
        problem = head_problem(rule, ontology)
        if problem is None:
            rules.append(replace(rule, predicate=ontology.find(rule.predicate).name))
        else:
            notes.append(f"{path.name}:{line}: {problem}; the rule is left out")
    return Started(tuple(dict.fromkeys(rules)), tuple(dict.fromkeys(notes)))


def _mark(line: UserDecision) -> str:
    """The same id for the same rules of a term."""
    return f"start-{hashlib.sha256(repr(line.cells[2:]).encode()).hexdigest()[:24]}"


def _read_r2rml(mapping: R2RMLMapping, ontology: Ontology, schema: Schema, dialect: str) -> Started:
    maps = {one.name: one for one in mapping.maps}
    rules: dict[Rule, None] = {}
    notes: list[str] = []
    unread: set[str] = set()
    for one in maps.values():
        found: list[Rule] = []
        try:
            found, told, lost = _rules_of(one, maps, ontology, schema, dialect)
        except UnreadableQueryError as problem:
            told, lost = [str(problem)], terms_of(one)
        rules |= dict.fromkeys(found)
        notes += [f"triples map {one.name}: {line}; it is left out" for line in told]
        unread.update(lost)
    known = {iri: term.name for term in ontology.terms for iri in (term.iri,)}
    names = frozenset(known[iri] for iri in unread if iri in known)
    return Started(tuple(rules), tuple(dict.fromkeys(notes)), names)


def terms_of(one: TriplesMap) -> list[str]:
    """The IRIs of the classes and properties that a triples map names."""
    pairs = (predicate for pair in one.predicate_objects for predicate in pair.predicates)
    return [*one.classes, *(predicate.constant.strip("<>") for predicate in pairs if predicate.constant)]


def _rules_of(
    one: TriplesMap, maps: dict[str, TriplesMap], ontology: Ontology, schema: Schema, dialect: str
) -> tuple[list[Rule], list[str], list[str]]:
    """The rules that a triples map says, what could not be read of it, and the terms of that."""
    rows = _columns(one, schema, dialect)
    subject = _single(one.subject)
    if subject is None:
        return [], ["its subject is not made of one column"], terms_of(one)
    wanted: list[tuple[str, TermMap | RefObject | None]] = [(iri, None) for iri in one.classes]
    notes = []
    for pair in one.predicate_objects:
        for predicate in pair.predicates:
            if predicate.constant is None:
                notes.append("a predicate is not constant")
            else:
                wanted += [(predicate.constant.strip("<>"), target) for target in pair.objects]
    rules, lost = [], []
    for iri, target in wanted:
        try:
            name = ontology.find(iri).name
            if target is None:
                rules.append(Rule(name, (_X,), rows.atoms({subject: _X})))
            else:
                rules.append(_property(name, rows, subject, target, maps, schema, dialect))
        except RuleminerError as problem:
            notes.append(str(problem))
            lost.append(iri)
    return rules, notes, lost


def _property(
    name: str,
    rows: TableColumns,
    subject: str,
    target: TermMap | RefObject,
    maps: dict[str, TriplesMap],
    schema: Schema,
    dialect: str,
) -> Rule:
    if isinstance(target, TermMap):
        value = _single(target)
        if value is not None and target.term_type is TermType.LITERAL and len(target.template or ()) > 1:
            raise UnreadableQueryError(f"an object of {name} has text beside its column")
        if value is None:
            raise UnreadableQueryError(f"an object of {name} is not made of one column")
        wanted: dict[str, Term] = {subject: _X, value: _Y}
        if value == subject:
            raise UnreadableQueryError(f"subject and object of {name} are the same column")
        return Rule(name, (_X, _Y), rows.atoms(wanted))
    parent = maps[target.parent]
    end = _single(parent.subject)
    if end is None:
        raise UnreadableQueryError(f"the objects of {name} are not made of one column")
    other = _columns(parent, schema, dialect)
    if not target.joins:
        if end == subject:
            raise UnreadableQueryError(f"subject and object of {name} are the same column")
        return Rule(name, (_X, _Y), rows.atoms({subject: _X, end: _Y}))
    if len(target.joins) == 1 and target.joins[0].parent.name == end and _is_link(rows, target.joins[0], other, schema):
        if target.joins[0].child.name == subject:
            raise UnreadableQueryError(f"subject and object of {name} are the same column")
        return Rule(name, (_X, _Y), rows.atoms({subject: _X, target.joins[0].child.name: _Y}))
    child: dict[str, Term] = {subject: _X}
    parents: dict[str, Term] = {end: _Y}
    for number, join in enumerate(target.joins):
        shared: Term = parents.get(join.parent.name) or child.get(join.child.name) or Variable(f"j{number}")
        if (
            child.setdefault(join.child.name, shared) != shared
            or parents.setdefault(join.parent.name, shared) != shared
        ):
            raise UnreadableQueryError(f"the join of {name} makes subject and object one")
    return Rule(name, (_X, _Y), (*rows.atoms(child, "a"), *other.atoms(parents, "b")))


def _is_link(rows: TableColumns, join: Join, other: TableColumns, schema: Schema) -> bool:
    """Whether a join only follows a foreign key to a whole table: the other table says nothing more."""
    start, end = rows.place(join.child.name), other.place(join.parent.name)
    return other.is_table and (start, end) in schema.links


def _columns(one: TriplesMap, schema: Schema, dialect: str) -> TableColumns:
    if one.table.query:
        return query_atoms(one.table.query, schema, dialect)
    *folders, table = one.table.path
    return table_atom(table.name, schema, folders[-1].name if folders else "")


def _single(term: TermMap) -> str | None:
    """The one column that a term is made of."""
    return term.columns[0].name if term.constant is None and len(term.columns) == 1 else None
