"""A rule that does not do justice to the examples says so, and is no surer than they let it be."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from ruleminer.proposals.proposal import told_shortfall, within_examples
from tests.command_line import Run

ONTOLOGY = """
@prefix : <http://shop#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
:Customer a owl:Class . :Town a owl:Class .
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "shop.sqlite") as made:
        made.execute("CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
        made.executemany("INSERT INTO customer VALUES (?, ?)", [(n, f"Customer {n}") for n in range(101, 160)])
        made.execute("CREATE TABLE town (code TEXT PRIMARY KEY, mayor TEXT)")
        made.executemany("INSERT INTO town VALUES (?, ?)", [(f"T{n}", f"Mayor {n}") for n in range(30)])
    made.close()
    (tmp_path / "shop.ttl").write_text(ONTOLOGY, "utf-8")
    return tmp_path


def test_examples_that_a_proposal_misses_or_contradicts_are_told_and_counted(run: Run, shop: Path) -> None:
    facts = "".join(f"Customer,{key},,+\n" for key in ("101", "102", "X7", "X8", "X9"))
    towns = "Town,T1,,+\nTown,T2,,+\nTown,T2,,-\n"
    (shop / "facts.csv").write_text(f"predicate,arg1,arg2,label\n{facts}{towns}", "utf-8")
    words = ("--db", "shop.sqlite", "--ontology", "shop.ttl", "--examples", "facts.csv", "--out", "out")
    extracted = run("extract", *words)
    assert extracted.code == 0, extracted.err
    assert "Town(T2) holds by one of your examples and does not by another" in extracted.out + extracted.err
    told = run("propose-mappings", "out")
    assert "derives 2 of your 5 examples" in told.err
    assert "Town(T2) holds by one of your examples and does not by another" in told.err
    written = json.loads((shop / "out/proposals/proposals.json").read_text("utf-8"))
    proposals = {one["predicate"]: one for one in written["proposals"]}
    customer, town = proposals["Customer"], proposals["Town"]
    assert (customer["derived"], customer["shortfall"]) == (2, "derives 2 of your 5 examples")
    assert customer["posterior"] > 0.9
    assert customer["certainty"] == 3 / 6
    assert (town["denied"], town["shortfall"]) == (1, "derives 1 of your counter-examples")
    report = (shop / "out/proposals/report.html").read_text()
    assert "derives 2 of your 5 examples" in report


def test_what_is_missed_caps_how_sure_a_choice_is() -> None:
    assert within_examples(0.99, 100, 100, 0) == 0.99
    assert within_examples(1.0, 2, 2, 0) == 0.9
    assert within_examples(1.0, 5, 5, 0) == 0.9375
    assert within_examples(0.99, 2, 5, 0) == 0.5
    assert within_examples(0.99, 5, 5, 2) == 6 / 8
    assert told_shortfall(5, 5, 0) == ""
    assert told_shortfall(2, 5, 3) == "derives 2 of your 5 examples and 3 of your counter-examples"
