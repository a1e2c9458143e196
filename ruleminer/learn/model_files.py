"""The files of RUN/model: weights and checkpoints as safetensors and JSON, each written whole or not at all.

model.safetensors       the best weights         tokens.model   the vocabulary (sentencepiece)
checkpoint.safetensors  all that resuming needs  config.json    dimensions, options, hash of the dataset
metrics.jsonl           one line a validation    curve.png      the learning curve
times.json              how long it took         (the checkpoint counts seconds, too; all else is the same each time)

A training that has not ended is in RUN/.training, with the same files; it takes the model's place when it ends.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from ruleminer.errors import InputError, first_line
from ruleminer.learn.tokens import Tokens
from ruleminer.learn.transformer import Size, Transformer
from ruleminer.run import Run, RunLike
from ruleminer.whole_files import unwritable, writing

_RESUMED = ("dataset", "options", "size", "longest_input", "longest_rule", "vocabulary")  # what is read of a config


@dataclass(frozen=True)
class SavedModel:
    """A trained model with its vocabulary."""

    model: Transformer
    tokens: Tokens
    config: Mapping[str, Any]


def new_model(config: Mapping[str, Any]) -> Transformer:
    """A model of the dimensions in a config, with fresh weights."""
    size = Size(**config["size"])
    return Transformer(config["vocabulary"], size, config["longest_input"], config["longest_rule"])


def load_model(run: RunLike, device: torch.device | str = "cpu") -> SavedModel:
    """The trained model of a run."""
    folder = Run.of(run).model
    if not (folder / "model.safetensors").is_file():
        raise InputError(f"no trained model in {run}: `ruleminer train {run}` makes one")
    try:
        config = read_config(folder)
        tokens = read_tokens(folder, config)
        model = new_model(config)
        model.load_state_dict(load_file(folder / "model.safetensors"))
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, MemoryError, SafetensorError) as error:
        raise InputError(f"the model in {folder} is damaged ({first_line(error)}): train it anew") from None
    return SavedModel(model.to(device).eval(), tokens, config)


def read_config(folder: Path) -> dict[str, Any]:
    """The config.json of a training or a model."""
    try:
        config: dict[str, Any] = json.loads((folder / "config.json").read_text("utf-8"))
        missing = [name for name in _RESUMED if name not in config]
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise _damaged(folder / "config.json", first_line(error)) from None
    if missing or not isinstance(config, dict):
        raise _damaged(folder / "config.json", f"no {missing[0] if missing else 'object'} in it")
    return config


def read_tokens(folder: Path, config: Mapping[str, Any]) -> Tokens:
    """The vocabulary of a training or a model, which must be the one that it began with."""
    path = folder / "tokens.model"
    try:
        content = path.read_bytes()
        tokens = Tokens(content)
    except (OSError, RuntimeError, ValueError) as error:
        raise _damaged(path, first_line(error)) from None
    if digest(content) != config.get("tokens", digest(content)):
        raise _damaged(path, "not the vocabulary that the training began with")
    return tokens


def _damaged(path: Path, why: str) -> InputError:
    return InputError(f"{path} is damaged ({why}): train anew with ‹force›")


def write_tensors(path: Path, tensors: Mapping[str, Tensor], note: Mapping[str, Any] | None = None) -> None:
    """Write tensors and a JSON note as one safetensors file."""
    plain = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    with writing(path) as part:
        try:
            save_file(plain, part, {"note": json.dumps(note or {})})
        except SafetensorError as error:  # the disk, as safetensors tells of it
            raise OSError(first_line(error)) from None


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What `write_tensors` wrote."""
    try:
        with safe_open(path, framework="pt") as file:
            note = json.loads((file.metadata() or {}).get("note", "{}"))
            return {name: file.get_tensor(name) for name in file.keys()}, note  # noqa: SIM118
    except (OSError, ValueError, RecursionError, SafetensorError) as error:
        raise InputError(f"{path} cannot be read ({first_line(error)}): train anew with ‹force›") from None


def append_line(path: Path, line: str) -> None:
    """Add a line to a file of ours."""
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o644), "ab") as file:
            file.write(f"{line}\n".encode())
    except OSError as problem:
        raise unwritable(path, problem) from None


def first_lines(path: Path, count: int) -> str:
    """The first lines of a file of ours; nothing if it is not there."""
    try:
        return "".join(path.read_text("utf-8").splitlines(keepends=True)[:count]) if path.is_file() else ""
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is damaged ({first_line(error)}): train anew with ‹force›") from None


def digest(*parts: bytes) -> str:
    """A hash, to know things again."""
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def dataset_hash(dataset: Path) -> str:
    """A hash of the three tables of a dataset folder, to know it again."""
    digest = hashlib.sha256()
    for name in ("facts", "rules", "candidates"):
        digest.update((dataset / f"{name}.parquet").read_bytes())
    return digest.hexdigest()
