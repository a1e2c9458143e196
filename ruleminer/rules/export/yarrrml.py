"""Mapping → YARRRML, RML's notation in YAML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from ruleminer.rules.export.triples import IriMap, TriplesMap, ValueMap, triples_maps
from ruleminer.rules.mapping import Mapping
from ruleminer.rules.printer import rule_text
from ruleminer.rules.sql import TypeOf

_FORMULATIONS = {"postgres": "postgresql"}
_NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff]")


def yarrrml_text(mapping: Mapping, dialect: str, types: TypeOf) -> str:
    """The mapping as a YARRRML document for a database of this dialect, whose columns `types` tells."""
    maps = triples_maps(mapping, dialect, types, tables=False)
    lines = ["mappings:"] if maps else ["mappings: {}"]
    for triples_map in maps:
        lines += _mapping(triples_map, dialect)
    return "\n".join(lines) + "\n"


def _mapping(triples_map: TriplesMap, dialect: str) -> Iterator[str]:
    yield from (f"  # {rule_text(rule)}" for rule in triples_map.rules)
    yield f"  {triples_map.name}:"
    yield "    sources:"
    yield f"      - query: {_scalar(triples_map.query.sql(dialect))}"
    yield f"        queryFormulation: {_FORMULATIONS.get(dialect, 'sql2008')}"
    yield "        referenceFormulation: csv"
    yield f"    s: {_scalar(_template(triples_map.subject))}"
    yield "    po:"
    for term in triples_map.classes:
        yield f"      - [a, {_scalar(term)}]"
    for term, target in triples_map.links:
        yield f"      - p: {_scalar(term)}"
        yield "        o:"
        yield from (f"          {line}" for line in _object(target))


def _object(target: IriMap | ValueMap) -> Iterator[str]:
    if isinstance(target, IriMap):
        yield f"value: {_scalar(_template(target))}"
        yield "type: iri"
        return
    yield f"value: {_scalar(f'$({target.column.name})')}"
    if target.datatype:
        yield f"datatype: {_scalar(target.datatype)}"


def _template(iri: IriMap) -> str:
    return "".join(part if isinstance(part, str) else f"$({part.name})" for part in iri.parts)


def _scalar(text: str) -> str:
    """A double-quoted scalar: YAML reads JSON's strings, but for a few characters that it wants escaped."""
    return _NOT_IN_YAML.sub(lambda match: f"\\u{ord(match.group()):04x}", json.dumps(text, ensure_ascii=False))
