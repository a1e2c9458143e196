"""Query pairs for a scenario, in RODI's manner: what a predicate's SPARQL returns, its SQL returns too.

Classes are counted; properties return their two ends, named x and y, or are counted as well. An end that is an entity
is marked as an id: which IRI it gets is for the mapping to say.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from ruleminer.rules.dialects import BOUND, POSTGRES
from ruleminer.rules.sql import rule_query
from ruleminer.rules.values import Rule, Scalar
from ruleminer.scenarios.domain import Domain
from ruleminer.scenarios.words import words_of
from ruleminer.sources.schema import quote_identifier


def pair_files(domain: Domain, rules: Iterable[Rule], keys: dict[str, tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    """File names and contents: a pair for every predicate. `keys` are the keys of the tables."""
    by_predicate: dict[str, list[Rule]] = defaultdict(list)
    for rule in rules:
        by_predicate[rule.predicate].append(rule)
    classes = {cls.name for cls in domain.classes}
    values = {prop.name for prop in domain.properties if not domain.is_object_property(prop.name)}
    for number, (predicate, own) in enumerate(by_predicate.items(), start=1):
        ids = ""
        if predicate in classes:
            sql = _class_count(own, keys)
            sparql = f"SELECT (COUNT(?x) AS ?count) \nWHERE {{?x rdf:type :{predicate}}}"
            categories = f"class,{'1-1' if len(own) == 1 and not own[0].constants else 'n-1'}"
        elif predicate in values or number % 2:
            sql = _union(own)
            sparql = f"SELECT ?x ?y \nWHERE {{?x :{predicate} ?y}}"
            categories = _property_category(own, predicate in values)
            ids = "0" if predicate in values else "0,1"
        else:
            sql = f"SELECT COUNT(*) \nFROM ({_union(own)}) AS t"
            sparql = f"SELECT (COUNT(*) AS ?count) \nWHERE {{?x :{predicate} ?y}}"
            categories = _property_category(own, False)
        prefixes = f"prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> \nprefix : <{domain.namespace}> \n"
        title = f"Q{number:03} ({' '.join(words_of(predicate)).title()})"
        entries = {
            "name": title,
            "orderNum": str(number * 10),
            "sql": sql,
            "sparql": prefixes + sparql,
            "categories": categories,
            **({"entityIdCols": ids, "entityIdVars": ids} if ids else {}),
        }
        yield f"Q{number:03}.qpair", "\n".join(f"{key}={_value(text)}\n" for key, text in entries.items())


def _class_count(rules: list[Rule], keys: dict[str, tuple[str, ...]]) -> str:
    """RODI's short form where every row of one table is a member, or every row with a code."""
    first = rules[0]
    variables = first.body[0].columns_of(*first.body[0].variables)
    if len(rules) > 1 or len(first.body) > 1 or first.definitions or variables != keys[first.body[0].table]:
        return f"SELECT COUNT(*) \nFROM ({_union(rules)}) AS t"
    table = quote_identifier(first.body[0].table)
    conditions = [
        f"{table}.{quote_identifier(at.column)} = {_literal(constant.value)}" for at, constant in first.constants
    ]
    where = f" \nWHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT COUNT(*) \nFROM {table}{where}"


def _union(rules: list[Rule]) -> str:
    return " \nUNION ".join(_select(rule) for rule in rules)


def _select(rule: Rule) -> str:
    """The rule's own query with its constants written out."""
    query = rule_query(rule, POSTGRES)
    values = iter(query.parameters)
    return re.sub(BOUND, lambda _: _literal(next(values)), query.sql)


def _property_category(rules: list[Rule], is_value: bool) -> str:
    joins = max(len(rule.body) for rule in rules) - 1
    if is_value:
        return "attrib,other-table" if joins else "attrib,in-table"
    return f"link,path-{joins + 1}"


def _literal(value: Scalar | float) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


def _value(text: str) -> str:
    """A value of a properties file, a line of it on each line; blanks at a line's start would be lost."""
    lines = [line.lstrip(" ").replace("\\", "\\\\") for line in text.split("\n")]
    return "\\n\\\n".join(lines)
