"""The same questions in a terminal, and from a file of answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from ruleminer.dataset import read_dataset
from ruleminer.problem.decisions import Said, read_decisions
from ruleminer.proposals.decision import Decision
from ruleminer.proposals.request import ProposeRequest
from ruleminer.review.dialogue import HELP, converse
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
        monkeypatch.setattr(session, "question", lambda term=None, asked=asked: asked)
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

    def next_(decisions: Mapping[str, Decision], answered: object, worth: float, unthought: object = ()) -> NoQuestion:
        asked.append(list(decisions))
        return NoQuestion("none")

    monkeypatch.setattr(session.questions, "next", next_)
    session.question()
    assert asked == [[mapped], ["absent", mapped]]


def typing(*typed: str) -> tuple[Callable[[str], str | None], list[str]]:
    left, prompts = iter(typed), list[str]()

    def ask(prompt: str) -> str | None:
        prompts.append(prompt.strip())
        return next(left, None)

    return ask, prompts


def test_one_goes_to_a_term_and_leaves_it(potters: ReviewSession) -> None:
    first = potters.question()
    assert isinstance(first, Question)
    other = next(term.name for term in potters.ontology.terms if term.name != first.term)
    ask, prompts = typing(f"/{other}", "/ Zorgl", "/", "q")
    told: list[str] = []
    ended = converse(potters, ask, told.append)
    assert all(", /, u, q]" in prompt for prompt in prompts)
    assert (ended.asked, ended.ending) == (1, "stopped")
    assert told.count(HELP) == 1
    headers = [number for number, line in enumerate(told) if line.startswith("1. ")]
    questions = ["\n".join(told[start : start + 3]) for start in headers]
    for name, shown in zip((first.term, other, first.term), questions, strict=True):
        assert f"{name}(" in shown
    assert sum("Zorgle" in line and "no class or property Zorgl" in line for line in told) == 1
    assert not potters.said.lines


def test_one_stays_at_a_term_until_nothing_is_worth_asking_of_it(
    potters: ReviewSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str | None] = []
    left = {"Zorgle": 2}

    def question(term: str | None = None) -> Question | NoQuestion:
        asked.append(term)
        left[term or ""] = left.get(term or "", 9) - 1
        named = term or "zeit"
        return Question(named, (), 1.0, potters.hypotheses(named), ()) if left[term or ""] >= 0 else NoQuestion("sure")

    monkeypatch.setattr(potters, "question", question)
    told: list[str] = []
    converse(potters, typing("/Zorgle", "?", "?", "q")[0], told.append)
    assert asked == [None, "Zorgle", "Zorgle", "Zorgle", None]
    assert "   Zorgle: sure" in told


def test_of_a_term_that_nothing_is_worth_asking_of_a_fact_can_be_named(session: ReviewSession) -> None:
    book = question_of(session, choice=True)
    ask, _ = typing("/Author", "?", "q")
    told: list[str] = []
    asked = session.question
    session.question = lambda term=None: asked(term) if term else book  # type: ignore[method-assign]
    converse(session, ask, told.append)
    assert any(line.startswith("   Author: ") for line in told)
    assert any("Can you name one: Author(…)" in line for line in told)
    assert session.said.unnamed == {"Author"}


def test_how_far_the_mapping_is_stands_above_each_question(potters: ReviewSession) -> None:
    told: list[str] = []
    before = potters.state
    converse(potters, typing("-", "q")[0], told.append)
    shown = [line for line in told if line.startswith("mapped: ")]
    assert len(shown) == 2
    assert shown[0].startswith(f"mapped: {before.mapped} of {before.terms} terms")
    assert shown[0].endswith(f"worth asking about: {before.worth_asking}")
    assert potters.state.mapped == len(potters.rules)
    assert 1 <= potters.state.worth_asking < before.worth_asking, "a term without a rule is not asked about"
    assert all(potters.certainty(name) <= 1.0 for name in potters.rules)


def test_a_named_fact_that_fails_is_told_at_once(potters: ReviewSession) -> None:
    told: list[str] = []
    ask, prompts = typing("/zeit", "= glaze:99, 2021-01-05", "= glaze:4, 1821-01-05", "q")
    converse(potters, ask, told.append)
    assert len(prompts) == 4, "what is no thing is asked again, and says nothing"
    missing = next(number for number, line in enumerate(told) if "there is no glaze:99" in line)
    (note,) = (number for number, line in enumerate(told) if line.startswith("   note: zeit(glaze:4, 1821-01-05)"))
    after = [number for number, line in enumerate(told) if line.startswith("mapped: ")]
    assert missing < note < after[-1]
    assert "is derived by no rule in question" in told[note]
