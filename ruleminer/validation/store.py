"""The triples of a mapping, and what follows from them, in an embedded SPARQL store.

Triples go through a file, asserted and inferred ones apart, and into the store by large chunks: into one in memory
while the next are made, for the loader leaves the interpreter alone, and into one on disk if they are too many. All
graphs become one: the pairs ask for no graph.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from pyoxigraph import RdfFormat, Store, parse

from ruleminer.validation.reasoning import Reasoner, Triple
from ruleminer.validation.row_terms import Quad

# Bytes of N-Triples: up to here the store is in memory, takes about 1.5 times as much, and loads in half the time.
_IN_MEMORY = 768 * 2**20
_CHUNK = 16 * 2**20  # the loader keeps a chunk in memory, several times over
_REMEMBERED = 200_000


@dataclass(frozen=True, slots=True)
class LoadedStore:
    """A store with its triples, asserted and inferred ones counted without repeats."""

    store: Store
    triples: int
    inferred: int


@contextmanager
def loaded_store(quads: Iterable[Quad], reasoner: Reasoner) -> Iterator[LoadedStore]:
    """A store of these triples and all that follows from them, gone at the end."""
    with tempfile.TemporaryDirectory(prefix="ruleminer-validate-", ignore_cleanup_errors=True) as folder:
        inferred = Path(folder, "inferred.nt")
        with Path(folder, "asserted.nt").open("w+b") as facts, inferred.open("wb") as conclusions:
            loading = _Loading(facts)
            try:
                _write(quads, reasoner, loading, conclusions)
            finally:
                loading.end()
            size = loading.size + conclusions.tell()
            store = loading.store if size <= _IN_MEMORY else None
            del loading
            if store is None:
                store = Store(str(Path(folder, "store")))
                facts.seek(0)
                _load(store, facts)
        triples = len(store)
        with inferred.open("rb") as conclusions:
            _load(store, conclusions)
        loaded = LoadedStore(store, triples, len(store) - triples)
        del store
        yield loaded


class _Loading:
    """Lines on their way: to a file, and, while they are few enough, into a store in memory, a chunk behind."""

    def __init__(self, file: BinaryIO) -> None:
        self.store: Store | None = Store()
        self.size = 0
        self._file = file
        self._loader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="load")
        self._loaded: Future[None] | None = None

    def write(self, lines: Iterable[str]) -> None:
        content = "".join(lines).encode()
        self._file.write(content)
        self.size += len(content)
        self._wait()
        if self.size > _IN_MEMORY:
            self.store = None
        elif self.store is not None:
            self._loaded = self._loader.submit(_load_chunk, self.store, content)

    def end(self) -> None:
        """Wait for what is on its way."""
        self._wait()
        self._loader.shutdown()

    def _wait(self) -> None:
        loaded, self._loaded = self._loaded, None
        if loaded is not None:
            loaded.result()


def _write(quads: Iterable[Quad], reasoner: Reasoner, facts: _Loading, conclusions: BinaryIO) -> None:
    # Most properties of an entity say the same about its class: what was just written is not written again.
    said: dict[str, None] = {}  # in the order in which they came: what is shown of a result is the same each time
    concluded: dict[Triple, None] = {}
    size = 0
    for subject, predicate, value, _ in quads:
        line = f"{subject} {predicate} {value} .\n"
        if line in said:
            continue
        said[line] = None
        size += len(line)
        if reasoner.concludes(predicate, value):
            concluded.update(dict.fromkeys(reasoner.consequences(subject, predicate, value)))
        if len(said) + len(concluded) > _REMEMBERED or size > _CHUNK:
            _flush(said, concluded, facts, conclusions)
            size = 0
    _flush(said, concluded, facts, conclusions)


def _flush(said: dict[str, None], concluded: dict[Triple, None], facts: _Loading, conclusions: BinaryIO) -> None:
    facts.write(said)
    conclusions.writelines(f"{subject} {predicate} {value} .\n".encode() for subject, predicate, value in concluded)
    said.clear()
    concluded.clear()


def _load(store: Store, file: BinaryIO) -> None:
    while lines := file.readlines(_CHUNK):
        _load_chunk(store, b"".join(lines))


def _load_chunk(store: Store, content: bytes) -> None:
    # Lenient: IRIs were checked as far as the standard asks when they were made.
    if b"_:" in content:  # the loader gives blank nodes other names each time, and these must stay the same
        store.bulk_extend(parse(content, RdfFormat.N_TRIPLES, lenient=True))
    else:
        store.bulk_load(content, RdfFormat.N_TRIPLES, lenient=True)
