"""Rules with transformations, exported and run: R2RML makes on every engine the triples that Python makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.validation.engines import filled_database

from .exported import exported, our_triples

NS = "http://e.org/"
ONTOLOGY = (
    f"@prefix : <{NS}> . @prefix owl: <http://www.w3.org/2002/07/owl#> ."
    ":City a owl:Class . :linked a owl:ObjectProperty . "
    + " ".join(
        f":{name} a owl:DatatypeProperty ."
        for name in ("day", "year", "price", "open", "full", "host", "low", "seen", "until")
    )
)
SQL = """
CREATE TABLE shop (id INTEGER PRIMARY KEY, city VARCHAR(40), opened TIMESTAMP, cents INTEGER, flag VARCHAR(3),
                   given VARCHAR(20), family VARCHAR(20), mail VARCHAR(40), seen BIGINT, until VARCHAR(10));
INSERT INTO shop VALUES (1, 'São Paulo', '2021-01-06 00:00:00', 199, 'Y', 'Ann', 'O''Hara', 'ann@x.org',
                         1609927200, '31.12.2021');
INSERT INTO shop VALUES (2, 'AC/DC+', '1999-12-31 23:59:59', 50, 'no', 'Bo', 'Li', 'nowhere', 0, 'soon');
"""
RULES = """
City(x) <- shop(city: a), x = "http://h/city/" ++ plus(a)
City(x) <- shop(city: a), x = "http://h/r2rml/" ++ encoded(a)
City(x) <- shop(city: a, id: b), x = "http://h/quoted/" ++ escaped(a) ++ "/" ++ b
linked(x, y) <- shop(id: x, city: a), y = "http://h/city/" ++ plus(a)
day(x, y) <- shop(id: x, opened: a), y = date(a)
year(x, y) <- shop(id: x, opened: a), y = year(a)
price(x, y) <- shop(id: x, cents: a), y = times(a, 0.01)
open(x, y) <- shop(id: x, flag: a), y = boolean(a)
full(x, y) <- shop(id: x, given: a, family: b), y = a ++ " " ++ b
host(x, y) <- shop(id: x, mail: a), y = after(a, "@")
seen(x, y) <- shop(id: x, seen: a), y = moment(a, "seconds")
until(x, y) <- shop(id: x, until: a), y = day(a, "DMY")
low(x, y) <- shop(id: x, mail: a), y = upper(a)
"""
XSD = "http://www.w3.org/2001/XMLSchema#"
ONE, TWO = "<http://example.org/data/shop/1>", "<http://example.org/data/shop/2>"
EXPECTED = {
    (ONE, "day", f'"2021-01-06"^^<{XSD}date>'),
    (TWO, "day", f'"1999-12-31"^^<{XSD}date>'),
    (ONE, "year", f'"2021"^^<{XSD}integer>'),
    (TWO, "year", f'"1999"^^<{XSD}integer>'),
    (ONE, "price", f'"1.99"^^<{XSD}decimal>'),
    (TWO, "price", f'"0.5"^^<{XSD}decimal>'),
    (ONE, "open", f'"true"^^<{XSD}boolean>'),
    (TWO, "open", f'"false"^^<{XSD}boolean>'),
    (ONE, "full", '"Ann O\'Hara"'),
    (TWO, "full", '"Bo Li"'),
    (ONE, "host", '"x.org"'),
    (ONE, "low", '"ANN@X.ORG"'),
    (TWO, "low", '"NOWHERE"'),
    (ONE, "seen", f'"2021-01-06T10:00:00"^^<{XSD}dateTime>'),
    (ONE, "until", f'"2021-12-31"^^<{XSD}date>'),
    (ONE, "linked", "<http://h/city/S%C3%A3o+Paulo>"),
    (TWO, "linked", "<http://h/city/AC%2FDC%2B>"),
}
CITIES = {
    "<http://h/city/S%C3%A3o+Paulo>", "<http://h/city/AC%2FDC%2B>",
    "<http://h/r2rml/São%20Paulo>", "<http://h/r2rml/AC%2FDC%2B>",
    "<http://h/quoted/S%C3%A3o%20Paulo/1>", "<http://h/quoted/AC%2FDC%2B/2>",
}  # fmt: skip


@pytest.mark.parametrize("engine", ["duckdb", "postgres", "sqlite"])
def test_exported_transformations_make_the_same_triples(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("empty_postgres") if engine == "postgres" else ""
    (tmp_path / "o.ttl").write_text(ONTOLOGY, "utf-8")
    with filled_database(engine, SQL, tmp_path, url) as database:
        exported(RULES, tmp_path / "o.ttl", database, tmp_path)
        found = our_triples(tmp_path / "mapping.ttl", database)
    members = {subject for subject, _, value in found if value == f"<{NS}City>"}
    assert members == CITIES
    assert {(s, p.removeprefix(f"<{NS}").rstrip(">"), o) for s, p, o in found if o != f"<{NS}City>"} == EXPECTED
