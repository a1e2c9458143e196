"""What is to be done if something takes too long: one thread watches for all, for statements are many and short."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count


class Alarms:
    """Calls that are made at their times, unless they are taken back before."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._numbers = count()
        self._waiting: dict[int, tuple[float, Callable[[], object]]] = {}
        self._wakes_at = math.inf
        self._thread: threading.Thread | None = None

    def set(self, seconds: float, ring: Callable[[], object]) -> int:
        """Call `ring` after so many seconds, in a thread of its own; the number is for taking it back."""
        at = time.monotonic() + seconds
        with self._changed:
            number = next(self._numbers)
            self._waiting[number] = at, ring
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="alarms", daemon=True)
                self._thread.start()
            elif at < self._wakes_at:  # most are set for later than one that was, and wake nobody
                self._changed.notify()
        return number

    def take_back(self, number: int) -> None:
        """Forget an alarm, whether it rang or not."""
        with self._changed:
            self._waiting.pop(number, None)

    def _watch(self) -> None:
        while True:
            with self._changed:
                now = time.monotonic()
                due = [number for number, (at, _) in self._waiting.items() if at <= now]
                if not due:
                    self._wakes_at = min((at for at, _ in self._waiting.values()), default=math.inf)
                    self._changed.wait(min(self._wakes_at - now, threading.TIMEOUT_MAX))
                    continue
                rings = [self._waiting.pop(number)[1] for number in due]
            for ring in rings:  # to interrupt a server may take long, and others must not wait for it
                try:
                    threading.Thread(target=_ring, args=(ring,), daemon=True).start()
                except RuntimeError:  # there may be no more threads: later is better than never
                    _ring(ring)


def _ring(ring: Callable[[], object]) -> None:
    with suppress(Exception):  # who waits for the statement is told what became of it
        ring()


ALARMS = Alarms()
if hasattr(os, "register_at_fork"):  # a fork has no thread but its own
    os.register_at_fork(after_in_child=ALARMS.__init__)  # type: ignore[misc]
