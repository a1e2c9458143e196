"""Where real data and cached databases lie: RULEMINER_DATA (recipes, tests, benchmarks) and RULEMINER_CACHE."""

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


def cache_folder() -> Path:
    """Where databases loaded from dumps are kept: RULEMINER_CACHE, or the user's cache folder."""
    named = os.environ.get("RULEMINER_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ruleminer"
