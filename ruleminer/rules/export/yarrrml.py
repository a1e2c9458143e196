"""Mapping → YARRRML, RML's notation in YAML.

Datatypes are prefixed names: one of the tools that read YARRRML copies them into Turtle as they stand, where a bare IRI
is a fault, and the other would take the angle brackets for a part of the IRI.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from collections.abc import Mapping as Dict
from itertools import count

from ruleminer.errors import InputError
from ruleminer.rules.columns import TypeOf
from ruleminer.rules.dialects import Dialect
from ruleminer.rules.export.prefixes import short_iri
from ruleminer.rules.export.triple_sql import XSD
from ruleminer.rules.export.triples import IriMap, TriplesMap, ValueMap, triples_maps
from ruleminer.rules.mapping import Mapping
from ruleminer.rules.printer import rule_text

_LOCAL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*$")
_NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff]")


def yarrrml_text(mapping: Mapping, dialect: Dialect, types: TypeOf) -> str:
    """The mapping as a YARRRML document for a database of this dialect, whose columns `types` tells."""
    maps = triples_maps(mapping, dialect, types, tables=False)
    prefixes = _datatype_prefixes(maps)
    lines = ["prefixes:", *(f"  {name}: {_scalar(iri)}" for name, iri in prefixes.items())] if prefixes else []
    lines += ["mappings:"] if maps else ["mappings: {}"]
    for triples_map in maps:
        lines += _mapping(triples_map, dialect, prefixes)
    return "\n".join(lines) + "\n"


def _datatype_prefixes(maps: Iterable[TriplesMap]) -> dict[str, str]:
    """A prefix for each namespace of datatypes in use; `xsd` is XML Schema's."""
    datatypes = [to.datatype for one in maps for _, to in one.links if isinstance(to, ValueMap) and to.datatype]
    spaces = dict.fromkeys(_LOCAL_NAME.sub("", datatype) for datatype in datatypes)
    others = (f"type{number}" for number in count(1))
    return {"xsd" if space == XSD else next(others): space for space in spaces}


def _mapping(triples_map: TriplesMap, dialect: Dialect, prefixes: Dict[str, str]) -> Iterator[str]:
    yield from (f"  # {rule_text(rule)}" for rule in triples_map.rules)
    yield f"  {triples_map.name}:"
    yield "    sources:"
    yield f"      - query: {_scalar(triples_map.query.sql(dialect.name))}"
    yield f"        queryFormulation: {dialect.formulation}"
    yield "        referenceFormulation: csv"
    yield f"    s: {_scalar(_template(triples_map.subject))}"
    yield "    po:"
    for term in triples_map.classes:
        yield f"      - [a, {_scalar(term)}]"
    for term, target in triples_map.links:
        yield f"      - p: {_scalar(term)}"
        yield "        o:"
        yield from (f"          {line}" for line in _object(target, prefixes))


def _object(target: IriMap | ValueMap, prefixes: Dict[str, str]) -> Iterator[str]:
    if isinstance(target, IriMap):
        yield f"value: {_scalar(_template(target))}"
        yield "type: iri"
        return
    yield f"value: {_scalar(f'$({target.column.name})')}"
    if target.datatype:
        name = short_iri(target.datatype, prefixes)
        if name is None:
            raise InputError(f"YARRRML has no way to write the datatype {target.datatype}; take the R2RML instead")
        yield f"datatype: {name}"


def _template(iri: IriMap) -> str:
    return "".join(part if isinstance(part, str) else f"$({part.name})" for part in iri.parts)


def _scalar(text: str) -> str:
    """A double-quoted scalar: YAML reads JSON's strings, but for a few characters that it wants escaped."""
    return _NOT_IN_YAML.sub(lambda match: f"\\u{ord(match.group()):04x}", json.dumps(text, ensure_ascii=False))
