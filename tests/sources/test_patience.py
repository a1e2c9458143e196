"""Lost connections: what was asked is asked again, a few times, and then the loss is told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ruleminer.errors import ConnectionLostError, DatabaseError
from ruleminer.sources.patience import TRIES, patiently


class Asked:
    """Answers after some failures, and counts how often it was asked."""

    def __init__(self, *failures: Exception) -> None:
        self.times, self._failures = 0, iter(failures)

    def __call__(self) -> str:
        self.times += 1
        failures: Iterator[Exception] = self._failures
        for failure in failures:
            raise failure
        return "answer"


@pytest.mark.parametrize("losses", range(TRIES))
def test_an_answer_after_some_losses_is_an_answer(losses: int) -> None:
    asked = Asked(*(ConnectionLostError(str(number)) for number in range(losses)))
    assert patiently(asked) == "answer"
    assert asked.times == losses + 1


def test_when_it_is_lost_each_time_the_first_loss_is_told() -> None:
    asked = Asked(*(ConnectionLostError(f"loss {number}") for number in range(10)))
    with pytest.raises(ConnectionLostError, match="loss 0"):
        patiently(asked)
    assert asked.times == TRIES


def test_a_refusal_is_told_at_once() -> None:
    for failures in ([DatabaseError("no such table")], [ConnectionLostError("lost"), DatabaseError("no such table")]):
        asked = Asked(*failures)
        with pytest.raises(DatabaseError, match="no such table"):
            patiently(asked)
        assert asked.times == len(failures)
