"""Identity: which IRI an entity gets, so that one person is one node however a rule reaches it.

Entities live in *spaces*, one IRI template each: `base + name + "/" + key`. A class hierarchy is one space, named after
its root (of several roots, the one with most classes below it): classes that share an ancestor, a descendant or an
equivalent are in one. It is split only if nothing the mapping derives lies above all its classes and the foreign
keys of the schema tell that their keys have nothing to do with each other. A rule that spells an IRI keeps it, and so
does a column that holds whole IRIs (`iri_columns.py` finds them).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ruleminer.errors import InputError
from ruleminer.problem.ontology import Ontology, OntologyClass, Property, PropertyKind, local_name
from ruleminer.problem.schema import Schema
from ruleminer.propose.key_spaces import KeySpaces, Place, key_spaces, places_of
from ruleminer.propose.spaces import HOLE, Space, class_spaces
from ruleminer.rules.mapping import Iri, Literal, TripleRule, iri_safe, is_absolute, legal_iri_text
from ruleminer.rules.mapping import Mapping as RuleMapping
from ruleminer.rules.values import Rule, Variable

_XSD = "http://www.w3.org/2001/XMLSchema#"


@dataclass(frozen=True)
class IdentityPolicy:
    """The spaces, and what decides when an argument's class is not told or not enough."""

    base: str
    spaces: tuple[Space, ...]
    by_class: Mapping[str, Space]
    keys: KeySpaces
    by_key: Mapping[Place, tuple[Space, ...]]
    whole_iris: frozenset[Place] = frozenset()
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """The policy for people: a line per space in use, then the arguments that took a decision."""
        return [f"{space.template}  {space.why}" for space in self.spaces] + list(self.notes)

    def to_json(self) -> dict[str, Any]:
        """The policy for programs."""
        spaces = [{"template": s.template, "classes": list(s.classes), "why": s.why} for s in self.spaces]
        return {"base": self.base, "spaces": spaces, "notes": list(self.notes)}

    def space_of(self, rule: Rule, variable: Variable, classes: Sequence[str]) -> tuple[Space, str]:
        """The space of an argument that is declared to be of one of some classes, and how it was chosen."""
        declared = list(dict.fromkeys(self.by_class[iri] for iri in classes if iri in self.by_class))
        if len(declared) == 1:
            return declared[0], ""
        places = places_of(rule, variable)
        shown = ", ".join(f"{table}.{column}" for table, column in places)
        used = [space for place in places for space in self.by_key.get(self.keys.of(place), ())]
        for space in used:
            if not declared or space in declared:
                return space, f"the rules for {_some(space.classes)} use the same key ({shown})"
        if declared:
            return declared[0], f"nothing tells which of its classes {shown} is a key of; the first is taken"
        table = self.keys.of(places[0])[0]
        space = Space(f"{self.base}table/{iri_safe(table)}/{HOLE}", (), "")
        return space, f"the ontology names no class; by the table that {shown} belongs to, {table}"


def parse_iri_override(text: str) -> tuple[str, str]:
    """`Person=http://example.org/person/{}` as class and template.

    The template `{}` alone says that the database holds whole IRIs.
    """
    name, equals, template = (part.strip() for part in text.partition("="))
    if not equals or not name or not template:
        raise InputError(f'cannot read --iri {text!r}; it looks like "Person=http://example.org/person/{{}}"')
    if template.count(HOLE) != 1:
        raise InputError(f"--iri {text!r} must have {{}} once, where the key goes")
    fixed = template.replace(HOLE, "")
    if fixed and not (is_absolute(template) and legal_iri_text(fixed) == fixed):
        raise InputError(f"--iri {text!r}: {template} is no IRI; it starts with http:// or the like and has no blanks")
    return name, template


def identity_policy(
    ontology: Ontology,
    rules: Sequence[Rule],
    overrides: Mapping[str, str],
    base: str | None = None,
    schema: Schema | None = None,
    whole_iris: Collection[Place] = (),
) -> IdentityPolicy:
    """The policy for the entities of some rules; `overrides` gives templates for classes, by their names.

    `schema` tells which keys belong together, `whole_iris` which columns hold IRIs and not keys.
    """
    check_overrides(ontology, overrides, base)
    whole_iris = frozenset(whole_iris)
    base = _checked_base(base) if base else default_base(ontology)
    keys = key_spaces(rules, schema)
    uses = _class_uses(ontology, rules, whole_iris)
    by_class = class_spaces(ontology, base, uses, keys)
    _override(ontology, by_class, overrides)
    by_key: dict[Place, dict[Space, None]] = defaultdict(dict)
    for iri, places in uses.items():
        for place in places:
            by_key[keys.of(place)][by_class[iri]] = None
    deciding = {key: tuple(found) for key, found in by_key.items()}
    policy = IdentityPolicy(base, (), by_class, keys, deciding, whole_iris)
    return _with_report(policy, ontology, rules)


def check_overrides(ontology: Ontology, overrides: Mapping[str, str], base: str | None = None) -> None:
    """Refuse what no rules could make right: a property, two templates for a class and one above it, a bad base."""
    terms = {name: ontology.find(name) for name in overrides}
    for name, term in terms.items():
        if not isinstance(term, OntologyClass):
            raise InputError(f"--iri takes a class, and {name} is a property")
        related = {term.iri, *ontology.ancestors(term.iri)}
        for other, template in overrides.items():
            if terms[other].iri in related and template != overrides[name]:
                raise _two_templates(other, name)
    if base:
        _checked_base(base)


def mapping_of(rules: Sequence[Rule], ontology: Ontology, policy: IdentityPolicy) -> RuleMapping:
    """The rules as a mapping: entities by the policy, values with the datatypes of the ontology's ranges."""
    return RuleMapping(tuple(_triple_rule(rule, ontology, policy) for rule in rules), dict(ontology.prefixes))


def default_base(ontology: Ontology) -> str:
    """`<namespace>/data/`, for the namespace that most terms of the ontology have."""
    namespaces = Counter(term.iri.removesuffix(local_name(term.iri)) for term in ontology.terms)
    if not namespaces:
        return "http://example.org/data/"
    most = min(namespaces, key=lambda namespace: (-namespaces[namespace], namespace))
    return f"{most if most.endswith(':') else most.rstrip('#/') + '/'}data/"


def argument_classes(ontology: Ontology, term: Property, place: int) -> tuple[str, ...]:
    """The classes declared for the subject (0) or object (1) of a property, its super-properties or inverses."""
    for iri in (term.iri, *ontology.ancestors(term.iri)):
        near = ontology.get(iri)
        if not isinstance(near, Property):
            continue
        inverses = [inverse for name in near.inverses if isinstance(inverse := ontology.get(name), Property)]
        ends = [(near.domains, near.ranges), *((inverse.ranges, inverse.domains) for inverse in inverses)]
        for end in ends:
            classes = tuple(c for c in end[place] if isinstance(ontology.get(c), OntologyClass))
            if classes:
                return classes
    return ()


def _triple_rule(rule: Rule, ontology: Ontology, policy: IdentityPolicy) -> TripleRule:
    term = ontology.find(rule.predicate)
    subject = _entity(rule, 0, ontology, policy)
    if isinstance(term, OntologyClass):
        return TripleRule(rule, term.iri, subject)
    if term.kind is PropertyKind.OBJECT:
        return TripleRule(rule, term.iri, subject, _entity(rule, 1, ontology, policy))
    value = rule.arguments[1]
    concat = rule.definition_of(value)
    return TripleRule(rule, term.iri, subject, Literal(concat.parts if concat else (value,), _datatype(ontology, term)))


def _entity(rule: Rule, place: int, ontology: Ontology, policy: IdentityPolicy) -> Iri:
    variable = rule.arguments[place]
    concat = rule.definition_of(variable)
    parts = concat.parts if concat else (variable,)
    if spells_iri(rule, variable):
        return Iri(tuple(legal_iri_text(part) if isinstance(part, str) else part for part in parts), spelled=True)
    if holds_iris(rule, variable, policy.whole_iris):
        return Iri((variable,))
    space, _ = policy.space_of(rule, variable, _classes_at(ontology, rule, place))
    key = tuple(iri_safe(part) if isinstance(part, str) else part for part in parts)
    return replace(space.iri(*key), spelled=concat is not None)


def spells_iri(rule: Rule, variable: Variable) -> bool:
    """Whether a rule puts the whole IRI of an argument together itself."""
    concat = rule.definition_of(variable)
    first = concat.parts[0] if concat and concat.parts else None
    return isinstance(first, str) and is_absolute(first)


def holds_iris(rule: Rule, variable: Variable, whole_iris: Collection[Place]) -> bool:
    """Whether an argument comes from a column of whole IRIs."""
    return rule.definition_of(variable) is None and places_of(rule, variable)[0] in whole_iris


def _datatype(ontology: Ontology, term: Property) -> str | None:
    """The one XSD datatype of a property's range, or of the nearest super-property that has one."""
    for iri in (term.iri, *ontology.ancestors(term.iri)):
        near = ontology.get(iri)
        ranges = [iri for iri in near.ranges if iri.startswith(_XSD)] if isinstance(near, Property) else []
        if ranges:
            return ranges[0] if len(ranges) == 1 else None
    return None


def _classes_at(ontology: Ontology, rule: Rule, place: int) -> tuple[str, ...]:
    term = ontology.find(rule.predicate)
    return (term.iri,) if isinstance(term, OntologyClass) else argument_classes(ontology, term, place)


def entity_places(ontology: Ontology, rule: Rule) -> Iterator[tuple[int, Variable]]:
    """The arguments of a rule that stand for entities, by a key or an IRI that a column holds."""
    term = ontology.find(rule.predicate)
    for place, variable in enumerate(rule.arguments):
        is_value = place == 1 and isinstance(term, Property) and term.kind is PropertyKind.DATATYPE
        if not is_value and not spells_iri(rule, variable):
            yield place, variable


def _entity_arguments(
    ontology: Ontology, rule: Rule, whole_iris: frozenset[Place]
) -> Iterator[tuple[int, Variable, tuple[str, ...]]]:
    """The arguments of a rule that need a space, with the classes declared for them."""
    for place, variable in entity_places(ontology, rule):
        if not holds_iris(rule, variable, whole_iris):
            yield place, variable, _classes_at(ontology, rule, place)


def _class_uses(ontology: Ontology, rules: Sequence[Rule], whole_iris: frozenset[Place]) -> dict[str, list[Place]]:
    """The classes that the rules name entities of, with the columns of their keys.

    Rules of the class itself come first: they tell more than a property's declared end.
    """
    uses: dict[str, dict[Place, None]] = defaultdict(dict)
    ends = [
        (len(rule.arguments), iri, place)
        for rule in rules
        for _, variable, classes in _entity_arguments(ontology, rule, whole_iris)
        if len(classes) == 1
        for iri in classes
        for place in places_of(rule, variable)
    ]
    for _, iri, place in sorted(ends):
        uses[iri][place] = None
    return {iri: list(places) for iri, places in uses.items()}


def _override(ontology: Ontology, by_class: dict[str, Space], overrides: Mapping[str, str]) -> None:
    changed: dict[Space, tuple[str, str]] = {}
    for name, template in overrides.items():
        space = by_class[ontology.find(name).iri]
        before = changed.setdefault(space, (name, template))
        if before[1] != template:
            raise _two_templates(before[0], name)
    for iri, space in list(by_class.items()):
        if space in changed:
            name, template = changed[space]
            by_class[iri] = replace(space, template=template, why=f"{space.why} (--iri for {name})")


def _with_report(policy: IdentityPolicy, ontology: Ontology, rules: Sequence[Rule]) -> IdentityPolicy:
    """The policy with the spaces that its rules use, and the choices that it took."""
    spaces: dict[Space, None] = {}
    notes: dict[str, None] = {}
    for rule in rules:
        for place, variable, classes in _entity_arguments(ontology, rule, policy.whole_iris):
            space, why = policy.space_of(rule, variable, classes)
            if space.classes:
                spaces[space] = None
            if why:
                notes[f"{rule.predicate}, {('subject', 'object')[place]}: {space.template}  {why}"] = None
        for variable in rule.arguments:
            if spells_iri(rule, variable):
                notes["rules that put an IRI together keep it"] = None
            elif holds_iris(rule, variable, policy.whole_iris):
                notes[f"{rule.predicate}: {'.'.join(places_of(rule, variable)[0])} holds whole IRIs"] = None
    return replace(policy, spaces=tuple(sorted(spaces, key=lambda s: s.template)), notes=tuple(notes))


def _two_templates(one: str, other: str) -> InputError:
    return InputError(f"--iri gives two templates for the same entities: {one} and {other} share theirs")


def _checked_base(base: str) -> str:
    if not is_absolute(base) or legal_iri_text(base) != base:
        raise InputError(f"{base!r} is no base for IRIs; it looks like http://example.org/data/")
    return base if base.endswith(("/", "#", ":", "=")) else f"{base}/"


def _some(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and its like"
