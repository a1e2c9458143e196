"""Which texts can still become a rule: the rule language and a schema as a constraint on beam search.

`can_become_rule` reads as much of a rule as is there and says no only where it goes wrong: an unknown table, a
column of another table or twice in an atom, a constant of the wrong kind. A complete text must parse, which also
checks that every variable of the head is bound.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache

from ruleminer.errors import SyntaxProblem
from ruleminer.learn.decoding import Accepts
from ruleminer.learn.tokens import Tokens
from ruleminer.learn.trie import TokenPath
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.printer import name_text
from ruleminer.rules.values import Kind
from ruleminer.sources.schema import Schema

_VARIABLE = re.compile(r"[a-z]\d*(?![A-Za-z0-9_-])")  # as extraction names them
_STRING = r'"(?:[^"\\\n]|\\[nrt"\\]|\\u[0-9a-f]{4})*"'
_OPEN_STRING = r'"(?:[^"\\\n]|\\[nrt"\\]|\\u[0-9a-f]{4})*(?:\\(?:u[0-9a-f]{0,3})?)?'
_DATE, _TIME = r"\d{4}-\d\d-\d\d", r"\d\d:\d\d:\d\d(?:\.\d{1,6})?"
_CONSTANTS = {  # whole, and what may become whole
    Kind.INTEGER: (r"-?\d+", r"-?\d*"),
    Kind.DECIMAL: (r"-?\d+\.\d+", r"-?\d*\.?\d*"),
    Kind.BOOLEAN: (r"true|false", r"t|tr|tru|true|f|fa|fal|fals|false"),
    Kind.DATE: (_DATE, r"[\d-]{0,10}"),
    Kind.TIMESTAMP: (f"{_DATE}T{_TIME}", r"[\d:.T-]{0,26}"),
    Kind.TEXT: (_STRING, _OPEN_STRING),
}
_WHOLE = {kind: re.compile(whole) for kind, (whole, _) in _CONSTANTS.items()}
_BEGUN = {kind: re.compile(begun) for kind, (_, begun) in _CONSTANTS.items()}


class _End(Exception):
    def __init__(self, completions: Sequence[str] | None = None) -> None:
        self.completions = completions


class _Wrong(Exception):
    pass


class RuleGrammar:
    """The rules that a schema admits for a predicate of one or two arguments."""

    def __init__(self, schema: Schema, predicate: str, arity: int) -> None:
        self.head = f"{name_text(predicate)}({', '.join('xy'[:arity])}) <- "
        self.tables = {
            name_text(table.name): {name_text(column.name): column.kind for column in table.columns}
            for table in schema.tables
        }

    def completions(self, text: str) -> Sequence[str] | None:
        """How the name or mark that the text breaks off in can go on; None if in any way; nothing if it is no rule."""
        try:
            _Reader(text).rule(self.head, self.tables)
        except _Wrong:
            return ()
        except _End as end:
            return end.completions
        raise AssertionError("a rule has no end of its own")

    def can_become_rule(self, text: str) -> bool:
        """Whether some rule begins with the text."""
        return self.completions(text) != ()

    def is_rule(self, text: str) -> bool:
        """Whether the text is a whole rule."""
        try:
            parse_rule(text)
        except SyntaxProblem:
            return False
        return self.can_become_rule(text)


class _Reader:
    """Reads a rule from the left; `_End` where the text stops short."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.wanted: list[str] = []  # variables of the head that nothing binds yet

    def rule(self, head: str, tables: Mapping[str, Mapping[str, Kind]]) -> None:
        self.take([head])
        self.wanted = [v for v in "xy" if v in head.rpartition("(")[2]]
        items = [f"{table}(" for table in tables]
        self.atom(tables, self.take(items))
        while True:
            self.take([", "])
            item = self.take([*items, *(f"{v} = " for v in self.wanted)])
            if item.endswith("("):
                self.atom(tables, item)
            else:
                self.wanted.remove(item[0])
                self.concatenation()

    def atom(self, tables: Mapping[str, Mapping[str, Kind]], start: str) -> None:
        columns = dict(tables[start[:-1]])
        while True:
            column = self.take(columns, ": ")
            self.term(columns.pop(column))
            if self.take([")", ", "]) == ")":
                return

    def term(self, kind: Kind) -> None:
        variable = _VARIABLE.match(self.text, self.at)
        whole = _WHOLE[kind].match(self.text, self.at)
        begun = _BEGUN[kind].fullmatch(self.text, self.at)
        if begun or self.at == len(self.text) or (variable and variable.end() == len(self.text)):
            raise _End
        match = whole or variable
        if match is None:
            raise _Wrong
        self.at = match.end()
        if match.group() in self.wanted:
            self.wanted.remove(match.group())

    def concatenation(self) -> None:
        while True:
            if self.text.startswith('"', self.at):
                self.term(Kind.TEXT)
            else:
                self.variable()
            rest = self.text[self.at :]
            if ", ".startswith(rest):
                raise _End
            if rest.startswith(", "):
                return
            self.take([" ++ "])

    def variable(self) -> None:
        match = _VARIABLE.match(self.text, self.at)
        if self.at == len(self.text) or (match and match.end() == len(self.text)):
            raise _End
        if match is None:
            raise _Wrong
        self.at = match.end()

    def take(self, choices: Collection[str], then: str = "") -> str:
        """Read one of the choices with what must follow it."""
        rest = self.text[self.at :]
        for choice in choices:
            if rest.startswith(choice + then):
                self.at += len(choice) + len(then)
                return choice
        left = [(choice + then)[len(rest) :] for choice in choices if (choice + then).startswith(rest)]
        raise _End(left) if left else _Wrong


def constraint(tokens: Tokens, schema: Schema, predicate: str, arity: int) -> Accepts:
    """A test for beam search: only paths that spell a rule of the schema, or can still come to spell one."""
    grammar = RuleGrammar(schema, predicate, arity)
    names = [table.name for table in schema.tables] + [c.name for table in schema.tables for c in table.columns]
    beyond_ascii = {"\ufffd", *(character for name in names for character in name if not character.isascii())}

    @cache
    def accepts(path: TokenPath) -> bool:
        if path[-1] == Tokens.EOS:
            text = tokens.decode(path[:-1])
            return grammar.is_rule(text) and tuple(tokens.encode(text)) == path[:-1]
        if not tokens.well_formed(path):
            return False
        text = tokens.decode(path, partial=True)
        if tokens.kind(path[-1]) == "byte" and tokens.decode(path) != text:  # in the middle of a character
            return any(grammar.can_become_rule(text + character) for character in beyond_ascii)
        endings = grammar.completions(text)
        if endings is None or tokens.kind(path[-1]) in ("text", "byte"):
            return endings != ()
        # A name must be spelled as `encode` spells it, or the rule would be found twice, or never end.
        return any(tuple(tokens.encode(text + rest)[: len(path)]) == path for rest in endings)

    return accepts
