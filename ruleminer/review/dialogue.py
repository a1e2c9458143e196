"""The questions in a terminal, or answered by a file: one after the other, until nothing is worth asking.

A file of answers has a line for each: `y`, `n`, `?`, a number for "which of these?", `0` for "none of them", `= FACT`
to name a fact that holds, `/ TERM` to go to a term and `/` to leave it, `u` to take the last one back, `a` to accept
what is proposed, `r` to reject it, `-` for "no rule here", `q` to stop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ruleminer.errors import InputError
from ruleminer.problem.decisions import Said, UserDecision
from ruleminer.problem.ontology import arity
from ruleminer.progress import Say
from ruleminer.review.called import names_of, told_fact
from ruleminer.review.naming import QUOTES, typed_fact
from ruleminer.review.questions import NoQuestion, Question
from ruleminer.review.rows import rows_shown
from ruleminer.review.session import Change, MappingState, ReviewSession

Ask = Callable[[str], str | None]
"""Given a prompt, what the user types; None at the end of the input."""

HELP = (
    "y it holds · n it does not · ? cannot be told · 1–9 the one that holds · 0 none of them · = FACT one that holds, "
    "in your words · a accept the proposed rule · r reject it · - no rule here · / TERM go to a term, / leave it · "
    "u undo · q stop"
)
_ANSWERS = ("y", "n", *"0123456789")  # to other questions: where a fact is asked for they name none, or by `=`
_COMMANDS = ("q", "u", "?", "a", "r", "-")  # whatever is asked

_AT_END = "the answers are at their end"


@dataclass(frozen=True, slots=True)
class Dialogue:
    """What came of it."""

    asked: int
    changed: tuple[str, ...]  # terms whose rules are others than before
    ending: str


@dataclass(frozen=True, slots=True)
class _Step:
    """What an answer leads to."""

    ending: str = ""  # why the dialogue ends, if it does
    term: str | None = None  # that the user goes to
    is_answer: bool = True  # or a way to another question


def converse(session: ReviewSession, ask: Ask, say: Say, most: int | None = None) -> Dialogue:
    """Ask at most so many questions; each answer is written down at once."""
    before = session.rules
    asked = answered = 0
    ending, is_helped = "", False
    term, is_there = None, False  # where the user went to, and whether anything was asked of it since
    while not ending:
        if most is not None and asked >= most:
            ending = f"{most} question{'' if most == 1 else 's'} asked, as you wished"
            break
        question = session.question(term)
        if isinstance(question, NoQuestion):
            if term is None:
                ending = question.reason
                break
            say(f"   {term}: {question.reason}")
            if is_there:
                term = None
                continue
            question = Question(term, (), 0.0, session.hypotheses(term), ())
        asked += 1
        if not is_helped:
            say(HELP)
            is_helped = True
        say("")
        say(told_state(session.state))
        for line in told_question(session, question, asked):
            say(line)
        step = _answered(session, question, ask, say)
        ending, is_there = step.ending, step.is_answer
        answered += step.is_answer and not step.ending
        if not step.is_answer:
            asked, term = asked - 1, step.term
        if ending == _AT_END:
            ending = f"{ending}, with {answered} of {asked} question{'' if asked == 1 else 's'} answered"
    after = session.rules
    changed = tuple(name for name in {**before, **after} if before.get(name) != after.get(name))
    return Dialogue(asked, changed, ending)


def told_state(state: MappingState) -> str:
    """How far the mapping is, in one line."""
    sure = f", {state.sure:.0%} sure on average" if state.mapped else ""
    return f"mapped: {state.mapped} of {state.terms} terms{sure} · worth asking about: {state.worth_asking}"


def told_question(session: ReviewSession, question: Question, number: int) -> Iterator[str]:
    """The question with the rows behind it, line by line."""
    if question.is_open:
        places = ", ".join("…" * arity(session.ontology.find(question.term)))
        yield f"{number}. Can you name one: {question.term}({places})? {_how(session, question.term)}"
    elif question.is_choice:
        yield from told_choice(session, question, f"{number}. Which of these holds?")
    else:
        told, rows = _told_fact(session, question, 0)
        yield f"{number}. Does {told} hold?"
        yield from rows
    yield f"   proposed now: {'; '.join(session.rules.get(question.term, ())) or 'no rule'}"


def told_choice(session: ReviewSession, question: Question, lead: str) -> Iterator[str]:
    """The facts to choose from, with the rows behind each."""
    yield lead
    for place in range(len(question.facts)):
        told, rows = _told_fact(session, question, place)
        yield f"   {place + 1}  {told}"
        yield from rows


def _told_fact(session: ReviewSession, question: Question, place: int) -> tuple[str, list[str]]:
    fact, rules = question.facts[place], session.deriving(question, place)
    told = told_fact(question.term, fact, names_of([fact], rules, session.derivations, session.structure))
    rows = []
    for row in rows_shown(rules, fact, session.derivations):
        cells = ", ".join(f"{name}: {_short(value)}" for name, value in row.cells if value is not None)
        rows.append(f"        {row.table}  {cells}")
    return told, rows


def _how(session: ReviewSession, term: str) -> str:
    """How a fact is written."""
    thing = "a key or a name, with its table if you like (table:key)"
    if arity(session.ontology.find(term)) == 1:
        return f"Write {thing}."
    return f"Write two things, or a thing and a value, with a comma between them; for a thing {thing}; {QUOTES}."


def _answered(session: ReviewSession, question: Question, ask: Ask, say: Say) -> _Step:
    """Take answers until one is good; what it changes is told, and what no longer fits."""
    asked, notes = question, set(session.applied.notes)
    while True:
        keys = f"1–{len(question.facts)}, 0, ?, =" if question.is_choice else "y, n, ?, ="
        typed = ask(f"   [{'a fact, ?' if question.is_open else keys}, a, r, -, /, u, q] ")
        if typed is None:
            return _Step(_AT_END)
        word = typed.strip().lower()
        if word == "q":
            return _Step("stopped")
        if word.startswith("/"):
            name = typed.strip().removeprefix("/").strip()
            try:
                return _Step(term=session.ontology.find(name).name if name else None, is_answer=False)
            except InputError as problem:
                say(f"   {problem}")
                continue
        if word == "u":
            taken, changes = session.undo()
            if taken is None:
                say("   there is nothing to take back")
                continue
            say(f"   taken back: {taken.told}")
        elif word in ("a", "r"):
            rules = session.decisions[question.term].rules if question.term in session.rules else ()
            if not rules:  # or none that is sure enough to be shown
                say(f"   no rule is proposed for {question.term}")
                continue
            said = Said.ACCEPTED if word == "a" else Said.REJECTED
            changes = session.say(UserDecision(question.term, said, rules=rules))
        elif word == "-":
            changes = session.say(UserDecision(question.term, Said.NO_RULE))
        elif word.startswith("=") or (question.is_open and word and word not in (*_COMMANDS, *_ANSWERS)):
            try:
                fact = typed_fact(typed.strip().removeprefix("="), session.ontology.find(question.term))
                heard = session.named(question.term, fact)
            except InputError as problem:
                say(f"   {problem}")
                continue
            if isinstance(heard, Question):  # several things are called so
                question = heard
                for line in told_choice(session, question, "   Which of these do you mean?"):
                    say(line)
                continue
            changes = heard
        elif question is not asked and word in ("0", "?"):
            question = asked
            continue
        elif (answer := _answer_of(session, question, word)) is not None:
            changes = answer
        else:
            what = "can you name one" if question.is_open else "which of these" if question.is_choice else "yes or no"
            instead = f"; if a thing is called so, write = {typed.strip()}" if question.is_open and word else ""
            say(f"   {typed.strip()!r} is no answer to {what}{instead}: {HELP}")
            continue
        for change in changes:
            say(f"   {told_change(change)}")
        for note in session.applied.notes:
            if note not in notes:
                say(f"   note: {note}")
        return _Step(is_answer=word != "u")


def _answer_of(session: ReviewSession, question: Question, word: str) -> tuple[Change, ...] | None:
    """What an answer to the question itself changes; None if it is none."""
    if word == "?":
        return session.cannot_tell(question)
    if question.is_choice:
        places = {str(place): place - 1 for place in range(1, len(question.facts) + 1)}
        return session.answer(question, places.get(word)) if word == "0" or word in places else None
    if question.is_open or word not in ("y", "n"):
        return None
    return session.answer(question, 0 if word == "y" else None)


def told_change(change: Change) -> str:
    """What an answer changed, in one line."""
    after = "; ".join(text.partition(" <- ")[2] for text in change.after) or "no rule"
    before = "; ".join(text.partition(" <- ")[2] for text in change.before) or "no rule"
    return f"→ {change.term}: {after} (was: {before})"


def file_answers(path: Path) -> Ask:
    """Answers from a file, a line each; empty lines and what is behind a `#` do not count."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8 text; save the file as UTF-8") from None
    except OSError as problem:
        raise InputError(f"{path}: cannot be read ({problem.strerror})") from None
    known = {"y", "n", "?", "0", "a", "r", "-", "u", "q", *map(str, range(1, 10))}
    answers = []
    for number, line in enumerate(lines, start=1):
        typed = line.partition("#")[0].strip()
        word = typed.lower()
        if line.lstrip().startswith(("=", "/")):  # a fact may hold anything, and so may the name of a term
            word = line.strip()
        elif word not in known and set(",:") & set(word):  # as it may be typed where a fact is asked for
            word = f"= {line.strip()}"
        elif word and word not in known:
            known_words = "y, n, ?, 0–9, = FACT, / TERM, a, r, -, u and q"
            raise InputError(f"{path}, line {number}: an answer is one of {known_words}, not {typed!r}")
        if word:
            answers.append(word)
    left = iter(answers)
    return lambda prompt: next(left, None)


def _short(value: str, longest: int = 60) -> str:
    line = " ".join(value.split())
    return line if len(line) <= longest else f"{line[:longest]}…"
