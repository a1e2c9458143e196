"""Templates as values: rules with slots, which range over what their place admits.

    class-by-flag:  ?H(x) <- ?T(?C: x, ?D: ?k)
    class-by-iri:   ?H(x) <- ?T(?*: a...), x = concat(a...)

A slot in front of a parenthesis stands for a predicate or a table, before a colon for a column, behind one for
a constant. `?*: a...` takes as many columns as a concatenation needs. A column slot may be restricted: `?C@key` to
columns that are a key of their table on their own, `?C@link` to columns that are a foreign key, `?C@code` to columns
of few values that tell kinds of rows apart, `?C@filled` to columns that are NULL in some rows. A variable that stands
in several atoms joins them within a space: its columns name the same kind of thing. `?C@any` joins by the value alone,
and so does a column that is called by its name.

    refine class-by-iri-code:  ?H(x) <- ?T(?*: a..., ?D@code: ?k), x = concat(a...)

A template that refines stands for narrower rules, which are looked for only where the others are too wide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from ruleminer.rules.values import Atom, Concat, Constant, Empty, Rule, Variable


class Restriction(StrEnum):
    """What a column slot may be narrowed to."""

    KEY = "key"
    LINK = "link"
    CODE = "code"
    FILLED = "filled"  # NULL in some rows
    ANY = "any"  # no narrowing: joins need not stay within a space


@dataclass(frozen=True, slots=True)
class Slot:
    """A template variable, such as `?T`."""

    name: str
    restriction: Restriction | None = None


@dataclass(frozen=True, slots=True)
class Spread:
    """As many variables as needed: the `a...` of `?*: a...` and `concat(a...)`."""

    name: str


Name = str | Slot
PatternTerm = Variable | Constant | Empty | Slot


@dataclass(frozen=True, slots=True)
class AtomPattern:
    """An atom whose names and constants may be slots; `spreads` are its `?*: a...` places."""

    table: Name
    columns: tuple[tuple[Name, PatternTerm], ...]
    spreads: tuple[Spread, ...] = ()


@dataclass(frozen=True, slots=True)
class Template:
    """A named pattern of rules."""

    name: str
    predicate: Name
    arguments: tuple[Variable, ...]
    body: tuple[AtomPattern, ...]
    definitions: tuple[tuple[Variable, Concat | Spread], ...] = ()
    refines: bool = False  # looked for only where negatives contradict what the others found
    exclusions: tuple[tuple[Variable, Constant], ...] = ()  # of a rule; a template has none

    def slots(self) -> Iterator[Slot]:
        """All slots, in reading order, repeats included."""
        names: list[object] = [self.predicate]
        for atom in self.body:
            names.append(atom.table)
            names.extend(part for column in atom.columns for part in column)
        yield from (name for name in names if isinstance(name, Slot))

    def ground(self) -> Rule:
        """The rule this is when it has no slot; ValueError names the first one otherwise."""
        for slot in self.slots():
            raise ValueError(f"?{slot.name} is a template variable; a rule has none")
        if any(atom.spreads for atom in self.body):
            raise ValueError("?* belongs in a template; a rule names its columns")
        atoms = tuple(Atom(str(atom.table), tuple(atom.columns)) for atom in self.body)  # type: ignore[arg-type]
        definitions = tuple((v, c) for v, c in self.definitions if isinstance(c, Concat))
        return Rule(str(self.predicate), self.arguments, atoms, definitions, self.exclusions)
