"""Ctrl-C is heard at once, and told as what it is whatever a library has made of it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest

from ruleminer.extraction.interrupts import heeding_interrupts
from ruleminer.progress import silent

pytestmark = pytest.mark.live


@pytest.fixture(autouse=True)
def listening() -> Iterator[None]:
    """Workers of pytest ignore the signal, and so hear nothing."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt_soon(seconds: float = 0.2) -> None:
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()


def test_a_long_statement_is_stopped_and_ends_in_an_interrupt() -> None:
    with duckdb.connect() as work:
        started = time.monotonic()
        interrupt_soon()
        with pytest.raises(KeyboardInterrupt), heeding_interrupts(silent, work.interrupt):
            work.execute("SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE hash(a.range + b.range) = 7")
        assert time.monotonic() - started < 20


def test_an_interrupt_in_a_stream_of_rows_is_no_error_of_the_engine() -> None:
    def batches() -> object:
        for number in range(100):
            time.sleep(0.05)
            yield pa.record_batch({"a": [number]})

    with duckdb.connect() as work:
        reader = pa.RecordBatchReader.from_batches(pa.schema({"a": pa.int64()}), batches())  # type: ignore[arg-type]
        work.register("incoming", reader)
        interrupt_soon()
        with pytest.raises(KeyboardInterrupt), heeding_interrupts(silent, work.interrupt):
            work.execute("CREATE TABLE t AS FROM incoming")


def test_an_interrupt_that_the_engine_tells_at_once_is_no_error_of_its_own() -> None:
    """Before the listener, another thread, had its turn."""

    def statement() -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        except KeyboardInterrupt:
            raise RuntimeError("Query interrupted") from None

    for _ in range(20):
        with pytest.raises(KeyboardInterrupt), heeding_interrupts(silent):
            statement()


def test_an_interrupt_that_somebody_swallowed_is_heard_at_the_next_step_or_at_the_end() -> None:
    def swallowed() -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        except KeyboardInterrupt:
            time.sleep(0.2)  # the listener is another thread

    reached = list[str]()

    def work() -> None:
        with heeding_interrupts(silent) as progress:
            swallowed()
            progress("rows", "person", 1, 2)
            reached.append("the next step")

    with pytest.raises(KeyboardInterrupt):
        work()
    with pytest.raises(KeyboardInterrupt), heeding_interrupts(silent):
        swallowed()
    assert not reached


def test_without_an_interrupt_errors_and_results_are_what_they_are() -> None:
    before = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(before)
    with heeding_interrupts(silent) as progress:
        progress("rows", "", 1, 1)
    with pytest.raises(ValueError, match="mine"), heeding_interrupts(silent):
        raise ValueError("mine")
    assert signal.set_wakeup_fd(before) == before
