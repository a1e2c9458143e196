"""What changed between two mappings."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb

from tests.command_line import Run as Cli


def test_rules_and_facts_that_differ_are_told_by_term(run: Cli, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute("CREATE TABLE t (id INTEGER, flag BOOLEAN, name VARCHAR)")
        connection.execute("INSERT INTO t SELECT i, i % 4 = 0, 'n' || i FROM range(20) r(i)")
    for name, text in {
        "one": "A(x) <- t(id: x)\nB(x) <- t(id: x, flag: true)\nname(x, y) <- t(id: x, name: y)\n",
        "two": "A(x) <- t(id: x, flag: true)\nC(x) <- t(id: x)\nname(x, y) <- t(id: x, name: y)\n",
    }.items():
        (tmp_path / name / "proposals").mkdir(parents=True)
        (tmp_path / name / "proposals" / "mapping.rules").write_text(text)
    told = json.loads(run("diff", "one", "two", "--db", "d.duckdb", "--json").out)
    assert told["same"] == 1
    found = {one["term"]: one for one in told["terms"]}
    assert {(name, one["gained"], one["lost"]) for name, one in found.items()} == {
        ("A", 0, 15),
        ("B", 0, 5),
        ("C", 20, 0),
    }
    assert found["A"]["lost_facts"] == [["1"], ["10"], ["11"], ["13"], ["14"]]
    shown = run("diff", "one", "two", "--db", "d.duckdb").out
    assert "gained" in shown
    assert "not counted" not in shown
    plain = run("diff", "one", "two")
    assert plain.code == 0
    assert "3 terms differ, 1 are the same" in plain.out
    assert "facts gained and lost are not counted where no database is given" in " ".join(plain.out.split())
    assert "such as" not in plain.out, "an empty column tells nothing"
    assert "0 terms differ" in run("diff", "one", "one").out


def test_what_is_no_mapping_is_one_line(run: Cli, tmp_path: Path) -> None:
    told = run("diff", "one", "two")
    assert (told.code, told.err.count("\n")) == (2, 1)
    assert "no mapping.rules there" in told.err
    (tmp_path / "latin.rules").write_bytes("Café(x) <- t(id: x)".encode("latin-1"))
    told = run("diff", str(tmp_path / "latin.rules"), str(tmp_path / "latin.rules"))
    assert (told.code, told.err.count("\n")) == (2, 1)
    assert "latin.rules: cannot be read" in told.err


R2RML = """
@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix : <http://o#> .
<#A> rr:logicalTable [ rr:tableName "t" ] ; rr:subjectMap [ rr:template "http://e.x/{id}" ; rr:class :A ] ;
  rr:predicateObjectMap [ rr:predicate :name ; rr:objectMap [ rr:column "name" ] ] .
<#B> rr:logicalTable [ rr:sqlQuery "SELECT id FROM t WHERE length(name) > 2" ] ;
  rr:subjectMap [ rr:template "http://e.x/{id}" ; rr:class :B ] .
"""


def test_r2rml_is_compared_as_far_as_rules_say_it(run: Cli, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute("CREATE TABLE t (id INTEGER, flag BOOLEAN, name VARCHAR)")
        connection.execute("INSERT INTO t SELECT i, i % 4 = 0, 'n' || i FROM range(20) r(i)")
    (tmp_path / "ours.rules").write_text(
        "A(x) <- t(id: x, flag: true)\nB(x) <- t(id: x)\nname(x, y) <- t(id: x, name: y)\n"
    )
    (tmp_path / "theirs.ttl").write_text(R2RML)
    told = json.loads(run("diff", "ours.rules", "theirs.ttl", "--db", "d.duckdb", "--json").out)
    assert [(one["term"], one["gained"], one["lost"]) for one in told["terms"]] == [("A", 15, 0)]
    assert told["same"] == 1
    assert any("no rule says" in note for note in told["notes"]), told["notes"]
    refused = run("diff", "ours.rules", "theirs.ttl")
    assert refused.code == 2
    assert "theirs.ttl is R2RML" in refused.err
    assert "--db" in refused.err


def test_blanks_that_fill_up_a_code_are_no_difference(run: Cli, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, grade CHAR(2))")
        connection.execute("INSERT INTO t SELECT i, CASE WHEN i % 2 = 0 THEN 'AA' ELSE 'B ' END FROM range(20) r(i)")
    (tmp_path / "one.rules").write_text('A(x) <- t(id: x, grade: "B")\n')
    (tmp_path / "two.rules").write_text('A(x) <- t(id: x, grade: "AA")\n')
    [told] = json.loads(run("diff", "one.rules", "two.rules", "--db", "d.duckdb", "--json").out)["terms"]
    assert (told["gained"], told["lost"]) == (10, 10)


def test_other_iris_for_the_same_things_are_told(run: Cli, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, up INTEGER)")
        connection.execute("INSERT INTO t SELECT i, i // 2 FROM range(20) r(i)")
    document = (
        "@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix : <http://x/#> .\n"
        '<#t> rr:logicalTable [ rr:tableName "t" ] ; rr:subjectMap [ rr:template "http://x/t/{id}" ; rr:class :A ] ;\n'
        '  rr:predicateObjectMap [ rr:predicate :under ; rr:objectMap [ rr:template "http://x/t/{up}" ] ] .\n'
    )
    (tmp_path / "one.ttl").write_text(document)
    (tmp_path / "two.ttl").write_text(document.replace("http://x/t/{id}", "http://x/u/{id}"))
    told = json.loads(run("diff", "one.ttl", "two.ttl", "--db", "d.duckdb", "--json").out)
    assert (told["same"], told["terms"]) == (2, [])
    assert told["notes"] == ["A and under: other IRIs, http://x/t/{} before and http://x/u/{} after"]
    assert json.loads(run("diff", "one.ttl", "one.ttl", "--db", "d.duckdb", "--json").out)["notes"] == []
    more = (
        '<#v> rr:logicalTable [ rr:tableName "t" ] ; rr:subjectMap [ rr:template "http://x/v/{up}" ; rr:class :A ] .\n'
    )
    (tmp_path / "more.ttl").write_text(document + more)
    told = json.loads(run("diff", "one.ttl", "more.ttl", "--db", "d.duckdb", "--json").out)
    assert told["notes"] == ["A: more IRIs, http://x/v/{}"]
