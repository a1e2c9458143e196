"""The next question is the one whose answer tells most; where none tells anything, that is said."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleminer.errors import DatabaseTimeoutError
from ruleminer.extraction.request import ExtractRequest, extract_datasets
from ruleminer.problem.decisions import NAMED, Said, UserDecision, UserDecisions
from ruleminer.proposals import hypotheses
from ruleminer.proposals.answers import Answers
from ruleminer.proposals.decision import Decision
from ruleminer.proposals.derivations import Derivations, Fact
from ruleminer.proposals.draft import DraftRequest, draft_mapping
from ruleminer.proposals.joint import Belief
from ruleminer.proposals.proposal import Status
from ruleminer.proposals.ranking import Ranker, log_prior, rank
from ruleminer.proposals.request import ProposeRequest
from ruleminer.proposals.stage import propose_mappings
from ruleminer.review.dialogue import told_question
from ruleminer.review.hypotheses import Hypothesis, _louder, entropy, hypotheses_of
from ruleminer.review.questions import NoQuestion, Question, choice_information, information
from ruleminer.review.rows import rows_behind
from ruleminer.review.session import ReviewSession, open_review
from ruleminer.rules.body import Body
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.printer import rule_text
from ruleminer.rules.values import Rule

_shares = st.lists(st.floats(0.01, 1.0), min_size=1, max_size=5)


@given(_shares, st.data(), st.sampled_from([0.0, 0.03, 0.2]))
def test_information_is_the_entropy_less_what_is_expected_to_be_left(
    weights: list[float], data: st.DataObject, slips: float
) -> None:
    """Compared with the sum over answers, written out."""
    shares = np.array(weights) / sum(weights)
    derives = np.array(data.draw(st.lists(st.booleans(), min_size=len(shares), max_size=len(shares))))
    left = 0.0
    for answer in (True, False):
        likely = [(1 - slips if bool(d) == answer else slips) * p for d, p in zip(derives, shares, strict=True)]
        total = sum(likely)
        if total > 0:
            left += total * entropy([one / total for one in likely])
    assert math.isclose(information(shares, derives, slips), entropy(shares.tolist()) - left, abs_tol=1e-9)


def test_a_choice_between_rows_of_their_own_tells_all_but_for_slips() -> None:
    shares = np.full(4, 0.25)
    assert math.isclose(choice_information(shares, np.eye(4, dtype=bool), 0.0), 2.0)
    assert 1.5 < choice_information(shares, np.eye(4, dtype=bool), 0.03) < 2.0
    assert math.isclose(choice_information(shares, np.eye(4, dtype=bool)[:, :3], 0.0), 2.0)  # none of them: the fourth


PEOPLE = """
CREATE TABLE person (id INTEGER PRIMARY KEY, name VARCHAR, writes BOOLEAN, reads BOOLEAN);
CREATE TABLE author_of (person INTEGER REFERENCES person(id), paper INTEGER);
CREATE TABLE paper (id INTEGER PRIMARY KEY, title VARCHAR);
INSERT INTO person SELECT i, 'Person ' || i, i % 3 = 0, i % 2 = 0 FROM range(1, 61) t(i);
INSERT INTO paper SELECT i, 'Paper ' || i FROM range(1, 31) t(i);
INSERT INTO author_of SELECT i * 3, i FROM range(1, 21) t(i);
"""
ONTOLOGY = """
@prefix : <http://e/#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Person a owl:Class . :Author a owl:Class ; rdfs:subClassOf :Person . :Paper a owl:Class .
:hasAuthor a owl:ObjectProperty ; rdfs:domain :Paper ; rdfs:range :Author .
:title a owl:DatatypeProperty ; rdfs:domain :Paper .
"""


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A run with two examples of each class: many rules are in question."""
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.execute(PEOPLE)
    (tmp_path / "o.ttl").write_text(ONTOLOGY)
    (tmp_path / "e.csv").write_text("predicate,arg1\nAuthor,6\nAuthor,12\nPerson,6\nPerson,12\nPaper,3\nPaper,4\n")
    extract_datasets(
        ExtractRequest(out=tmp_path / "run", db=str(tmp_path / "people.duckdb"), ontology=tmp_path / "o.ttl",
                       examples=(tmp_path / "e.csv",), negatives="none")
    )  # fmt: skip
    return tmp_path / "run"


def facts_of(session: ReviewSession, question: Question) -> list[set[tuple[str, ...]]]:
    """What each hypothesis derives, all of it, as it is asked."""
    return [set().union(*(asked_facts(session, rule) for rule in one.rules)) for one in question.hypotheses]


def asked_facts(session: ReviewSession, rule: Rule) -> set[tuple[str, ...]]:
    """The facts of a rule, with the tables of their entities."""
    return {session.derivations.texts.written(Body(rule), fact) for fact in session.derivations.derived(rule)}


def test_the_question_is_the_best_of_all_facts_that_could_be_asked_of_its_term(people: Path) -> None:
    with open_review(ProposeRequest(run=people)) as session:
        for term in session.decisions:
            question = session.question(term)
            if isinstance(question, NoQuestion) or question.is_choice or question.is_open:
                continue
            every = facts_of(session, question)
            shares = np.array([one.share for one in question.hypotheses])
            best = max(information(shares, np.array([fact in one for one in every])) for fact in set().union(*every))
            assert math.isclose(question.information, best, abs_tol=1e-9), term
            for fact, by in zip(question.facts, question.derived_by, strict=True):
                assert by == tuple(i for i, one in enumerate(every) if fact in one)


def test_a_choice_tells_more_than_yes_or_no_of_any_of_its_rows(people: Path) -> None:
    with open_review(ProposeRequest(run=people)) as session:
        questions = [session.question(term) for term in session.decisions]
        for question in questions:
            if isinstance(question, NoQuestion) or not question.is_choice:
                continue
            every = facts_of(session, question)
            shares = np.array([one.share for one in question.hypotheses])
            derives = np.array([[fact in one for fact in question.facts] for one in every])
            assert math.isclose(question.information, choice_information(shares, derives), abs_tol=1e-9)
            assert question.information > max(information(shares, derives[:, i]) for i in range(len(question.facts)))
            assert len(set(question.facts)) == len(question.facts) > 1


def test_an_answer_decides_between_the_hypotheses_and_is_not_asked_for_again(people: Path) -> None:
    """The user means those who wrote a paper."""
    truth = {(f"person:{3 * i}",) for i in range(1, 21)}
    with open_review(ProposeRequest(run=people)) as session:
        asked = []
        for _ in range(12):
            question = session.question("Author")
            if isinstance(question, NoQuestion):
                break
            asked += question.facts
            place = next((i for i, fact in enumerate(question.facts) if fact in truth), None)
            session.answer(question, place)
        assert isinstance(question, NoQuestion)
        assert len(set(asked)) == len(asked) <= 12
        derived = set().union(*(asked_facts(session, rule) for rule in session.decisions["Author"].rules))
        assert derived == truth


def test_the_same_run_asks_the_same(people: Path) -> None:
    found = []
    for _ in range(2):
        with open_review(ProposeRequest(run=people)) as session:
            found.append(session.question())
    assert found[0] == found[1]


def test_where_all_is_decided_it_says_so(people: Path) -> None:
    with open_review(ProposeRequest(run=people)) as session:
        for term, decision in list(session.decisions.items()):
            session.say(UserDecision(term, Said.ACCEPTED, rules=decision.rules))
        question = session.question()
        assert isinstance(question, NoQuestion)
        assert "as good as decided" in question.reason


def test_where_rules_derive_the_same_no_question_is_asked(people: Path) -> None:
    with open_review(ProposeRequest(run=people)) as session:
        while isinstance(question := session.question("Paper", worth=0.0001), Question):
            session.cannot_tell(question)
        assert "same facts" in question.reason or "as good as decided" in question.reason


def test_a_session_shows_what_propose_mappings_writes(people: Path) -> None:
    with open_review(ProposeRequest(run=people)) as session:
        for _ in range(6):
            question = session.question()
            if isinstance(question, Question):
                session.answer(question, 0)
        assert {name: set(texts) for name, texts in session.rules.items()} == exported(session)


def exported(session: ReviewSession) -> dict[str, set[str]]:
    return {one.predicate: set(one.texts) for one in session.export().proposals.proposals if one.texts}


def test_an_export_keeps_what_the_proposals_were_made_with(people: Path) -> None:
    asked = ProposeRequest(
        run=people, iris=("Paper=http://e/papers/{}",), base="http://e/data/", datatypes="database", noise=True,
        min_confidence=0.7, ranker="evidence",
    )  # fmt: skip
    before = json.loads((propose_mappings(asked).folder / "proposals.json").read_text())["made_from"]
    mapping = (people / "proposals" / "mapping.ttl").read_bytes()
    assert b"http://e/papers/" in mapping
    with open_review(ProposeRequest(run=people)) as session:
        assert session.ranker is Ranker.EVIDENCE
        session.export()
    assert json.loads((people / "proposals" / "proposals.json").read_text())["made_from"] == before
    assert (people / "proposals" / "mapping.ttl").read_bytes() == mapping
    with open_review(ProposeRequest(run=people, base="http://e/other/", ranker="joint")) as session:
        assert (session.request.base, session.ranker) == ("http://e/other/", Ranker.JOINT)


@pytest.fixture
def draft(people: Path) -> Path:
    """A run of the same database without any example: the network decides."""
    out = people.parent / "draft"
    draft_mapping(DraftRequest(str(people.parent / "people.duckdb"), people.parent / "o.ttl", out))
    return out


def test_a_session_of_a_draft_shows_what_the_network_decides_after_each_word(draft: Path) -> None:
    with open_review(ProposeRequest(run=draft)) as session:
        assert {name: set(texts) for name, texts in session.rules.items()} == exported(session)
        assert len(session.rules) > 2
        fact = session.sample(session.decisions["Paper"].rules, 1)[0]
        session.say(UserDecision("Paper", Said.FAILS, fact))
        session.say(UserDecision("title", Said.HOLDS, session.sample(session.decisions["title"].rules, 1)[0]))
        session.say(UserDecision("Person", Said.REJECTED, rules=session.decisions["Person"].rules))
        session.say(UserDecision("Author", Said.NO_RULE))
        assert {name: set(texts) for name, texts in session.rules.items()} == exported(session)
        assert {name: session.proposal(name).status for name in session.rules} == {
            one.predicate: one.status for one in session.export().proposals.proposals if one.texts
        }


def test_two_hundred_decisions_replayed_on_a_new_draft_give_the_same_mapping(draft: Path, tmp_path: Path) -> None:
    files = ("mapping.ttl", "mapping.rules", "mapping.obda", "mapping.sql")
    with open_review(ProposeRequest(run=draft)) as session:
        session.say(UserDecision("Author", Said.HOLDS, ("person:6",), about=NAMED))
        session.say(UserDecision("Author", Said.HOLDS, ("person:9",)))
        session.undo()
        numbers = range(1, 61)
        lines = [UserDecision("Person", Said.HOLDS, (f"person:{number}",)) for number in numbers]
        lines += [UserDecision("Author", Said.FAILS, (f"person:{n}",)) for n in numbers if n % 2]
        lines += [UserDecision("Author", Said.HOLDS, (f"person:{n}",)) for n in numbers if n % 6 == 0]
        lines += [UserDecision("Paper", Said.FAILS, (f"person:{n}",)) for n in range(1, 31)]
        lines += [UserDecision("title", Said.UNKNOWN, (f"paper:{n}", f"Paper {n}")) for n in range(1, 31)]
        lines.append(UserDecision("hasAuthor", Said.REJECTED, rules=session.decisions["hasAuthor"].rules))
        lines.append(UserDecision("Paper", Said.ACCEPTED, rules=session.decisions["Paper"].rules))
        left = 200 - len(session.said.lines) - len(lines)
        lines += [UserDecision("Paper", Said.HOLDS, (f"paper:{n}",)) for n in range(1, left + 1)]
        for start in range(0, len(lines), 20):
            session.say(*lines[start : start + 20])
        assert len(session.said.lines) == 200
        folder = session.export().folder
        written = [(folder / name).read_bytes() for name in files]
        assert "Author" in session.rules
        assert {name: set(texts) for name, texts in session.rules.items()} == exported(session)
    again = draft.parent / "again"
    asked = DraftRequest(str(draft.parent / "people.duckdb"), draft.parent / "o.ttl", again)
    draft_mapping(asked)
    before = [(again / "proposals" / name).read_bytes() for name in files]
    (again / "decisions.csv").write_bytes((draft / "decisions.csv").read_bytes())
    propose_mappings(ProposeRequest(run=again))
    assert [(again / "proposals" / name).read_bytes() for name in files] == written
    assert before != written, "the decisions changed something"


def test_what_a_sure_network_believes_next_is_asked_about_and_not_what_it_hardly_does() -> None:
    """All that is against the best is doubted together: a hundred absurd rules must not hide the one other."""
    rules = [parse_rule(f"title(x, y) <- paper(id: x, c{number}: y)") for number in range(60)]
    others = [Hypothesis((rules[0],), 0.003), *(Hypothesis((rule,), 1e-6) for rule in rules[1:])]
    louder = [one.share for one in _louder(others)]
    assert louder[0] > 0.9 * sum(louder)
    assert sum(louder) > 0.1


def test_what_is_known_of_other_terms_is_not_worked_out_again(draft: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_review(ProposeRequest(run=draft)) as session:
        worked: list[str] = []
        whole = hypotheses._pairs

        def counted(one: hypotheses.Candidates, *others: Any) -> Any:
            worked.append(one.term.name)
            return whole(one, *others)

        monkeypatch.setattr(hypotheses, "_pairs", counted)
        session.say(UserDecision("Paper", Said.HOLDS, ("paper:1",)))
        session.say(UserDecision("Paper", Said.FAILS, ("person:1",)))
        assert not worked
        rule = parse_rule("Author(x) <- author_of(person: x, paper: a), paper(id: a)")
        session.say(UserDecision("Author", Said.EDITED, rules=(rule,)))
        assert set(worked) <= {"Author"}
        told = session.rules
    with open_review(ProposeRequest(run=draft)) as session:
        assert session.rules == told, "as if all had been worked out at once"


def test_no_rule_that_derives_a_fact_which_does_not_hold_is_left_where_no_example_is(draft: Path) -> None:
    with open_review(ProposeRequest(run=draft)) as session:
        fact = session.sample(session.decisions["Paper"].rules, 1)[0]
        session.say(UserDecision("Paper", Said.FAILS, fact))
        left = session.decisions["Paper"].measured.pool.rules if "Paper" in session.decisions else ()
        assert not any(fact in session.derivations.derived(rule) for rule in left)
        assert "paper(id: x)" not in str(exported(session).get("Paper"))
        session.undo()
        assert session.rules["Paper"] == ("Paper(x) <- paper(id: x)",)


def test_rows_of_different_tables_are_different_facts(draft: Path) -> None:
    """All tables are numbered from 1: a paper is no person of the same number."""
    with open_review(ProposeRequest(run=draft)) as session:
        session.say(UserDecision("Person", Said.FAILS, ("paper:1",)))
        assert session.rules["Person"] == ("Person(x) <- person(id: x)",)
        assert session.rules["Paper"] == ("Paper(x) <- paper(id: x)",)
        session.say(UserDecision("Paper", Said.FAILS, ("paper:1",)))
        assert "Paper(x) <- paper(id: x)" not in session.rules.get("Paper", ())


def test_what_was_said_to_hold_is_derived_whatever_the_network_believes(draft: Path) -> None:
    with open_review(ProposeRequest(run=draft)) as session:
        session.say(UserDecision("Person", Said.HOLDS, ("person:1",)), UserDecision("Person", Said.HOLDS, ("paper:1",)))
        chosen = session.decisions["Person"]
        derived = set().union(*(asked_facts(session, rule) for rule in chosen.rules))
        assert {("person:1",), ("paper:1",)} <= derived
        assert session.proposal("Person").status is Status.PROPOSED
        assert not session.proposal("Person").missed
        session.say(UserDecision("Paper", Said.HOLDS, ("person:no such",)))
        told = (
            "Paper(person:no such), which you said holds, is derived by no rule in question: there is no person:no such"
        )
        assert f"{told} now" in session.applied.notes
        assert {name: set(texts) for name, texts in session.rules.items()} == exported(session)


POTTERY = """
CREATE TABLE kiln (id INTEGER PRIMARY KEY, label VARCHAR);
CREATE TABLE glaze (id INTEGER PRIMARY KEY, label VARCHAR, price DECIMAL(6,2));
CREATE TABLE pot (id INTEGER PRIMARY KEY, glaze INTEGER REFERENCES glaze(id), kiln INTEGER REFERENCES kiln(id));
CREATE TABLE buyer (id INTEGER PRIMARY KEY, label VARCHAR, town VARCHAR);
INSERT INTO kiln SELECT i, 'kiln ' || i FROM range(1, 9) t(i);
INSERT INTO glaze SELECT i, 'glaze ' || i, i * 1.5 FROM range(1, 15) t(i);
INSERT INTO pot SELECT i, 1 + i % 14, 1 + i % 8 FROM range(1, 41) t(i);
INSERT INTO buyer SELECT i, 'buyer ' || i, 'town ' || (i % 5) FROM range(1, 25) t(i);
"""
VOCABULARY = """
@prefix : <http://e/#> . @prefix schema: <https://schema.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
:Zorgle a rdfs:Class . :Kiln a rdfs:Class .
:price a rdf:Property ; schema:domainIncludes :Kiln ; schema:rangeIncludes schema:Number .
"""


def of_pottery(folder: Path, vocabulary: str) -> Path:
    with duckdb.connect(str(folder / "pottery.duckdb")) as connection:
        connection.execute(POTTERY)
    (folder / "v.ttl").write_text(vocabulary)
    draft_mapping(DraftRequest(str(folder / "pottery.duckdb"), folder / "v.ttl", folder / "run"))
    return folder / "run"


def test_of_a_term_that_no_name_speaks_for_rows_of_several_tables_are_asked(tmp_path: Path) -> None:
    """The network believes that there is nothing of it, and is not believed all of that."""
    with open_review(ProposeRequest(run=of_pottery(tmp_path, VOCABULARY))) as session:
        assert session.decisions["Zorgle"].none > 0.5
        question = session.question("Zorgle")
        assert isinstance(question, Question)
        tables = [fact[0].partition(":")[0] for fact in question.facts]
        assert len({*tables}) >= 3
        assert question.gain > 0.05
        session.answer(question, 0)
        chosen = session.decisions["Zorgle"].rules
        assert question.facts[0] in set().union(*(asked_facts(session, rule) for rule in chosen))


def test_the_row_behind_a_fact_is_one_that_it_is_derived_from(tmp_path: Path) -> None:
    """A hypothesis may have several rules: those of other parts do not derive it."""
    with open_review(ProposeRequest(run=of_pottery(tmp_path, VOCABULARY))) as session:
        question = session.question("Zorgle")
        assert isinstance(question, Question)
        for place, (told,) in enumerate(question.facts):
            rules = session.deriving(question, place)
            assert all((told,) in asked_facts(session, rule) for rule in rules)
            (row,) = rows_behind(rules[0], (told,), session.derivations)
            assert told.partition(":")[2] in dict(row.cells).values()
        asked = "\n".join(told_question(session, question, 1))
        assert "proposed now: no rule" in asked


def test_a_vocabulary_larger_than_the_database_is_believed_not_to_be_there(tmp_path: Path) -> None:
    many = VOCABULARY + "".join(f":Zorgle{number} a rdfs:Class .\n" for number in range(160))
    with open_review(ProposeRequest(run=of_pottery(tmp_path, many))) as session:
        decision = session.decisions["Zorgle"]
        question = session.question("Zorgle")
        told = entropy([one.share for one in hypotheses_of(decision)])
        assert entropy([one.share for one in hypotheses_of(decision, tempered=True)]) > told
        assert isinstance(question, NoQuestion) or entropy([one.share for one in question.hypotheses]) == told


def test_a_term_that_was_asked_about_waits_for_the_others(draft: Path) -> None:
    """Each has its turn, however much is still in doubt of one that was answered."""
    with open_review(ProposeRequest(run=draft)) as session:
        asked = []
        while len(asked) < 6 and isinstance(question := session.question(worth=0.001), Question):
            asked.append(question.term)
            session.answer(question, None)
        assert len(asked) == 6
        assert len(set(asked)) >= 3


def test_what_an_answer_changed_is_told(people: Path) -> None:
    with open_review(ProposeRequest(run=people)) as session:
        rules = session.decisions["Author"].rules
        changes = session.say(UserDecision("Author", Said.REJECTED, rules=rules))
        assert [one.before for one in changes if one.term == "Author"] == [tuple(map(rule_text, rules))]
        _, back = session.undo()
        assert {(one.term, one.before, one.after) for one in back} == {
            (one.term, one.after, one.before) for one in changes
        }


def test_every_two_hypotheses_that_differ_have_a_fact_that_tells_them_apart(people: Path) -> None:
    with open_review(ProposeRequest(run=people)) as session:
        some = session.hypotheses("Author")[:4]
        found = session.questions.differences(some)
        for (i, one), (j, other) in itertools.combinations(enumerate(some), 2):
            derived = [set().union(*(session.derivations.derived(r) for r in h.rules)) for h in (one, other)]
            told_apart = bool((found.derives[i] != found.derives[j]).any())
            assert told_apart == (derived[0] != derived[1])


def test_what_the_database_could_not_tell_in_time_is_asked_again_after_the_next_word(
    people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_review(ProposeRequest(run=people)) as session:
        some = session.hypotheses("Person")
        tries = []

        def late(self: Derivations, *asked: object) -> list[Fact]:
            tries.append(asked)
            raise DatabaseTimeoutError("too long")

        rule, fact = some[0].rules[0], session.sample(some[0].rules, 1)[0]
        with monkeypatch.context() as patched:
            patched.setattr(Derivations, "_differences", late)
            patched.setattr(Derivations, "difference", late)
            patched.setattr(Derivations, "sample", late)
            patched.setattr(Derivations, "coverage", lambda self, asked: [None] * len(asked))
            question = session.question("Person")
            assert isinstance(question, NoQuestion)
            assert "could not tell in time" in question.reason
            before = len(tries)
            session.question("Person")
            assert len(tries) == before, "each is tried once"
            assert session.replay.derived.by(rule, [fact]) == [False]
        session.say(UserDecision("Paper", Said.UNKNOWN, ("3",)))
        assert session.replay.derived.by(rule, [fact]) == [True]
        assert session.questions.differences(some).facts


def test_an_answer_is_no_example_that_was_drawn(people: Path) -> None:
    """It tells which rules derive it, whatever their size, and no condition must be paid for by it."""
    with open_review(ProposeRequest(run=people)) as session:
        before = session.pools.measured["title"]
        assert not before.pool.positives
        fact = session.derivations.sample([before.pool.rules[0]], 1)[0]
        said = UserDecisions((UserDecision("title", Said.HOLDS, fact),))
        after = session.replay.of(said).applied(session.pools.measured).measured["title"]
        assert after.pool.positives == (fact,)
        weights = session.pools.terms.measure.weights
        assert (
            log_prior(after, Ranker.EVIDENCE, weights, 0).tolist()
            == log_prior(before, Ranker.EVIDENCE, weights, 0).tolist()
        )
        likelihood = rank(after, Ranker.EVIDENCE, weights).log_likelihood
        derives = after.pool.covers[:, 0]
        assert len(set(likelihood[derives].round(9).tolist())) == 1, "large or small"
        assert likelihood[derives].min() > likelihood[~derives].max()


def belief(text: str, *, none: float, said: bool) -> Belief:
    body = Body(parse_rule(text))
    answers = Answers(np.array([True]), {body: np.array([True])} if said else {})
    return cast(
        Belief,
        SimpleNamespace(
            bodies=(body,), probabilities=np.array([1.0 - none]), none=none, same=np.array([1]), answers=answers
        ),
    )


def test_each_kind_of_thing_is_doubted_until_something_was_said_of_it() -> None:
    """Of rentals the user said that it holds; payments, of which the network is as sure, may be one table too many."""
    rental = belief("customer(x, y) <- rental(id: x, customer: y)", none=0.002, said=True)
    payment = belief("customer(x, y) <- payment(id: x, customer: y)", none=0.002, said=False)
    pool = SimpleNamespace(predicate="customer")
    decision = SimpleNamespace(word="", beliefs=(rental, payment), measured=SimpleNamespace(pool=pool))
    shares = {
        frozenset(atom.table for rule in one.rules for atom in rule.body): one.share
        for one in hypotheses_of(cast(Decision, decision), tempered=True)
    }
    assert shares[frozenset({"rental", "payment"})] > 0.8
    assert shares[frozenset({"rental"})] > 0.1
    assert frozenset({"payment"}) not in shares
    alone = hypotheses_of(cast(Decision, decision), tempered=False)
    assert [one.share > 0.99 for one in alone] == [True] + [False] * (len(alone) - 1)


def test_a_term_that_nobody_thought_of_has_its_turn(draft: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The network had no room for it: the user is asked for a fact, once, and what they name decides."""
    with open_review(ProposeRequest(run=draft)) as session:
        fact = tuple(session.sample(session.decisions["Author"].rules, 1)[0])
        del session.decisions["Author"]
        assert session.questions.is_roomy
        question = session.question("Author")
        assert isinstance(question, Question)
        assert question.is_open
        asked = session.questions.next({}, {}, unthought=["Author"])
        assert asked == question
        monkeypatch.setattr(session.questions, "next", lambda *told: told)
        assert cast(Any, session.question())[-1] == ["Author"]
        monkeypatch.undo()
        session.say(UserDecision("Author", Said.NONE_KNOWN))
        del session.decisions["Author"]
        assert isinstance(session.question("Author"), NoQuestion)
        session.undo()
        del session.decisions["Author"]
        assert not isinstance(session.named("Author", (f"person:{fact[0]}",)), Question)
        assert (f"person:{fact[0]}",) in set().union(
            *(asked_facts(session, rule) for rule in session.decisions["Author"].rules)
        )
