"""The files of a mapping: always the same, readable, the user's own IRIs in them; with a model or without."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from ruleminer.dataset import read_dataset
from ruleminer.errors import InputError
from ruleminer.learn.options import TrainOptions
from ruleminer.learn.training import train_run
from ruleminer.proposals.draft import DraftRequest, draft_mapping
from ruleminer.proposals.proposal import Status
from ruleminer.proposals.request import ProposeRequest
from ruleminer.proposals.stage import Delivery, propose_mappings
from ruleminer.sources.database import open_database
from tests.proposals.conftest import Cli, Extracted
from tests.proposals.test_term_proposals import FILES, exact
from tests.scenarios.generated import true_facts

QUICK = TrainOptions(size="tiny", updates=60, passes=1, warmup=5, learning_rate=1e-2, batch_nodes=400, threads=1)


def outputs(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "times.json"}


def test_the_same_run_gives_the_same_files_and_overwrites_its_own(own_library: Extracted) -> None:
    first = propose_mappings(ProposeRequest(run=own_library.run))
    assert first.folder == own_library.run / "proposals"
    before = outputs(first.folder)
    second = propose_mappings(ProposeRequest(run=own_library.run))
    assert outputs(second.folder) == before
    assert {path.name for path in second.folder.iterdir()} == FILES  # and nothing temporary

    def told(delivery: Delivery) -> object:
        return [(p, p.posterior, p.confidence) for p in delivery.proposals.proposals], delivery.proposals.calibration

    assert told(first) == told(second)


def test_a_term_that_cannot_be_published_is_refused_before_the_work(
    own_library: Extracted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / "odd.ttl"
    told = (own_library.scenario / "ontology.ttl").read_text("utf-8")
    odd.write_text(told + "\n<http://e/a\\u0020b> a <http://www.w3.org/2002/07/owl#Class> .\n", "utf-8")
    monkeypatch.setattr("ruleminer.proposals.stage.propose_terms", lambda *given: pytest.fail("the work was begun"))
    monkeypatch.setattr("ruleminer.proposals.draft.learn_structure", lambda *given: pytest.fail("the work was begun"))
    with pytest.raises(InputError, match="http://e/a b' is no legal IRI"):
        propose_mappings(ProposeRequest(run=own_library.run, ontology=odd))
    with pytest.raises(InputError, match="http://e/a b' is no legal IRI"):
        draft_mapping(DraftRequest(db=own_library.database, ontology=odd, out=tmp_path / "drafted"))
    assert not (tmp_path / "drafted").exists()


def test_the_user_names_the_entities(own_library: Extracted, cli: Cli) -> None:
    result = cli(
        "propose-mappings", own_library.run, "--iri", "Person=http://p.example/{}", "--base", "http://b.example/", "-q",
    )  # fmt: skip
    assert result.code == 0, result.err
    mapping = (own_library.run / "proposals" / "mapping.ttl").read_text("utf-8")
    assert "http://p.example/{" in mapping
    assert "http://b.example/" in mapping
    assert "http://p.example/" in result.err  # the policy is printed


def test_json_is_all_that_is_printed(library: Extracted, cli: Cli, tmp_path: Path) -> None:
    result = cli("propose-mappings", library.run, "--out", tmp_path / "o", "--ranker", "coverage", "--json")
    assert result.code == 0, result.err
    told = json.loads(result.out, parse_constant=pytest.fail)
    assert told["ranker"] == "coverage"
    assert told["validation"] is None
    assert {Path(path).name for path in told["files"]} == FILES
    assert {one["status"] for one in told["proposals"]} == {"proposed"}
    for one in told["proposals"]:
        assert 0.0 <= one["posterior"] <= 1.0


def test_the_terminal_shows_rules_evidence_and_where_to_look(library: Extracted, cli: Cli, tmp_path: Path) -> None:
    result = cli("propose-mappings", library.run, "--out", tmp_path / "o", "--scenario", library.scenario)
    assert result.code == 0, result.err
    assert "Proposed by joint" in result.out
    assert "Book(ID: x, writtenBy: y)" in result.out
    assert "reasoning: rdfs" in result.out
    assert "6 of 6 terms proposed" in result.err
    assert str(tmp_path / "o" / "report.html") in result.err.replace("\n", "")


@pytest.fixture(scope="module")
def trained(library: Extracted, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("trained") / "run"
    shutil.copytree(library.run, run)
    train_run(run, QUICK)
    return run


def test_with_a_model_all_three_rankers_stand_side_by_side(library: Extracted, trained: Path) -> None:
    facts = true_facts(library.scenario)
    delivery = propose_mappings(ProposeRequest(run=trained, db=f"duckdb:///{library.database}", ranker="neural"))
    assert delivery.proposals.ranker == "neural"
    (note,) = delivery.proposals.notes
    assert "the run's own model knows of these examples only" in note
    with open_database(f"duckdb:///{library.database}") as database:
        right = [exact(one, facts, database) for one in delivery.proposals.proposed]
    assert len(right) == 6
    assert sum(right) >= 5
    for one in delivery.proposals.proposed:
        assert [choice.ranker for choice in one.choices] == ["coverage", "evidence", "neural"]
        assert {rule.origin for rule in (*one.rules, *one.alternatives)} <= {"extraction", "model", "refinement"}
        assert all(rule.positives_derived for rule in (*one.rules, *one.alternatives))
    assert (delivery.folder / "proposals.json").is_file()


def test_terms_without_examples_are_in_the_mapping_if_they_are_sure_enough(own_library: Extracted) -> None:
    dataset = own_library.run / "dataset"
    known = json.loads((dataset / "ontology.json").read_text("utf-8"))
    stranger = {**known["classes"][0], "iri": "http://x#Volcano", "name": "Volcano", "labels": [], "parents": []}
    known["classes"].append(stranger)
    (dataset / "ontology.json").write_text(json.dumps(known), "utf-8")
    facts = pq.read_table(dataset / "facts.parquet")
    pq.write_table(facts.filter(pc.not_equal(facts["predicate"], "Book")), dataset / "facts.parquet")
    plain = propose_mappings(ProposeRequest(run=own_library.run))
    by_name = {one.predicate: one for one in plain.proposals.proposals}
    assert by_name["Volcano"].status is Status.NOTHING
    assert "the database seems to have nothing of it" in by_name["Volcano"].reason
    book = by_name["Book"]
    assert book.status is Status.GUESSED
    assert book.texts == ("Book(x) <- Book(ID: x)",)
    assert book.confidence == book.posterior
    assert book.confidence > 0.9
    assert "Book(x) <- Book(ID: x)" in (plain.folder / "mapping.rules").read_text("utf-8")
    strict = propose_mappings(ProposeRequest(run=own_library.run, min_confidence=1.0))
    assert "Book(x)" not in (strict.folder / "mapping.rules").read_text("utf-8")
    alone = propose_mappings(ProposeRequest(run=own_library.run, ranker="evidence"))
    assert "Book(x)" not in (alone.folder / "mapping.rules").read_text("utf-8")
    with pytest.raises(InputError, match="must be a probability from 0 to 1"):
        ProposeRequest(run=own_library.run, min_confidence=1.5)


def test_examples_that_no_rule_derives_are_told(own_library: Extracted) -> None:
    dataset = read_dataset(own_library.run)
    facts, candidates = dataset.facts, dataset.candidates
    lost = facts.filter(pc.equal(facts["predicate"], "title"))["fact"]
    kept = candidates.filter(pc.invert(pc.is_in(candidates["fact"], value_set=pa.array(lost.to_pylist()))))
    pq.write_table(kept, own_library.run / "dataset" / "candidates.parquet")
    found = propose_mappings(ProposeRequest(run=own_library.run)).proposals
    title = next(one for one in found.proposals if one.predicate == "title")
    assert title.status is not Status.PROPOSED
    assert title.positives == 8
    assert title.reason == "no rule of the templates derives any of its 8 examples"
    assert len(found.proposed) == 5


def test_the_mapping_is_validated_on_the_database_it_was_made_for(library: Extracted, tmp_path: Path) -> None:
    scenario = tmp_path / "scenario"
    shutil.copytree(library.scenario, scenario)
    with open_database(f"duckdb:///{library.database}") as database:
        url = database.safe_url
    found = propose_mappings(ProposeRequest(run=library.run, out=tmp_path / "out", scenario=scenario)).validation
    assert found is not None
    assert found.database == url  # and not the scenario's own


def test_a_model_that_is_damaged_or_of_another_dataset_is_told_and_the_rest_proposed(
    own_library: Extracted, trained: Path, tmp_path: Path
) -> None:
    shutil.copytree(trained / "model", own_library.run / "model")
    config = own_library.run / "model" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text("utf-8")) | {"dataset": "another"}), "utf-8")
    notes = propose_mappings(ProposeRequest(run=own_library.run)).proposals.notes
    assert any("the dataset has changed since the model was trained" in note for note in notes)
    config.write_text("{", "utf-8")
    told = propose_mappings(ProposeRequest(run=own_library.run)).proposals
    assert any("is damaged" in note and "the neural ranker is left out" in note for note in told.notes)
    assert len(told.proposed) == 6
    with pytest.raises(InputError, match="is damaged"):
        propose_mappings(ProposeRequest(run=own_library.run, ranker="neural"))


def test_a_model_of_another_run_can_be_asked(own_library: Extracted, trained: Path, tmp_path: Path) -> None:
    delivery = propose_mappings(ProposeRequest(run=own_library.run, model=trained, ranker="neural"))
    found = delivery.proposals
    assert found.ranker == "neural"
    report = (delivery.folder / "report.html").read_text("utf-8")
    assert not (own_library.run / "model").exists()
    assert ">Learning curve<" in report  # that of the model that was asked
    assert any(rule.model_log_p is not None for one in found.proposed for rule in one.rules)
    assert not any("model" in note for note in found.notes)
    for wrong in (tmp_path, trained / "model"):
        with pytest.raises(InputError, match="give the folder of a run that was trained"):
            propose_mappings(ProposeRequest(run=own_library.run, model=wrong))


def test_facts_whose_candidates_were_cut_are_told(own_library: Extracted) -> None:
    manifest = own_library.run / "dataset" / "manifest.json"
    told = json.loads(manifest.read_text("utf-8"))
    manifest.write_text(json.dumps(told | {"cut": {"facts": 3, "candidates": 40}}), "utf-8")
    notes = propose_mappings(ProposeRequest(run=own_library.run)).proposals.notes
    assert any(note.startswith("3 facts of the run have more candidates") for note in notes)
