"""Ctrl-C that is heard at once and never lost.

Python hears a signal between two steps of its own, and a statement may run for minutes in between. Where an interrupt
is raised in the midst of a stream of rows, the engine that reads it makes another error of it, or none. So a thread
listens, interrupts the statement, and whatever comes of that is told as what it is.
"""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ruleminer.progress import Progress


@contextmanager
def heeding_interrupts(progress: Progress, stop: Callable[[], object] = lambda: None) -> Iterator[Progress]:
    """Call `stop` as soon as the user interrupts, and end in KeyboardInterrupt whatever the code inside makes of it.

    The progress that is given back stops there, too, should the interrupt have been lost on the way.
    """
    if threading.current_thread() is not threading.main_thread():  # signals go elsewhere
        yield progress
        return
    heard = threading.Event()
    receiver, sender = socket.socketpair()
    sender.setblocking(False)

    def listen() -> None:
        while signals := receiver.recv(64):
            if signal.SIGINT in signals:
                heard.set()
                stop()

    def attentive(stage: str, what: str, done: int, total: int, /) -> None:
        if heard.is_set():
            raise KeyboardInterrupt
        progress(stage, what, done, total)

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    before = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    try:
        try:
            yield attentive
        finally:
            signal.set_wakeup_fd(before)
            sender.close()
            listener.join()  # has heard by now all that there was, also what the engine noticed first
            receiver.close()
    except Exception:
        if heard.is_set():
            raise KeyboardInterrupt from None
        raise
    if heard.is_set():
        raise KeyboardInterrupt
