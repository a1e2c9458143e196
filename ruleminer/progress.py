"""How a long piece of work tells how far it is: one protocol for all rooms, which `terminal.console` draws.

    def show(stage: str, what: str, done: int, total: int) -> None: ...

    ruleminer.extract(..., progress=show)

A stage may be told again and again, in any order; what `total` counts is the stage's own business.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Progress(Protocol):
    """Called with a stage, what of it is being done, how much is done and of how much."""

    def __call__(self, stage: str, what: str, done: int, total: int, /) -> None: ...


Say = Callable[[str], None]
"""Called with a line that is worth keeping, such as a figure on the way or a warning."""


def silent(stage: str, what: str, done: int, total: int, /) -> None:
    """Progress that nobody looks at."""


def unsaid(line: str, /) -> None:
    """Lines that nobody reads."""
