"""The true mapping: the rules that derive every predicate from the tables of a layout.

Rules come in the shapes of the templates: the atom with the subject first, then what joins or filters it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from ruleminer.rules.values import Atom, Concat, Rule, Term, Variable
from ruleminer.scenarios.domain import Attribute, Domain, Link, Narrowing, Property, Shortcut
from ruleminer.scenarios.layout import Home, Layout

_X, _Y = Variable("x"), Variable("y")
Keys = tuple[Variable, ...]
Atoms = tuple[tuple[str, dict[str, Term]], ...]
"""Tables, each with the terms of some of its columns."""


@dataclass(frozen=True, slots=True)
class _Body:
    """A body in the making: tables with their columns, and the variables of the keys at both ends."""

    atoms: Atoms
    subject: Keys
    object: Keys = ()

    def joined(self, other: _Body) -> _Body:
        """This body, then another that starts from where this ends."""
        atoms = _merged(self.atoms, other.atoms)
        if len(atoms) == 1:  # both in one row, so that nothing is left to join
            ((table, columns),) = atoms
            atoms = ((table, {c: term for c, term in columns.items() if term not in self.object}),)
        return _Body(atoms, self.subject, other.object)

    def filtered(self, home: Home, keys: Keys) -> _Body:
        """This body, with the entity of these keys in a home of its class."""
        columns: dict[str, Term] = {**dict(zip(home.subject, keys, strict=True)), **dict(home.when)}
        return replace(self, atoms=_merged(self.atoms, ((home.table, columns),)))


def true_rules(domain: Domain, layout: Layout) -> tuple[Rule, ...]:
    """All rules, by predicate; a predicate with several rules is their union."""
    rules: dict[Rule, None] = {}
    for cls in domain.classes:
        for home in layout.classes[cls.name]:
            rules[_rule(domain, layout, cls.name, _body(home, "x", ""), cls.name, None)] = None
    for prop in domain.properties:
        rules.update(dict.fromkeys(_property_rules(domain, layout, prop)))
    return tuple(rules)


def _property_rules(domain: Domain, layout: Layout, prop: Property) -> Iterator[Rule]:
    match prop:
        case Attribute():
            for name in prop.domains:
                yield from attribute_rules(domain, layout, prop, name)
        case Link():
            for home in layout.links[prop.name]:
                body = _body(home, "x", "y")
                yield _rule(domain, layout, prop.name, body, prop.domain, prop.range)
            if prop.inverse:
                for home in layout.links[prop.name]:
                    body = _body(home, "y", "x")
                    turned = replace(body, subject=body.object, object=body.subject)
                    yield _rule(domain, layout, prop.inverse.name, turned, prop.range, prop.domain)
        case Shortcut():
            first = domain.prop(prop.first)
            assert isinstance(first, Link)
            target, second = _property_homes(domain, layout, prop.second, first.range)
            for one, two in product(layout.links[prop.first], second):
                body = _body(one, "x", "z").joined(_body(two, "z", "y"))
                yield _rule(domain, layout, prop.name, body, first.domain, target)
        case Narrowing():
            start = prop.domain or domain.ends(prop.of)[0][0]
            target, base = _property_homes(domain, layout, prop.of, start)
            lefts = layout.classes[prop.domain] if prop.domain else (None,)
            rights = layout.classes[prop.range] if prop.range else (None,)
            for home, left, right in product(base, lefts, rights):
                body = _body(home, "x", "y")
                body = body.filtered(left, body.subject) if left else body
                body = body.filtered(right, body.object) if right else body
                yield _rule(domain, layout, prop.name, body, start, prop.range or target)


def attribute_rules(domain: Domain, layout: Layout, prop: Attribute, owner: str) -> Iterator[Rule]:
    """The rules of a datatype property for one of the classes that have it."""
    for home in layout.attributes[prop.name, owner]:
        yield _rule(domain, layout, prop.name, _body(home, "x", "y"), owner, None)


def _property_homes(domain: Domain, layout: Layout, name: str, start: str) -> tuple[str | None, tuple[Home, ...]]:
    """The class a property leads to, None for values, and its homes for the members of a class."""
    prop = domain.prop(name)
    if isinstance(prop, Link):
        return prop.range, layout.links[name]
    assert isinstance(prop, Attribute)
    owner = next(owner for owner in prop.domains if domain.is_within(start, owner))
    return None, layout.attributes[name, owner]


def _body(home: Home, subject: str, target: str) -> _Body:
    """A home as a body of one atom; keys of several columns are numbered."""
    keys, ends = _variables(subject, home.subject), _variables(target, home.object)
    columns: dict[str, Term] = dict(zip((*home.subject, *home.object), (*keys, *ends), strict=True))
    return _Body(((home.table, columns | dict(home.when)),), keys, ends)


def _variables(name: str, columns: tuple[str, ...]) -> Keys:
    if len(columns) == 1:
        return (Variable(name),)
    return tuple(Variable(f"{name}{place}") for place in range(1, len(columns) + 1))


def _merged(atoms: Atoms, more: Atoms) -> Atoms:
    """Atoms one after the other; one that speaks of a row already spoken of only adds to it."""
    found = list(atoms)
    for table, columns in more:
        for place, (other, known) in enumerate(found):
            shared = [c for c, term in columns.items() if isinstance(term, Variable) and known.get(c) == term]
            clash = any(known.get(c, term) != term for c, term in columns.items())
            if table == other and shared and not clash:
                found[place] = (other, known | columns)
                break
        else:
            found.append((table, columns))
    return tuple(found)


def _rule(domain: Domain, layout: Layout, predicate: str, body: _Body, start: str, end: str | None) -> Rule:
    """The rule of a body, its keys turned into what names the entities: themselves, an IRI or a code."""
    atoms = body.atoms
    definitions: list[tuple[Variable, Concat]] = []
    binary = bool(body.object)
    places = [(_X, start, body.subject, "a")] + [(_Y, end, body.object, "b")] * (binary and end is not None)
    for head, name, keys, letter in places:
        assert name is not None
        root = domain.root(name)
        if root.iri:
            fresh = _variables(letter, tuple(map(str, keys)))
            atoms = _renamed(atoms, dict(zip(keys, fresh, strict=True)))
            definitions.append((head, _concatenation(root.iri, fresh)))
        elif root.natural:
            atoms = _by_code(atoms, layout.naturals[root.name], keys, head)
    return Rule(
        predicate,
        (_X, _Y) if binary else (_X,),
        tuple(Atom(table, tuple(columns.items())) for table, columns in atoms),
        tuple(definitions),
    )


def _concatenation(iri: str, keys: Keys) -> Concat:
    parts: list[str | Variable] = []
    for text, key in zip(iri.split("{}"), (*keys, None), strict=True):
        parts += [text] * bool(text)
        parts += [key] if key else []
    return Concat(tuple(parts))


def _by_code(atoms: Atoms, home: Home, keys: Keys, head: Variable) -> Atoms:
    """The key in the body stays a join; the head gets the code that stands beside it."""
    (key,), (code,) = home.subject, home.object
    inner = Variable("k" if head == _X else "w")
    renamed = _renamed(atoms, {keys[0]: inner})
    for place, (table, columns) in enumerate(renamed):
        if table == home.table and columns.get(key) == inner:
            others = [term for number, (_, cs) in enumerate(renamed) if number != place for term in cs.values()]
            own = {code: head, **columns}
            if inner not in others:  # then nothing joins it, and it says nothing
                del own[key]
            return (*renamed[:place], (table, own), *renamed[place + 1 :])
    if head == _X:
        return ((home.table, {code: head, key: inner}), *renamed)
    return (*renamed, (home.table, {key: inner, code: head}))


def _renamed(atoms: Atoms, names: dict[Variable, Variable]) -> Atoms:
    def term(old: Term) -> Term:
        return names.get(old, old) if isinstance(old, Variable) else old

    return tuple((table, {column: term(old) for column, old in columns.items()}) for table, columns in atoms)
