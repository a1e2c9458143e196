"""Files of a run that are not what they should be: every command ends well or in one line."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.faults.commands import command
from tests.faults.world import World

READERS = (
    ("dataset", "show", "run"),
    ("train", "run", "--size", "tiny", "--updates", "3", "--threads", "1", "--resume", "-q"),
    ("evaluate", "run", "--threads", "1"),
    ("propose-mappings", "run", "-q"),
    ("review", "run", "--answers", "answers.txt", "-q"),
    ("export", "run", "--format", "obda"),
    ("diff", "run", "run"),
    ("inspect", "shop.duckdb", "--ontology", "shop.ttl", "-q"),
    ("extract", "--db", "shop.duckdb", "--ontology", "shop.ttl", "--examples", "facts.csv", "--templates",
     "shapes.rules", "--out", "run", "--force", "-q"),
    ("train", "run", "--size", "tiny", "--updates", "3", "--threads", "1", "--force", "-q"),
)  # fmt: skip
LINKS = ("run/.dataset.fresh", "run/.dataset.old", "run/.model.fresh", "run/.proposals.fresh", "run/.training",
         "run/.extract", "run/.propose.json", "run/model/.curve.png", "run/.structure.json.fresh")  # fmt: skip


def spoilt(kind: str, good: bytes, other: bytes, rng: random.Random) -> bytes:
    """Another content for a file."""
    half = len(good) // 2
    match kind:
        case "empty":
            return b""
        case "cut":
            return good[: rng.randrange(len(good) + 1)]
        case "list":
            return b"[]"
        case "object":
            return b"{}"
        case "deep":
            return b"[" * 100_000
        case "noise":
            return rng.randbytes(2000)
        case "flipped":
            at = rng.randrange(max(1, len(good)))
            return good[:at] + bytes([good[at] ^ (1 << rng.randrange(8))]) + good[at + 1 :] if good else b"x"
        case "swapped":
            return other
        case "null":
            return good[:half] + b"\0" * 16 + good[half:]
        case _:
            return other_columns()


KINDS = ("empty", "cut", "list", "object", "deep", "noise", "flipped", "swapped", "null", "other columns")


def other_columns() -> bytes:
    """A Parquet file with columns that nobody asked for."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"fact": ["a"], "other": [1.5]}), sink)
    return bytes(sink.getvalue())


def files_of(place: Path) -> list[Path]:
    """What there is to be spoilt."""
    kept = ("mapping.", "report.html", "curve.png")
    files = [path for path in sorted((place / "run").rglob("*")) if path.is_file() and not path.name.startswith(kept)]
    return [*files, *(place / name for name in ("shop.ttl", "facts.csv", "shapes.rules", "shop.duckdb"))]


def check_broken(place: Path, file: Path, content: bytes, words: tuple[str, ...]) -> str:
    """Put a content in a file's place and run a command."""
    file.write_bytes(content)
    ended = command(words, place)
    return "" if ended.is_clean else f"exit code {ended.code}: {ended.err[-600:]}"


def check_link(place: Path, name: str, words: tuple[str, ...]) -> str:
    """Put a link in the place of a temporary name and run a command: what it leads to must stay as it is."""
    treasure = place / "treasure"
    treasure.mkdir()
    (treasure / "gold").write_text("gold")
    link = place / name
    if link.is_dir() and not link.is_symlink():
        shutil.rmtree(link)
    link.unlink(missing_ok=True)
    link.symlink_to(treasure / "gold" if "." in link.suffix and link.suffix in (".png", ".json") else treasure)
    ended = command(words, place)
    if not ended.is_clean:
        return f"exit code {ended.code}: {ended.err[-600:]}"
    if [path.name for path in treasure.iterdir()] != ["gold"] or (treasure / "gold").read_text() != "gold":
        return "what the link leads to was written"
    return ""


def random_broken(world: World, place: Path, rng: random.Random) -> tuple[str, str]:
    """Any file spoilt in any way, read by any command."""
    made = world.after(rng.choice(("train", "propose-mappings", "review")))
    shutil.copytree(made, place, symlinks=True)
    words = rng.choice(READERS)
    if rng.random() < 0.1:
        name = rng.choice(LINKS)
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        return f"{name} a link, {words[0]}", check_link(place, name, words)
    files = files_of(place)
    file, kind = rng.choice(files), rng.choice(KINDS)
    content = spoilt(kind, file.read_bytes(), rng.choice(files).read_bytes(), rng)
    return f"{file.relative_to(place)} {kind}, {words[0]}", check_broken(place, file, content, words)
