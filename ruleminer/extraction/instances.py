"""Rows of a template's result → the texts of rules.

A row tells numbers of columns, constants, the parts of IRIs and forms. Very many rules differ by names and texts only,
so each shape of a rule is built and printed once, with marks in their places, and every other rule of that shape is
filled in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ruleminer.extraction.catalog import Catalog
from ruleminer.extraction.published import form_of
from ruleminer.extraction.template_sql import Compiled
from ruleminer.rules.canonical import canonical
from ruleminer.rules.dialects import Dialect
from ruleminer.rules.lexical import constant_of
from ruleminer.rules.parser import joined
from ruleminer.rules.printer import name_text, quoted_text, rule_text, term_text
from ruleminer.rules.templates import Spread
from ruleminer.rules.transformation_sql import refusal
from ruleminer.rules.values import Atom, Concat, Constant, Kind, Part, Rule, Term, Transformed, Variable

Piece = tuple[str, int | None, str]
"""A piece of an IRI: constant text, the column that follows it, if one does, and how that is encoded ('' for not)."""

Cell = int | Constant | tuple[Piece, ...] | str
"""The number of a column, a constant, the pieces of an IRI, or a form (`published.form_text`)."""

Names = Sequence[tuple[str, str]]
"""The table and the name of each column, by its number."""

# No name or text of a user holds these: they are for private use, and are always quoted.
_MARK = re.compile('"\ue000([tckx])(\\d+)\ue001"')
_PREDICATE = "H"


class BodyTexts:
    """The texts of a template's rules without their predicate: `(x) <- Person(ID: x)`."""

    def __init__(self, compiled: Compiled, catalog: Catalog, dialect: Dialect) -> None:
        self._compiled = compiled
        self._dialect = dialect
        columns = catalog.columns
        self._tables = [name_text(column.table) for column in columns]
        self._columns = [name_text(column.name) for column in columns]
        self._types = [column.type for column in columns]
        self._whats = [output.what for output in compiled.outputs]
        places = {(o.atom, o.place): index for index, o in enumerate(compiled.outputs) if o.what == "column"}
        # of a constant, the column that it stands in; of a form, that of the argument
        self._column_of = [
            places.get(_place_of(compiled, o.place) if o.what == "form" else (o.atom, o.place), 0)
            for o in compiled.outputs
        ]
        self._refused: dict[tuple[str, int], bool] = {}
        self._shapes: dict[tuple[object, ...], list[tuple[str, int] | str]] = {}

    def text(self, cells: Sequence[Any]) -> str | None:
        """The text of one row's rule.

        None where a constant has no form in the rule language (an infinite date), or the source cannot run it. A cell
        is, as its output says, the number of a column, the lexical form of a constant, the pieces of an IRI, or a form.
        """
        shape, numbers = list[object](), dict[int, int]()
        constants, texts = list[str](), list[str]()
        for index, (what, cell) in enumerate(zip(self._whats, cells, strict=True)):
            if what == "column":
                shape.append(numbers.setdefault(cell, len(numbers)))
            elif what == "value":
                constant = _constant_text(cell, self._types[cells[self._column_of[index]]].kind)
                if constant is None:
                    return None
                constants.append(constant)
            elif what == "form":
                if self._refuses(cell, cells[self._column_of[index]]):
                    return None
                shape.append(cell)
            else:
                ways = tuple(
                    (bool(text), None if column is None else numbers.setdefault(column, len(numbers)), how)
                    for text, column, how in cell
                )
                texts += [text for text, _, _ in cell if text]
                shape.append(ways)
        key = tuple(shape)
        pieces = self._shapes.get(key)
        if pieces is None:
            pieces = self._shapes[key] = self._built(key, len(numbers))
        ids = list(numbers)
        filled = {"t": [self._tables[i] for i in ids], "c": [self._columns[i] for i in ids]}
        filled |= {"k": constants, "x": [quoted_text(text) for text in texts]}
        return "".join([piece if isinstance(piece, str) else filled[piece[0]][piece[1]] for piece in pieces])

    def _refuses(self, form: str, column: int) -> bool:
        """Whether the source has no SQL for a form of a column."""
        if (form, column) not in self._refused:
            of_column = form_of(form, Variable("a"))
            self._refused[form, column] = refusal(of_column, self._types[column], self._dialect) is not None
        return self._refused[form, column]

    def _built(self, shape: Sequence[Any], columns: int) -> list[tuple[str, int] | str]:
        """The text of a shape, cut at its marks."""
        cells = list[Cell]()
        given = iter(shape)
        constants = texts = 0
        for what in self._whats:
            if what == "value":
                cells.append(Constant(Kind.TEXT, _mark("k", constants)))
                constants += 1
            elif what in ("column", "form"):
                cells.append(next(given))
            else:
                pieces_of_iri = list[Piece]()
                for has_text, column, how in next(given):
                    pieces_of_iri.append((_mark("x", texts) if has_text else "", column, how))
                    texts += has_text
                cells.append(tuple(pieces_of_iri))
        names = [(_mark("t", number), _mark("c", number)) for number in range(columns)]
        text = rule_text(canonical(instantiate(self._compiled, _PREDICATE, cells, names)))
        pieces: list[tuple[str, int] | str] = []
        end = len(_PREDICATE)
        for found in _MARK.finditer(text):
            pieces += [text[end : found.start()], (found[1], int(found[2]))]
            end = found.end()
        return [*pieces, text[end:]]


def _mark(letter: str, number: int) -> str:
    return f"\ue000{letter}{number}\ue001"


@lru_cache(maxsize=100_000)
def _constant_text(form: str, kind: Kind) -> str | None:
    constant = constant_of(form, kind)
    return None if constant is None else term_text(constant)


def _place_of(compiled: Compiled, position: int) -> tuple[int, int]:
    """The atom and the column of it that hold an argument which is looked for in other forms: it has one place."""
    variable = compiled.template.arguments[position - 1]
    return next(
        (number, place)
        for number, atom in enumerate(compiled.template.body)
        for place, (_, term) in enumerate(atom.columns)
        if term == variable
    )


def instantiate(compiled: Compiled, predicate: str, cells: Sequence[Cell], names: Names) -> Rule:
    """The rule that one row of a statement's result stands for."""
    template = compiled.template
    columns, constants = dict[tuple[int, int], int](), dict[tuple[int, int], Constant]()
    terms, spread_columns = dict[int, tuple[Piece, ...]](), dict[int, list[int]]()
    formed, forms = dict[Variable, str](), dict[Variable, Transformed]()
    for output, cell in zip(compiled.outputs, cells, strict=True):
        if isinstance(cell, Constant):
            constants[output.atom, output.place] = cell
        elif isinstance(cell, int):
            columns[output.atom, output.place] = cell
        elif isinstance(cell, str):
            formed[template.arguments[output.place - 1]] = cell
        else:
            terms[output.place] = cell
            spread_columns.setdefault(output.atom, []).extend(column for _, column, _ in cell if column is not None)
    atoms: list[Atom] = []
    variable_of: dict[int, Variable] = {}  # of a column that a concatenation uses
    for number, pattern in enumerate(template.body):
        placed: dict[int, Term] = {}
        for place, (_, term) in enumerate(pattern.columns):
            column = columns[number, place]
            if isinstance(term, Variable) and term in formed:
                forms[term] = form_of(formed[term], Variable(f"formed{column}"))
                placed[column] = forms[term].variable
            else:
                placed[column] = term if isinstance(term, Variable | Constant) else constants[number, place]
        ordered: dict[int, Term] = {}
        for column in spread_columns.get(number, ()):
            known = placed.pop(column, None) or ordered.get(column, Variable(f"spread{column}"))
            assert isinstance(known, Variable)
            ordered[column] = variable_of[column] = known
        ordered |= placed
        table, _ = names[next(iter(ordered))]
        atoms.append(Atom(table, tuple((names[column][1], term) for column, term in ordered.items())))
    definitions: list[tuple[Variable, Concat]] = []
    for index, (variable, definition) in enumerate(template.definitions):
        if isinstance(definition, Spread):
            parts: list[Part] = []
            for text, following, how in terms[index]:
                parts.append(text)
                if following is not None:
                    own = variable_of[following]
                    parts.append(Transformed(how, own) if how else own)
            definition = Concat(joined(parts))
        definitions.append((variable, definition))
    definitions += [(variable, Concat((form,))) for variable, form in forms.items()]
    return Rule(predicate, template.arguments, tuple(atoms), tuple(definitions))
