"""Text → rule: the parser of the rule language, for rules and for templates.

    rule        predicate "(" variable, ... ")" "<-" item, ...
    item        table "(" column ":" term, ... ")"   |   variable "=" part "++" ...   |   variable "<>" constant
    term        variable | null | 12 | 1.5 | true | 2014-05-04 | 2014-05-04T10:00:00 | "text"
    part        "text" | variable | transformation "(" variable ["," parameter] ")"
    template    ["refine"] name ":" rule, with ?slots for names and constants, "?*: a..." and "x = concat(a...)"

A name that is not letters, digits, `_` and `-` stands in double quotes, as a text does. `#` starts a comment.
The parser is by hand, over one regular expression: datasets hold hundreds of thousands of rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple, NoReturn

from ruleminer.errors import SyntaxProblem
from ruleminer.rules.lexical import constant_of
from ruleminer.rules.templates import (
    AtomPattern,
    Name,
    PatternTerm,
    Restriction,
    Slot,
    Spread,
    Template,
)
from ruleminer.rules.transformations import TRANSFORMATIONS, parameter_problem
from ruleminer.rules.values import Concat, Constant, Empty, Kind, Part, Rule, Transformed, Variable

_TOKEN = re.compile(
    r"""(?P<blank>(?:\s|\#[^\n]*)+)
    |(?P<timestamp>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?)
    |(?P<date>\d{4}-\d\d-\d\d)
    |(?P<decimal>-?\d+\.\d+)
    |(?P<integer>-?\d+)
    |(?P<name>[A-Za-z_][A-Za-z0-9_-]*)
    |(?P<text>"(?:[^"\\\n]|\\.)*")
    |(?P<slot>\?(?:[A-Za-z_]\w*|\*))
    |(?P<mark><-|<>|\+\+|\.\.\.|[(),:=@])""",
    re.VERBOSE,
)
_CONSTANTS = {"name": Kind.BOOLEAN} | {str(kind): kind for kind in Kind if kind is not Kind.BOOLEAN}
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
_UNESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)


def parse_rule(text: str, source: str = "") -> Rule:
    """The one rule that the text holds."""
    rules = list(parse_rules(text, source))
    if len(rules) != 1:
        raise SyntaxProblem(f"expected one rule, found {len(rules)}", 1, 1, source)
    return rules[0]


def parse_rules(text: str, source: str = "") -> Iterator[Rule]:
    """All rules of a text, one after the other; line breaks do not matter."""
    yield from (rule for _, rule in parse_numbered_rules(text, source))


def parse_numbered_rules(text: str, source: str = "") -> Iterator[tuple[int, Rule]]:
    """All rules of a text, each with the line that it begins in."""
    parser = _Parser(text, source)
    line, counted = 1, 0
    while not parser.at("end"):
        start = parser.token
        line, counted = line + text.count("\n", counted, start.start), start.start
        pattern = parser.pattern("")
        try:
            yield line, pattern.ground()
        except ValueError as problem:
            parser.fail(str(problem), start)


def parse_templates(text: str, source: str = "") -> Iterator[Template]:
    """All templates of a text, each `name: rule with slots`, perhaps behind the word `refine`."""
    parser = _Parser(text, source)
    seen: set[str] = set()
    while not parser.at("end"):
        label = parser.expect("name", "the name of a template")
        refines = label.text == "refine"
        if refines:
            label = parser.expect("name", "the template's name behind 'refine'")
        if label.text in seen:
            parser.fail(f"a second template called {label.text}", label)
        seen.add(label.text)
        parser.expect(":", f"':' behind {label.text} (only 'refine' may stand before a template's name)")
        yield parser.pattern(label.text, refines)


class _Token(NamedTuple):
    kind: str  # a group of _TOKEN, a mark itself, or "end"
    text: str
    start: int


class _Parser:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str, source: str) -> None:
        self.text, self.source = text, source
        self.tokens = self._tokens()
        self.token = next(self.tokens)

    def _tokens(self) -> Iterator[_Token]:
        position = 0
        while position < len(self.text):
            match = _TOKEN.match(self.text, position)
            if match is None:
                character = self.text[position]
                what = "text without closing quote" if character == '"' else f"unexpected character {character!r}"
                self.fail(what, _Token("", "", position))
            position = match.end()
            kind = str(match.lastgroup)
            if kind != "blank":
                yield _Token(match.group() if kind == "mark" else kind, match.group(), match.start())
        yield _Token("end", "the end of the text", position)

    def fail(self, message: str, token: _Token) -> NoReturn:
        """Raise, pointing at a token."""
        before = self.text[: token.start]
        line = before.count("\n") + 1
        raise SyntaxProblem(message, line, token.start - (before.rfind("\n") + 1) + 1, self.source)

    def at(self, *kinds: str) -> bool:
        return self.token.kind in kinds

    def take(self) -> _Token:
        token = self.token
        self.token = next(self.tokens, token)
        return token

    def accept(self, kind: str) -> bool:
        found = self.at(kind)
        if found:
            self.take()
        return found

    def expect(self, kind: str, what: str) -> _Token:
        if not self.at(kind):
            self.fail(f"expected {what}, found {self.token.text}", self.token)
        return self.take()

    def pattern(self, name: str, refines: bool = False) -> Template:
        """One rule or template body; the label has been read."""
        start = self.token
        predicate = self.name("a predicate")
        self.expect("(", "'(' behind the predicate")
        arguments = [self.variable("a variable of the head")]
        while self.accept(","):
            arguments.append(self.variable("a variable of the head"))
        self.expect(")", "',' or ')' in the head")
        self.expect("<-", "'<-' behind the head")
        atoms: list[AtomPattern] = []
        definitions: list[tuple[Variable, Concat | Spread]] = []
        exclusions: list[tuple[Variable, Constant]] = []
        while True:
            item = self.token
            subject = self.name("a table or a definition")
            if self.accept("="):
                if not isinstance(subject, str) or item.kind != "name":
                    self.fail("only a variable can be defined by '='", item)
                definitions.append((Variable(subject), self.concatenation()))
            elif self.accept("<>"):
                if not isinstance(subject, str) or item.kind != "name":
                    self.fail("only a variable can have values excluded by '<>'", item)
                if self.at("name") and self.token.text not in ("true", "false"):
                    self.fail(f"expected a constant behind '<>', found {self.token.text}", self.token)
                exclusions.append((Variable(subject), self.constant()))
            else:
                atoms.append(self.atom(subject))
            if not self.accept(","):
                break
        template = Template(
            name, predicate, tuple(arguments), tuple(atoms), tuple(definitions), refines, tuple(exclusions)
        )
        problem = binding_problem(template)
        if problem:
            self.fail(problem, start)
        return template

    def name(self, what: str) -> Name:
        if self.at("slot"):
            return self.slot()
        if self.at("text"):
            return self.unquoted(self.take())
        return self.expect("name", what).text

    def slot(self) -> Slot:
        name = self.take().text[1:]
        if not self.accept("@"):
            return Slot(name)
        word = self.expect("name", "'key', 'link', 'code' or 'any' behind '@'")
        if word.text not in (*Restriction,):
            self.fail(f"expected 'key', 'link', 'code' or 'any' behind '@', found {word.text}", word)
        return Slot(name, Restriction(word.text))

    def variable(self, what: str) -> Variable:
        token = self.expect("name", what)
        if token.text in ("true", "false", "null"):
            self.fail(f"{token.text} is a constant, not a variable", token)
        return Variable(token.text)

    def atom(self, table: Name) -> AtomPattern:
        self.expect("(", "'(' behind the table")
        columns: list[tuple[Name, PatternTerm]] = []
        spreads: list[Spread] = []
        while True:
            start = self.token
            column = self.name("a column")
            self.expect(":", "':' behind the column")
            if column == Slot("*"):
                spreads.append(self.spread())
            else:
                if column in (seen for seen, _ in columns):
                    self.fail(f"column {start.text} stands twice in one atom", start)
                columns.append((column, self.term()))
            if not self.accept(","):
                break
        self.expect(")", "',' or ')' in the atom")
        return AtomPattern(table, tuple(columns), tuple(spreads))

    def spread(self) -> Spread:
        name = self.variable("a variable behind '?*:'").name
        self.expect("...", "'...' behind the variable")
        return Spread(name)

    def term(self) -> PatternTerm:
        token = self.token
        if token.kind == "slot":
            if token.text == "?*":
                self.fail("?* stands for columns, not for a constant", token)
            return self.slot()
        if token.kind == "name" and token.text == "null":
            self.take()
            return Empty()
        if token.kind == "name" and token.text not in ("true", "false"):
            return Variable(self.take().text)
        return self.constant()

    def constant(self) -> Constant:
        token = self.take()
        kind = _CONSTANTS.get(token.kind)
        if kind is None:
            self.fail(f"expected a variable or a constant, found {token.text}", token)
        found = constant_of(self.unquoted(token) if kind is Kind.TEXT else token.text, kind)
        if found is None:
            self.fail(f"{token.text} is not a valid {token.kind}", token)
        return found

    def concatenation(self) -> Concat | Spread:
        if self.token.kind == "name" and self.token.text == "concat":
            word = self.take()
            if self.accept("("):
                spread = self.spread()
                self.expect(")", "')' behind concat")
                return spread
            parts: list[Part] = [Variable(word.text)]
        else:
            parts = [self.part()]
        while self.accept("++"):
            parts.append(self.part())
        return Concat(joined(parts))

    def part(self) -> Part:
        if self.at("text"):
            return self.unquoted(self.take())
        token = self.token
        name = self.variable("a text, a variable or a transformation")
        return self.transformed(token) if self.accept("(") else name

    def transformed(self, name: _Token) -> Transformed:
        """A transformation, whose name and parenthesis have been read."""
        if name.text not in TRANSFORMATIONS:
            self.fail(f"no transformation {name.text}; there are {', '.join(sorted(TRANSFORMATIONS))}", name)
        variable = self.variable(f"a variable in {name.text}()")
        parameters: list[int | str | Decimal] = []
        while self.accept(","):
            value = self.constant().value
            if name.text == "times" and type(value) is int:
                value = Decimal(value)
            if not isinstance(value, int | str | Decimal) or isinstance(value, bool):
                self.fail(f"{name.text} takes no such parameter", name)
            parameters.append(value)
        self.expect(")", f"')' behind {name.text}(…")
        problem = parameter_problem(name.text, tuple(parameters))
        if problem:
            self.fail(problem, name)
        return Transformed(name.text, variable, tuple(parameters))

    def unquoted(self, token: _Token) -> str:
        def replace(match: re.Match[str]) -> str:
            code, character = match.groups()
            if code:
                return chr(int(code, 16))
            if character not in _ESCAPES:
                self.fail(f"unknown escape \\{character}", _Token("", "", token.start + 1 + match.start()))
            return _ESCAPES[character]

        return _UNESCAPE.sub(replace, token.text[1:-1])


def joined(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts of a concatenation with neighbouring texts as one and empty ones gone."""
    result: list[Part] = []
    for part in parts:
        if isinstance(part, str) and result and isinstance(result[-1], str):
            result[-1] += part
        elif part != "":
            result.append(part)
    return tuple(result)


def binding_problem(template: Template) -> str | None:
    """Why the pattern is not a rule that can derive anything, or None: every variable must be bound once."""
    in_body = {term for atom in template.body for _, term in atom.columns if isinstance(term, Variable)}
    spreads = [spread for atom in template.body for spread in atom.spreads]
    if not template.body:
        return "the body names no table"
    if template.name and any(isinstance(term, Empty) for atom in template.body for _, term in atom.columns):
        return "a template cannot ask for null: only values are searched for"
    if template.name and template.exclusions:
        return "a template cannot exclude a value: proposals do, where examples call for it"
    for variable, _ in template.exclusions:
        if variable not in in_body:
            return f"{variable.name} stands in no atom of the body: only what a column holds can be excluded"
    if len(set(spreads)) < len(spreads):
        return "two places '?*' with the same variable"
    defined: set[Variable] = set()
    for variable, definition in template.definitions:
        if variable not in template.arguments:
            return f"variable {variable.name} is defined, but does not stand in the head"
        if variable in in_body or variable in defined:
            return f"variable {variable.name} is bound twice"
        defined.add(variable)
        if isinstance(definition, Spread):
            if definition not in spreads:
                return f"nothing binds {definition.name}...: write '?*: {definition.name}...' in an atom"
            continue
        for part in definition.variables:
            if part not in in_body:
                return f"nothing binds variable {part.name}: it stands in no atom of the body"
        if template.name and definition.transformations:
            return "a template names no transformation: they are tried where no plain rule derives all examples"
    for spread in spreads:
        if sum(definition == spread for _, definition in template.definitions) != 1:
            return f"{spread.name}... must be used by exactly one concat({spread.name}...)"
    for variable in template.arguments:
        if variable not in in_body | defined:
            return f"nothing binds variable {variable.name} of the head"
    return _slot_problem(template)


def _slot_problem(template: Template) -> str | None:
    """A slot means one sort of thing, wherever it stands."""
    sorts: dict[str, str] = {}
    places: list[tuple[object, str]] = [(template.predicate, "a predicate")]
    for atom in template.body:
        places.append((atom.table, "a table"))
        for column, term in atom.columns:
            places += [(column, "a column"), (term, "a constant")]
    for slot, sort in places:
        if isinstance(slot, Slot):
            if slot.name == "*":
                return f"?* stands for columns, not for {sort}"
            if sorts.setdefault(slot.name, sort) != sort:
                return f"?{slot.name} stands for {sorts[slot.name]} and for {sort}: use two names"
    return None
