"""Extraction the obvious way: one fact at a time, one column at a time, in plain Python.

Slow, and right by reading. Tests hold the engine to it, benchmarks measure the engine against it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product, takewhile
from typing import NamedTuple
from urllib.parse import unquote

from ruleminer.extraction.catalog import Catalog, SourceColumn
from ruleminer.extraction.fact_relations import LONGEST_RUN, MOST_PIECES
from ruleminer.extraction.iri_spelling import must_stand, names_something
from ruleminer.extraction.published import CUT, LONGEST, MOST_WORDS, can_be_published, forms
from ruleminer.extraction.published import LONGEST_RUN as WORDS_OF_ONE
from ruleminer.problem.facts import Fact
from ruleminer.rules.canonical import canonical
from ruleminer.rules.dialects import DUCKDB, Dialect
from ruleminer.rules.lexical import constant_of, family, lexical_form, readings
from ruleminer.rules.mapping import looks_like_iri
from ruleminer.rules.parser import joined
from ruleminer.rules.printer import rule_text
from ruleminer.rules.templates import AtomPattern, Restriction, Slot, Spread, Template
from ruleminer.rules.transformation_sql import refusal
from ruleminer.rules.transformations import IN_IRIS, TRANSFORMATIONS, transformed
from ruleminer.rules.values import Atom, Concat, Constant, Kind, Part, Rule, Term, Transformed, Variable
from ruleminer.sources.database import Database

Value = tuple[Kind, str]  # family and lexical form


class Spelt(NamedTuple):
    """A column that spells a part of a text, and how its value is encoded there, if at all."""

    column: SourceColumn
    how: str = ""


Way = tuple[str | Spelt, ...]
Hit = tuple[int, int, int, Spelt]  # start, stop, pieces, and what stands there


@dataclass(frozen=True)
class Row:
    """One row of the source: the values that are not NULL, and the engine's own text of each."""

    table: str
    values: Mapping[SourceColumn, Value]
    texts: Mapping[SourceColumn, str]


@dataclass(frozen=True)
class Binding:
    """What a template's slots and variables stand for, as far as they are decided."""

    variables: Mapping[Variable, Value]
    slots: Mapping[str, object] = field(default_factory=dict)
    rows: tuple[Row, ...] = ()
    places: tuple[tuple[SourceColumn, ...], ...] = ()  # per atom, the column of each place
    spelled: Mapping[Variable, Way] = field(default_factory=dict)


def load_rows(database: Database, catalog: Catalog) -> list[Row]:
    """All rows of the source in memory."""
    rows: list[Row] = []
    for table, columns in catalog.by_table.items():
        for cells in database.rows(f"SELECT * FROM {database.quoted(table)}"):
            filled = {column: cell for column, cell in zip(columns, cells, strict=True) if cell is not None}
            values = {column: (column.family, lexical_form(cell)) for column, cell in filled.items()}
            texts = {c: str(cell) if c.type.kind is Kind.DECIMAL else values[c][1] for c, cell in filled.items()}
            rows.append(Row(table, values, texts))
    return rows


@dataclass(frozen=True)
class Habits:
    """What is the same for all IRIs of an argument: how many characters are namespace, and how values are encoded."""

    namespace: Mapping[str, int] = field(default_factory=dict)
    encodings: Mapping[str, frozenset[str]] = field(default_factory=dict)
    predicates: frozenset[str] = frozenset()  # of all facts: what the words of a namespace may be alike


def habits_of(facts: Sequence[Fact]) -> Habits:
    """The habits of all IRIs of some facts; one that stands in several arguments has the least namespace of them."""
    groups: dict[tuple[str, int], list[tuple[str, bool]]] = {}
    for fact in facts:
        for position, (text, kind) in enumerate(zip(fact.arguments, fact.kinds, strict=True)):
            if kind in (None, Kind.TEXT) and re.match(r"[A-Za-z][A-Za-z0-9+.-]*:.*[/#]", text):
                groups.setdefault((fact.predicate, position), []).append((text, fact.positive))
    namespace: dict[str, int] = {}
    encodings: dict[str, frozenset[str]] = {}
    for used in groups.values():
        positives = {text for text, positive in used if positive}
        columns = takewhile(lambda letters: len(set(letters)) == 1, zip(*positives, strict=False))
        shared = "".join(letters[0] for letters in columns) if len(positives) > 1 else ""
        shared = shared[: max(shared.rfind("/"), shared.rfind("#")) + 1]
        shown = {how for text, _ in used for how in _encodings_shown(text)}
        for text, _ in used:
            own = len(shared) if text.startswith(shared) else 0
            namespace[text] = min(namespace.get(text, own), own)
            encodings[text] = encodings.get(text, frozenset()) | shown
    return Habits(namespace, encodings, frozenset(fact.predicate for fact in facts))


def _encodings_shown(iri: str) -> Iterator[str]:
    for start, stop, pieces in _segments(iri):
        written = iri[start:stop]
        ways = [how for how in IN_IRIS if pieces == 1 and _decoded(written, how) not in (None, written)]
        yield from ways[:1]


def _decoded(written: str, how: str) -> str | None:
    """The text that is written so in an IRI, if there is one."""
    try:
        text = unquote(written.replace("+", " ") if how == "plus" else written, errors="strict")
    except UnicodeDecodeError:
        return None
    return text if transformed(Transformed(how, Variable("a")), text) == written else None


NO_HABITS = Habits()


def candidates(fact: Fact, template: Template, rows: list[Row], habits: Habits = NO_HABITS) -> set[str]:
    """The text of every instance of the template that derives the fact."""
    if not _speaks_of(template, fact):
        return set()
    spellings = {
        variable: _spellings(text, rows, habits)
        for variable, text, kind in zip(template.arguments, fact.arguments, fact.kinds, strict=True)
        if isinstance(dict(template.definitions).get(variable), Spread) and kind in (None, Kind.TEXT)
    }
    found: set[str] = set()
    for start in _starts(fact, template):
        for rule, _ in _rules(fact, template, start, rows, spellings):
            found.add(rule_text(canonical(rule)))
    return found


def published_candidates(
    fact: Fact, template: Template, rows: list[Row], dialect: Dialect = DUCKDB, habits: Habits = NO_HABITS
) -> dict[str, bool]:
    """The instances with the second argument in another form, and whether the form makes any difference."""
    if not _speaks_of(template, fact) or not can_be_published(template):
        return {}
    first, variable = template.arguments
    text, kind = fact.arguments[1], fact.kinds[1]
    definitions = dict(template.definitions)
    spellings: dict[Variable, dict[int, list[Way]]] = {}
    if isinstance(definitions.get(first), Spread) and fact.kinds[0] in (None, Kind.TEXT):
        spellings[first] = _spellings(fact.arguments[0], rows, habits)
    found: dict[str, bool] = {}
    if variable in definitions:
        if kind in (None, Kind.TEXT):
            spellings[variable] = _text_spellings(text, rows)
        for start in _starts(fact, template, but=variable):
            for rule, _ in _rules(fact, template, start, rows, spellings):
                found[rule_text(canonical(rule))] = True
        return found
    fields = {name for row in rows for value in row.values.values() for name in _field_names(value)}
    values = {value for row in rows for value in row.values.values()}
    wanted = [reading for reading in readings(text, kind) if reading[1]]
    for form, value in product(forms(fields), sorted(values)):
        if value[0] not in map(family, TRANSFORMATIONS[form.name].takes) or len(value[1]) > LONGEST:
            continue
        made = _made(form, value[1], dialect)
        result = family(TRANSFORMATIONS[form.name].gives), made
        if result not in wanted:
            continue
        for start in _starts(fact, template, but=variable):
            for rule, binding in _rules(fact, template, {**start, variable: value}, rows, spellings):
                written = _in_form(rule, template, binding, variable, form, dialect)
                if written is not None:
                    name = rule_text(canonical(written))
                    found[name] = found.get(name, False) or result != value
    return found


def _made(form: Transformed, text: str, dialect: Dialect) -> str | None:
    if form.name in ("lower", "upper") and not dialect.folds_all_letters:
        return "".join(getattr(one, form.name)() if one.isascii() else one for one in text)
    return transformed(form, text)


def _field_names(value: Value) -> Iterator[str]:
    try:
        content = json.loads(value[1]) if value[0] is Kind.TEXT and value[1].startswith("{") else None
    except ValueError:
        return
    if isinstance(content, dict):
        yield from content


def _in_form(
    rule: Rule, template: Template, binding: Binding, variable: Variable, form: Transformed, dialect: Dialect
) -> Rule | None:
    """The rule with a variable for the value itself, and the argument made of that; None if it cannot be run."""
    for columns, atom in zip(binding.places, template.body, strict=True):
        for column, (_, term) in zip(columns, atom.columns, strict=True):
            if term == variable and refusal(form, column.type, dialect):
                return None
    held = Variable("formed")
    body = tuple(
        Atom(atom.table, tuple((column, held if term == variable else term) for column, term in atom.columns))
        for atom in rule.body
    )
    definitions = tuple(
        (defined, Concat(tuple(held if part == variable else part for part in concat.parts)))
        for defined, concat in rule.definitions
    )
    return replace(rule, body=body, definitions=(*definitions, (variable, Concat((replace(form, variable=held),)))))


def _speaks_of(template: Template, fact: Fact) -> bool:
    if len(fact.arguments) != len(template.arguments):
        return False
    return not isinstance(template.predicate, str) or template.predicate == fact.predicate


def _starts(fact: Fact, template: Template, but: Variable | None = None) -> list[dict[Variable, Value]]:
    """What the arguments can be read as, but for one that is read otherwise."""
    definitions = dict(template.definitions)
    starts: list[dict[Variable, Value]] = [{}]
    for variable, text, kind in zip(template.arguments, fact.arguments, fact.kinds, strict=True):
        if variable not in definitions and variable != but:
            starts = [
                {**start, variable: reading}
                for start in starts
                for reading in readings(text, kind)
                if start.get(variable, reading) == reading
            ]
    return starts


def _rules(
    fact: Fact, template: Template, start: Mapping[Variable, Value], rows: list[Row], spellings: Spellings
) -> Iterator[tuple[Rule, Binding]]:
    for binding in _extend(template, Binding(start), rows, spellings):
        if not _within_spaces(template, binding) or _redundant(template, binding):
            continue
        if _fixed_definitions_hold(template, binding, fact):
            rule = _rule(template, binding, fact.predicate)
            if rule is not None:
                yield rule, binding


def _part(part: str | Spelt, names: Mapping[SourceColumn, Variable]) -> Part:
    if isinstance(part, str):
        return part
    variable = names[part.column]
    return Transformed(part.how, variable) if part.how else variable


Spellings = Mapping[Variable, Mapping[int, list[Way]]]  # variable → row number → ways


def _extend(template: Template, binding: Binding, rows: list[Row], spellings: Spellings) -> Iterator[Binding]:
    """All ways to match the remaining atoms, one atom at a time, row by row."""
    number = len(binding.rows)
    if number == len(template.body):
        yield binding
        return
    atom = template.body[number]
    needed = [variable for variable, definition in template.definitions if definition in atom.spreads]
    for index, row in enumerate(rows):
        if any(index not in spellings.get(variable, {}) for variable in needed):
            continue
        if isinstance(atom.table, str) and atom.table != row.table:
            continue
        slots = _with_slot(binding.slots, atom.table, row.table)
        if slots is None:
            continue
        for matched in _places(atom, row, Binding(binding.variables, slots), ()):
            for spelled in _choices(needed, index, spellings):
                used = {part.column for way in spelled.values() for part in way if isinstance(part, Spelt)}
                constants = {
                    column
                    for column, (_, term) in zip(matched.places[0], atom.columns, strict=True)
                    if not isinstance(term, Variable)
                }
                if not used & constants:
                    yield from _extend(
                        template,
                        Binding(
                            matched.variables,
                            matched.slots,
                            (*binding.rows, row),
                            (*binding.places, matched.places[0]),
                            {**binding.spelled, **spelled},
                        ),
                        rows,
                        spellings,
                    )


def _choices(variables: list[Variable], index: int, spellings: Spellings) -> Iterator[dict[Variable, Way]]:
    if not variables:
        yield {}
        return
    for way in spellings[variables[0]][index]:
        for rest in _choices(variables[1:], index, spellings):
            yield {variables[0]: way, **rest}


def _places(atom: AtomPattern, row: Row, binding: Binding, taken: tuple[SourceColumn, ...]) -> Iterator[Binding]:
    """All ways to give each place of an atom a column of the row."""
    if len(taken) == len(atom.columns):
        yield Binding(binding.variables, binding.slots, places=(taken,))
        return
    name, term = atom.columns[len(taken)]
    for column, value in row.values.items():
        if column in taken or not _admits(name, column):
            continue
        slots = _with_slot(binding.slots, name, column.name)
        variables = binding.variables
        if isinstance(term, Variable):
            if variables.get(term, value) != value:
                continue
            variables = {**variables, term: value}
        elif isinstance(term, Constant):
            if (family(term.kind), lexical_form(term.value)) != value:
                continue
        elif column.type.is_float:
            continue
        elif slots is not None:
            slots = _with_slot(slots, term, value)
        if slots is not None:
            yield from _places(atom, row, Binding(variables, slots), (*taken, column))


def _admits(name: str | Slot, column: SourceColumn) -> bool:
    if isinstance(name, str):
        return name == column.name
    match name.restriction:
        case Restriction.KEY:
            return column.is_key
        case Restriction.LINK:
            return column.is_link
        case Restriction.CODE:
            return column.is_code
        case Restriction.FILLED:
            return column.is_sparse
        case _:
            return True


def _with_slot(slots: Mapping[str, object], name: object, meaning: object) -> Mapping[str, object] | None:
    """The slots with one more decided, or None if it is decided otherwise already."""
    if not isinstance(name, Slot):
        return slots
    if slots.get(name.name, meaning) != meaning:
        return None
    return {**slots, name.name: meaning}


def _fixed_definitions_hold(template: Template, binding: Binding, fact: Fact) -> bool:
    for variable, definition in template.definitions:
        if isinstance(definition, Concat):
            position = template.arguments.index(variable)
            if fact.kinds[position] not in (None, Kind.TEXT):
                return False
            texts = {
                term: row.texts[column]
                for row, columns, atom in zip(binding.rows, binding.places, template.body, strict=True)
                for column, (_, term) in reversed(list(zip(columns, atom.columns, strict=True)))
            }
            made = "".join(texts[part] if isinstance(part, Variable) else str(part) for part in definition.parts)
            if made != fact.arguments[position]:
                return False
    return True


def _within_spaces(template: Template, binding: Binding) -> bool:
    """Whether all columns of a variable, but those that join by any value, name the same kind of thing."""
    spaces: dict[Variable, list[int | None]] = {}
    for columns, atom in zip(binding.places, template.body, strict=True):
        for column, (name, term) in zip(columns, atom.columns, strict=True):
            if isinstance(term, Variable) and isinstance(name, Slot) and name.restriction is not Restriction.ANY:
                spaces.setdefault(term, []).append(column.space)
    return all(len(found) == 1 or (found[0] is not None and set(found) == {found[0]}) for found in spaces.values())


def _redundant(template: Template, binding: Binding) -> bool:
    """Whether an atom repeats a part of another: the same table, and the same terms in the same columns."""
    filled = []
    for row, columns, atom in zip(binding.rows, binding.places, template.body, strict=True):
        cells = {
            (column, term if isinstance(term, Variable) else row.values[column])
            for column, (_, term) in zip(columns, atom.columns, strict=True)
        }
        filled.append((cells, bool(atom.spreads) or not cells))
    return any(
        i != j and not exempt and cells <= other
        for i, (cells, exempt) in enumerate(filled)
        for j, (other, _) in enumerate(filled)
    )


def _rule(template: Template, binding: Binding, predicate: str) -> Rule | None:
    atoms: list[Atom] = []
    names: dict[SourceColumn, Variable] = {}
    for row, columns, pattern in zip(binding.rows, binding.places, template.body, strict=True):
        placed: dict[SourceColumn, Term] = {}
        for column, (_, term) in zip(columns, pattern.columns, strict=True):
            filled = constant_of(row.values[column][1], column.type.kind) if isinstance(term, Slot) else term
            if filled is None:
                return None
            placed[column] = filled
        ordered: dict[SourceColumn, Term] = {}
        for variable, definition in template.definitions:
            if definition in pattern.spreads:
                for part in binding.spelled[variable]:
                    if isinstance(part, Spelt):
                        column = part.column
                        term = placed.pop(column, None) or ordered.get(column) or Variable(f"spread{column.id}")
                        assert isinstance(term, Variable)
                        ordered[column] = names[column] = term
        ordered |= placed
        atoms.append(Atom(row.table, tuple((column.name, term) for column, term in ordered.items())))
    definitions = []
    for variable, definition in template.definitions:
        if isinstance(definition, Spread):
            definition = Concat(joined([_part(part, names) for part in binding.spelled[variable]]))
        definitions.append((variable, definition))
    return Rule(predicate, template.arguments, tuple(atoms), tuple(definitions))


def _spellings(iri: str, rows: list[Row], habits: Habits) -> dict[int, list[Way]]:
    """Row number → the ways in which that row spells the IRI, for the rows that count (see `iri_spelling.py`)."""
    segments = list(_segments(iri))
    encodings = sorted(habits.encodings.get(iri, ()))
    beyond = habits.namespace.get(iri, 0)
    ways: dict[int, list[tuple[Hit, ...]]] = {}
    longest = 0
    for index, row in enumerate(rows):
        hits = [
            (start, stop, pieces, Spelt(column, how))
            for start, stop, pieces in segments
            for column, text in row.texts.items()
            for how in ("", *(encodings if pieces == 1 and column.family is Kind.TEXT else ()))
            if text == (_decoded(iri[start:stop], how) if how else iri[start:stop])
        ]
        longest = max([longest, *(stop - start for start, stop, _, _ in hits if stop > beyond)])
        best = _best_choices(hits, beyond)
        if best:
            ways[index] = best
    explained = {index: sum(pieces for _, _, pieces, _ in best[0]) for index, best in ways.items()}
    if not looks_like_iri(iri):
        single = [iri[start:stop] for start, stop, pieces in segments if pieces == 1]
        known = {text for row in rows for text in row.texts.values()} | {row.table.lower() for row in rows}
        least = sum(must_stand(piece, habits.predicates, known) for piece in single)
        ways = {index: best for index, best in ways.items() if explained[index] >= least}
        explained = {index: explained[index] for index in ways}
    most = max(explained.values(), default=0)
    result: dict[int, list[Way]] = {}
    for index, best in ways.items():
        for way in best:
            holds_longest = any(stop - start == longest and stop > beyond for start, stop, _, _ in way)
            if explained[index] == most or (explained[index] == most - 1 and holds_longest):
                result.setdefault(index, []).append(_worded(iri, way))
            if explained[index] == most:  # a piece of the namespace may be constant text all the same
                shorter = [tuple(hit for hit in way if hit != one) for one in way if _is_word(iri, one, beyond, habits)]
                result.setdefault(index, []).extend(_worded(iri, some) for some in shorter)
    return result


def _is_word(iri: str, hit: Hit, beyond: int, habits: Habits) -> bool:
    start, stop, pieces, _ = hit
    return stop <= beyond and pieces == 1 and names_something(iri[start:stop], habits.predicates)


def _text_spellings(text: str, rows: list[Row]) -> dict[int, list[Way]]:
    """Row number → the ways in which that row's columns and separators alone make a text (see `published.py`)."""
    edges = [0, *(edge for mark in re.finditer(CUT, text) for edge in mark.span()), len(text)]
    pieces = list(zip(edges[::2], edges[1::2], strict=True))
    if "://" in text or not 2 <= len(pieces) <= MOST_WORDS:
        return {}
    result: dict[int, list[Way]] = {}
    for index, row in enumerate(rows):
        ways: list[tuple[Hit, ...]] = [()]  # (start, stop, last piece, column)
        for _ in pieces:
            ways = [
                (*way, (pieces[first][0], pieces[last][1], last, Spelt(column)))
                for way in ways
                if (first := way[-1][2] + 1 if way else 0) < len(pieces)
                for last in range(first, min(first + WORDS_OF_ONE, len(pieces)))
                if pieces[first][0] < pieces[first][1] and pieces[last][0] < pieces[last][1]
                for column, own in row.texts.items()
                if own == text[pieces[first][0] : pieces[last][1]]
            ] + [way for way in ways if way and way[-1][2] == len(pieces) - 1]
        whole = dict.fromkeys(way for way in ways if len(way) > 1 and way[-1][2] == len(pieces) - 1)
        if whole:
            result[index] = [_worded(text, way) for way in whole]
    return result


def _segments(iri: str) -> Iterator[tuple[int, int, int]]:
    """(start, stop, pieces) of every run of pieces between `/` and `#`, behind scheme and host."""
    scheme, mark, rest = iri.partition("://")
    begin = 0
    if mark and scheme.replace("+", "").replace(".", "").replace("-", "").isalnum() and scheme[0].isalpha():
        begin = len(scheme) + 3 + min((rest + "/").find("/"), (rest + "#").find("#"))
    edges = [begin - 1] + [i for i in range(begin, len(iri)) if iri[i] in "/#"] + [len(iri)]
    if len(edges) == 2 and "/" not in iri and "#" not in iri:
        return
    pieces = [(edges[i] + 1, edges[i + 1]) for i in range(len(edges) - 1)]
    if len(pieces) > MOST_PIECES:
        return
    for first in range(len(pieces)):
        for last in range(first, min(first + LONGEST_RUN, len(pieces))):
            (start, a), (b, stop) = pieces[first], pieces[last]
            if a > start and stop > b:
                yield start, stop, last - first + 1


def _best_choices(hits: list[Hit], beyond: int) -> list[tuple[Hit, ...]]:
    """The choices of hits that do not overlap, leave the namespace, and explain the most pieces."""
    choices: list[tuple[Hit, ...]] = [()]
    for hit in sorted(hits, key=lambda hit: hit[:2]):
        choices += [(*choice, hit) for choice in choices if not choice or choice[-1][1] < hit[0]]
    choices = [choice for choice in choices if choice and choice[-1][1] > beyond]
    most = max((sum(hit[2] for hit in choice) for choice in choices), default=0)
    return [choice for choice in choices if sum(hit[2] for hit in choice) == most]


def _worded(iri: str, way: tuple[Hit, ...]) -> Way:
    parts: list[str | Spelt] = []
    position = 0
    for start, stop, _, column in way:
        parts += [iri[position:start], column]
        position = stop
    return (*parts, iri[position:])
