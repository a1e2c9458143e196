"""CIFAR-10 and CIFAR-100 from their official archives (or subsets in the same layout), read without trusting them.

The batches are pickles. Only what arrays of numbers, bytes, strings, lists and dicts need is admitted: an archive
cannot run code of its own. Nothing is unpacked to disk.
"""

from __future__ import annotations

import codecs
import gzip
import io
import pickle
import re
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ruleminer.errors import InputError

PIXELS = 3 * 32 * 32
FULL = {"train": 50_000, "test": 10_000}
_LABEL_KEYS = {10: b"labels", 100: b"fine_labels"}
_MEMBERS = {  # part → names of its batches, by number of classes
    10: {"train": r"data_batch_\d+", "test": r"test_batch"},
    100: {"train": r"train", "test": r"test"},
}


@dataclass(frozen=True)
class Images:
    """Images as bytes (n, 3, 32, 32) and their labels; `full` tells whether it is the whole official part."""

    pixels: Tensor
    labels: Tensor
    full: bool


def find_archive(folder: Path, classes: int) -> Path:
    """The archive of CIFAR-10 or CIFAR-100 in a folder, the largest if there are several."""
    pattern = f"cifar-{classes}-python*.tar.gz"
    archives = sorted(folder.glob(pattern), key=lambda path: path.stat().st_size)
    if not archives:
        raise InputError(f"{folder}: no CIFAR-{classes} archive ({pattern}) is there")
    return archives[-1]


def read_cifar(archive: Path, classes: int) -> tuple[Images, Images]:
    """The training and the test images of an archive."""
    found: dict[str, list[tuple[str, np.ndarray, list[int]]]] = {"train": [], "test": []}
    try:
        with gzip.open(archive) as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in tar:
                for part, names in _MEMBERS[classes].items():
                    if member.isfile() and re.fullmatch(names, Path(member.name).name):
                        file = tar.extractfile(member)
                        assert file is not None
                        found[part].append((member.name, *_batch(file.read(), classes, f"{archive}: {member.name}")))
            while stream.read(1 << 20):  # to the end, where the checksum is
                pass
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{archive}: not a whole .tar.gz archive ({reason}); fetch it again") from None
    for part, batches in found.items():
        if not batches:
            raise InputError(f"{archive}: has no {part} batches; is it CIFAR-{classes}, python version?")
    return _images(found["train"], "train"), _images(found["test"], "test")


def normalised(images: Images, size: int = 32) -> Tensor:
    """(n, 3, size, size) float32, with the usual mean and deviation of CIFAR; smaller sizes by averaging pixels."""
    mean = torch.tensor([0.4914, 0.4822, 0.4465]).view(1, 3, 1, 1)
    deviation = torch.tensor([0.247, 0.243, 0.261]).view(1, 3, 1, 1)
    scaled = (images.pixels.float() / 255 - mean) / deviation
    return scaled if size == 32 else torch.nn.functional.avg_pool2d(scaled, 32 // size)


class _PlainUnpickler(pickle.Unpickler):
    """Refuses every global but the few that arrays of numbers are made of."""

    def find_class(self, module: str, name: str) -> Any:
        admitted = {
            ("numpy.core.multiarray", "_reconstruct"): np._core.multiarray._reconstruct,  # type: ignore[attr-defined]
            ("numpy._core.multiarray", "_reconstruct"): np._core.multiarray._reconstruct,  # type: ignore[attr-defined]
            ("numpy", "ndarray"): np.ndarray,
            ("numpy", "dtype"): np.dtype,
            ("_codecs", "encode"): _encode,
            ("__builtin__", "bytes"): _no_bytes,
            ("builtins", "bytes"): _no_bytes,
        }
        if (module, name) not in admitted:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return admitted[module, name]


def _encode(text: str, encoding: str) -> bytes:
    """What Python 3 writes for bytes in old pickles, and no other codec."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"it asks for the codec {encoding}")
    return codecs.encode(text, "latin1")


def _no_bytes() -> bytes:
    """What Python 3 writes for b"" in old pickles."""
    return b""


def _batch(content: bytes, classes: int, where: str) -> tuple[np.ndarray, list[int]]:
    try:
        batch = _PlainUnpickler(io.BytesIO(content), encoding="bytes").load()
    except pickle.UnpicklingError as error:
        raise InputError(f"{where}: refused, this is no plain CIFAR batch ({error})") from None
    except (EOFError, ValueError, TypeError, IndexError, KeyError, AttributeError, MemoryError, OverflowError) as error:
        raise InputError(f"{where}: broken batch ({type(error).__name__})") from None
    if not isinstance(batch, dict):
        raise InputError(f"{where}: not a CIFAR batch: a dict is expected")
    values = {key.encode() if isinstance(key, str) else key: value for key, value in batch.items()}
    pixels, labels = values.get(b"data"), values.get(_LABEL_KEYS[classes])
    if not isinstance(pixels, np.ndarray) or pixels.dtype != np.uint8 or pixels.shape[1:] != (PIXELS,):
        raise InputError(f"{where}: has no data of {PIXELS} bytes per image")
    if not isinstance(labels, list) or len(labels) != len(pixels):
        raise InputError(f"{where}: has no list {_LABEL_KEYS[classes].decode()!r} with one label per image")
    if not all(isinstance(label, int) and 0 <= label < classes for label in labels):
        raise InputError(f"{where}: has a label that is not one of 0 … {classes - 1}")
    return pixels, labels


def _images(batches: list[tuple[str, np.ndarray, list[int]]], part: str) -> Images:
    batches = sorted(batches, key=lambda batch: batch[0])  # whatever their order in the archive
    pixels = torch.from_numpy(np.concatenate([pixels for _, pixels, _ in batches])).view(-1, 3, 32, 32)
    labels = torch.tensor([label for _, _, labels in batches for label in labels])
    return Images(pixels, labels, len(pixels) == FULL[part])
