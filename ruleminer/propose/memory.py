"""What a stopped run has already asked of the database, so that the next one need not ask again.

The file is good only for a database that has not changed: it is marked with the source and its tables' row counts.
"""

from __future__ import annotations

import hashlib
import json
import time
from contextlib import suppress
from pathlib import Path

from ruleminer.errors import InputError
from ruleminer.problem.database import Database
from ruleminer.propose.extensions import Extensions
from ruleminer.propose.files import write_texts

FILE = ".propose.json"
_EVERY = 5.0  # seconds between two savings


class Memory:
    """Keeps the sizes of extensions in RUN/.propose.json until the run is through."""

    def __init__(self, run: Path, extensions: Extensions) -> None:
        self._run, self._extensions = run, extensions
        self._mark, self._saved = _mark(extensions.database), time.monotonic()
        try:
            told = json.loads((run / FILE).read_text("utf-8"))
            if told["mark"] == self._mark:
                extensions.recall({str(body): int(size) for body, size in told["sizes"].items()})
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass  # none, or one that was cut short: everything is asked anew

    def save(self, now: bool = False) -> None:
        """Write down what is known, if the last time is a while ago and the folder may be written."""
        if now or time.monotonic() - self._saved > _EVERY:
            with suppress(InputError):  # the files may go elsewhere, with --out
                write_texts({FILE: json.dumps({"mark": self._mark, "sizes": self._extensions.known_sizes})}, self._run)
            self._saved = time.monotonic()

    def forget(self) -> None:
        """The run is through."""
        with suppress(OSError):
            (self._run / FILE).unlink()


def _mark(database: Database) -> str:
    counts = [(table.name, table.rows) for table in database.schema.tables]
    return hashlib.sha256(json.dumps([database.safe_url, database.schema_name, counts]).encode()).hexdigest()
