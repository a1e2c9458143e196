"""A PostgreSQL server that listens on a Unix socket only, reached by TCP: Java knows no Unix sockets."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_CHUNK = 65536


@contextmanager
def tcp_bridge(socket_file: Path) -> Iterator[int]:
    """A port of this machine that leads to the socket, as long as the context lasts."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_accept, args=(listening, socket_file), daemon=True).start()
        yield listening.getsockname()[1]


def _accept(listening: socket.socket, socket_file: Path) -> None:
    while True:
        try:
            client, _ = listening.accept()
        except OSError:  # the context has ended
            return
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.connect(str(socket_file))
        for one, other in ((client, server), (server, client)):
            threading.Thread(target=_forward, args=(one, other), daemon=True).start()


def _forward(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(_CHUNK):
            other.sendall(data)
    with suppress(OSError):
        other.shutdown(socket.SHUT_WR)
