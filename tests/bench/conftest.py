"""A data folder as the benches expect it, made up: .mat files and CIFAR archives of the right shape."""

from __future__ import annotations

import io
import pickle
import tarfile
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csc_matrix


def write_mat(path: Path, samples: int = 60, features: int = 5, labels: int = 4, **changes: object) -> Path:
    """A learnable partial-label file: the greatest feature tells the label; labels × samples, sparse."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, labels, samples)
    data = rng.normal(size=(samples, features))
    data[np.arange(samples), truth % features] += 4
    target = np.zeros((labels, samples))
    target[truth, np.arange(samples)] = 1
    partial = np.maximum(target, rng.random((labels, samples)) < 0.2)
    content = {"data": data, "partial_target": csc_matrix(partial), "target": csc_matrix(target)} | changes
    savemat(path, {key: value for key, value in content.items() if value is not None})
    return path


def cifar_batch(images: int, classes: int, seed: int = 0) -> dict[bytes, object]:
    rng = np.random.default_rng(seed)
    labels = [int(label) for label in rng.integers(0, classes, images)]
    pixels = rng.integers(0, 256, (images, 3072), dtype=np.uint8)
    return {b"data": pixels, (b"labels" if classes == 10 else b"fine_labels"): labels, b"batch_label": b""}


def write_archive(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def cifar_members(classes: int, images: int = 40, protocol: int = 2) -> dict[str, bytes]:
    names = ("cifar-10-batches-py/data_batch_1", "cifar-10-batches-py/data_batch_2", "cifar-10-batches-py/test_batch")
    if classes == 100:
        names = ("cifar-100-python/train", "cifar-100-python/test")  # type: ignore[assignment]
    batches = (cifar_batch(images, classes, seed) for seed in range(len(names)))
    return {name: pickle.dumps(batch, protocol) for name, batch in zip(names, batches, strict=True)}


@pytest.fixture
def made_up_data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    (folder / "pll").mkdir(parents=True)
    (folder / "cifar").mkdir()
    for name in ("lost.mat", "Soccer Player.mat", "Yahoo! News.mat"):
        write_mat(folder / "pll" / name)
    for classes in (10, 100):
        write_archive(folder / "cifar" / f"cifar-{classes}-python.tar.gz", cifar_members(classes))
    return folder
