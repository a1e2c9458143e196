"""The paper's published candidate sets (token strings) as a dataset of ours, to train on the very same data.

    SOS Author PREDEND var_1 EOH people id kind PREDEND var_1 2 EOP EOS     Author(x) <- people(id: x, kind: 2)

The strings have lost the blanks and the types of constants: `_` within a constant is read as a blank, and a
constant has the most specific kind that its text admits.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ruleminer.dataset import LabelledFact, write_labelled_facts
from ruleminer.errors import InputError
from ruleminer.rules.lexical import constant_of, readings
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.printer import rule_text
from ruleminer.rules.values import Atom, Concat, Constant, Kind, Rule, Term, Variable
from ruleminer.sources.schema import Column, Schema, Table

# The kinds of constants that the strings have; what else looks like a number is text.
_KINDS = {Kind.DECIMAL: Kind.INTEGER, Kind.BOOLEAN: Kind.BOOLEAN, Kind.DATE: Kind.DATE}
_HEAD_VARIABLES = {"var_1": Variable("x"), "var_2": Variable("y")}


def write_reference_set(reference: Path, name: str, run: Path) -> Path:
    """Read NAME.pos.jsonl.gz and NAME.neg.jsonl.gz of a folder, write RUN/dataset, return it."""
    facts: list[LabelledFact] = []
    read: dict[str, str] = {}  # a rule occurs in many sets
    for part, positive in (("pos", True), ("neg", False)):
        for line in _lines(reference / f"{name}.{part}.jsonl.gz"):
            for output in line["outputs"]:
                if output not in read:
                    read[output] = rule_text(rule_of_tokens(output))
            rules = tuple(read[output] for output in line["outputs"])
            facts.append(LabelledFact(*_fact(line["input"]), rules, positive))
    return write_labelled_facts(run, facts, _schema(dict.fromkeys(read.values())), f"reference/{name}")


def _schema(rules: Iterable[str]) -> Schema:
    """The tables and columns that the rules name; what kind a column has, a constant or nothing tells."""
    tables: dict[str, dict[str, Kind]] = {}
    for rule in map(parse_rule, rules):
        for atom in rule.body:
            columns = tables.setdefault(atom.table, {})
            for column, term in atom.columns:
                if isinstance(term, Constant) or column not in columns:
                    columns[column] = term.kind if isinstance(term, Constant) else Kind.TEXT
    return Schema(
        None,
        tuple(
            Table(name, tuple(Column(column, kind, kind, nullable=True) for column, kind in columns.items()))
            for name, columns in sorted(tables.items())
        ),
    )


def rule_of_tokens(text: str) -> Rule:
    """The rule that a token string stands for."""
    head, _, body = text.removeprefix("SOS ").removesuffix(" EOS").partition(" EOH ")
    predicate, _, head_variables = head.partition(" PREDEND ")
    arguments = tuple(_HEAD_VARIABLES[word] for word in head_variables.split())
    atoms: list[Atom] = []
    definitions: list[tuple[Variable, Concat]] = []
    for atom in body.removesuffix(" EOP").split(" EOP "):
        names, _, terms = atom.partition(" PREDEND ")
        table, *columns = names.split()
        words = terms.split()
        if len(columns) == len(words) and not any("/" in column for column in columns):
            atoms.append(Atom(table, tuple((c, _term(w)) for c, w in zip(columns, words, strict=True))))
        else:
            parts, bound = _concatenation(columns)
            atoms.append(Atom(table, bound))
            definitions.append((_HEAD_VARIABLES[words[0]], parts))
    return Rule(predicate, arguments, tuple(atoms), tuple(definitions))


def _concatenation(pieces: list[str]) -> tuple[Concat, tuple[tuple[str, Term], ...]]:
    """A string's pieces: those with a `/` are text, the others columns, which get the variables a, b, ..."""
    columns = list(dict.fromkeys(piece for piece in pieces if "/" not in piece))
    variable = {column: Variable(chr(ord("a") + i)) for i, column in enumerate(columns)}
    parts = tuple(variable.get(piece, piece) for piece in pieces)
    return Concat(parts), tuple(variable.items())


def _term(word: str) -> Term:
    if word in _HEAD_VARIABLES:
        return _HEAD_VARIABLES[word]
    family, text = readings(word)[-1]
    kind = _KINDS.get(family)
    found = constant_of(text, kind) if kind else None
    return found or Constant.of(word.replace("_", " "))


def _fact(text: str) -> tuple[str, tuple[str, ...]]:
    predicate, _, arguments = text.removeprefix("SOS ").removesuffix(" EOP EOS").partition(" PREDEND ")
    return predicate, tuple(arguments.split())


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if not path.is_file():
        raise InputError(f"{path}: no such file (the reference sets come with the real data, RULEMINER_DATA)")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
