"""What a stopped run has already asked of the database, so that the next one need not ask again.

The file is good only for a database that has not changed: it is marked with the source and its tables' row counts.
"""

from __future__ import annotations

import hashlib
import json
import time
from contextlib import suppress

from ruleminer.errors import InputError, RuleminerError
from ruleminer.proposals.derivations import Derivations
from ruleminer.rules.body import Body
from ruleminer.rules.parser import parse_rule
from ruleminer.run import Run, RunLike
from ruleminer.sources.database import Database
from ruleminer.whole_files import write_whole

_EVERY = 5.0  # seconds between two savings


class SizeCache:
    """Keeps the sizes of derivations until the run is through."""

    def __init__(self, run: RunLike, derivations: Derivations) -> None:
        self._file, self._derivations = Run.of(run).sizes, derivations
        self._mark, self._saved = _mark(derivations.database), time.monotonic()
        try:
            told = json.loads(self._file.read_text("utf-8"))
            if told["mark"] == self._mark:
                derivations.recall({Body(parse_rule(text)): int(size) for text, size in told["sizes"].items()})
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, RuleminerError):
            pass  # none, or one that was cut short: everything is asked anew

    def save(self, now: bool = False) -> None:
        """Write down what is known, if the last time is a while ago and the folder may be written."""
        if now or time.monotonic() - self._saved > _EVERY:
            with suppress(InputError):  # the files may go elsewhere, with --out
                sizes = {body.text: size for body, size in self._derivations.known_sizes.items()}
                told = {"mark": self._mark, "sizes": sizes}
                write_whole(self._file, json.dumps(told))
            self._saved = time.monotonic()

    def forget(self) -> None:
        """The run is through."""
        with suppress(OSError):
            self._file.unlink()


def _mark(database: Database) -> str:
    counts = [(table.name, table.rows) for table in database.schema.tables]
    return hashlib.sha256(json.dumps([database.safe_url, database.schema_name, counts]).encode()).hexdigest()
