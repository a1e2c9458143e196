"""`ruleminer review` from end to end: one review of a run at a time, in the terminal or as a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from ruleminer.dataset import read_dataset, require_dataset
from ruleminer.errors import InputError
from ruleminer.problem.decisions import UserDecision, append_decisions, read_decisions, same_space
from ruleminer.progress import Progress, Say, silent
from ruleminer.proposals.request import ProposeRequest, live_database, run_ontology
from ruleminer.proposals.same_spaces import place_in
from ruleminer.proposals.stage import Delivery
from ruleminer.review.dialogue import Ask, Dialogue, converse
from ruleminer.review.session import ReviewSession, open_review
from ruleminer.review.start import Started, start_from
from ruleminer.run import Run
from ruleminer.sources.schema import Schema

Bars = Callable[[], AbstractContextManager[Progress]]
"""Shows how far the measuring is, and is gone before the first question."""


def nullbars() -> AbstractContextManager[Progress]:
    """Nobody looks."""
    return nullcontext(silent)


@dataclass(frozen=True, slots=True)
class Beginning:
    """What the user says before the first question: a mapping that is there, and columns that name the same things."""

    start: Path | None = None
    same: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TerminalReview:
    """What was asked, and where the mapping is if anything was said."""

    dialogue: Dialogue
    delivery: Delivery | None
    notes: tuple[str, ...]


def pin_start(request: ProposeRequest, start: Path, say: Say) -> Started:
    """Pin the rules of a mapping that is there, and tell what of it is no rule."""
    run = Run.of(request.run)
    dataset = read_dataset(run)
    with live_database(request, dataset) as database:
        started = start_from(run, start, run_ontology(request, dataset), database.schema, database.dialect.name)
    for note in started.notes:
        say(f"note: {note}")
    say(f"{start}: {len(started.rules)} rules pinned")
    return started


def _begin(request: ProposeRequest, beginning: Beginning, say: Say) -> None:
    """Write down what is said before the first question."""
    run = Run.of(request.run)
    known = {line.about for line in read_decisions(run.decisions).same_spaces}
    schema = read_dataset(run).schema
    lines = [same_columns(text, schema) for text in beginning.same]
    if lines:
        append_decisions(run.decisions, [line for line in lines if line.about not in known])
    if beginning.start is not None:
        pin_start(request, beginning.start, say)


def same_columns(text: str, schema: Schema) -> UserDecision:
    """`table.column = table.column`, both of them there, as a decision."""
    ends = [place_in(part.strip(), schema) for part in text.split("=")]
    if len(ends) != 2:
        raise InputError(f"‹same› is 'table.column = table.column', not {text!r}")
    for part, end in zip(text.split("="), ends, strict=True):
        if end is None:
            raise InputError(f"‹same›: the run's database has no column {part.strip()}; `ruleminer inspect` shows them")
    one, other = (end for end in ends if end is not None)
    return same_space(one, other)


@contextmanager
def _opened(request: ProposeRequest, bars: Bars) -> Iterator[ReviewSession]:
    with ExitStack() as stack:
        with bars() as progress:
            session = stack.enter_context(open_review(request, progress))
        yield session


def review_terminal(
    request: ProposeRequest,
    ask: Ask,
    say: Say,
    most: int | None = None,
    beginning: Beginning | None = None,
    bars: Bars = nullbars,
) -> TerminalReview:
    """Ask questions until none is worth asking, then write the mapping."""
    run = Run.of(request.run)
    require_dataset(run)  # what is no run is told before anything is written
    with run.held("review"):
        _begin(request, beginning or Beginning(), say)
        with _opened(request, bars) as session:
            try:
                dialogue = converse(session, ask, say, most)
            except KeyboardInterrupt:
                if session.said.standing:
                    say(
                        "your answers are kept, but not in the mapping yet: ruleminer propose-mappings "
                        f"{run.folder} puts them there, and ruleminer review asks on"
                    )
                raise
            delivery = session.export() if session.said.standing else None
            return TerminalReview(dialogue, delivery, session.applied.notes)


def review_page(
    request: ProposeRequest,
    say: Say,
    port: int = 0,
    browse: bool = True,
    beginning: Beginning | None = None,
    bars: Bars = nullbars,
) -> None:
    """Serve the page until the user stops it."""
    from ruleminer.review.server import serve

    run = Run.of(request.run)
    require_dataset(run)
    with run.held("review"):
        _begin(request, beginning or Beginning(), say)
        with _opened(request, bars) as session:
            serve(session, say, port=port, browse=browse)
