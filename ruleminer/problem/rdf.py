"""RDF files → graphs: the syntax told by content, and one clear line when a file is broken."""

from __future__ import annotations

import logging
import re
import warnings
from pathlib import Path
from xml.sax import SAXParseException

from rdflib import Graph
from rdflib.plugins.parsers.notation3 import BadSyntax

from ruleminer.errors import InputError
from ruleminer.limits import RAISED, largest_read, megabytes

RDF_SUFFIXES = frozenset({".ttl", ".rdf", ".owl", ".xml", ".nt", ".n3"})

# It prints a traceback for each literal that is not of its datatype; we read those as plain text.
logging.getLogger("rdflib.term").setLevel(logging.ERROR)

_XML_START = re.compile(rb"<(\?xml|!|rdf:RDF\b|RDF\b|Ontology\b)")
_ENTITY = re.compile(rb"""<!ENTITY\s+(?:%\s+)?([\w.:-]+)\s+("|')(.*?)\2""", re.DOTALL)
_REFERENCE = re.compile(rb"[&%]([\w.:-]+);")
_DEEPEST_ENTITY = 50
_OWL_XML_ROOT = re.compile(rb"<(\w+:)?Ontology[\s>]")


def read_bytes(path: Path) -> bytes:
    """The content of a file the user named, or one line that says why it cannot be read."""
    most = largest_read()
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, ValueError) as problem:
        raise InputError(f"{path}: cannot be read ({getattr(problem, 'strerror', None) or problem})") from None
    if len(content) > most:
        raise InputError(f"{path}: has more than {megabytes(most)}; {RAISED}")
    return content


def parse_graph(content: bytes, path: Path) -> Graph:
    """The triples of Turtle, RDF/XML or N-Triples text; `path` is what errors name."""
    content = content.removeprefix(b"\xef\xbb\xbf")
    return _load(content, path, syntax_of(content, path))


def _load(content: bytes, path: Path, syntax: str) -> Graph:
    graph = Graph(bind_namespaces="none")  # else rdflib adds thirty prefixes that the file does not have
    try:
        with warnings.catch_warnings(action="ignore"):
            graph.parse(data=content, format=syntax, publicID=path.absolute().as_uri())
    except BadSyntax as problem:
        # Its own line number counts lines again that the parser has looked at twice; its place in the text is right.
        line = problem._str.decode()[: problem._i].count("\n") + 1
        raise InputError(f"{path}, line {line}: not valid Turtle: {problem._why}") from None
    except SAXParseException as problem:
        where = f"{path}, line {problem.getLineNumber()}"
        raise InputError(f"{where}: not valid RDF/XML: {problem.getMessage()}") from None
    except UnicodeDecodeError as problem:
        line = content[: problem.start].count(b"\n") + 1
        raise InputError(f"{path}, line {line}: not UTF-8 text; save the file as UTF-8") from None
    except Exception as problem:  # rdflib lets many kinds through, bare ones included, on broken input
        if syntax == "nt":  # its parser knows no line numbers; N-Triples is also Turtle
            return _load(content, path, "turtle")
        what = " ".join(str(problem).split())[:200] or type(problem).__name__
        raise InputError(f"{path}: not valid RDF: {what}") from None
    return graph


def refuse_growth(content: bytes, path: Path) -> None:
    """Refuse XML whose entities would make far more of it than it is: parsers put them in, one within the other."""
    entities = {name: value for name, _, value in _ENTITY.findall(content)}
    sizes: dict[bytes, int] = {}

    def size(text: bytes, within: tuple[bytes, ...]) -> int:
        total = len(text)
        for name in _REFERENCE.findall(text):
            if name in within or len(within) > _DEEPEST_ENTITY:
                return largest_read() + 1
            if name in entities:
                if name not in sizes:
                    sizes[name] = size(entities[name], (*within, name))
                total += sizes[name]
        return total

    if entities and size(_ENTITY.sub(b"", content), ()) > largest_read():
        raise InputError(f"{path}: its entities make more than {megabytes(largest_read())} of it; {RAISED}")


def syntax_of(content: bytes, path: Path) -> str:
    """The syntax of a file: `turtle`, `xml` (RDF/XML) or `nt`; XML that grows without bounds is refused."""
    start = content.lstrip()
    if _XML_START.match(start):
        refuse_growth(content, path)
        if _OWL_XML_ROOT.search(start[:4000]) and b"<rdf:RDF" not in start[:4000]:
            raise InputError(f"{path}: is OWL/XML, which is not read; save it as Turtle or RDF/XML")
        return "xml"
    return "nt" if path.suffix == ".nt" else "turtle"
