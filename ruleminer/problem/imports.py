"""`owl:imports`, from files that lie beside the ontology or below; nothing is ever fetched from the network.

An import that is a `file:` IRI (a relative one becomes that) is read if it lies there. Another is found by the XML
catalog of the folder (`catalog-v001.xml`, as Protégé writes it), by a file that declares itself to be that ontology, or
by a file that is called as its IRI ends (`foaf.ttl` for `http://xmlns.com/foaf/`).
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

from ruleminer.errors import InputError
from ruleminer.problem.rdf import RDF_SUFFIXES, read_bytes, refuse_growth
from ruleminer.problem.triples import OWL, Triples, is_blank, read_triples

_CATALOGS = ("catalog-v001.xml", "catalog.xml")
_HEAD = 65_536  # bytes of a file in which it says which ontology it is


def read_with_imports(path: Path) -> tuple[Triples, tuple[str, ...], str]:
    """The triples of an ontology and of all it imports, the imports that were not found, and a hash of all files."""
    content = read_bytes(path)
    whole = read_triples(content, path)
    hashes = [hashlib.sha256(content).hexdigest()]
    read, missing = {path.resolve()}, []
    waiting = _imports(whole, set())
    asked = set(waiting)
    while waiting:
        iri = waiting.pop(0)
        file = _file_of(iri, path.parent)
        if file is None:
            missing.append(iri)
        elif file.resolve() not in read:
            read.add(file.resolve())
            content = read_bytes(file)
            part = read_triples(content, file)
            hashes.append(hashlib.sha256(content).hexdigest())
            whole.include(part, f"import{len(read)}")
            more = _imports(part, asked)
            waiting += more
            asked.update(more)
    digest = hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(sorted(hashes)).encode()).hexdigest()
    return whole, tuple(sorted(missing)), digest


def _imports(triples: Triples, known: set[str]) -> list[str]:
    return sorted({iri for _, iri in triples.pairs(OWL + "imports") if not is_blank(iri)} - known)


def _file_of(iri: str, folder: Path) -> Path | None:
    """The local file of an ontology, if there is one; only a catalog may name one elsewhere."""
    if iri.startswith("file:"):
        named = Path(unquote(urlsplit(iri).path))
        return named if named.resolve().is_relative_to(folder.resolve()) and named.is_file() else None
    files = sorted(file for file in folder.iterdir() if file.suffix in RDF_SUFFIXES and file.is_file())
    bare = iri.rstrip("#/")
    called = bare.rsplit("/", 1)[-1].rsplit("#", 1)[-1]
    return (
        _catalogued(iri, folder)
        or next((file for file in files if _declares(file, bare)), None)
        or next((file for file in files if called in (file.name, file.stem)), None)
    )


def _catalogued(iri: str, folder: Path) -> Path | None:
    for name in _CATALOGS:
        catalog = folder / name
        if not catalog.is_file():
            continue
        try:
            content = read_bytes(catalog)
            refuse_growth(content, catalog)
            entries = ElementTree.fromstring(content).iter()
        except (ElementTree.ParseError, ValueError, LookupError) as error:
            raise InputError(f"{catalog}: not a valid XML catalog: {error}") from None
        for entry in entries:
            target = entry.get("uri", "")
            if entry.tag.rpartition("}")[2] == "uri" and entry.get("name") == iri and ":" not in target[2:]:
                file = folder / unquote(target)
                if not file.is_file():
                    raise InputError(f"{catalog}: {iri} is said to be in {target}, which is not there")
                return file
    return None


def _declares(file: Path, iri: str) -> bool:
    """Whether a file says that it is this ontology; its triples are read only if its beginning names it."""
    with file.open("rb") as opened:
        head = opened.read(_HEAD)
    if b"Ontology" not in head or iri.encode() not in head:
        return False
    try:
        triples = read_triples(read_bytes(file), file)
    except InputError:
        return False
    own = triples.instances(OWL + "Ontology")
    versions = {version for one in own for version in triples.nodes(one, OWL + "versionIRI")}
    return any(name.rstrip("#/") == iri for name in own | versions)
