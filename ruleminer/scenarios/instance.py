"""The undistorted instance: all entities, values and links as DuckDB views, and the facts that follow from them.

A view computes what is asked of it from `range()` and draws, so that nothing need be stored. In a small scenario
they are temporary tables: there it is planning the statements that takes time.

    e_<root>      one row per entity: i (its number), a_<property> (value or NULL), l_<link> (target's number or NULL)
    m_<link>      one row per pair of a link to many: s, o (numbers)
    w_<property>  one row per value of a property with several: s (number), value

Facts come from here and the mapping from the layout of the tables, so that each checks the other.
"""

from __future__ import annotations

from collections.abc import Iterator

from ruleminer.scenarios.domain import Attribute, Link, Narrowing, Property, Shortcut
from ruleminer.scenarios.draws import Permutation, chance_sql, skewed_sql, stride
from ruleminer.scenarios.population import Population
from ruleminer.scenarios.value_kinds import VALUE_KINDS, distinct_values, lexical_text_sql, value_sql


def instance_statements(population: Population, store: bool) -> Iterator[str]:
    """The statements that make the views, or the tables."""
    domain = population.domain
    create = f"CREATE TEMP {'TABLE' if store else 'VIEW'}"
    for root in domain.roots:
        yield f'{create} "e_{root.name}" AS {_entities(population, root.name)}'
    for link in domain.links:
        if link.many:
            yield f'{create} "m_{link.name}" AS {_pairs(population, link)}'
    for attribute in domain.attributes:
        if attribute.at_most > 1:
            yield f'{create} "w_{attribute.name}" AS {_values(population, attribute)}'


def is_total(population: Population, link: Link) -> bool:
    """Whether every entity of the domain has a target and every one of the range is a target."""
    domain = population.domain
    return (
        link.many is None
        and link.missing == 0
        and domain.root(link.domain) != domain.root(link.range)
        and population.size(link.range) <= population.size(link.domain)
    )


def _entities(population: Population, root: str) -> str:
    domain = population.domain
    draws: dict[str, str] = {}
    columns: list[str] = []
    for attribute in domain.attributes:
        classes = [name for name in attribute.domains if domain.root(name).name == root]
        if attribute.at_most == 1 and classes:
            # Values that belong together (a name and an e-mail) share a draw.
            group = VALUE_KINDS[attribute.value].group or attribute.name
            draws[f"h_{group}"] = population.draw(f"{root}/{group}", "i")
            present = " OR ".join(f"({population.members[name].sql('i')})" for name in classes)
            if attribute.missing:
                draws[f"n_{attribute.name}"] = population.draw(f"{root}/missing {attribute.name}", "i")
                present = f"({present}) AND NOT {_chance(f'n_{attribute.name}', attribute.missing)}"
            number = Permutation.drawn(population.seed, f"number/{attribute.name}", population.size(root)).sql("i")
            value = value_sql(attribute, f'"h_{group}"', f"({number})")
            columns.append(f'CASE WHEN {present} THEN {value} END AS "a_{attribute.name}"')
    for link in domain.links:
        if link.many is None and domain.root(link.domain).name == root:
            draws[f"h_{link.name}"] = population.draw(f"link {link.name}", "i")
            present = population.members[link.domain].sql("i")
            if link.missing:
                draws[f"n_{link.name}"] = population.draw(f"missing {link.name}", "i")
                present += f" AND NOT {_chance(f'n_{link.name}', link.missing)}"
            columns.append(f'CASE WHEN {present} THEN {_target(population, link)} END AS "l_{link.name}"')
    drawn = "".join(f', {sql} AS "{name}"' for name, sql in draws.items())
    places = population.permutations[root]
    return (
        f"SELECT {', '.join(['i', *columns])} FROM (SELECT i{drawn} FROM ("
        f"SELECT {places.inverse_sql('p')} AS i FROM range({places.count}) AS t(p)))"
    )


def _chance(column: str, probability: float) -> str:
    return chance_sql(f'"{column}"', probability)


def _target(population: Population, link: Link) -> str:
    """SQL for the number of the one target of the entity `i`."""
    source, target = population.members[link.domain], population.members[link.range]
    chosen = skewed_sql(f'"h_{link.name}"', target.size)
    if population.domain.root(link.domain) == population.domain.root(link.range):
        # Nobody reports to themselves: who would, reports to the next one.
        chosen = f"CASE WHEN {target.start} + {chosen} = i THEN ({chosen} + 1) % {target.size} ELSE {chosen} END"
    elif is_total(population, link):
        chosen = f"CASE WHEN i < {source.start + target.size} THEN i - {source.start} ELSE {chosen} END"
    return f"{target.start} + {chosen}"


def _pairs(population: Population, link: Link) -> str:
    source, target = population.members[link.domain], population.members[link.range]
    least, most = population.fan_out(link)
    count = f"{least} + f % {most - least + 1}"
    draws = f"{population.draw(f'link {link.name}', 's')} AS h, {population.draw(f'count {link.name}', 's')} AS f"
    same = population.domain.root(link.domain) == population.domain.root(link.range)
    pairs = (
        f"SELECT s, {target.start} + (h + j * {stride(target.size)}) % {target.size} AS o FROM ("
        f"SELECT s, h, unnest(range({count})) AS j FROM ("
        f"SELECT s, {draws} FROM range({source.start}, {source.end}) AS t(s)))"
    )
    return f"SELECT s, o FROM ({pairs}) WHERE s <> o" if same else pairs


def _values(population: Population, attribute: Attribute) -> str:
    owner = population.members[attribute.domains[0]]
    group = attribute.name
    draws = f"{population.draw(f'value {group}', 's')} AS h, {population.draw(f'count {group}', 's')} AS f"
    value = value_sql(attribute, f"(h + j * {stride(distinct_values(attribute), 37)})", "s")
    return (
        f"SELECT s, {value} AS value FROM ("
        f"SELECT s, h, unnest(range(f % {attribute.at_most + 1})) AS j FROM ("
        f"SELECT s, {draws} FROM range({owner.start}, {owner.end}) AS t(s)))"
    )


def fact_queries(population: Population) -> Iterator[tuple[str, str]]:
    """Each predicate with a query for its facts: arg1 and arg2 (NULL for a class), each once, in a fixed order."""
    domain = population.domain
    for cls in domain.classes:
        identity = population.identity_sql(cls.name, "i")
        members = population.members[cls.name].sql("i")
        view = f'"e_{domain.root(cls.name).name}"'
        yield cls.name, f"SELECT {identity} AS arg1, NULL::VARCHAR AS arg2 FROM {view} WHERE {members}"
    for prop in domain.properties:
        facts = _property_facts(population, prop)
        yield prop.name, facts
        if isinstance(prop, Link) and prop.inverse:
            yield prop.inverse.name, f"SELECT arg2 AS arg1, arg1 AS arg2 FROM ({facts})"


def _property_facts(population: Population, prop: Property) -> str:
    domain = population.domain
    match prop:
        case Attribute():
            roots = dict.fromkeys(domain.root(name).name for name in prop.domains)
            parts = [_facts(population, _relation(prop, root), root, prop) for root in roots]
            if len(parts) == 1:
                return parts[0]
            # Entities of two roots may have the same key, and then even the same value.
            return f"SELECT DISTINCT * FROM ({' UNION ALL '.join(parts)}) ORDER BY ALL"
        case Link():
            return _facts(population, _relation(prop, domain.root(prop.domain).name), prop.domain, prop)
        case Narrowing():
            base = domain.prop(prop.of)
            assert isinstance(base, Attribute | Link)
            start = prop.domain or domain.ends(base.name)[0][0]
            conditions = [population.members[start].sql("s")]
            if prop.range:
                conditions.append(population.members[prop.range].sql("o"))
            relation = f"{_relation(base, domain.root(start).name)} WHERE {' AND '.join(conditions)}"
            return _facts(population, relation, start, base)
        case Shortcut():
            first, second = domain.prop(prop.first), domain.prop(prop.second)
            assert isinstance(first, Link)
            assert isinstance(second, Attribute | Link)
            one = _relation(first, domain.root(first.domain).name)
            two = _relation(second, domain.root(first.range).name)
            relation = f"(SELECT one.s, two.o FROM {one} AS one JOIN {two} AS two ON two.s = one.o)"
            return f"SELECT DISTINCT * FROM ({_facts(population, relation, first.domain, second)}) ORDER BY ALL"


def _facts(population: Population, relation: str, start: str, end: Attribute | Link) -> str:
    if isinstance(end, Link):
        value = population.identity_sql(end.range, "o")
    else:
        value = lexical_text_sql("o", VALUE_KINDS[end.value].kind)
    return f"SELECT {population.identity_sql(start, 's')} AS arg1, {value} AS arg2 FROM {relation}"


def _relation(prop: Attribute | Link, root: str) -> str:
    """A relation of an entity's number `s` and a value or another's number `o`, for the entities of a root class."""
    if isinstance(prop, Link) and prop.many:
        return f'(SELECT s, o FROM "m_{prop.name}")'
    if isinstance(prop, Attribute) and prop.at_most > 1:
        return f'(SELECT s, value AS o FROM "w_{prop.name}")'
    column = f'"{"l" if isinstance(prop, Link) else "a"}_{prop.name}"'
    return f'(SELECT i AS s, {column} AS o FROM "e_{root}" WHERE {column} IS NOT NULL)'
