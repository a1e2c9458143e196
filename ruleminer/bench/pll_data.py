"""The real-world partial-label data sets, read from the `.mat` files of M.-L. Zhang's collection."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.io import loadmat
from torch import Tensor

from ruleminer.errors import InputError
from ruleminer.sources.data_folder import data_folder

KEYS = ("data", "partial_target", "target")
FILES = {  # the names the files have in the collection, first the usual one
    "Lost": ("lost.mat", "Lost.mat"),
    "MSRCv2": ("MSRCv2.mat",),
    "BirdSong": ("BirdSong.mat",),
    "Soccer": ("Soccer Player.mat", "SoccerPlayer.mat", "Soccer.mat"),
    "Yahoo": ("Yahoo! News.mat", "YahooNews.mat", "Yahoo.mat"),
}


@dataclass(frozen=True)
class PartialLabels:
    """A data set: n samples of d numbers, the m labels each may have, and the one it has."""

    name: str
    features: Tensor  # (n, d) float64
    allowed: Tensor  # (n, m) bool
    truth: Tensor  # (n,)


def benchmark_folder(chosen: Path | None, part: str) -> Path:
    """RULEMINER_DATA/PART, or an error that says what is missing and where we looked."""
    folder = chosen or data_folder()
    if folder is None:
        raise InputError(
            f"this bench needs the folder {part!r} of the real data: set RULEMINER_DATA to the folder it is in"
        )
    if not (folder / part).is_dir():
        raise InputError(f"this bench needs {folder / part}, which is not there (looked in RULEMINER_DATA, {folder})")
    return folder / part


def find_partial_labels(folder: Path) -> dict[str, Path | None]:
    """Where each data set of the paper lies, None where it is not."""
    found: dict[str, Path | None] = {}
    for name, files in FILES.items():
        found[name] = next((folder / file for file in files if (folder / file).is_file()), None)
    if not any(found.values()):
        wanted = ", ".join(files[0] for files in FILES.values())
        raise InputError(f"{folder}: none of {wanted} is there")
    return found


def read_partial_labels(path: Path, name: str | None = None) -> PartialLabels:
    """Read `data` (samples × features), `partial_target` and `target` (labels × samples), dense or sparse."""
    try:
        content = loadmat(path)
    except Exception as error:  # of a broken file scipy raises almost anything
        raise InputError(f"{path}: not a MATLAB 5 file, or cut off ({_first_line(error)})") from None
    if missing := [key for key in KEYS if key not in content]:
        there = ", ".join(key for key in content if not key.startswith("__")) or "nothing"
        raise InputError(f"{path}: has no {', '.join(missing)} (it has {there})")
    features, allowed, truth = (_dense(content[key], key, path) for key in KEYS)
    if allowed.shape != truth.shape or allowed.shape[1] != features.shape[0]:
        shapes = f"data {features.shape}, partial_target {allowed.shape}, target {truth.shape}"
        raise InputError(f"{path}: shapes do not fit: {shapes}; targets must be labels × samples")
    if not np.isfinite(features).all():
        raise InputError(f"{path}: data has values that are not finite numbers")
    _check_labels(allowed > 0, truth > 0, path)
    return PartialLabels(
        name or path.stem,
        torch.from_numpy(features),
        torch.from_numpy((allowed > 0).T.copy()),
        torch.from_numpy((truth > 0).argmax(0)),
    )


def _check_labels(allowed: np.ndarray, truth: np.ndarray, path: Path) -> None:
    one = truth.sum(0)
    if (one != 1).any():
        sample = int((one != 1).argmax())
        raise InputError(f"{path}: sample {sample + 1} has {int(one[sample])} true labels, not one")
    missing = (truth & ~allowed).any(0)
    if missing.any():
        count, first = int(missing.sum()), int(missing.argmax()) + 1
        raise InputError(f"{path}: the label set of {count} samples misses the true label (first: sample {first})")


def _dense(value: Any, key: str, path: Path) -> np.ndarray:
    array = np.asarray(value.toarray() if hasattr(value, "toarray") else value)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise InputError(f"{path}: {key} is not a matrix of numbers")
    return array.astype(np.float64)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
