"""Rule → text: the printer of the rule language. `parser.py` reads it back and says what the language is."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal

from ruleminer.rules.values import Atom, Concat, Empty, Kind, Part, Rule, Term, Variable

_BARE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_NEEDS_ESCAPE = re.compile(r'["\\\x00-\x1f\x7f\x85\u2028\u2029]')
_SHORT_ESCAPES = {"\n": "n", "\r": "r", "\t": "t", '"': '"', "\\": "\\"}


def rule_text(rule: Rule) -> str:
    """The rule on one line; `parse_rule` gives the same rule back."""
    items = [atom_text(atom) for atom in rule.body]
    items += [f"{variable.name} = {concat_text(concat)}" for variable, concat in rule.definitions]
    items += [f"{variable.name} <> {term_text(constant)}" for variable, constant in rule.exclusions]
    arguments = ", ".join(variable.name for variable in rule.arguments)
    return f"{name_text(rule.predicate)}({arguments}) <- {', '.join(items)}"


def atom_text(atom: Atom) -> str:
    """`Person(ID: x, is_Author: true)`."""
    columns = ", ".join(f"{name_text(column)}: {term_text(term)}" for column, term in atom.columns)
    return f"{name_text(atom.table)}({columns})"


def concat_text(concat: Concat) -> str:
    """`"http://example.org/" ++ a`."""
    return " ++ ".join(map(part_text, concat.parts or ("",)))


def part_text(part: Part) -> str:
    """One part of a concatenation: `"text"`, `a` or `before(a, "@")`."""
    if isinstance(part, str):
        return quoted_text(part)
    if isinstance(part, Variable):
        return part.name
    return f"{part.name}({', '.join([part.variable.name, *map(_parameter_text, part.parameters)])})"


def _parameter_text(parameter: int | str | Decimal) -> str:
    if isinstance(parameter, str):
        return quoted_text(parameter)
    return format(parameter.normalize(), "f") if isinstance(parameter, Decimal) else str(parameter)


def name_text(name: str) -> str:
    """A name as it stands in a rule: bare if it can be."""
    return name if _BARE_NAME.fullmatch(name) else quoted_text(name)


def term_text(term: Term) -> str:
    """A variable or a constant as it stands in a rule."""
    if isinstance(term, Variable):
        return term.name
    if isinstance(term, Empty):
        return "null"
    value = term.value
    match term.kind:
        case Kind.BOOLEAN:
            return "true" if value else "false"
        case Kind.DECIMAL:
            whole, _, fraction = format(value, "f").partition(".")
            return f"{whole}.{fraction.rstrip('0') or '0'}"
        case Kind.DATE | Kind.TIMESTAMP:
            assert isinstance(value, date)
            return value.isoformat()
        case Kind.TEXT:
            return quoted_text(str(value))
        case _:
            return str(value)


def quoted_text(text: str) -> str:
    """The text in double quotes, with what would break a line or the quotes escaped."""

    def escape(match: re.Match[str]) -> str:
        character = match.group()
        short = _SHORT_ESCAPES.get(character)
        return f"\\{short}" if short else f"\\u{ord(character):04x}"

    return f'"{_NEEDS_ESCAPE.sub(escape, text)}"'
