"""The structure of a database on disk: one JSON file in the run, written whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

from ruleminer.errors import InputError, first_line
from ruleminer.structure.structure import FORMAT, Structure
from ruleminer.whole_files import write_whole


def write_structure(structure: Structure, path: Path) -> None:
    """Write the file; the same structure gives the same bytes."""
    write_whole(path, json.dumps(structure.to_json(), indent=1, ensure_ascii=False) + "\n")


def read_structure(path: Path) -> Structure | None:
    """The structure of a run; None if it has none, as runs that did not come from an extraction."""
    if not path.is_file():
        return None
    try:
        data = json.loads(path.read_text("utf-8"))
        if data["format"] != FORMAT:
            raise ValueError(f"format {data['format']}, not {FORMAT}")
        return Structure.from_json(data)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path} is damaged ({first_line(error)}): extract anew") from None
