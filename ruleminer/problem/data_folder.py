"""Where the real data for tests and benchmarks lies; nothing in the product itself needs it."""

from __future__ import annotations

import os
from pathlib import Path

from ruleminer.errors import InputError

_PROJECT = Path(__file__).resolve().parents[2]


def data_folder() -> Path | None:
    """The folder RULEMINER_DATA names, else `../shared/data` beside the project or the current folder, if any."""
    named = os.environ.get("RULEMINER_DATA")
    if named:
        folder = Path(named).expanduser()
        if not folder.is_dir():
            raise InputError(f"RULEMINER_DATA names {folder}, which is not a folder")
        return folder
    for home in (_PROJECT, Path.cwd()):
        folder = home.parent / "shared" / "data"
        if folder.is_dir():
            return folder
    return None
