"""What is wrong with an example is told with the file and the line that it stands on."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.command_line import Run

ONTOLOGY = (
    "@prefix : <http://lab#> . @prefix owl: <http://www.w3.org/2002/07/owl#> . "
    ":Reagent a owl:Class . :Step a owl:Class ."
)


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "lab.sqlite") as made:
        made.execute("CREATE TABLE reagent (code TEXT PRIMARY KEY, label TEXT)")
        made.executemany("INSERT INTO reagent VALUES (?, ?)", [(f"R{n}", f"Reagent no {n}") for n in range(20)])
        made.execute("CREATE TABLE step (project TEXT, number INTEGER, PRIMARY KEY (project, number))")
        made.executemany("INSERT INTO step VALUES (?, ?)", [("PX", n) for n in range(9)])
    made.close()
    (tmp_path / "lab.ttl").write_text(ONTOLOGY, "utf-8")
    return tmp_path


def extracted(run: Run, lab: Path, *lines: str) -> tuple[int, str]:
    (lab / "facts.csv").write_text("\n".join(("predicate,arg1,arg2,label", *lines)), "utf-8")
    words = ("--db", "lab.sqlite", "--ontology", "lab.ttl", "--examples", "facts.csv", "--out", "out")
    result = run("extract", *words)
    return result.code, " ".join((result.out + result.err).split())


def test_examples_without_a_rule(run: Run, lab: Path) -> None:
    code, told = extracted(run, lab, "Reagent,R1,,", "Reagent,reagent:R3,,", "Reagent,R3,,-", "Step,step:PX/77,,")
    assert code == 0
    assert "no rule: facts.csv, line 5: Step(PX/77): no such value in any column, and no such key in step" in told


def test_a_table_that_is_not_there(run: Run, lab: Path) -> None:
    code, told = extracted(run, lab, "Reagent,R1,,", "Reagent,reagnt:R2,,")
    assert code == 2
    assert "facts.csv, line 3: Reagent: reagnt:R2: no table reagnt; did you mean reagent?" in told


def test_facts_that_hold_and_do_not(run: Run, lab: Path) -> None:
    _, told = extracted(run, lab, "Reagent,R1,,", "Reagent,R3,,", "Reagent,R3,,-")
    assert (
        "Reagent(R3) holds by one of your examples and does not by another (facts.csv, line 3 and facts.csv, line 4)"
        in told
    )


def test_a_key_that_cannot_be_one(run: Run, lab: Path) -> None:
    code, told = extracted(run, lab, "Reagent,R1,,", "Step,step:PX-1,,")
    assert code == 2
    assert "facts.csv, line 3: step:PX-1: the key of step has several columns; write step:project/number" in told
