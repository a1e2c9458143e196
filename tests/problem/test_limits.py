"""Ontologies that are too large, or would grow without bounds: one line, and soon."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruleminer.errors import InputError
from ruleminer.limits import largest_read
from ruleminer.problem.ontology import read_ontology
from ruleminer.sources.pgdump.reader import read_dump

RDF = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl="http://www.w3.org/2002/07/owl#" '
    'xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"><owl:Class rdf:about="&x;A"><rdfs:label>{0}</rdfs:label>'
    "</owl:Class></rdf:RDF>"
)
PREFIXES = (
    "@prefix : <http://x/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .\n"
)


def written(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("bait", ["", '<!ENTITY bait "]>">\n'])
def test_entities_that_multiply_are_refused_and_those_of_namespaces_read(tmp_path: Path, bait: str) -> None:
    first = f'<!ENTITY x "http://x/">\n{bait}<!ENTITY a0 "lol">\n'
    entities = first + "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">\n' for i in range(1, 10))
    head = f'<?xml version="1.0"?>\n<!DOCTYPE rdf [\n{entities}]>\n'
    assert len(read_ontology(written(tmp_path / "good.owl", head + RDF.format("&a1;"))).classes) == 1
    with pytest.raises(InputError, match="its entities make more than 100 MB of it"):
        read_ontology(written(tmp_path / "bad.owl", head + RDF.format("&a9;")))
    loop = head.replace('"lol"', '"&a3;"')
    with pytest.raises(InputError):
        read_ontology(written(tmp_path / "loop.owl", loop + RDF.format("&a9;")))


def test_unions_that_hold_each_other_are_looked_at_once(tmp_path: Path) -> None:
    parts = [f"_:w{i}" for i in range(60)]
    text = PREFIXES + ":p a owl:ObjectProperty ; rdfs:range _:v . _:v owl:unionOf _:m . :A a owl:Class .\n"
    text += f"_:m rdf:first {', '.join(parts)}, :A . :A rdfs:subClassOf _:w1 .\n"
    text += "".join(f"{part} owl:unionOf _:m ; owl:intersectionOf _:m .\n" for part in parts)
    ontology = read_ontology(written(tmp_path / "o.ttl", text))
    assert ontology.properties[0].ranges == ("http://x/A",)


def test_a_deep_union_is_read_to_its_end(tmp_path: Path) -> None:
    deep = "[ owl:unionOf ( " * 3000 + ":A" + " ) ]" * 3000
    text = f"{PREFIXES}:A a owl:Class . :p a owl:ObjectProperty ; rdfs:range {deep} ."
    assert read_ontology(written(tmp_path / "o.ttl", text)).properties[0].ranges == ("http://x/A",)


def test_numbers_and_sets_without_measure_are_left_out(tmp_path: Path) -> None:
    names = [f":C{i}" for i in range(5000)]
    text = PREFIXES + "".join(f"{name} a owl:Class .\n" for name in names)
    text += f"[] a owl:AllDisjointClasses ; owl:members ( {' '.join(names)} ) .\n"
    text += f':C1 rdfs:subClassOf [ owl:onProperty :p ; owl:maxCardinality "{"9" * 5000}" ] . :p a rdf:Property .'
    ontology = read_ontology(written(tmp_path / "o.ttl", text))
    assert len(ontology.classes) == 5000
    assert not ontology.are_disjoint("http://x/C1", "http://x/C2")


def test_a_file_that_is_too_large_is_told_with_what_allows_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RULEMINER_MAX_MB", "0.001")
    path = written(tmp_path / "o.ttl", PREFIXES + ":A a owl:Class .\n" + "# comment\n" * 100)
    with pytest.raises(InputError, match=r"has more than 0.001 MB; set RULEMINER_MAX_MB to allow more"):
        read_ontology(path)
    with pytest.raises(InputError, match="has more than"):
        read_ontology(Path("/dev/zero"))
    with pytest.raises(InputError, match=r"a line of more than 0.001 MB"):
        list(read_dump(written(tmp_path / "d.sql", f"-- {'x' * 5000}\n")))
    for wrong in ("0", "-1", "nan", "inf", "much"):
        monkeypatch.setenv("RULEMINER_MAX_MB", wrong)
        with pytest.raises(InputError, match="must be a number of megabytes"):
            largest_read()
