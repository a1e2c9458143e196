"""A rule as it is typed: whether it parses, whether the database has what it names, and what it derives there."""

from __future__ import annotations

from dataclasses import dataclass

from ruleminer.errors import DatabaseError, RuleminerError, SyntaxProblem
from ruleminer.problem.ontology import Ontology, arity
from ruleminer.problem.rule_files import body_problems
from ruleminer.proposals.derivations import Derivations, Fact
from ruleminer.rules.parser import parse_rules
from ruleminer.rules.sql import rule_sql
from ruleminer.rules.values import Rule
from ruleminer.sources.schema import Schema

_SAMPLE = 6


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, and where in the text: line and column from 1, or 0 if it is the whole."""

    message: str
    line: int = 0
    column: int = 0


@dataclass(frozen=True, slots=True)
class Checked:
    """What a text comes to: rules without a problem, and some of what they derive; or problems."""

    rules: tuple[Rule, ...]
    problems: tuple[Problem, ...]
    derives: int | None = None
    sample: tuple[Fact, ...] = ()
    sql: tuple[str, ...] = ()


def check_rules(text: str, term: str, ontology: Ontology, schema: Schema) -> Checked:
    """The rules of a text, checked by the language and by the schema; the database is not asked."""
    try:
        rules = tuple(parse_rules(text))
    except SyntaxProblem as problem:
        message = str(problem).partition(": ")[2]
        return Checked((), (Problem(message, problem.line, problem.column),))
    except RuleminerError as problem:
        return Checked((), (Problem(str(problem)),))
    if not rules:
        return Checked((), (Problem("there is no rule yet"),))
    problems = [problem for rule in rules for problem in _problems(rule, term, ontology, schema)]
    return Checked(rules if not problems else (), tuple(dict.fromkeys(problems)))


def run_rules(checked: Checked, derivations: Derivations) -> Checked:
    """The same with what the rules derive, asked of the database within its time limit."""
    if not checked.rules:
        return checked
    rules, dialect = checked.rules, derivations.database.dialect
    try:
        refused = [reason for rule in rules if (reason := derivations.refusal(rule))]
        size = None if refused else derivations.union_size(rules)
        if size is None:
            reason = next(filter(None, [*refused, *map(derivations.refusal, rules)]), "the database does not answer")
            return Checked((), (Problem(reason),))
        sample = tuple(tuple(map(str, row)) for row in derivations.sample(rules, _SAMPLE))
    except DatabaseError as problem:
        return Checked((), (Problem(str(problem)),))
    return Checked(rules, (), size, sample, tuple(rule_sql(rule, dialect) for rule in rules))


def _problems(rule: Rule, term: str, ontology: Ontology, schema: Schema) -> list[Problem]:
    found: list[str] = []
    meant = ontology.find(term)
    if rule.predicate != meant.name:
        found.append(f"the rule is for {rule.predicate}, not for {meant.name}")
    elif len(rule.arguments) != arity(meant):
        found.append(f"{meant.name} has {arity(meant)} argument{'s' * (arity(meant) - 1)}, not {len(rule.arguments)}")
    return [Problem(one) for one in (*found, *body_problems(rule, schema))]
