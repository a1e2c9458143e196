"""What the user said, as data: `RUN/decisions.csv`, one line for each decision, only ever added to.

    id,when,term,said,arg1,arg2,rule,about
    4f1c…,2026-11-17T20:15:04Z,Author,holds,17,,,
    9a02…,2026-11-17T20:15:31Z,Author,accepted,,,"Author(x) <- person(id: x, is_author: true)",
    b7e3…,2026-11-17T20:16:02Z,,taken back,,,,4f1c…

A line is never changed: who changes their mind takes a line back by another one. The last word on a fact or a rule
counts. Every line has an id, so that one that is sent twice is written once.
"""

from __future__ import annotations

import csv
import io
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from ruleminer.errors import InputError, SyntaxProblem
from ruleminer.problem.facts import Fact
from ruleminer.problem.ontology import Ontology
from ruleminer.rules.body import Body
from ruleminer.rules.parser import parse_rules
from ruleminer.rules.printer import rule_text
from ruleminer.rules.values import Rule
from ruleminer.whole_files import write_whole

COLUMNS = ("id", "when", "term", "said", "arg1", "arg2", "rule", "about")
Arguments = tuple[str, ...]
_CUT_OFF = "unexpected end of data"  # what is said of a quote that nothing closes


class Said(StrEnum):
    """What a decision says."""

    HOLDS = "holds"  # a fact
    FAILS = "does not hold"
    UNKNOWN = "cannot be told"
    ACCEPTED = "accepted"  # rules that were proposed
    REJECTED = "rejected"
    PINNED = "pinned"  # rules of the user's choice
    EDITED = "edited"  # rules in the user's own words
    NO_RULE = "no rule"  # the database knows nothing of the term
    NONE_KNOWN = "no example known"  # asked for a fact of the term, the user could name none
    SAME_SPACE = "same space"  # two columns name the same kind of thing
    TAKEN_BACK = "taken back"  # another decision


NAMED = "named"
"""What a line is about that says of a fact that it holds, where the user named it: nobody showed it to them."""

FACTS = (Said.HOLDS, Said.FAILS, Said.UNKNOWN)
KEEPING = (Said.ACCEPTED, Said.PINNED, Said.EDITED)


def new_id() -> str:
    """An id that nobody else has."""
    return uuid.uuid4().hex


def now() -> str:
    """The time as a line has it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class UserDecision:
    """One line: what was said, of which term, about which fact or which rules."""

    term: str
    said: Said
    fact: Arguments = ()
    rules: tuple[Rule, ...] = ()
    about: str = ""  # the id that is taken back; the rules that were edited; `table.column = table.column`; `NAMED`
    id: str = field(default_factory=new_id)
    when: str = field(default_factory=now)

    @property
    def cells(self) -> tuple[str, ...]:
        """The line's cells."""
        first, second = (*self.fact, "", "")[:2]
        rules = "\n".join(map(rule_text, self.rules))
        return self.id, self.when, self.term, str(self.said), first, second, rules, self.about

    @property
    def told(self) -> str:
        """The decision in words."""
        if self.said in FACTS:
            return f"{self.term}({', '.join(self.fact)}) {self.said}"
        if self.said is Said.SAME_SPACE:
            return f"{self.about}: the same kind of thing"
        if self.said is Said.TAKEN_BACK:
            return f"{self.about} taken back"
        if self.said is Said.NO_RULE:
            return f"{self.term}: no rule here"
        if self.said is Said.NONE_KNOWN:
            return f"{self.term}: {self.said}"
        return f"{self.term}: {'; '.join(map(rule_text, self.rules))} {self.said}"


def same_space(one: Sequence[str], other: Sequence[str]) -> UserDecision:
    """Two columns, each a table and a name, said to name the same kind of thing."""
    return UserDecision("", Said.SAME_SPACE, about=f"{one[0]}.{one[1]} = {other[0]}.{other[1]}")


@dataclass(frozen=True)
class UserDecisions:
    """All lines, and what they come to."""

    lines: tuple[UserDecision, ...] = ()

    @cached_property
    def standing(self) -> tuple[UserDecision, ...]:
        """The decisions that nobody took back, in their order."""
        taken: set[str] = set()
        kept = []
        for line in reversed(self.lines):
            if line.id in taken:
                continue
            if line.said is Said.TAKEN_BACK:
                taken.add(line.about)
            else:
                kept.append(line)
        return tuple(reversed(kept))

    @cached_property
    def facts(self) -> Mapping[str, Mapping[Arguments, Said]]:
        """The last word on each fact, by term."""
        found: dict[str, dict[Arguments, Said]] = {}
        for line in self.standing:
            if line.said in FACTS:
                found.setdefault(line.term, {})[line.fact] = line.said
        return found

    @cached_property
    def named(self) -> Mapping[str, frozenset[Arguments]]:
        """The facts that the user named, by term."""
        found: dict[str, set[Arguments]] = {}
        for line in self.standing:
            if line.said is Said.HOLDS and line.about == NAMED:
                found.setdefault(line.term, set()).add(line.fact)
        return {term: frozenset(facts) for term, facts in found.items()}

    @cached_property
    def unnamed(self) -> frozenset[str]:
        """The terms that the user could name no fact of."""
        return frozenset(line.term for line in self.standing if line.said is Said.NONE_KNOWN)

    @cached_property
    def _words(self) -> tuple[dict[str, UserDecision], dict[str, dict[Body, None]]]:
        kept: dict[str, UserDecision] = {}
        rejected: dict[str, dict[Body, None]] = {}
        for line in self.standing:
            bodies = dict.fromkeys(map(Body, line.rules))
            if line.said in (*KEEPING, Said.NO_RULE):
                kept[line.term] = line
                gone = rejected.get(line.term, {})
                rejected[line.term] = {body: None for body in gone if body not in bodies}
            elif line.said is Said.REJECTED:
                rejected.setdefault(line.term, {}).update(bodies)
                if line.term in kept and any(Body(rule) in bodies for rule in kept[line.term].rules):
                    del kept[line.term]
        return kept, rejected

    @property
    def kept(self) -> Mapping[str, UserDecision]:
        """The terms whose rules the user keeps, or of which there is no rule: the decision that says so."""
        return self._words[0]

    @property
    def rejected(self) -> Mapping[str, Mapping[Body, None]]:
        """The rules that must not be proposed, by term."""
        return self._words[1]

    @property
    def same_spaces(self) -> tuple[UserDecision, ...]:
        """What was said of columns that name the same kind of thing."""
        return tuple(line for line in self.standing if line.said is Said.SAME_SPACE)

    @property
    def terms(self) -> tuple[str, ...]:
        """The terms that something was said of."""
        return tuple(dict.fromkeys(line.term for line in self.standing if line.term))

    def with_lines(self, more: Iterable[UserDecision]) -> UserDecisions:
        """These and more; a line that is there already is not added again."""
        known = {line.id for line in self.lines}
        fresh = {line.id: line for line in more if line.id not in known}
        return UserDecisions((*self.lines, *fresh.values()))

    def last(self) -> UserDecision | None:
        """The decision that an undo takes back."""
        return self.standing[-1] if self.standing else None


def read_decisions(path: Path) -> UserDecisions:
    """The decisions of a file; none if there is no file. A last line that was cut off is left out."""
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return UserDecisions()
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError(f"{path}: cannot be read ({problem})") from None
    return UserDecisions(tuple(_lines(text, path)))


def _lines(text: str, path: Path) -> Iterator[UserDecision]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    whole = text.endswith("\n")
    start, seen = 1, False
    try:
        for cells in reader:
            if not seen:
                if tuple(cells) != COLUMNS:
                    raise InputError(f"{path}: the header must be {','.join(COLUMNS)}, not {','.join(cells)}")
                seen = True
            elif cells:
                if len(cells) != len(COLUMNS):
                    if not whole and reader.line_num >= text.count("\n") + 1 and _is_one_line(text, start):
                        return
                    raise InputError(f"{path}, line {start}: {len(cells)} fields where there should be {len(COLUMNS)}")
                yield _decision(cells, f"{path}, line {start}")
            start = reader.line_num + 1
    except csv.Error as problem:
        if whole or str(problem) != _CUT_OFF or not _is_one_line(text, start):
            raise InputError(f"{path}, line {start}: broken CSV: {problem}; is a quote left open there?") from None


def _is_one_line(text: str, start: int) -> bool:
    """Whether no further decision stands behind the beginning of the one at this line: it alone was cut off."""
    behind = io.StringIO(text, newline="").readlines()[start:]
    return not any((*line.split(","), *[""] * 4)[3] in (*Said,) for line in behind)


def _decision(cells: Sequence[str], where: str) -> UserDecision:
    id_, when, term, said, first, second, text, about = cells
    if said not in (*Said,):
        raise InputError(f"{where}: a decision is one of {', '.join(Said)}, not {said!r}")
    word = Said(said)
    try:
        rules = tuple(parse_rules(text))
    except SyntaxProblem as problem:
        raise InputError(f"{where}: {problem}") from None
    if not id_ or (word in FACTS and not first) or (word in (*KEEPING, Said.REJECTED) and not rules):
        needs = "an id" if not id_ else "a fact" if word in FACTS else "a rule"
        raise InputError(f"{where}: a line that says {said!r} needs {needs}")
    return UserDecision(term, word, (first, second) if second else (first,) if first else (), rules, about, id_, when)


def append_decisions(path: Path, more: Sequence[UserDecision]) -> UserDecisions:
    """Add lines at the end, on disk before this returns; all decisions. What is there already is not written again."""
    known = read_decisions(path)
    all_ = known.with_lines(more)
    fresh = all_.lines[len(known.lines) :]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _mend(path, known)
        with path.open("a", encoding="utf-8", newline="") as file:
            if not file.tell():
                file.write(csv_text([COLUMNS]))
            file.write(csv_text(line.cells for line in fresh))
            file.flush()
            os.fsync(file.fileno())
    except OSError as problem:
        raise InputError(f"{path}: cannot be written ({problem.strerror or problem})") from None
    return all_


def _mend(path: Path, known: UserDecisions) -> None:
    """Write a file anew whose last line was cut off, without it: what follows must begin on a line of its own."""
    if path.exists() and path.stat().st_size and not path.read_bytes().endswith(b"\n"):
        write_whole(path, csv_text([COLUMNS, *(line.cells for line in known.lines)]))


def csv_text(rows: Iterable[Sequence[str]]) -> str:
    """Rows as CSV."""
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()


def is_decisions_file(path: Path) -> bool:
    """Whether a CSV file holds decisions rather than facts."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.readline().strip() == ",".join(COLUMNS)
    except OSError:
        return False


def decided_facts(path: Path, ontology: Ontology) -> list[Fact]:
    """The facts that the user was sure of, as examples with their sign."""
    found = []
    for term, facts in read_decisions(path).facts.items():
        name = ontology.find(term).name
        for fact, said in facts.items():
            if said is not Said.UNKNOWN:
                found.append(Fact(name, fact, (None,) * len(fact), said is Said.HOLDS))
    return found
