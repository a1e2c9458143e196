"""What a lost connection means: the next statement opens a new one, so what was asked is asked again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ruleminer.errors import ConnectionLostError

TRIES = 3

Answer = TypeVar("Answer")


def patiently(ask: Callable[[], Answer]) -> Answer:
    """What `ask` answers, tried a few times while connections are lost.

    It must be able to start afresh. When the last try is lost too, the first loss is told: those behind it mostly say
    that there is no connection to be had.
    """
    first: ConnectionLostError | None = None
    for _ in range(TRIES):
        try:
            return ask()
        except ConnectionLostError as error:
            first = first or error
    assert first is not None
    raise first
