"""A fact that the user names, in their own words: read as examples are, as what it may be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ruleminer.errors import DatabaseError, InputError
from ruleminer.extraction.entities import read_entities
from ruleminer.extraction.entity_names import Choice
from ruleminer.problem.fact_tables import with_truth
from ruleminer.problem.facts import Fact as Example
from ruleminer.problem.facts import fact_table
from ruleminer.problem.ontology import OntologyTerm, arity
from ruleminer.proposals.derivations import Fact
from ruleminer.proposals.replay import Replay
from ruleminer.rules.body import Body
from ruleminer.rules.values import Atom, Rule, Variable

_X = Variable("x")
QUOTES = 'what has a comma in it stands in quotes: "Paris, France"'
_CELL = re.compile(r'\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))(,|\Z)')


def typed_fact(line: str, term: OntologyTerm) -> Fact:
    """The arguments in a line, with a comma between two; quotes keep a comma in a name."""
    cells = _cells(line)
    if len(cells) != arity(term) and arity(term) == 1:
        cells = [line]
    return checked_fact(cells, term)


def _cells(line: str) -> list[str]:
    """What stands between commas. Quotes round all of it keep commas; others belong to a name: "Weird Al" Yankovic."""
    found, start, more = [], 0, True
    while more:
        cell = _CELL.match(line, start)
        assert cell is not None, "a cell may be empty"
        quoted, plain, comma = cell.groups()
        found.append(plain if quoted is None else quoted.replace('""', '"'))
        start, more = cell.end(), bool(comma)
    return found


def fact_in_fields(texts: Sequence[str], term: OntologyTerm) -> Fact:
    """The arguments that stand apart, each in a field: a comma is just that, and quotes round all of it may stand."""
    return checked_fact([cells[0] if len(cells := _cells(text)) == 1 else text for text in texts], term)


def checked_fact(texts: Sequence[str], term: OntologyTerm) -> Fact:
    """As many arguments as the term has, none of them empty."""
    fact = tuple(text.strip() for text in texts)
    if len(fact) != arity(term) or not all(fact):
        wanted = "a thing" if arity(term) == 1 else "two things, or a thing and a value, with a comma between them"
        quotes = f"; {QUOTES}" if len(fact) > arity(term) else ""
        raise InputError(f"{term.name} is said of {wanted}{quotes}")
    return fact


def named_facts(fact: Fact, term: OntologyTerm, bodies: Iterable[Body], replay: Replay) -> dict[Fact, Body | None]:
    """What a fact in the user's words may be, its things with their tables; and a rule that derives it, if one does.

    `AC/DC` is what rows are called; a bare key is one of whatever a rule in question speaks of, the first of `bodies`
    first, or else one that a search finds. What is nothing in this database is refused.
    """
    measure = replay.measure
    structure, texts = measure.derivations.structure, measure.derivations.texts
    fact = with_truth(fact, (None,) * len(fact), term, measure.ontology)
    example = fact_table([Example(term.name, fact, (None,) * len(fact))])
    read = read_entities(example, structure, measure.derivations.database, measure.ontology)
    ways = read.meanings(0)
    some = list(bodies)
    found: dict[Fact, Body | None] = {}
    absent: list[str] = []
    for way in ways:
        choices = way[: len(fact)]
        missing = [str(one) for one in choices if one is not None and not _is_there(one, replay)]
        absent += missing
        if missing:
            continue
        told = tuple(
            text if one is None else texts.of_row(one.table, one.key) for text, one in zip(fact, choices, strict=True)
        )
        replay.derived.ask([(body, [told]) for body in some])
        derived = [body for body in some if replay.derived.by(body, [told])[0]]
        for body in derived:
            found.setdefault(texts.written(body, texts.read(body, told) or told), body)
        if not derived and choices[0] is not None:
            found[told] = None
    if not found and not absent:  # a bare key, of whatever
        for body in _searched(fact, term, replay):
            found.setdefault(texts.written(body, fact), body)
    if not found:
        raise InputError(
            f"there is no {absent[0]}"
            if absent
            else f"nothing that {term.name} may be is called "
            f"{', '.join(fact)}; write a key or a name with its table, such as {_example(replay)}"
        )
    return found


def _searched(fact: Fact, term: OntologyTerm, replay: Replay) -> Sequence[Body]:
    try:
        return replay.search.of(term.name, fact)
    except DatabaseError as problem:
        raise InputError(f"{', '.join(fact)} could not be searched for: {problem}") from None


def _is_there(choice: Choice, replay: Replay) -> bool:
    """Whether a table has a row with a key; of several columns, that was looked up already."""
    if choice.column or len(choice.columns) != 1:
        return True
    rule = Rule(choice.table, (_X,), (Atom(choice.table, ((choice.columns[0], _X),)),))
    return replay.derived.by(rule, [(choice.key,)])[0]


def _example(replay: Replay) -> str:
    structure = replay.measure.derivations.structure
    return next((f"{space.key.table}:KEY" for space in structure.spaces), "table:KEY")
