"""The structure of a database on disk: one JSON file in the run, written whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

from ruleminer.errors import InputError
from ruleminer.structure.structure import FORMAT, Structure


def write_structure(structure: Structure, path: Path) -> None:
    """Write the file; the same structure gives the same bytes."""
    fresh = path.with_name(f".{path.name}.fresh")
    fresh.write_text(json.dumps(structure.to_json(), indent=1, ensure_ascii=False) + "\n", "utf-8")
    fresh.replace(path)


def read_structure(path: Path) -> Structure | None:
    """The structure of a run; None if it has none, as runs that did not come from an extraction."""
    if not path.is_file():
        return None
    try:
        data = json.loads(path.read_text("utf-8"))
        if data["format"] != FORMAT:
            raise ValueError(f"format {data['format']}, not {FORMAT}")
        return Structure.from_json(data)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is damaged ({str(error).splitlines()[0]}): extract anew") from None
