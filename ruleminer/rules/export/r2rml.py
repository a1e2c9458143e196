"""Mapping → R2RML, as Turtle.

Written for how engines really read it: every node typed, identifiers quoted, no schemas, queries where rows or values
need any care (docs/exports.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Mapping as Dict

from sqlglot import exp

from ruleminer.rules.columns import TypeOf
from ruleminer.rules.dialects import Dialect
from ruleminer.rules.export.parents import Parent, parents_of, without_parents
from ruleminer.rules.export.prefixes import prefixes_in_use, written_iri
from ruleminer.rules.export.triple_sql import XSD
from ruleminer.rules.export.triples import IriMap, Ref, TriplesMap, ValueMap, mapped_terms, triples_maps
from ruleminer.rules.mapping import Mapping
from ruleminer.rules.printer import rule_text

_OWN = {"rr": "http://www.w3.org/ns/r2rml#", "map": "urn:ruleminer:map:"}
_NOT_IN_STRING = re.compile(r'[\x00-\x1f"\\\x7f\x85\u2028\u2029]')
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def r2rml_text(mapping: Mapping, dialect: Dialect, types: TypeOf) -> str:
    """The mapping as an R2RML document for a database of this dialect, whose columns `types` tells."""
    plain = without_parents(mapping, dialect, types)
    maps = triples_maps(plain.mapping, dialect, types)
    parents = parents_of(maps, plain, types)
    known = {**mapping.prefixes, "xsd": XSD}
    prefixes = prefixes_in_use({p: n for p, n in known.items() if p not in _OWN}, mapped_terms(maps))
    lines = [f"@prefix {prefix}: <{namespace}> ." for prefix, namespace in {**_OWN, **prefixes}.items()]
    for triples_map in maps:
        lines += ["", *(f"# {rule_text(plain.originals.get(rule, rule))}" for rule in triples_map.rules)]
        lines += _triples_map(triples_map, dialect, prefixes, parents)
    return "\n".join(lines) + "\n"


def _triples_map(
    triples_map: TriplesMap,
    dialect: Dialect,
    prefixes: Dict[str, str],
    parents: Dict[tuple[str, str, IriMap], Parent],
) -> Iterator[str]:
    yield f"map:{triples_map.name} a rr:TriplesMap ;"
    if triples_map.table is not None:
        name = _string(f'"{triples_map.table}"')
        yield f"    rr:logicalTable [ a rr:LogicalTable, rr:BaseTableOrView ; rr:tableName {name} ] ;"
    else:
        query = _sql_string(triples_map.query, dialect)
        yield f"    rr:logicalTable [ a rr:LogicalTable, rr:R2RMLView ; rr:sqlQuery {query} ] ;"
    classes = "".join(f" ; rr:class {written_iri(term, prefixes)}" for term in triples_map.classes)
    subject = f"    rr:subjectMap [ a rr:SubjectMap, rr:TermMap ; {_iri_map(triples_map.subject)}{classes} ]"
    yield subject + (" ;" if triples_map.links else " .")
    for number, (term, target) in enumerate(triples_map.links, start=1):
        parent = parents.get((triples_map.name, term, target)) if isinstance(target, IriMap) else None
        terms = _iri_map(target) if isinstance(target, IriMap) else _value_map(target, prefixes)
        made = _parent_map(parent) if parent else f"a rr:ObjectMap, rr:TermMap ; {terms}"
        yield f"    rr:predicateObjectMap [ a rr:PredicateObjectMap ; rr:predicate {written_iri(term, prefixes)} ;"
        end = " ;" if number < len(triples_map.links) else " ."
        yield f"        rr:objectMap [ {made} ] ]{end}"


def _iri_map(iri: IriMap) -> str:
    match iri.parts:
        case (Ref() as column,):
            return f"rr:column {_string(_quoted(column))} ; rr:termType rr:IRI"
        case parts if any(isinstance(part, Ref) for part in parts):
            template = "".join(_escaped(p) if isinstance(p, str) else f"{{{_escaped(_quoted(p))}}}" for p in parts)
            return f"rr:template {_string(template)} ; rr:termType rr:IRI"
        case parts:
            return f"rr:constant {written_iri(''.join(map(str, parts)), {})}"


def _parent_map(parent: Parent) -> str:
    child, column = _string(_quoted(parent.child)), _string(_quoted(parent.parent))
    join = f"rr:joinCondition [ a rr:Join ; rr:child {child} ; rr:parent {column} ]"
    return f"a rr:RefObjectMap ; rr:parentTriplesMap map:{parent.name} ; {join}"


def _value_map(value: ValueMap, prefixes: Dict[str, str]) -> str:
    datatype = f" ; rr:datatype {written_iri(value.datatype, prefixes)}" if value.datatype else ""
    return f"rr:column {_string(_quoted(value.column))} ; rr:termType rr:Literal{datatype}"


def _quoted(column: Ref) -> str:
    """A quoted SQL identifier. No name here has quotes in it: those come under another name, from a query."""
    return f'"{column.name}"'


def _escaped(text: str) -> str:
    """Text as it stands in an R2RML template."""
    return re.sub(r"[{}\\]", r"\\\g<0>", text)


def _string(text: str) -> str:
    def escape(match: re.Match[str]) -> str:
        return _ESCAPES.get(match.group()) or f"\\u{ord(match.group()):04X}"

    return f'"{_NOT_IN_STRING.sub(escape, text)}"'


def _sql_string(query: exp.Select, dialect: Dialect) -> str:
    """The query over several lines, its quotes bare where they can be; on one line if a name has a line break."""
    one_line = query.sql(dialect.name)
    if not one_line.isprintable():
        return _string(one_line)
    body = query.sql(dialect.name, pretty=True).replace("\\", "\\\\").replace('""', '\\"\\"')
    indented = "".join(f"\n        {line}" for line in body.split("\n"))
    return f'"""{indented}\n    """'
