"""Extraction the obvious way: one fact at a time, one column at a time, in plain Python.

Slow, and right by reading. Tests hold the engine to it, benchmarks measure the engine against it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ruleminer.extract.arguments import LONGEST_RUN, MOST_PIECES
from ruleminer.extract.candidates import constant_of
from ruleminer.extract.catalog import Catalog, SourceColumn
from ruleminer.problem.database import Database
from ruleminer.problem.facts import Fact
from ruleminer.rules.canonical import canonical
from ruleminer.rules.lexical import family, lexical_form, readings
from ruleminer.rules.parser import joined
from ruleminer.rules.printer import rule_text
from ruleminer.rules.templates import AtomPattern, Restriction, Slot, Spread, Template
from ruleminer.rules.values import Atom, Concat, Constant, Kind, Rule, Term, Variable

Value = tuple[Kind, str]  # family and lexical form


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
    spelled: Mapping[Variable, tuple[str | SourceColumn, ...]] = field(default_factory=dict)


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


def candidates(fact: Fact, template: Template, rows: list[Row]) -> set[str]:
    """The text of every instance of the template that derives the fact."""
    if len(fact.arguments) != len(template.arguments):
        return set()
    if isinstance(template.predicate, str) and template.predicate != fact.predicate:
        return set()
    definitions = dict(template.definitions)
    starts: list[dict[Variable, Value]] = [{}]
    for variable, text, kind in zip(template.arguments, fact.arguments, fact.kinds, strict=True):
        if variable not in definitions:
            starts = [
                {**start, variable: reading}
                for start in starts
                for reading in readings(text, kind)
                if start.get(variable, reading) == reading
            ]
    spellings = {
        variable: _spellings(text, rows)
        for variable, text, kind in zip(template.arguments, fact.arguments, fact.kinds, strict=True)
        if isinstance(definitions.get(variable), Spread) and kind in (None, Kind.TEXT)
    }
    found: set[str] = set()
    for start in starts:
        for binding in _extend(template, Binding(start), rows, spellings):
            if _fixed_definitions_hold(template, binding, fact) and not _redundant(template, binding):
                rule = _rule(template, binding, fact.predicate)
                if rule is not None:
                    found.add(rule_text(canonical(rule)))
    return found


Spellings = Mapping[Variable, Mapping[int, list[tuple[str | SourceColumn, ...]]]]  # variable → row number → ways


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
                used = {part for way in spelled.values() for part in way if isinstance(part, SourceColumn)}
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


def _choices(
    variables: list[Variable], index: int, spellings: Spellings
) -> Iterator[dict[Variable, tuple[str | SourceColumn, ...]]]:
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
            made = "".join(part if isinstance(part, str) else texts[part] for part in definition.parts)
            if made != fact.arguments[position]:
                return False
    return True


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
                    if isinstance(part, SourceColumn):
                        term = placed.pop(part, None) or ordered.get(part) or Variable(f"spread{part.id}")
                        assert isinstance(term, Variable)
                        ordered[part] = names[part] = term
        ordered |= placed
        atoms.append(Atom(row.table, tuple((column.name, term) for column, term in ordered.items())))
    definitions = []
    for variable, definition in template.definitions:
        if isinstance(definition, Spread):
            parts = [part if isinstance(part, str) else names[part] for part in binding.spelled[variable]]
            definition = Concat(joined(parts))
        definitions.append((variable, definition))
    return Rule(predicate, template.arguments, tuple(atoms), tuple(definitions))


def _spellings(iri: str, rows: list[Row]) -> dict[int, list[tuple[str | SourceColumn, ...]]]:
    """Row number → the ways in which that row spells the IRI, for the rows that count (see `spelling.py`)."""
    segments = list(_segments(iri))
    ways: dict[int, list[tuple[tuple[int, int, int, SourceColumn], ...]]] = {}
    longest = 0
    for index, row in enumerate(rows):
        hits = [
            (start, stop, pieces, column)
            for start, stop, pieces in segments
            for column, text in row.texts.items()
            if text == iri[start:stop]
        ]
        longest = max([longest, *(stop - start for start, stop, _, _ in hits)])
        best = _best_choices(hits)
        if best:
            ways[index] = best
    explained = {index: sum(pieces for _, _, pieces, _ in best[0]) for index, best in ways.items()}
    most = max(explained.values(), default=0)
    result: dict[int, list[tuple[str | SourceColumn, ...]]] = {}
    for index, best in ways.items():
        for way in best:
            holds_longest = any(stop - start == longest for start, stop, _, _ in way)
            if explained[index] == most or (explained[index] == most - 1 and holds_longest):
                result.setdefault(index, []).append(_worded(iri, way))
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


def _best_choices(
    hits: list[tuple[int, int, int, SourceColumn]],
) -> list[tuple[tuple[int, int, int, SourceColumn], ...]]:
    """The choices of hits that do not overlap and explain the most pieces."""
    choices: list[tuple[tuple[int, int, int, SourceColumn], ...]] = [()]
    for hit in sorted(hits, key=lambda hit: hit[:2]):
        choices += [(*choice, hit) for choice in choices if not choice or choice[-1][1] < hit[0]]
    most = max(sum(hit[2] for hit in choice) for choice in choices)
    return [choice for choice in choices if most and sum(hit[2] for hit in choice) == most]


def _worded(iri: str, way: tuple[tuple[int, int, int, SourceColumn], ...]) -> tuple[str | SourceColumn, ...]:
    parts: list[str | SourceColumn] = []
    position = 0
    for start, stop, _, column in way:
        parts += [iri[position:start], column]
        position = stop
    return (*parts, iri[position:])
