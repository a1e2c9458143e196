"""The files of RUN/model: weights and checkpoints as safetensors and JSON, each written whole or not at all.

model.safetensors       the best weights         tokens.model   the vocabulary (sentencepiece)
checkpoint.safetensors  all that resuming needs  config.json    dimensions, options, hash of the dataset
metrics.jsonl           one line a validation    curve.png      the learning curve
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

from ruleminer.errors import InputError
from ruleminer.learn.tokens import Tokens
from ruleminer.learn.transformer import Size, Transformer
from ruleminer.run import Run, RunLike

_RESUMED = ("dataset", "options", "size", "longest_input", "longest_rule")  # what resuming reads of a config


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
        config = json.loads((folder / "config.json").read_text("utf-8"))
        tokens = Tokens((folder / "tokens.model").read_bytes())
        model = new_model(config)
        model.load_state_dict(load_file(folder / "model.safetensors"))
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        raise InputError(f"the model in {folder} is damaged ({_reason(error)}): train it anew") from None
    return SavedModel(model.to(device).eval(), tokens, config)


def read_config(folder: Path) -> dict[str, Any]:
    """The config.json of a training that is to go on."""
    try:
        config: dict[str, Any] = json.loads((folder / "config.json").read_text("utf-8"))
        missing = [name for name in _RESUMED if name not in config]
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{folder / 'config.json'} is damaged ({_reason(error)}): train anew with ‹force›") from None
    if missing:
        raise InputError(f"{folder / 'config.json'} is damaged (no {missing[0]} in it): train anew with ‹force›")
    return config


def read_tokens(folder: Path) -> Tokens:
    """The vocabulary of a training that is to go on."""
    try:
        return Tokens((folder / "tokens.model").read_bytes())
    except (OSError, RuntimeError) as error:
        raise InputError(f"{folder / 'tokens.model'} is damaged ({_reason(error)}): train anew with ‹force›") from None


def _reason(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def write_tensors(path: Path, tensors: Mapping[str, Tensor], note: Mapping[str, Any] | None = None) -> None:
    """Write tensors and a JSON note as one safetensors file."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    plain = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    save_file(plain, fresh, {"note": json.dumps(note or {})})
    fresh.replace(path)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What `write_tensors` wrote."""
    try:
        with safe_open(path, framework="pt") as file:
            note = json.loads((file.metadata() or {}).get("note", "{}"))
            return {name: file.get_tensor(name) for name in file.keys()}, note  # noqa: SIM118
    except (OSError, ValueError, SafetensorError) as error:
        raise InputError(f"{path} cannot be read ({_reason(error)}): train anew with ‹force›") from None


def write_text(path: Path, text: str) -> None:
    """Write a text file whole."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file whole."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_bytes(content)
    fresh.replace(path)


def dataset_hash(dataset: Path) -> str:
    """A hash of the three tables of a dataset folder, to know it again."""
    digest = hashlib.sha256()
    for name in ("facts", "rules", "candidates"):
        digest.update((dataset / f"{name}.parquet").read_bytes())
    return digest.hexdigest()
