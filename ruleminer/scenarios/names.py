"""Names for tables and columns: as the ontology writes them, by other words, cut short, mixed, or telling nothing.

What a kind of scenario does to names (a house style for `renaming`, keys under vague names for `cleaning`) and how
far the words are from the ontology's (`same`, `synonym`, `abbreviated`, `mixed`, `opaque`) are two things: any pair
will do. Where they are mixed, each notion goes its own way, as in schemas that many hands have made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from random import Random

from ruleminer.rules.values import Atom, Rule
from ruleminer.scenarios.domain import Notion
from ruleminer.scenarios.draws import randomness
from ruleminer.scenarios.layout import Column, Layout, Role, Table, Wording
from ruleminer.scenarios.vocabulary import word_synonyms
from ruleminer.scenarios.words import CASES, abbreviated, case_like, cased, plural, words_of
from ruleminer.sources.engines.duckdb import KEYS_TABLE

NAMES = ("same", "synonym", "abbreviated", "mixed", "opaque")

_LONGEST = 60  # PostgreSQL cuts names of more than 63 bytes
_VAGUE_KEYS = ("nr", "no", "key", "ref", "code", "num", "oid", "uid", "rec", "pos")
_VAGUE_ENDS = (("a", "b"), ("left", "right"), ("from", "to"), ("first", "second"), ("src", "dst"), ("one", "two"))
_FILLERS = frozenset({"has", "is", "the", "of"})


@dataclass(frozen=True, slots=True)
class HouseStyle:
    """How one designer names tables and columns; `{}` stands for the class, `$` for the property."""

    case: str
    plurals: bool
    prefix: tuple[str, ...]
    key: str
    reference: str
    end: str
    pairs_by_ends: bool
    drops_fillers: bool
    columns_by_table: bool = False
    """Whether every column begins with what its table is called, cut short: `emp_name`."""
    values_by_table: bool = False
    """Whether values of one word begin with what their table is called: `product_name`."""

    @classmethod
    def drawn(cls, generator: Random) -> HouseStyle:
        """A style."""
        return cls(
            case=generator.choices(CASES, (8, 3, 3, 3, 1, 1))[0],
            plurals=generator.random() < 0.6,
            prefix=generator.choice(((), (), (), (), ("tbl",), ("t",), ("app",))),
            key=generator.choice(("id", "{} id", "{} no", "{} key", "pk", "pk {}")),
            reference=generator.choice(("$", "$ id", "{} id", "$ {}", "fk {}")),
            end=generator.choice(("{}", "{} id", "{} no")),
            pairs_by_ends=generator.random() < 0.5,
            drops_fillers=generator.random() < 0.5,
            values_by_table=generator.random() < 0.25,
        )


@dataclass(frozen=True)
class Naming:
    """The names of the tables and columns of a layout, by their symbolic ones."""

    tables: dict[str, str] = field(default_factory=dict)
    columns: dict[tuple[str, str], str] = field(default_factory=dict)

    def rule(self, rule: Rule) -> Rule:
        """A rule over symbolic names, in the names of the database."""
        atoms = tuple(
            Atom(self.tables[a.table], tuple((self.columns[a.table, c], term) for c, term in a.columns))
            for a in rule.body
        )
        return replace(rule, body=atoms)


def named(layout: Layout, kind: str, names: str, seed: int) -> Naming:
    """Names for everything in a layout, unique even where case does not count."""
    generator = randomness(seed, f"names/{kind}/{names}")
    if names == "opaque":
        return _opaque(layout, generator)
    writer = _Writer(kind, names, generator)
    naming = Naming()
    taken = {KEYS_TABLE}
    for table in layout.tables.values():
        naming.tables[table.id] = _unique(writer.table_names(table), taken)
        columns: set[str] = set()
        for column in table.columns:
            naming.columns[table.id, column.id] = _unique(writer.column_names(table, column), columns)
    return naming


def _opaque(layout: Layout, generator: Random) -> Naming:
    naming = Naming()
    columns = [(table.id, column.id) for table in layout.tables.values() for column in table.columns]
    for number, name in enumerate(generator.sample(list(layout.tables), len(layout.tables)), start=1):
        naming.tables[name] = f"t{number}"
    for number, place in enumerate(generator.sample(columns, len(columns)), start=1):
        naming.columns[place] = f"c{number}"
    return naming


def _unique(candidates: Iterable[str], taken: set[str]) -> str:
    last = ""
    for candidate in candidates:
        last = candidate[:_LONGEST]
        if last.casefold() not in taken:
            break
    name, number = last, 2
    while name.casefold() in taken:
        name, number = f"{last}{'_' if '_' in last else ''}{number}", number + 1
    taken.add(name.casefold())
    return name


class _Writer:
    """Writes names in one scenario's way; a term has the same words wherever it stands."""

    def __init__(self, kind: str, names: str, generator: Random) -> None:
        self.names = names
        self.style = HouseStyle.drawn(generator) if kind == "renaming" else None
        self.vague = kind == "cleaning"
        self.keeps_vowels = generator.random() < 0.5
        self.generator = generator
        if kind == "mixed":
            self.style = HouseStyle.drawn(generator) if generator.random() < 0.75 else None
            self.vague = self.style is None and generator.random() < 0.3
            if self.style is not None and generator.random() < 0.2:
                self.style = replace(self.style, columns_by_table=True)
        self.reworded, self.shortened = 0.0, 0.0
        if names == "mixed":
            self.reworded = generator.choice((0.0, 0.15, 0.3, 0.6, 0.9))
            self.shortened = generator.choice((0.0, 0.0, 0.1, 0.3, 0.6))
        self.chosen: dict[Notion, tuple[str, ...]] = {}
        self.vague_ends: dict[str, tuple[str, str]] = {}
        self.cuts: dict[str, str] = {}

    def table_names(self, table: Table) -> Iterator[str]:
        """Names for a table, the best first."""
        if self.style is None:
            yield self.as_written(table.wording)
            return
        by_ends = table.ends and self.style.pairs_by_ends
        wordings = (table.ends, (*table.ends, *table.wording)) if by_ends else (table.wording,)
        for wording in wordings:
            words = [word for term in wording for word in self.words(term)]
            if self.style.plurals and (not table.ends or by_ends):
                words[-1] = plural(words[-1])
            yield cased((*self.style.prefix, *self.cut(words)), self.style.case)

    def column_names(self, table: Table, column: Column) -> Iterator[str]:
        """Names for a column, the best first."""
        if self.vague and column.role in (Role.KEY, Role.END):
            yield self.vague_name(table, column)
        elif self.style is None:
            yield self.as_written(column.wording)
        else:
            yield self.in_style(column, self.form(column, self.style), table)
            if column.role is Role.REFERENCE:
                yield self.in_style(column, "$ {}", table)

    def vague_name(self, table: Table, column: Column) -> str:
        if column.role is Role.KEY:
            more = [word for term in column.wording if term.name != "ID" for word in self.words(term)]
            return cased((self.generator.choice(_VAGUE_KEYS), *self.cut(more)), "snake")
        sides = self.vague_ends.setdefault(table.id, self.generator.choice(_VAGUE_ENDS))
        more = [word for term in column.wording[1:] for word in self.words(term)]
        return cased((sides[not column.id.startswith("s:")], *self.cut(more)), "snake")

    def form(self, column: Column, style: HouseStyle) -> str:
        match column.role:
            case Role.KEY:
                return style.key if column.wording[0].name == "ID" else "$"
            case Role.REFERENCE:
                return style.reference
            case Role.END:
                return style.end
            case _:
                return "$"

    def in_style(self, column: Column, form: str, table: Table) -> str:
        """A column's name by a form of the house style; parts of a key of several columns come last."""
        assert self.style is not None
        own = [word for term in column.wording for word in self.words(term)]
        if self.style.drops_fillers and column.role in (Role.VALUE, Role.REFERENCE):
            own = [word for word in own if word not in _FILLERS] or own
        of = list(self.words(column.of)) if column.of else []
        words: list[str] = []
        for piece in form.split():
            words += own if piece == "$" else of if piece == "{}" else [piece]
        if "$" not in form and len(column.wording) > 1:
            words += [word for term in column.wording[1:] for word in self.words(term)]
        if self.style.values_by_table and column.role is Role.VALUE and len(words) == 1:
            words = [*self.words(table.wording[0]), *words]
        words = self.cut(words)
        if self.style.columns_by_table:
            words = [abbreviated(self.words(table.wording[0])[0], self.keeps_vowels), *words]
        return cased(tuple(words), self.style.case)

    def as_written(self, wording: Wording) -> str:
        """A name in the ontology's manner: its terms joined by underscores."""
        if self.names == "same":
            return "_".join(term.name for term in wording)
        pieces = (
            term.name if term.name == "ID" else cased(tuple(self.cut(self.words(term))), case_like(term.name))
            for term in wording
        )
        return "_".join(pieces)

    def words(self, term: Notion) -> tuple[str, ...]:
        """The words for a term: its own, or those of a synonym."""
        if self.names not in ("synonym", "mixed"):
            return words_of(term.name)
        if term not in self.chosen:
            other = self.names == "synonym" or self.generator.random() < self.reworded
            self.chosen[term] = self.synonym(term) if other else words_of(term.name)
        return self.chosen[term]

    def synonym(self, term: Notion) -> tuple[str, ...]:
        if term.synonyms:
            return words_of(self.generator.choice(term.synonyms))
        return tuple(
            part
            for word in words_of(term.name)
            for part in words_of(self.generator.choice(word_synonyms(word) or (word,)))
        )

    def cut(self, words: Iterable[str]) -> list[str]:
        """The words, cut short if names are to be."""
        if self.names == "mixed":
            return [self.short(word) for word in words]
        if self.names != "abbreviated":
            return list(words)
        return [abbreviated(word, self.keeps_vowels) for word in words]

    def short(self, word: str) -> str:
        """A word as it is or cut short; the same each time."""
        if word not in self.cuts:
            cut = len(word) > 4 and self.generator.random() < self.shortened
            self.cuts[word] = abbreviated(word, self.keeps_vowels) if cut else word
        return self.cuts[word]
