"""Files of rules, as `mapping.rules` is one: read, and held against an ontology and a schema.

Whoever reads such a file asks here: a review that starts from one, `export`, `diff`, the demo. What to do with a rule
that does not fit is theirs to say.
"""

from __future__ import annotations

from pathlib import Path

from ruleminer.errors import InputError
from ruleminer.problem.ontology import Ontology, OntologyClass, arity
from ruleminer.rules.parser import parse_numbered_rules
from ruleminer.rules.values import Constant, Kind, Rule
from ruleminer.sources.schema import Schema, nearest

_NUMBERS = (Kind.INTEGER, Kind.DECIMAL)


def read_rule_file(path: Path) -> list[tuple[int, Rule]]:
    """The rules of a file, each with the line that it begins in."""
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path}: cannot be read (it is no text in UTF-8)") from None
    except OSError as problem:
        raise InputError(f"{path}: cannot be read ({problem.strerror or problem})") from None
    return list(parse_numbered_rules(text, str(path)))


def head_problem(rule: Rule, ontology: Ontology) -> str | None:
    """Why a rule is for no term of the ontology, if it is for none."""
    try:
        term = ontology.find(rule.predicate)
    except InputError as problem:
        return str(problem)
    wanted = arity(term)
    if len(rule.arguments) == wanted:
        return None
    kind = "class" if isinstance(term, OntologyClass) else "property"
    return f"{rule.predicate} is a {kind} and takes {wanted} argument{'s' * (wanted - 1)}, not {len(rule.arguments)}"


def body_problems(rule: Rule, schema: Schema) -> list[str]:
    """What a rule asks for that the database does not have."""
    found: list[str] = []
    tables = [table.name for table in schema.tables]
    for atom in rule.body:
        if atom.table not in schema:
            found.append(f"the database has no table {atom.table}{nearest(atom.table, tables)}")
            continue
        columns = {column.name: column for column in schema.table(atom.table).columns}
        for name, value in atom.columns:
            if name not in columns:
                found.append(f"table {atom.table} has no column {name}{nearest(name, columns)}")
            elif isinstance(value, Constant) and not _comparable(value.kind, columns[name].kind):
                found.append(f"{atom.table}.{name} holds values of kind {columns[name].kind}, not {value.kind}")
    for position, constant in rule.excluded if not found else ():
        if not _comparable(constant.kind, kind := schema.type_of(*position.place).kind):
            found.append(f"{position.table}.{position.column} holds values of kind {kind}, not {constant.kind}")
    return found


def _comparable(one: Kind, other: Kind) -> bool:
    return one == other or (one in _NUMBERS and other in _NUMBERS)
