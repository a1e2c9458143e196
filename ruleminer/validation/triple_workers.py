"""Triples made by several processes: one reads the rows, the others make lines of them, then each line once.

A batch of rows goes to each worker in turn, so the same rows in the same order make the same files. A worker puts its
lines into buckets by their hash; when all rows are read, each takes some buckets of all the others' and writes their
distinct lines. Sockets hold them together: a worker whose reader is gone reads their end, and ends itself.

Workers are programs of their own: `multiprocessing` would run the script again that asks for them.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from ruleminer.errors import RuleminerError
from ruleminer.validation.distinct_lines import BUCKETS, Buckets, distinct_in
from ruleminer.validation.row_terms import Counts, QuadMaker, Reading, Row, Tally
from ruleminer.validation.triple_parts import FORMS, Parts, part_name

_PATIENCE = 10  # seconds for a worker to end
_PROGRAM = "import sys; from ruleminer.validation.triple_workers import serve; serve(int(sys.argv[1]))"


@dataclass(frozen=True)
class _Work:
    """What a worker must know."""

    folder: Path
    form: str
    per_part: int
    held: int


@dataclass
class _Done:
    """What a worker tells: of its rows first, of what it wrote then."""

    tally: Tally = field(default_factory=Tally)
    counts: Counts = field(default_factory=Counts)
    names: list[str] = field(default_factory=list)
    triples: int = 0


class WorkerError(RuleminerError):
    """A worker that is gone."""


def write_by_workers(
    batches: Iterable[tuple[Reading, list[Row]]],
    staged: Path,
    form: str,
    per_part: int,
    held: int,
    jobs: int,
    tally: Tally,
    counts: Counts,
) -> tuple[list[str], int]:
    """Write the triples of rows into a folder by so many processes; the names of the parts, and how many triples."""
    folders = [staged / f"worker-{number}" for number in range(jobs)]
    with ExitStack() as stack:
        workers = [stack.enter_context(_worker(_Work(folder, form, per_part, held))) for folder in folders]
        reading = None
        for number, (now, rows) in enumerate(batches):
            if now is not reading:
                reading = now
                for worker in workers:
                    worker.send(reading)
            workers[number % jobs].send(rows)
        for worker in workers:
            worker.send(None)
        for worker in workers:
            done = worker.receive()
            tally.add(done.tally)
            counts.add(done.counts)
        shares = [range(number * BUCKETS // jobs, (number + 1) * BUCKETS // jobs) for number in range(jobs)]
        for worker, share in zip(workers, shares, strict=True):
            worker.send([[folder / "buckets" / f"{bucket:02}" for folder in folders] for bucket in share])
        written = [worker.receive() for worker in workers]
    names: list[str] = []
    for folder, done in zip(folders, written, strict=True):
        for name in done.names:
            names.append(part_name(len(names), form))
            (folder / name).rename(staged / names[-1])
        (folder / "buckets").rmdir()
        folder.rmdir()
    if not names:
        with closing(Parts(staged, form, per_part)) as parts:
            parts.have_one()
        names = parts.names
    return names, sum(done.triples for done in written)


class _Worker:
    """The reader's end of a worker."""

    def __init__(self, process: subprocess.Popen[bytes], pipe: Connection) -> None:
        self._process, self._pipe = process, pipe

    def send(self, message: object) -> None:
        try:
            self._pipe.send(message)
        except (BrokenPipeError, ConnectionResetError):
            self.receive()  # it told why
            raise WorkerError("a process that makes triples ended too early") from None

    def receive(self) -> _Done:
        try:
            answer = self._pipe.recv()
        except (EOFError, ConnectionResetError):
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_PATIENCE)
            told = f"a process that makes triples was ended from outside (exit code {self._process.returncode})"
            raise WorkerError(f"{told}; fewer ‹jobs› need less memory") from None
        if isinstance(answer, BaseException):
            raise answer
        assert isinstance(answer, _Done)
        return answer


@contextmanager
def _worker(work: _Work) -> Iterator[_Worker]:
    ours, theirs = socket.socketpair()
    with theirs:
        number = theirs.fileno()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(number)],
            pass_fds=[number],
            stdin=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,  # Ctrl-C is heard by the reader, who closes its end
        )
    pipe = Connection(ours.detach())
    worker = _Worker(process, pipe)
    try:
        worker.send(work)
        yield worker
    except BaseException:
        process.kill()  # nothing that it makes is wanted any more, and Ctrl-C answers at once
        raise
    finally:
        pipe.close()
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def serve(number: int) -> None:
    """What a worker does, by the socket of this number."""
    with closing(Connection(number)) as pipe:
        try:
            work = pipe.recv()
            work.folder.mkdir()
            _make(pipe, work)
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return
        except BaseException as error:
            known = isinstance(error, OSError | RuleminerError)
            pipe.send(error if known else WorkerError(f"{type(error).__name__}: {error}"))


def _make(pipe: Connection, work: _Work) -> None:
    done, to_lines = _Done(), FORMS[work.form][0]
    buckets = Buckets(work.folder / "buckets")
    maker: QuadMaker | None = None
    while (message := pipe.recv()) is not None:
        if isinstance(message, Reading):
            maker = QuadMaker(message, done.tally)
        else:
            assert maker is not None
            quads = maker.quads(message)
            done.counts.see(quads)
            buckets.add(to_lines(quads))
    buckets.flush()
    pipe.send(done)
    shares: list[list[Path]] = pipe.recv()
    with closing(Parts(work.folder, work.form, work.per_part)) as parts:
        for files in shares:
            for lines in distinct_in(files, work.folder, work.held, 1):
                parts.write(lines)
    pipe.send(_Done(names=parts.names, triples=parts.triples))
