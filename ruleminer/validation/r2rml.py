"""R2RML documents → values: every construct of the standard, and one clear line for what it forbids.

https://www.w3.org/TR/r2rml/
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from rdflib import RDF, BNode, Graph, Literal, Namespace, URIRef
from rdflib.term import Node

from ruleminer.errors import InputError
from ruleminer.problem.rdf import parse_graph, read_bytes
from ruleminer.validation.identifiers import Identifier, read_identifier, read_path
from ruleminer.validation.r2rml_values import (
    Join,
    LogicalTable,
    PredicateObjectMap,
    R2RMLMapping,
    RefObject,
    TermMap,
    TermType,
    TriplesMap,
)
from ruleminer.validation.terms import fits_in_iri, iri, literal

RR = Namespace("http://www.w3.org/ns/r2rml#")
DEFAULT_GRAPH = str(RR.defaultGraph)
DEFAULT_BASE = "urn:base-uri-"  # RODI's, for relative IRIs where the document names no base of its own

_BASE = re.compile(rb"^\s*(?:@base|BASE|base)\s*<([^>]*)>", re.MULTILINE)
_LANGUAGE = re.compile(r"(?:[A-Za-z]{2,3}|[ix](?=-))(?:-[A-Za-z0-9]{1,8})*")
_VERSIONS = {  # https://www.w3.org/2001/sw/wiki/RDB2RDF/SQL_Version_IRIs, in any case: yatter writes rr:POSTGRESQL
    *("sql2008", "oracle", "mysql", "mssqlserver", "hsqldb", "postgresql", "db2", "informix", "ingres", "progress"),
    *("sybasease", "sybasesqlanywhere", "virtuoso", "firebird"),
}


def read_r2rml(path: Path | str, base: str | None = None) -> R2RMLMapping:
    """The mapping in a file; relative IRIs go behind `base`, else the document's own, else RODI's."""
    path = Path(path)
    return r2rml_of(read_bytes(path), path, base)


def r2rml_of(content: bytes, path: Path, base: str | None = None) -> R2RMLMapping:
    """The mapping in a document's text; `path` is what errors name."""
    graph = parse_graph(content, path)
    declared = _BASE.search(content)
    own = declared.group(1).decode() if declared else DEFAULT_BASE
    nodes = {*graph.subjects(RR.logicalTable), *graph.subjects(RDF.type, RR.TriplesMap)}
    nodes |= {*graph.subjects(RR.subjectMap), *graph.subjects(RR.subject), *graph.objects(None, RR.parentTriplesMap)}
    if not nodes:
        raise InputError(f"{path}: has no triples map; is it R2RML?")
    ordered = sorted(nodes, key=lambda node: (isinstance(node, BNode), str(node)))
    reader = _Reader(graph, path, {node: _name(node, number) for number, node in enumerate(ordered, 1)})
    return R2RMLMapping(str(path), base or own, tuple(map(reader.triples_map, ordered)))


def _name(node: Node, number: int) -> str:
    return f"number {number} (a blank node)" if isinstance(node, BNode) else f"<{node}>"


class _Reader:
    """Reads one graph; `at` is the triples map that errors name."""

    def __init__(self, graph: Graph, path: Path, names: dict[Node, str]) -> None:
        self.graph, self.path, self.names, self.at = graph, path, names, ""

    def fail(self, what: str) -> InputError:
        return InputError(f"{self.path}: triples map {self.at}: {what}")

    def triples_map(self, node: Node) -> TriplesMap:
        self.at = self.names[node]
        table = self.logical_table(self.exactly_one(node, "logicalTable"))
        subjects = self.maps(node, "subject", self.subject_term)
        if len(subjects) != 1:
            raise self.fail(f"it must have one rr:subjectMap (or rr:subject), not {len(subjects)}")
        subject_nodes = list(self.graph.objects(node, RR.subjectMap))
        classes: list[str] = []
        graphs: list[TermMap] = []
        for subject in subject_nodes:
            classes += [self.iri_of(each, "rr:class") for each in self.sorted(subject, "class")]
            graphs += self.maps(subject, "graph", self.graph_term)
        pairs = (self.predicate_object(each, table) for each in self.sorted(node, "predicateObjectMap"))
        return TriplesMap(self.at, table, subjects[0], tuple(classes), tuple(graphs), tuple(pairs))

    def logical_table(self, node: Node) -> LogicalTable:
        names, queries = self.texts(node, "tableName"), self.texts(node, "sqlQuery")
        if len(names) + len(queries) != 1:
            raise self.fail(
                f"its logical table must have one rr:tableName or one rr:sqlQuery, not {len(names)} and {len(queries)}"
            )
        for version in self.sorted(node, "sqlVersion"):
            known = isinstance(version, URIRef) and (
                not version.startswith(str(RR)) or version.removeprefix(str(RR)).lower() in _VERSIONS
            )
            if not known or names:
                why = "is not a known SQL version" if names == [] else "is for rr:sqlQuery, not rr:tableName"
                raise self.fail(f"rr:sqlVersion {version} {why}")
        if queries:
            return LogicalTable(query=queries[0])
        path = read_path(names[0].strip())
        if not 1 <= len(path) <= 3:
            raise self.fail(f"rr:tableName {names[0]!r} is not the name of a table")
        return LogicalTable(path)

    def predicate_object(self, node: Node, table: LogicalTable) -> PredicateObjectMap:
        predicates = self.maps(node, "predicate", self.predicate_term)
        objects: list[TermMap | RefObject] = [
            self.ref_object(each, table) if (each, RR.parentTriplesMap, None) in self.graph else self.object_term(each)
            for each in self.sorted(node, "objectMap")
        ]
        objects += [self.constant(each, "rr:object", literals=True) for each in self.sorted(node, "object")]
        if not predicates or not objects:
            lacks = "rr:predicate or rr:predicateMap" if not predicates else "rr:object or rr:objectMap"
            raise self.fail(f"a predicate-object map has no {lacks}")
        return PredicateObjectMap(predicates, tuple(objects), self.maps(node, "graph", self.graph_term))

    def ref_object(self, node: Node, table: LogicalTable) -> RefObject:
        parent = self.exactly_one(node, "parentTriplesMap")
        joins = tuple(
            Join(self.column(each, "child"), self.column(each, "parent")) for each in self.sorted(node, "joinCondition")
        )
        if not joins:
            parent_table = self.logical_table(self.exactly_one(parent, "logicalTable"))
            if parent_table != table:
                raise self.fail(f"no rr:joinCondition to {self.names[parent]}, which reads another logical table")
        return RefObject(self.names[parent], joins)

    def maps(self, node: Node, kind: str, read: Callable[[Node], TermMap]) -> tuple[TermMap, ...]:
        """The term maps of a kind, those of its shortcut (`rr:predicate` for `rr:predicateMap`) included."""
        whole = [read(each) for each in self.sorted(node, f"{kind}Map")]
        return (*whole, *(self.constant(each, f"rr:{kind}") for each in self.sorted(node, kind)))

    def subject_term(self, node: Node) -> TermMap:
        return self.term(node, "subject map", {TermType.IRI, TermType.BLANK}, TermType.IRI)

    def predicate_term(self, node: Node) -> TermMap:
        return self.term(node, "predicate map", {TermType.IRI}, TermType.IRI)

    def graph_term(self, node: Node) -> TermMap:
        return self.term(node, "graph map", {TermType.IRI}, TermType.IRI)

    def object_term(self, node: Node) -> TermMap:
        is_literal = any((node, RR[name], None) in self.graph for name in ("column", "language", "datatype"))
        return self.term(node, "object map", set(TermType), TermType.LITERAL if is_literal else TermType.IRI)

    def term(self, node: Node, what: str, allowed: set[TermType], default: TermType) -> TermMap:
        constants = self.sorted(node, "constant")
        columns, templates = self.texts(node, "column"), self.texts(node, "template")
        if len(constants) + len(columns) + len(templates) != 1:
            raise self.fail(f"a {what} must have one of rr:constant, rr:column and rr:template")
        if constants:
            return self.constant(constants[0], f"the constant of a {what}", literals=TermType.LITERAL in allowed)
        term_type = self.term_type(node, what, allowed) or default
        datatype = [self.iri_of(each, "rr:datatype") for each in self.sorted(node, "datatype")]
        language = self.texts(node, "language")
        if len(datatype) + len(language) > 1:
            raise self.fail(f"a {what} may have one rr:datatype or one rr:language, not several")
        if (datatype or language) and term_type is not TermType.LITERAL:
            raise self.fail(
                f"a {what} with rr:{'datatype' if datatype else 'language'} makes literals, not {term_type}s"
            )
        if language and not _LANGUAGE.fullmatch(language[0]):
            raise self.fail(f"rr:language {language[0]!r} is not a language tag")
        return TermMap(
            term_type,
            None,
            self.column(node, "column") if columns else None,
            self.template(templates[0]) if templates else None,
            datatype[0] if datatype else None,
            language[0] if language else None,
        )

    def term_type(self, node: Node, what: str, allowed: set[TermType]) -> TermType | None:
        found = self.sorted(node, "termType")
        if not found:
            return None
        named = str(found[0]).removeprefix(str(RR))
        if len(found) > 1 or named not in set(TermType) or not str(found[0]).startswith(str(RR)):
            raise self.fail(f"rr:termType {found[0]} is none of rr:IRI, rr:BlankNode and rr:Literal")
        if TermType(named) not in allowed:
            raise self.fail(f"a {what} cannot have rr:termType rr:{named}")
        return TermType(named)

    def template(self, text: str) -> tuple[str | Identifier, ...]:
        """The fixed texts and columns of a template; a backslash takes the meaning from the brace behind it."""
        parts: list[str | Identifier] = []
        at, fixed = 0, ""
        while at < len(text):
            character = text[at]
            if character == "\\" and text[at + 1 : at + 2] in ("{", "}", "\\"):
                fixed, at = fixed + text[at + 1], at + 2
            elif character == "{":
                end = _closing_brace(text, at + 1)
                column = read_identifier(text[at + 1 : end].replace("\\{", "{").replace("\\}", "}")) if end else None
                if end is None or column is None:
                    raise self.fail(f"rr:template {text!r} has a brace that names no column")
                parts += [fixed, column] if fixed else [column]
                fixed, at = "", end + 1
            elif character == "}":
                raise self.fail(f"rr:template {text!r} has a closing brace without an opening one")
            else:
                fixed, at = fixed + character, at + 1
        return (*parts, fixed) if fixed or not parts else tuple(parts)

    def constant(self, node: Node, what: str, literals: bool = False) -> TermMap:
        if isinstance(node, Literal) and literals:
            datatype = str(node.datatype) if node.datatype else None
            return TermMap(TermType.LITERAL, literal(str(node), datatype, node.language))
        return TermMap(TermType.IRI, iri(self.iri_of(node, what)))

    def iri_of(self, node: Node, what: str) -> str:
        if not isinstance(node, URIRef) or not fits_in_iri(str(node)):
            shown = "a blank node" if isinstance(node, BNode) else repr(str(node))
            raise self.fail(f"{what} must be an IRI, not {shown}")
        return str(node)

    def column(self, node: Node, name: str) -> Identifier:
        texts = self.texts(node, name)
        identifier = read_identifier(texts[0]) if len(texts) == 1 else None
        if identifier is None:
            raise self.fail(f"rr:{name} must name one column, not {', '.join(map(repr, texts)) or 'nothing'}")
        return identifier

    def texts(self, node: Node, name: str) -> list[str]:
        found = self.sorted(node, name)
        if not all(isinstance(each, Literal) for each in found):
            raise self.fail(f"rr:{name} must be a text")
        return [str(each) for each in found]

    def exactly_one(self, node: Node, name: str) -> Node:
        found = self.sorted(node, name)
        if len(found) != 1:
            shown = self.names.get(node, self.at)
            raise self.fail(f"{'it' if shown == self.at else shown} must have one rr:{name}, not {len(found)}")
        return found[0]

    def sorted(self, node: Node, name: str) -> list[Node]:
        """Objects in an order that does not depend on the run; blank nodes get their labels in the file's order."""
        found: Iterable[Node] = self.graph.objects(node, RR[name])
        return sorted(found, key=lambda each: (isinstance(each, BNode), str(each)))


def _closing_brace(text: str, at: int) -> int | None:
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == "}":
            return at
        elif text[at] == "{":
            return None
        at += 1
    return None
