"""Identity: which IRI an entity gets, so that one person is one node however a rule reaches it, and no two share one.

An entity is a key in a space: the columns that links hold together (`structure/spaces.py`). Each space has one IRI
template, `base + table + "/" + key`; a compound key has a segment for each of its columns. A rule that spells an IRI
keeps it, and so does a column that holds whole IRIs (`iri_columns.py` finds them).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from ruleminer.errors import InputError
from ruleminer.problem.ontology import Ontology, OntologyClass, Property, PropertyKind
from ruleminer.rules.mapping import Iri, Literal, TripleRule, iri_safe, is_absolute, legal_iri_text
from ruleminer.rules.mapping import Mapping as RuleMapping
from ruleminer.rules.values import Kind, Place, Rule, Variable
from ruleminer.sources.schema import Schema, Table
from ruleminer.structure.spaces import compound_root
from ruleminer.structure.structure import Structure

HOLE = "{}"
# What IRIs start with where nobody says otherwise; not the ontology's namespace, for who publishes to schema.org does
# not own it.
NOBODY = "http://example.org/data/"

_MOMENT, _DAY = "http://www.w3.org/2001/XMLSchema#dateTime", "http://www.w3.org/2001/XMLSchema#date"

Key = tuple[Place, ...]
"""The columns of the key that a space is known by: one, or several of one table."""


Template = tuple[Key, str]
"""The columns of a key in the order in which they stand in the template behind them."""


class Datatypes(StrEnum):
    """Whose datatypes values are published with: a DATE under a range of xsd:dateTime is a midnight, or a date."""

    ONTOLOGY = "ontology"  # that of the property's range, if there is one and the column fits it
    DATABASE = "database"  # the one natural to the column


@dataclass(frozen=True, slots=True)
class IriSpace:
    """A template with a `{}` for each column of the key, in that order, and the classes whose entities it names."""

    key: Key
    template: str
    classes: tuple[str, ...] = ()
    why: str = ""

    def iri(self, held: Mapping[Place, Variable]) -> Iri:
        """The IRI of the entity whose key these variables hold."""
        texts = self.template.split(HOLE)
        parts: list[str | Variable] = [texts[0]]
        for place, text in zip(self.key, texts[1:], strict=True):
            parts += [held[place], text]
        return Iri(tuple(part for part in parts if part))

    def line(self) -> str:
        """The space for people."""
        columns = ", ".join(_columns_text(self.key))
        told = f"{', '.join(self.classes)}: {columns}" if self.classes else columns
        return f"{self.template}  {told}{self.why}"


@dataclass(frozen=True)
class IdentityPolicy:
    """The template of each space, and what else was decided."""

    base: str
    structure: Structure
    templates: Mapping[Key, Template]
    whole_iris: frozenset[Place] = frozenset()
    overridden: Mapping[Key, str] = field(default_factory=dict)  # which wish of the user gave the template
    spaces: tuple[IriSpace, ...] = ()
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """The policy for people: a line per space in use, then what took a decision; first what nobody decided."""
        ours = any(space.template.startswith(NOBODY) for space in self.spaces) and self.base == NOBODY
        unsaid = [f"IRIs start with {NOBODY}, for nobody said otherwise: choose a base of your own"] if ours else []
        return unsaid + [space.line() for space in self.spaces] + list(self.notes)

    def to_json(self) -> dict[str, Any]:
        """The policy for programs."""
        spaces = [
            {"template": s.template, "key": list(_columns_text(s.key)), "classes": list(s.classes)} for s in self.spaces
        ]
        return {"base": self.base, "spaces": spaces, "notes": list(self.notes)}

    def space(self, key: Key) -> IriSpace:
        """The space with this key; one that no override names goes by its table."""
        wish = self.overridden.get(key)
        return IriSpace(*self.templates[key], (), f" (as asked for {wish})" if wish else "")


def identity_policy(
    ontology: Ontology,
    rules: Sequence[Rule],
    overrides: Mapping[str, str],
    base: str | None,
    structure: Structure,
    whole_iris: Collection[Place] = (),
    settled: Mapping[tuple[str, ...], str] | None = None,
) -> IdentityPolicy:
    """The policy for the entities of some rules; `overrides` gives templates for classes, tables or columns.

    `settled` has the templates of an earlier policy by the columns of their keys; what it named is named so again.
    Otherwise a kind of thing that examples show the IRIs of has these throughout.
    """
    check_overrides(ontology, overrides, base, structure.schema)
    base = _checked_base(base) if base else NOBODY
    whole = frozenset(whole_iris)
    uses = _uses(ontology, rules, structure, whole)
    named = _overridden(ontology, overrides, structure, uses)
    taken: set[str] = set()
    templates: dict[Key, Template] = {}
    before = {frozenset(columns): (columns, text) for columns, text in (settled or {}).items()}
    before = {**_shown(rules, structure), **before}
    shown = {text for _, text in before.values()}
    for key in uses:
        own = named[key][1] if key in named else None
        known = before.get(frozenset(_columns_text(key))) if own is None else None
        while known is None and (own is None or (own in shown and key not in named)):
            name = _free_name(_name(key, structure.schema), taken)
            own = f"{base}{name}/{'/'.join([HOLE] * len(key))}"
        order = sorted(key, key=lambda place: known[0].index(".".join(place))) if known else key
        templates[key] = tuple(order), known[1] if known else str(own)
    _refuse_shared(templates, named)
    policy = IdentityPolicy(base, structure, templates, whole, {key: wish for key, (wish, _) in named.items()})
    return _with_report(policy, ontology, rules, uses)


def _shown(rules: Sequence[Rule], structure: Structure) -> dict[frozenset[str], tuple[tuple[str, ...], str]]:
    """The templates of IRIs that rules put together of a key themselves, where all that do agree, by its columns."""
    found: dict[Key, set[Template]] = {}
    for rule in rules:
        for variable in rule.arguments:
            concat = rule.definition_of(variable)
            if concat is None or not spells_iri(rule, variable) or concat.transformations:
                continue
            key, variables = entity_key(rule, variable, structure)
            if len(concat.variables) != len({*key}) or not _is_key(key, structure):
                continue
            held = dict(zip(variables, key, strict=True))
            text = "".join(legal_iri_text(part) if isinstance(part, str) else HOLE for part in concat.parts)
            found.setdefault(key, set()).add((tuple(held[one] for one in concat.variables), text))
    agreed = [next(iter(templates)) for templates in found.values() if len(templates) == 1]
    uses = Counter(text for _, text in agreed)
    columns = ((_columns_text(order), text) for order, text in agreed if uses[text] == 1)
    return {frozenset(names): (names, text) for names, text in columns}


def _is_key(key: Key, structure: Structure) -> bool:
    """Whether one column is known as a key, or several together are that of their table."""
    if len(key) == 1:
        return structure.space(key[0]) is not None
    table = structure.schema.table(key[0].table) if len({place.table for place in key}) == 1 else None
    columns = {place.column for place in key}
    return table is not None and any({*known} == columns for known in (table.primary_key, *table.unique))


def check_overrides(
    ontology: Ontology, overrides: Mapping[str, str], base: str | None = None, schema: Schema | None = None
) -> None:
    """Refuse what no rules could make right: a name that nobody has, one template for two, a bad base."""
    for name in overrides:
        if schema is None or not _columns(name, schema, ontology):
            try:
                term = ontology.find(name)
            except InputError as error:
                raise InputError(
                    f"‹iris› takes a class, a table or table.column; {name} is neither of the database, and {error}"
                ) from None
            if not isinstance(term, OntologyClass):
                raise InputError(f"‹iris› takes a class, a table or table.column, and {name} is a property")
    given: dict[str, str] = {}
    for name, template in overrides.items():
        other = given.setdefault(template, name)
        if other != name and template != HOLE:
            raise InputError(
                f"‹iris› gives {other} and {name} the same template: different things would share their IRIs"
            )
    if base:
        _checked_base(base)


def parse_iri_override(text: str) -> tuple[str, str]:
    """`Person=http://example.org/person/{}` as a name and its template.

    The template `{}` alone says that the database holds whole IRIs.
    """
    name, equals, template = (part.strip() for part in text.partition("="))
    if not equals or not name or not template:
        raise InputError(f'cannot read ‹iris› {text!r}; it looks like "Person=http://example.org/person/{{}}"')
    if HOLE not in template:
        raise InputError(f"‹iris› {text!r} must have {{}} where the key goes")
    if re.search(r"\{\}[A-Za-z0-9._~-]*\{\}", template):
        raise InputError(f"‹iris› {text!r}: two {{}} need a / or the like between them, or two keys could make one IRI")
    fixed = template.replace(HOLE, "")
    if fixed and not (is_absolute(template) and legal_iri_text(fixed) == fixed):
        raise InputError(f"‹iris› {text!r}: {template} is no IRI; it starts with http:// or the like and has no blanks")
    return name, template


def mapping_of(
    rules: Sequence[Rule],
    ontology: Ontology,
    policy: IdentityPolicy,
    kept_links: Iterable[tuple[Place, Place]] = (),
    datatypes: Datatypes = Datatypes.ONTOLOGY,
    days: Collection[str] = (),
) -> RuleMapping:
    """The rules as a mapping: entities by the policy, values with the datatypes that are asked for.

    `kept_links` are the foreign keys that the database enforces, `days` the properties whose values are published as
    days where the ontology has moments.
    """
    triples = tuple(_triple_rule(rule, ontology, policy, datatypes, days) for rule in rules)
    return RuleMapping(triples, dict(ontology.prefixes), frozenset(kept_links))


def _triple_rule(
    rule: Rule, ontology: Ontology, policy: IdentityPolicy, datatypes: Datatypes, days: Collection[str]
) -> TripleRule:
    term = ontology.find(rule.predicate)
    subject = _entity(rule, rule.arguments[0], policy)
    if isinstance(term, OntologyClass):
        return TripleRule(rule, term.iri, subject)
    value = rule.arguments[1]
    if leads_to_entity(term, rule, policy.structure):
        return TripleRule(rule, term.iri, subject, _entity(rule, value, policy))
    concat = rule.definition_of(value)
    datatype = ontology.datatype(term.iri) if datatypes is Datatypes.ONTOLOGY else None
    if datatype == _MOMENT and rule.predicate in days:
        datatype = _DAY
    return TripleRule(rule, term.iri, subject, Literal(concat.parts if concat else (value,), datatype))


def leads_to_entity(term: Property, rule: Rule, structure: Structure) -> bool:
    """Whether a rule's second argument is an entity: as the ontology says, and where it leaves that open, the data.

    Who writes a thing as its IRI and what it has as a text means the text.
    """
    if term.kind is not PropertyKind.EITHER:
        return term.kind is PropertyKind.OBJECT
    value = rule.arguments[1]
    if rule.definition_of(value) is not None:
        return spells_iri(rule, value)
    places = rule.places_of(value)
    if spells_iri(rule, rule.arguments[0]) and all(_is_text(place, structure.schema) for place in places):
        return False
    return any(_names_things(place, structure) for place in places)


def _is_text(place: Place, schema: Schema) -> bool:
    return place in schema and schema.type_of(*place).kind is Kind.TEXT


def _names_things(place: Place, structure: Structure) -> bool:
    """Whether a column's values stand for rows: it is the key of its table, or links lead from or to it.

    A unique name beside the key (`country.name`) is a text of its row, as long as nobody refers to it.
    """
    space = structure.space(place)
    if space is None:
        return False
    return len(space.places) > 1 or place.column in _own_key(structure.schema.table(place.table))


def _entity(rule: Rule, variable: Variable, policy: IdentityPolicy) -> Iri:
    if spells_iri(rule, variable):
        concat = rule.definition_of(variable)
        assert concat is not None
        return Iri(tuple(legal_iri_text(p) if isinstance(p, str) else p for p in concat.parts), spelled=True)
    if holds_iris(rule, variable, policy.whole_iris):
        return Iri((variable,))
    key, variables = entity_key(rule, variable, policy.structure)
    concat = rule.definition_of(variable)
    changed = {part.variable: part for part in concat.transformations} if concat else {}
    iri = policy.space(key).iri(dict(zip(key, variables, strict=True)))
    parts = tuple(changed.get(part, part) if isinstance(part, Variable) else part for part in iri.parts)
    return replace(iri, parts=parts, spelled=concat is not None)


def entity_key(rule: Rule, variable: Variable, structure: Structure) -> tuple[Key, tuple[Variable, ...]]:
    """The key of the space that an argument lives in, and the variables that hold it, in the key's order."""
    parts = rule.variables_of(variable)
    if len(parts) == 1:
        places = rule.places_of(parts[0])
        spaces = [space for place in places if (space := structure.space(place)) is not None]
        return ((spaces[0].key,) if spaces else (places[0],)), (parts[0],)
    columns = [rule.places_of(part)[0] for part in parts]
    root = compound_root(columns, structure.schema)
    order = sorted(range(len(parts)), key=lambda i: root[i])
    return tuple(root[i] for i in order), tuple(parts[i] for i in order)


def spells_iri(rule: Rule, variable: Variable) -> bool:
    """Whether a rule puts the whole IRI of an argument together itself."""
    concat = rule.definition_of(variable)
    first = concat.parts[0] if concat and concat.parts else None
    return isinstance(first, str) and is_absolute(first)


def holds_iris(rule: Rule, variable: Variable, whole_iris: Collection[Place]) -> bool:
    """Whether an argument comes from a column of whole IRIs."""
    return rule.definition_of(variable) is None and rule.places_of(variable)[0] in whole_iris


def entity_arguments(ontology: Ontology, rule: Rule, structure: Structure) -> Iterator[Variable]:
    """The arguments of a rule that stand for entities, by a key or an IRI that a column holds."""
    term = ontology.find(rule.predicate)
    for place, variable in enumerate(rule.arguments):
        is_value = place == 1 and isinstance(term, Property) and not leads_to_entity(term, rule, structure)
        if not is_value and not spells_iri(rule, variable):
            yield variable


def _uses(
    ontology: Ontology, rules: Sequence[Rule], structure: Structure, whole_iris: frozenset[Place]
) -> dict[Key, dict[str, None]]:
    """The keys that the rules name entities by, with the classes that they make them members of."""
    uses: dict[Key, dict[str, None]] = {}
    for rule in rules:
        for variable in entity_arguments(ontology, rule, structure):
            if not holds_iris(rule, variable, whole_iris):
                key, _ = entity_key(rule, variable, structure)
                classes = uses.setdefault(key, {})
                if len(rule.arguments) == 1:
                    classes[rule.predicate] = None
    return dict(sorted(uses.items()))


def _overridden(
    ontology: Ontology, overrides: Mapping[str, str], structure: Structure, uses: Mapping[Key, Collection[str]]
) -> dict[Key, tuple[str, str]]:
    """The spaces that the user names, with the name and the template."""
    found: dict[Key, tuple[str, str]] = {}
    for name, template in overrides.items():
        keys = [key for key, classes in uses.items() if _means(name, key, classes, ontology, structure)]
        if len(keys) > 1 and template != HOLE:
            tables = ", ".join(sorted({key[0].table for key in keys}))
            raise InputError(
                f"‹iris› {name}: its entities are of {len(keys)} kinds ({tables}), which must not share their IRIs; "
                "give a template for each table"
            )
        for key in keys:
            if template.count(HOLE) != len(key):
                columns = ", ".join(".".join(place) for place in key)
                raise InputError(f"‹iris› {name}: {template} must have {{}} once for each of {columns}")
            before = found.setdefault(key, (name, template))
            if before[1] != template:
                raise InputError(f"‹iris› gives two templates for the same entities: {before[0]} and {name}")
    return found


def _refuse_shared(templates: Mapping[Key, Template], named: Mapping[Key, tuple[str, str]]) -> None:
    """A template that the user gives must not be one that another space has anyway."""
    others = {template: key for key, (_, template) in templates.items() if key not in named}
    for wish, template in named.values():
        if template in others:
            raise InputError(
                f"‹iris› gives {wish} the template that {others[template][0].table} has: "
                "different things would share their IRIs"
            )


def _means(name: str, key: Key, classes: Collection[str], ontology: Ontology, structure: Structure) -> bool:
    """Whether a name of the user's is that of a space: its table, one of its columns, or a class of its entities."""
    places = _columns(name, structure.schema, ontology)
    if places:
        space = structure.space(places[0]) if len(places) == 1 else None
        return set(places) == set(key) or (space is not None and (space.key,) == key)
    return any(ontology.find(one).iri == ontology.find(name).iri for one in classes)


def _columns(name: str, schema: Schema, ontology: Ontology) -> list[Place]:
    """The key of the table of this name, or the column of this name; nothing if there is neither.

    A table may be written in small or capital letters, unless the name is that of a class.
    """
    if name not in schema and not any(term.name == name for term in ontology.classes):
        alike = [table.name for table in schema.tables if table.name.lower() == name.lower()]
        name = alike[0] if len(alike) == 1 else name
    if name in schema:
        return [Place(name, column) for column in _own_key(schema.table(name))]
    table_name, _, column = name.rpartition(".")
    if table_name in schema and any(one.name == column for one in schema.table(table_name).columns):
        return [Place(table_name, column)]
    return []


def _with_report(
    policy: IdentityPolicy, ontology: Ontology, rules: Sequence[Rule], uses: Mapping[Key, Collection[str]]
) -> IdentityPolicy:
    """The policy with the spaces that its rules use, and the choices that it took."""
    spaces = [replace(policy.space(key), classes=tuple(classes)) for key, classes in uses.items()]
    notes: dict[str, None] = {}
    for rule in rules:
        for variable in rule.arguments:
            if spells_iri(rule, variable):
                notes["rules that put an IRI together keep it"] = None
        for variable in entity_arguments(ontology, rule, policy.structure):
            if holds_iris(rule, variable, policy.whole_iris):
                notes[f"{rule.predicate}: {'.'.join(rule.places_of(variable)[0])} holds whole IRIs"] = None
    return replace(policy, spaces=tuple(sorted(spaces, key=lambda s: s.template)), notes=tuple(notes))


def _name(key: Key, schema: Schema) -> str:
    """What a space goes by in its IRIs: its table; a column that is not the table's key is named as well."""
    table, column = key[0]
    own = table in schema and (len(key) > 1 or column in _own_key(schema.table(table)))
    return iri_safe(table if own else f"{table}.{column}")


def _own_key(table: Table) -> tuple[str, ...]:
    """The columns that name a table's rows: its primary key, or its first column that is a key on its own."""
    return table.primary_key or table.keys[:1]


def _columns_text(key: Key) -> tuple[str, ...]:
    """The columns of a key as people and files write them."""
    return tuple(".".join(place) for place in key)


def _free_name(name: str, taken: set[str]) -> str:
    free, number = name, 1
    while free.lower() in taken:
        number += 1
        free = f"{name}-{number}"
    taken.add(free.lower())
    return free


def _checked_base(base: str) -> str:
    if not is_absolute(base) or legal_iri_text(base) != base:
        raise InputError(f"{base!r} is no base for IRIs; it looks like http://example.org/data/")
    return base if base.endswith(("/", "#", ":", "=")) else f"{base}/"
