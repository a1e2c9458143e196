"""The triples of a mapping, and what follows from them, in an embedded SPARQL store.

Triples go through a file, asserted and inferred ones apart, and from there into the store by large chunks; a store of
millions of triples lies on disk. All graphs become one: the pairs ask for no graph.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

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
        asserted, inferred = Path(folder, "asserted.nt"), Path(folder, "inferred.nt")
        with asserted.open("w", encoding="utf-8") as facts, inferred.open("w", encoding="utf-8") as conclusions:
            _write(quads, reasoner, facts, conclusions)
        size = asserted.stat().st_size + inferred.stat().st_size
        store = Store() if size <= _IN_MEMORY else Store(str(Path(folder, "store")))
        _load(store, asserted)
        triples = len(store)
        _load(store, inferred)
        loaded = LoadedStore(store, triples, len(store) - triples)
        del store
        yield loaded


def _write(quads: Iterable[Quad], reasoner: Reasoner, facts: TextIO, conclusions: TextIO) -> None:
    # Most properties of an entity say the same about its class: what was just written is not written again.
    said: dict[str, None] = {}  # in the order in which they came: what is shown of a result is the same each time
    concluded: dict[Triple, None] = {}
    for subject, predicate, value, _ in quads:
        line = f"{subject} {predicate} {value} .\n"
        if line in said:
            continue
        said[line] = None
        if reasoner.concludes(predicate, value):
            concluded.update(dict.fromkeys(reasoner.consequences(subject, predicate, value)))
        if len(said) + len(concluded) > _REMEMBERED:
            _flush(said, concluded, facts, conclusions)
    _flush(said, concluded, facts, conclusions)


def _flush(said: dict[str, None], concluded: dict[Triple, None], facts: TextIO, conclusions: TextIO) -> None:
    facts.writelines(said)
    conclusions.writelines(f"{subject} {predicate} {value} .\n" for subject, predicate, value in concluded)
    said.clear()
    concluded.clear()


def _load(store: Store, path: Path) -> None:
    with path.open("rb") as file:
        while lines := file.readlines(_CHUNK):
            content = b"".join(lines)
            # Lenient: IRIs were checked as far as the standard asks when they were made.
            if b"_:" in content:  # the loader gives blank nodes other names each time, and these must stay the same
                store.bulk_extend(parse(content, RdfFormat.N_TRIPLES, lenient=True))
            else:
                store.bulk_load(content, RdfFormat.N_TRIPLES, lenient=True)
    path.unlink()
