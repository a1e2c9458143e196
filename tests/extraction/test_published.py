"""Values in the forms in which people publish them: found exactly where the obvious search finds them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ruleminer.dataset import read_dataset
from ruleminer.extraction.oracle import candidates, habits_of, load_rows, published_candidates
from ruleminer.extraction.pipeline import ExtractOptions, extract
from ruleminer.extraction.published import can_be_published, stands_beside
from ruleminer.extraction.sampling import Negatives
from ruleminer.problem.facts import Fact, fact_table, facts_of
from ruleminer.problem.template_files import read_templates
from ruleminer.rules.parser import parse_templates
from ruleminer.sources.database import Database
from ruleminer.structure.link_file import LinkWishes
from ruleminer.structure.structure import learn_structure
from tests.validation.engines import filled_database

from .test_exact import with_codes

SQL = """
CREATE TABLE shop (id INTEGER PRIMARY KEY, city INTEGER, opened TIMESTAMP, founded DATE, cents INTEGER,
                   price DECIMAL(8,2), flag VARCHAR(3), given VARCHAR(20), family VARCHAR(20), mail VARCHAR(40),
                   notes VARCHAR(80), seen BIGINT, until VARCHAR(10), stamp VARCHAR(14));
CREATE TABLE city (id INTEGER PRIMARY KEY, name VARCHAR(40), port VARCHAR(5));
"""
ROWS = {
    "city": [(1, "'São Paulo'", "'true'"), (2, "'oslo '", "'true'"), (3, "'NY'", "'false'")],
    "shop": [
        (1, 1, "'2021-01-06 00:00:00'", "'2020-02-03'", 199, "1.5", "'Y'", "'Ann'", "'O''Hara'", "'ann@x.org'", "NULL",
         1609927200, "'31.12.2021'", "'20210106100000'"),
        (2, 1, "'1999-12-31 23:59:59'", "'2021-01-06'", 50, "12.25", "'no'", "'Bo'", "'Li'", "'x@y.net'",
         "'" + json.dumps({"size": "L", "n": 3}) + "'", 946684799, "'1.1.2022'", "'19991231235959'"),
        (3, 2, "'2020-02-03 10:00:00'", "'1999-01-01'", 1200, "7", "'Y'", "'Mary Ann'", "'Li'", "NULL",
         "'" + json.dumps(["red", "blue"]) + "'", 0, "'03.04.2022'", "NULL"),
    ],
}  # fmt: skip
FACTS = {
    "day": [("1", "2021-01-06"), ("2", "1999-12-31")],
    "year": [("1", "2021"), ("2", "1999"), ("3", "2020")],
    "moment": [("1", "2020-02-03T00:00:00")],
    "euros": [("1", "1.99"), ("3", "12")],
    "scaled": [("1", "1.50"), ("3", "7.00")],
    "open": [("1", "true"), ("2", "false"), ("3", "true")],
    # Both stand in cities that have ports.
    "settled": [("1", "true"), ("3", "true")],
    "full": [("1", "Ann O'Hara"), ("2", "Bo Li"), ("3", "Mary Ann Li")],
    "backwards": [("1", "O'Hara, Ann"), ("3", "Li, Mary Ann")],
    "host": [("1", "x.org"), ("2", "y.net")],
    "cityName": [("1", "são paulo"), ("2", "são paulo"), ("3", "oslo")],
    "capitals": [("1", "ANN"), ("2", "BO")],
    "size": [("2", "L")],
    "number": [("2", "3")],
    "colour": [("3", "blue")],
    "seenOn": [("1", "2021-01-06"), ("2", "1999-12-31")],
    "seenAt": [("1", "2021-01-06T10:00:00"), ("2", "1999-12-31T23:59:59")],
    "until": [("1", "2021-12-31"), ("3", "2022-04-03")],
    "stamped": [("1", "2021-01-06 10:00:00")],
    "plain": [("1", "Ann"), ("2", "Bo")],
    "of_iri": [("http://h/shop/1", "2021"), ("http://h/shop/2", "1999")],
    "nothing": [("1", "nowhere at all")],
    # With the arguments of others, that are searched for once: as settled, unsettled, and as no examples.
    "again": [("1", "Ann")],
    "mixed": [("1", "Ann"), ("2", "BO")],
    "calm": [("1", "Ann"), ("1", "nowhere at all")],
    "era": [("1", "2021")],
}
NEGATIVES = {"full": ("1", "Bo Li"), "year": ("2", "2021"), "calm": ("2", "BO"), "era": ("2", "1999")}
TEMPLATES = """
in-table:    ?H(x, y) <- ?T(?C: x, ?D: y)
by-join:     ?H(x, y) <- ?T(?C: x, ?D: z), ?U(?E@key: z, ?F: y)
to-iri:      ?H(x, y) <- ?T(?C: x, ?*: b...), y = concat(b...)
of-iri:      ?H(x, y) <- ?T(?*: a..., ?D: y), x = concat(a...)
"""
LINKS = LinkWishes(((("shop", "city"), ("city", "id")),))


def filled(engine: str, folder: Path, request: pytest.FixtureRequest) -> Database:
    inserts = [
        f"INSERT INTO {table} VALUES ({', '.join(map(str, row))});" for table, rows in ROWS.items() for row in rows
    ]
    url = request.getfixturevalue("empty_postgres") if engine == "postgres" else ""
    return filled_database(engine, SQL + "".join(inserts), folder, url)


@pytest.mark.parametrize("engine", ["duckdb", "postgres", "sqlite"])
def test_forms_are_found_as_the_oracle_finds_them(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    facts = [Fact(predicate, args, (None, None)) for predicate, some in FACTS.items() for args in some]
    facts += [Fact(predicate, args, (None, None), False) for predicate, args in NEGATIVES.items()]
    habits = habits_of(facts)
    templates = list(parse_templates(TEMPLATES))
    options = ExtractOptions(positives=None, negatives=Negatives.NONE, max_candidates=None)
    with filled(engine, tmp_path, request) as database, filled("duckdb", tmp_path, request) as typed:
        structure = learn_structure(database, LINKS)
        extract(database, fact_table(facts), templates, tmp_path / "run", options, structure=structure)
        # SQLite's rows come as Python's ints and strings: the oracle reads the same rows from DuckDB.
        rows = load_rows(typed, with_codes(typed, LINKS))
        dialect = database.dialect
    dataset = read_dataset(tmp_path / "run")
    texts, written = dataset.rules["text"].to_pylist(), list(facts_of(dataset.facts))
    found: dict[Fact, set[str]] = {fact: set() for fact in facts}
    for fact, rule in zip(*(dataset.candidates[name].to_pylist() for name in ("fact", "rule")), strict=True):
        found[written[fact]].add(texts[rule])
    transformed_rules = 0
    for predicate in FACTS:
        own = [fact for fact in facts if fact.predicate == predicate]
        expected = {fact: set[str]().union(*(candidates(fact, t, rows, habits) for t in templates)) for fact in own}
        positives = [fact for fact in own if fact.positive]
        truth = all(fact.arguments[1] in ("true", "false") for fact in positives)
        near = [one for one in templates if len(one.body) == 1 or not truth]
        settling = [set[str]().union(*(candidates(fact, t, rows, habits) for t in near)) for fact in positives]
        if not set.intersection(*settling):
            for template in templates:
                formed = {fact: published_candidates(fact, template, rows, dialect, habits) for fact in own}
                needed = {rule for fact in positives for rule, changed in formed[fact].items() if changed}
                for fact in own:
                    expected[fact] |= needed & set(formed[fact])
                transformed_rules += len(needed)
        for fact in own:
            assert found[fact] == expected[fact], fact
    assert transformed_rules > 30
    assert "settled(x, y) <- shop(id: x, flag: a), y = boolean(a)" in texts
    assert "settled(x, y) <- shop(id: x, city: a), city(id: a, port: y)" in texts
    everywhere = {p: set.intersection(*(found[f] for f in facts if f.predicate == p and f.positive)) for p in FACTS}
    assert "day(x, y) <- shop(id: x, opened: a), y = date(a)" in everywhere["day"]
    assert "year(x, y) <- shop(id: x, opened: a), y = year(a)" in everywhere["year"]
    assert "moment(x, y) <- shop(id: x, founded: a), y = timestamp(a)" in everywhere["moment"]
    assert "euros(x, y) <- shop(id: x, cents: a), y = times(a, 0.01)" in everywhere["euros"]
    assert "open(x, y) <- shop(id: x, flag: a), y = boolean(a)" in everywhere["open"]
    assert 'full(x, y) <- shop(given: a, family: b, id: x), y = a ++ " " ++ b' in everywhere["full"]
    assert 'backwards(x, y) <- shop(family: a, given: b, id: x), y = a ++ ", " ++ b' in everywhere["backwards"]
    assert 'host(x, y) <- shop(id: x, mail: a), y = after(a, "@")' in everywhere["host"]
    assert "capitals(x, y) <- shop(id: x, given: a), y = upper(a)" in everywhere["capitals"]
    assert 'seenOn(x, y) <- shop(id: x, seen: a), y = day(a, "seconds")' in everywhere["seenOn"]
    assert 'seenAt(x, y) <- shop(id: x, seen: a), y = moment(a, "seconds")' in everywhere["seenAt"]
    assert 'until(x, y) <- shop(id: x, until: a), y = day(a, "DMY")' in everywhere["until"]
    assert 'stamped(x, y) <- shop(id: x, stamp: a), y = moment(a, "YMD")' in everywhere["stamped"]
    if engine != "postgres":  # which cannot tell whether a text is JSON
        assert 'size(x, y) <- shop(id: x, notes: a), y = field(a, "size")' in everywhere["size"]
        assert "colour(x, y) <- shop(id: x, notes: a), y = item(a, 2)" in everywhere["colour"]
    assert "of_iri(x, y) <- shop(id: a, opened: b), " in " ".join(everywhere["of_iri"])
    found_for = {
        predicate: set[str]().union(*(found[f] for f in facts if f.predicate == predicate)) for predicate in FACTS
    }
    assert not any("= upper" in rule or "= lower" in rule for p in ("plain", "again", "calm") for rule in found_for[p])
    assert "mixed(x, y) <- shop(id: x, given: a), y = upper(a)" in found_for["mixed"]


def test_where_no_template_joins_values_in_the_row_of_the_first_argument_are_enough(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = [Fact(predicate, args, (None, None)) for predicate, some in FACTS.items() for args in some]
    facts += [Fact(predicate, args, (None, None), False) for predicate, args in NEGATIVES.items()]
    in_table = [template for template in parse_templates(TEMPLATES) if template.name == "in-table"]
    assert all(map(stands_beside, in_table))
    options = ExtractOptions(positives=None, negatives=Negatives.NONE, max_candidates=None)
    found = []
    for beside in (True, False):
        monkeypatch.setattr("ruleminer.extraction.candidates.stands_beside", lambda _, beside=beside: beside)
        run = tmp_path / str(beside)
        run.mkdir()
        with filled("duckdb", run, request) as database:
            extract(database, fact_table(facts), in_table, run / "run", options)
        dataset = read_dataset(run / "run")
        found.append((dataset.rules.to_pylist(), dataset.candidates.to_pylist()))
    assert found[0] == found[1]
    assert any("year(" in rule["text"] for rule in found[0][0])


def test_templates_with_filters_are_not_tried_in_other_forms() -> None:
    fitting = {template.name for template in read_templates() if can_be_published(template)}
    assert {"property-in-table", "property-by-join", "property-to-iri", "property-of-iri"} <= fitting
    assert not any("filter" in name or "code" in name or "flag" in name or "class" in name for name in fitting)
