"""`ruleminer export`: the proposed mapping again, in any language, also after its rules were edited."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruleminer.proposals.export import FILES
from ruleminer.rules.parser import parse_numbered_rules, parse_rules
from tests.proposals.conftest import Cli, Extracted


@pytest.fixture
def proposed(own_library: Extracted, cli: Cli) -> Path:
    """A run with proposals, whose entities have IRIs of the user's."""
    wishes = ("--iri", "Person=http://p.example/{}", "--base", "http://b.example/")
    assert cli("propose-mappings", own_library.run, *wishes, "-q").code == 0
    return Path(own_library.run)


def test_every_language_is_what_was_proposed(proposed: Path, cli: Cli, tmp_path: Path) -> None:
    for language, name in FILES.items():
        out = tmp_path / name
        result = cli("export", proposed, "--format", language, "--out", out)
        assert result.code == 0, result.err
        assert out.read_bytes() == (proposed / "proposals" / name).read_bytes()
        assert cli("export", proposed, "--format", language).out == out.read_text("utf-8")


def test_edited_rules_keep_the_iris_that_were_proposed(proposed: Path, cli: Cli, tmp_path: Path) -> None:
    edited = tmp_path / "edited.rules"
    rules = (proposed / "proposals" / "mapping.rules").read_text("utf-8").splitlines()
    kept = [line for line in rules if line.startswith("Person(")]
    assert 0 < len(kept) < len(rules)
    edited.write_text("# what is left\n\n" + "\n".join(kept), "utf-8")
    result = cli("export", proposed, "--from", edited)
    assert result.code == 0, result.err
    assert "http://p.example/{" in result.out
    assert result.out.count("a rr:TriplesMap") <= len(kept)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("Person(x) <- nowhere(id: x)", "the database has no table nowhere; there are"),
        ("Person(x, y) <- {atom}", "Person is a class and takes 1 argument, not 2"),
        ("Persom(x) <- {atom}", "the ontology has no class or property Persom; nearest: Person"),
        ("Person(x) <- 5", "expected a table"),
    ],
)
def test_a_fault_is_told_with_its_line(proposed: Path, cli: Cli, tmp_path: Path, line: str, told: str) -> None:
    good = next(parse_rules((proposed / "proposals" / "mapping.rules").read_text("utf-8")))
    table, column = good.body[0].table, good.body[0].columns[0][0]
    atom = f"{table}({column}: x), {table}({column}: y)"
    edited = tmp_path / "edited.rules"
    edited.write_text(f"# a comment\n\n{line.format(atom=atom)}\n", "utf-8")
    result = cli("export", proposed, "--from", edited)
    assert result.code == 2
    assert f"{edited}:3" in result.err
    assert told in result.err


def test_a_language_that_nobody_speaks_is_refused(proposed: Path, cli: Cli) -> None:
    result = cli("export", proposed, "--format", "rml")
    assert (result.code, result.out) == (2, "")
    assert "--format must be one of r2rml, obda, yarrrml, sql, rules, not 'rml'" in result.err


def test_rules_are_numbered_by_the_line_they_begin_in() -> None:
    text = "# first\nA(x) <- t(a: x)\n\nB(x) <-\n  t(a: x) C(x) <- t(b: x)\n"
    assert [line for line, _ in parse_numbered_rules(text)] == [2, 4, 5]
