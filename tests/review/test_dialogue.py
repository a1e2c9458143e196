"""The same questions in a terminal, and from a file of answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from ruleminer.dataset import read_dataset
from ruleminer.problem.decisions import Said, read_decisions
from ruleminer.proposals.decide import Decision
from ruleminer.proposals.request import ProposeRequest
from ruleminer.review.dialogue import converse
from ruleminer.review.questions import NoQuestion, Question
from ruleminer.review.review import review_terminal
from ruleminer.review.session import ReviewSession
from ruleminer.run import Run
from tests.command_line import Run as Cli
from tests.proposals.conftest import Extracted


def answers(made: Extracted, text: str) -> Path:
    path = made.run.parent / "answers.txt"
    path.write_text(text)
    return path


def test_answers_of_a_file_are_written_down_and_the_mapping_with_them(own_library: Extracted, cli: Cli) -> None:
    told = cli("review", own_library.run, "--answers", answers(own_library, "0\n?\na\n"), "-q")
    assert told.code == 0, told.err
    assert "the answers are at their end" in told.out or "in doubt" in told.out or "decided" in told.out
    said = read_decisions(Run(own_library.run).decisions)
    assert (own_library.run / "proposals" / "mapping.ttl").exists() == bool(said.standing)


def test_as_many_questions_as_wished(own_library: Extracted, cli: Cli) -> None:
    told = cli("review", own_library.run, "--ask", "0")
    assert told.code == 0
    assert "0 questions" in told.out
    assert not Run(own_library.run).decisions.exists()


def test_undo_and_no_rule(own_library: Extracted, cli: Cli) -> None:
    accept_nothing = own_library.run.parent / "e.csv"
    accept_nothing.write_text("predicate,arg1\nBook,1\n")
    told = cli("extract", "--scenario", own_library.scenario, "--examples", accept_nothing, "--out", own_library.run,
               "--force", "-q")  # fmt: skip
    assert told.code == 0, told.err
    told = cli("review", own_library.run, "--answers", answers(own_library, "-\nu\nq\n"), "-q",
               "--ranker", "evidence")  # fmt: skip
    assert told.code == 0, told.err
    said = read_decisions(Run(own_library.run).decisions)
    assert [line.said for line in said.lines] == [Said.NO_RULE, Said.TAKEN_BACK]
    assert not said.standing
    assert "taken back" in told.err
    assert "stopped" in told.out


def test_mistakes_are_told_in_one_line(own_library: Extracted, cli: Cli, tmp_path: Path) -> None:
    told = cli("review", own_library.run, "--answers", answers(own_library, "y\nmaybe\n"))
    assert (told.code, told.err.count("\n")) == (2, 1)
    assert "line 2: an answer is one of y, n" in told.err
    told = cli("review", tmp_path / "nothing", "--terminal")
    assert told.code == 2
    told = cli("review", own_library.run, "--ask", "-1")
    assert "--ask must be a whole number" in told.err


def test_columns_that_name_the_same_are_said_once(own_library: Extracted, cli: Cli) -> None:
    table = read_dataset(own_library.run).schema.tables[0]
    column = f"{table.name}.{table.columns[0].name}"
    for _ in range(2):
        told = cli("review", own_library.run, "--ask", "0", "--same", f"{column} = {column}")
        assert told.code == 0, told.err
    lines = read_decisions(Run(own_library.run).decisions).lines
    assert [(line.said, line.about) for line in lines] == [(Said.SAME_SPACE, f"{column} = {column}")]
    for wrong in ("nothing", f"{column} = no.where"):
        told = cli("review", own_library.run, "--ask", "0", "--same", wrong)
        assert (told.code, told.err.count("\n")) == (2, 1)
        assert "--same" in told.err


def question_of(session: ReviewSession, *, choice: bool) -> Question:
    some = session.hypotheses("Book")
    facts = tuple(session.sample(some[0].rules, 3 if choice else 1))
    return Question("Book", facts, 1.0, some, ((0,),) * len(facts))


def test_only_the_keys_that_are_shown_answer(session: ReviewSession, monkeypatch: pytest.MonkeyPatch) -> None:
    for choice, typed, keys in ((True, ["y", "n", "4", ""], "[1–3, 0, "), (False, ["1", "0", "x"], "[y, n, ")):
        asked = question_of(session, choice=choice)
        monkeypatch.setattr(session, "question", lambda asked=asked: asked)
        prompts, told = [], []
        left = iter([*typed, None])

        def ask(prompt: str, prompts: list[str] = prompts, left: Iterator[str | None] = left) -> str | None:
            prompts.append(prompt.strip())
            return next(left)

        ended = converse(session, ask, told.append)
        assert len(prompts) == len(typed) + 1
        assert all(prompt.startswith(keys) for prompt in prompts)
        assert sum("is no answer to" in line for line in told) == len(typed)
        assert not session.said.lines
        assert ended.ending == "the answers are at their end, with 0 of 1 question answered"


def test_who_stops_is_told_that_answers_are_kept_but_not_in_the_mapping(
    own_library: Extracted, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = read_dataset(own_library.run).schema.tables[0]
    column = f"{table.name}.{table.columns[0].name}"
    assert cli("review", own_library.run, "--ask", "0", "--same", f"{column} = {column}", "-q").code == 0
    assert read_decisions(Run(own_library.run).decisions).standing

    def stopped(*asked: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ruleminer.review.review.converse", stopped)
    told: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        review_terminal(ProposeRequest(own_library.run), lambda prompt: None, told.append)
    assert any("kept, but not in the mapping yet: ruleminer propose-mappings" in line for line in told)


def test_terms_of_the_mapping_are_asked_about_first(session: ReviewSession, monkeypatch: pytest.MonkeyPatch) -> None:
    told = session.decisions
    mapped = next(name for name, one in told.items() if one.measured.pool.positives)
    absent = replace(told[mapped], drafted=True, posterior=0.1, none=0.9)
    bare = replace(absent.measured, pool=replace(absent.measured.pool, positives=()))
    session.decisions = {"absent": replace(absent, measured=bare), mapped: told[mapped]}
    asked: list[list[str]] = []

    def next_(decisions: Mapping[str, Decision], answered: object, worth: float) -> NoQuestion:
        asked.append(list(decisions))
        return NoQuestion("none")

    monkeypatch.setattr(session.questions, "next", next_)
    session.question()
    assert asked == [[mapped], ["absent", mapped]]
