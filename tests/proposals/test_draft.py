"""A mapping from a database and an ontology alone: decided together, with reasons, as a run like every other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ruleminer.errors import InputError
from ruleminer.learn.decision_files import shipped_folder, shipped_network
from ruleminer.proposals.draft import DraftRequest, draft_mapping
from ruleminer.proposals.hypotheses import FEATURES
from ruleminer.proposals.proposal import Status
from ruleminer.proposals.request import ProposeRequest
from ruleminer.proposals.stage import propose_mappings
from ruleminer.structure import meaning
from tests.command_line import Run as Cli
from tests.proposals.conftest import Extracted
from tests.scenarios.generated import true_facts


@pytest.fixture(scope="module")
def asked(library: Extracted) -> DraftRequest:
    return DraftRequest(
        f"duckdb:///{library.database}", library.scenario / "ontology.ttl", library.run.parent / "drafted"
    )


def test_the_shipped_network_fits_this_version_and_is_small() -> None:
    note = shipped_network(FEATURES).note
    assert note["problems"] >= 200
    assert set(note["held_out"]) >= {"no example", "1 examples"}
    assert sum(path.stat().st_size for path in shipped_folder().iterdir()) < 5_000_000


def test_a_draft_maps_a_small_library_from_no_example(asked: DraftRequest, library: Extracted) -> None:
    delivery = draft_mapping(asked)
    by_name = {one.predicate: one for one in delivery.proposals.proposals}
    assert set(by_name) == set(true_facts(library.scenario))
    assert all(one.positives == 0 and one.status is not Status.PROPOSED for one in by_name.values())
    assert by_name["Book"].texts == ("Book(x) <- Book(ID: x)",)
    assert by_name["title"].texts == ("title(x, y) <- Book(ID: x, title: y)",)
    assert by_name["writtenBy"].texts == ("writtenBy(x, y) <- Book(ID: x, writtenBy: y)",)
    for one in by_name.values():
        if one.status is Status.GUESSED:
            assert one.confidence == one.posterior
            assert one.none is not None
            assert one.posterior + one.none <= 1.0 + 1e-6
    assert any(one.reasons for one in by_name.values())
    assert (delivery.folder / "mapping.ttl").is_file()
    told = json.loads((delivery.folder / "proposals.json").read_text("utf-8"))
    assert told["ranker"] == "joint"


def test_a_draft_is_the_same_each_time_and_can_be_proposed_from_again(asked: DraftRequest) -> None:
    first = (draft_mapping(asked).folder / "mapping.ttl").read_bytes()
    again = propose_mappings(ProposeRequest(asked.out))
    assert (again.folder / "mapping.ttl").read_bytes() == first
    strict = propose_mappings(ProposeRequest(asked.out, min_confidence=1.0))
    assert b"rr:TriplesMap" not in (strict.folder / "mapping.ttl").read_bytes()


def test_a_draft_does_not_take_the_place_of_examples(library: Extracted, asked: DraftRequest) -> None:
    with pytest.raises(InputError, match="holds another dataset already"):
        draft_mapping(DraftRequest(asked.db, asked.ontology, library.run))


def test_without_vectors_names_are_compared_by_letters_and_that_is_told(
    asked: DraftRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ruleminer.proposals.term_proposals.meaning", lambda: None)
    delivery = draft_mapping(DraftRequest(asked.db, asked.ontology, tmp_path))
    assert any("letters and as words of one kind" in note for note in delivery.proposals.notes)
    by_name = {one.predicate: one for one in delivery.proposals.proposals}
    assert by_name["Book"].texts == ("Book(x) <- Book(ID: x)",)


def test_meaning_is_nearer_for_words_that_mean_the_same() -> None:
    known = meaning.meaning()
    if known is None:
        pytest.skip("wordllama is not installed")
    author, writer, banana = known.vectors(["Author", "writers", "banana"])
    assert author @ writer > 0.4 > author @ banana


def test_the_command_tells_rules_confidence_and_reasons(library: Extracted, cli: Cli, tmp_path: Path) -> None:
    words = (
        "draft",
        "--db",
        library.database,
        "--ontology",
        library.scenario / "ontology.ttl",
        "--out",
        tmp_path / "r",
    )
    result = cli(*words, "--scenario", library.scenario)
    assert result.code == 0, result.err
    assert "Drafted without examples" in result.out
    assert "Book(ID: x)" in result.out
    assert "0 of 6 terms proposed from examples" in result.err
    bad = cli(*words, "--min-confidence", "2")
    assert bad.code == 2
    assert "error: --min-confidence must be a probability from 0 to 1, not 2.0" in bad.err
