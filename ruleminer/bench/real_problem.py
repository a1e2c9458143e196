"""A database with its true facts by SQL, as a folder.

FOLDER/*.duckdb, or *.sql (dumps, schema first), or *.sqlite
FOLDER/truth.tsv    a term, a tab, the SQL of its facts; an entity is http://example.org/<kind>/<key>
FOLDER/ontology.*   or schema.org/*.ttl beside the folder
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ruleminer import __version__
from ruleminer.errors import InputError
from ruleminer.sources.data_folder import cache_folder, data_folder
from ruleminer.sources.dump import load_dump

_DATABASES = ("*.duckdb", "*.sql", "*.sql.gz", "*.sqlite", "*.sqlite3", "*.db")


@dataclass(frozen=True)
class Problem:
    """A folder with a database and its truth."""

    folder: Path
    sql: Mapping[str, str]  # of each term

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    @cached_property
    def digest(self) -> str:
        """Tells one truth from another."""
        return hashlib.sha256(repr(sorted(self.sql.items())).encode()).hexdigest()[:12]

    def ontology(self) -> Path:
        """The ontology of the folder, or schema.org's vocabulary beside it or in RULEMINER_DATA."""
        places = [(self.folder, "ontology.*"), (self.folder.resolve().parent / "schema.org", "*.ttl")]
        data = data_folder()
        if data is not None:
            places.append((data / "real" / "schema.org", "*.ttl"))
        for folder, pattern in places:
            if found := sorted(folder.glob(pattern)):
                return found[0]
        raise InputError(f"{self.folder}: has no ontology.ttl, and there is no schema.org/*.ttl beside it")

    def database(self) -> str:
        """The URL of its database; dumps are loaded into DuckDB once, all as one."""
        for pattern in _DATABASES:
            found = sorted(self.folder.glob(pattern), key=lambda path: (not path.name.startswith("schema"), path.name))
            if found and pattern.startswith("*.sql") and not pattern.startswith("*.sqlite"):
                return f"duckdb:///{self._loaded(found)}"
            if found:
                return str(found[0])
        raise InputError(f"{self.folder}: has no database; one of {', '.join(_DATABASES)} is looked for")

    def _loaded(self, dumps: Sequence[Path]) -> Path:
        content = b"\n".join(path.read_bytes() for path in dumps)
        cache = cache_folder()
        cache.mkdir(parents=True, exist_ok=True)
        cached = cache / f"{self.name}-{hashlib.sha256(content).hexdigest()[:16]}-{__version__}.duckdb"
        if not cached.exists():
            with tempfile.TemporaryDirectory(dir=cache, prefix=".loading-") as workplace:
                one = Path(workplace) / f"all{''.join(dumps[0].suffixes)}"  # gzip files joined are a gzip file
                one.write_bytes(content)
                fresh = Path(workplace) / cached.name
                load_dump(one, f"duckdb:///{fresh}")
                fresh.replace(cached)
        return cached


def problems_in(folder: Path) -> list[Problem]:
    """The problem in a folder, or those in the folders below it."""
    files = [folder / "truth.tsv"] if (folder / "truth.tsv").is_file() else sorted(folder.glob("*/truth.tsv"))
    if not files:
        raise InputError(f"{folder}: no truth.tsv here or one folder below; give such a folder with ‹data›")
    return [Problem(path.parent, _sql(path)) for path in files]


def _sql(path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        term, tab, sql = line.partition("\t")
        if line.strip() and not line.startswith("#"):
            if not tab or not sql.strip() or term in found:
                raise InputError(f"{path}:{number}: not a term, a tab and its SQL, each term once")
            found[term] = sql.strip()
    return found
