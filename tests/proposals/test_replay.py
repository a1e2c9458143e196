"""What the user said is replayed: facts are counted, rules stay or go, and what no longer fits is told."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import duckdb
import pytest

from ruleminer.extraction.request import ExtractRequest, extract_datasets
from ruleminer.problem.decisions import Said, UserDecision, append_decisions, read_decisions, same_space
from ruleminer.proposals.entity_texts import EntityTexts
from ruleminer.proposals.replay import _is_same
from ruleminer.proposals.request import ProposeRequest
from ruleminer.proposals.stage import propose_mappings
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.printer import rule_text
from ruleminer.rules.values import Place
from ruleminer.run import Run
from tests.proposals.conftest import Extracted


def proposed(made: Extracted, *lines: UserDecision) -> dict[str, Any]:
    append_decisions(Run(made.run).decisions, lines)
    delivery = propose_mappings(ProposeRequest(run=made.run))
    told = json.loads((delivery.folder / "proposals.json").read_text())
    return {"notes": told["notes"], **{one["predicate"]: one for one in told["proposals"]}}


def rules_of(told: dict[str, Any], term: str) -> list[str]:
    return [one["text"] for one in told[term]["rules"]]


@pytest.fixture
def all_people(own_library: Extracted) -> str:
    """A rule for Author that is too wide: every person."""
    person = rules_of(proposed(own_library), "Person")[0]
    return person.replace("Person(x)", "Author(x)", 1)


def test_a_pinned_rule_stays_whatever_is_learnt_and_undo_brings_the_other_back(
    own_library: Extracted, all_people: str
) -> None:
    before = rules_of(proposed(own_library), "Author")
    pin = UserDecision("Author", Said.PINNED, rules=(parse_rule(all_people),))
    after = proposed(own_library, pin)
    assert rules_of(after, "Author") == [all_people] != before
    assert after["Author"]["rules"][0]["verdict"] == "pinned by the user"
    assert after["Author"]["confidence"] == 1.0
    assert all_people in (own_library.run / "proposals" / "mapping.rules").read_text()
    back = proposed(own_library, UserDecision("", Said.TAKEN_BACK, about=pin.id))
    assert rules_of(back, "Author") == before


def test_a_rejected_rule_leaves_the_pool(own_library: Extracted) -> None:
    before = rules_of(proposed(own_library), "title")
    told = proposed(own_library, UserDecision("title", Said.REJECTED, rules=tuple(map(parse_rule, before))))
    assert not {*rules_of(told, "title")} & {*before}
    assert not {*before} & {one["text"] for one in told["title"]["alternatives"]}


def test_no_rule_means_none(own_library: Extracted) -> None:
    told = proposed(own_library, UserDecision("title", Said.NO_RULE))
    assert told["title"]["status"] == "nothing"
    assert told["title"]["reason"] == "you said that the database has no rule for it"
    assert "title(" not in (own_library.run / "proposals" / "mapping.rules").read_text()


def test_facts_are_counted_with_their_sign_and_beat_examples(own_library: Extracted) -> None:
    before = proposed(own_library)
    good, other = before["Author"]["sample"][:2]
    told = proposed(
        own_library,
        UserDecision("Author", Said.HOLDS, tuple(good)),
        UserDecision("Author", Said.FAILS, tuple(other)),
        UserDecision("Author", Said.HOLDS, ("no such person",)),
        UserDecision("Author", Said.UNKNOWN, ("12345",)),
    )
    assert other in told["Author"]["hit"]
    assert ["no such person"] in told["Author"]["missed"]
    assert any("Author(no such person), which you said holds, is derived by no rule" in n for n in told["notes"])
    assert rules_of(told, "Author") == rules_of(before, "Author")


def test_facts_count_where_there_was_no_example(own_library: Extracted) -> None:
    """From names alone, without any example."""
    (own_library.scenario.parent / "none.csv").write_text("predicate,arg1,arg2\ntitle,1,nothing of the kind\n")
    request = ExtractRequest(
        out=own_library.run, db=str(own_library.database), ontology=own_library.scenario / "ontology.ttl",
        examples=(own_library.scenario.parent / "none.csv",), force=True,
    )  # fmt: skip
    extract_datasets(request)
    guessed = proposed(own_library)
    assert guessed["Book"]["status"] == "guessed"
    fact = tuple(guessed["Book"]["sample"][0])
    told = proposed(own_library, UserDecision("Book", Said.HOLDS, fact))
    assert told["Book"]["status"] == "proposed"
    assert told["Book"]["positives"] == 1
    denied = [UserDecision("Book", Said.FAILS, tuple(f)) for f in guessed["Book"]["sample"][1:4]]
    doubted = proposed(own_library, *denied)
    assert doubted["Book"]["posterior"] < told["Book"]["posterior"]
    assert doubted["Book"]["negatives"] == 3


def test_what_the_database_no_longer_bears_out_is_told(own_library: Extracted, all_people: str) -> None:
    gone = parse_rule("Author(x) <- no_such_table(id: x)")
    told = proposed(
        own_library,
        UserDecision("Author", Said.PINNED, rules=(gone,)),
        UserDecision("Elf", Said.HOLDS, ("1",)),
        same_space(("no_table", "id"), ("other", "id")),
    )
    assert rules_of(told, "Author") != [rule_text(gone)]
    notes = "\n".join(told["notes"])
    assert "Author: the rule that you pinned no longer fits, for it cannot be run" in notes
    assert "what you said of Elf is left out" in notes
    assert "no_table.id = other.id: said to be the same kind of thing, but the database has no such column" in notes


def test_a_kept_rule_at_odds_with_facts_is_told(own_library: Extracted, all_people: str) -> None:
    fact = tuple(proposed(own_library)["Author"]["sample"][0])
    told = proposed(
        own_library,
        UserDecision("Author", Said.ACCEPTED, rules=(parse_rule(all_people),)),
        UserDecision("Author", Said.FAILS, fact),
        UserDecision("Author", Said.HOLDS, ("nobody",)),
    )
    assert rules_of(told, "Author") == [all_people]
    notes = "\n".join(told["notes"])
    assert f"Author({fact[0]}) does not hold, but the rule that you keep derives it" in notes
    assert "Author(nobody), which you said holds, is not derived by the rule that you keep" in notes


def test_a_term_without_any_guess_can_be_given_a_rule(own_library: Extracted) -> None:
    person = rules_of(proposed(own_library), "Person")[0]
    told = proposed(
        own_library, UserDecision("Book", Said.EDITED, rules=(parse_rule(person.replace("Person", "Book", 1)),))
    )
    assert told["Book"]["status"] == "proposed"


def test_two_spaces_become_one(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, name VARCHAR)")
        connection.execute("CREATE TABLE staff (number INTEGER PRIMARY KEY, room VARCHAR)")
        connection.execute("INSERT INTO person SELECT i, 'name ' || i FROM range(1, 40) t(i)")
        connection.execute("INSERT INTO staff SELECT i * 900, 'room ' || i FROM range(1, 30) t(i)")
    (tmp_path / "o.ttl").write_text(
        "@prefix : <http://e/#> . @prefix owl: <http://www.w3.org/2002/07/owl#> . "
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . :Person a owl:Class . "
        ":Staff a owl:Class . :name a owl:DatatypeProperty ; rdfs:domain :Person ."
    )
    (tmp_path / "e.csv").write_text("predicate,arg1\nPerson,1\nPerson,2\nStaff,900\nStaff,1800\n")
    extract_datasets(
        ExtractRequest(out=tmp_path / "run", db=str(tmp_path / "d.duckdb"), ontology=tmp_path / "o.ttl",
                       examples=(tmp_path / "e.csv",))
    )  # fmt: skip
    before = propose_mappings(ProposeRequest(run=tmp_path / "run"))
    templates = (before.folder / "mapping.ttl").read_text()
    append_decisions(Run(tmp_path / "run").decisions, [same_space(("staff", "number"), ("person", "id"))])
    after = propose_mappings(ProposeRequest(run=tmp_path / "run"))
    assert (after.folder / "mapping.ttl").read_text() != templates
    assert (
        len([line for line in after.proposals.identity if "staff" in line.lower()])
        != len([line for line in before.proposals.identity if "staff" in line.lower()])
        or after.proposals.identity != before.proposals.identity
    )


def test_two_hundred_decisions_replayed_give_the_same_mapping(own_library: Extracted, tmp_path: Path) -> None:
    told = proposed(own_library)
    lines: list[UserDecision] = []
    for term in ("Author", "Person", "Book", "title", "fullName", "writtenBy"):
        for number, fact in enumerate(told[term]["sample"]):
            lines.append(UserDecision(term, Said.FAILS if number == 3 else Said.HOLDS, tuple(fact)))
            lines.append(UserDecision("", Said.TAKEN_BACK, about=lines[-1].id))
            lines.append(UserDecision(term, Said.HOLDS, tuple(fact)))
        texts = tuple(map(parse_rule, rules_of(told, term)))
        lines += [UserDecision(term, Said.REJECTED, rules=texts), UserDecision(term, Said.ACCEPTED, rules=texts)]
    lines += [UserDecision("Author", Said.UNKNOWN, (str(number),)) for number in range(200 - len(lines))]
    proposed(own_library, *lines)
    assert len(read_decisions(Run(own_library.run).decisions).lines) == 200
    files = ("mapping.ttl", "mapping.rules", "mapping.obda", "mapping.sql", "mapping.yarrrml.yml")
    first = [(own_library.run / "proposals" / name).read_bytes() for name in files]
    again = tmp_path / "again"
    extract_datasets(ExtractRequest(out=again, scenario=own_library.scenario, positives=8, seed=0))
    Run(again).decisions.write_bytes(Run(own_library.run).decisions.read_bytes())
    propose_mappings(ProposeRequest(run=again))
    assert [(again / "proposals" / name).read_bytes() for name in files] == first


def test_a_fact_told_with_its_table_is_the_example_of_that_key() -> None:
    artist, album = Place("Artist", "id"), Place("Album", "id")
    texts = cast(EntityTexts, SimpleNamespace(told={"Artist:1": (artist, "1")}.get))
    assert _is_same(("Artist:1", "x"), ("1", "x"), (artist, None), texts)
    assert _is_same(("Artist:1", "x"), ("1", "x"), (), texts)
    assert _is_same(("1", "x"), ("1", "x"), (album, None), texts)
    assert not _is_same(("Artist:1", "x"), ("1", "x"), (album, None), texts)
    assert not _is_same(("Artist:1", "x"), ("2", "x"), (artist, None), texts)
    assert not _is_same(("Artist:1",), ("1", "x"), (artist, None), texts)
