"""Alarms: one thread watches over all statements."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from ruleminer.sources.engines.alarms import Alarms

LONG = 60.0  # nobody waits so long: what is waited for comes, or the test fails


def test_an_alarm_rings_though_a_later_one_was_set_before() -> None:
    alarms, rang, late = Alarms(), threading.Event(), threading.Event()
    alarms.set(3600, late.set)
    alarms.set(0.01, rang.set)
    assert rang.wait(LONG)
    assert not late.is_set()


def test_an_alarm_that_was_taken_back_does_not_ring() -> None:
    alarms, wrong, rang = Alarms(), threading.Event(), threading.Event()
    number = alarms.set(3600, wrong.set)
    alarms.take_back(number)
    alarms.take_back(number)
    alarms.set(0.01, rang.set)
    assert rang.wait(LONG)
    assert not wrong.is_set()
    assert not alarms._waiting


def test_alarms_do_not_wait_for_each_other() -> None:
    alarms, first, second = Alarms(), threading.Event(), threading.Event()

    def slow() -> None:
        assert first.wait(LONG)
        second.set()

    alarms.set(0.01, slow)
    alarms.set(0.02, first.set)
    assert second.wait(LONG)


def test_alarms_ring_where_no_thread_can_be_started_and_whatever_they_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    alarms, rang, started = Alarms(), threading.Event(), threading.Thread.start

    def start(thread: threading.Thread) -> None:
        if thread.name != "alarms":
            raise RuntimeError("can't start new thread")
        started(thread)

    def fails() -> None:
        raise OSError("no connection")

    monkeypatch.setattr(threading.Thread, "start", start)
    alarms.set(0.01, fails)
    alarms.set(0.02, rang.set)
    assert rang.wait(LONG)


FORKED = """
import os, sys, threading
from ruleminer.sources.engines.alarms import ALARMS
ALARMS.set(3600, sys.exit)
child = os.fork()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
rang = threading.Event()
ALARMS.set(0.01, rang.set)
os._exit(0 if rang.wait(60) else 1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_fork_watches_for_itself() -> None:
    assert subprocess.run([sys.executable, "-c", FORKED], check=False, timeout=300).returncode == 0
