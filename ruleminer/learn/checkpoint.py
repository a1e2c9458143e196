"""All that resuming needs, in one file: after a kill, training goes on to the bit as if nothing had been."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ruleminer.errors import InputError, first_line
from ruleminer.learn.model_files import digest, read_config, read_tensors, read_tokens, write_tensors
from ruleminer.learn.options import RESUMABLE_CHANGES

_FILE, _OWNER = "checkpoint.safetensors", "training"


@dataclass
class Position:
    """How far training is; a checkpoint's note."""

    number: int = 0  # of the pass over the data
    batch: int = 0  # next in this pass
    update: int = 0
    loss_sum: float = 0.0  # since the last validation
    loss_facts: float = 0.0
    best: float = -math.inf
    best_line: dict[str, Any] | None = None
    stale: int = 0  # validations since the best
    lines: int = 0  # of metrics.jsonl
    seconds: float = 0.0
    finished: str = ""  # why


def save(
    folder: Path,
    model: nn.Module,
    best: Mapping[str, Tensor],
    optimizer: torch.optim.Optimizer,
    position: Position,
    config: Mapping[str, Any],
) -> None:
    """Weights, best weights, state of the optimiser, random state and position; and whose they are."""
    tensors = {f"model.{name}": weight for name, weight in model.state_dict().items()}
    tensors |= {f"best.{name}": weight for name, weight in best.items()}
    tensors["random.torch"] = torch.get_rng_state()
    for index, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{name}": value for name, value in state.items()}
    write_tensors(folder / _FILE, tensors, {**asdict(position), _OWNER: _owner(config)})


def check(folder: Path, config: Mapping[str, Any]) -> None:
    """Refuse to resume from a checkpoint of other data or other options."""
    if not (folder / _FILE).is_file():
        raise InputError(f"no checkpoint in {folder} to resume from: train without ‹resume›")
    saved = read_config(folder)
    if saved["dataset"] != config["dataset"]:
        raise InputError(f"the dataset beside {folder} has changed since the checkpoint: train anew")
    read_tokens(folder, config)
    ours, theirs = config["options"], saved["options"]
    if not isinstance(theirs, dict):
        raise InputError(f"{folder / 'config.json'} is damaged (options are no object): train anew with ‹force›")
    changed = [name for name in ours if name not in RESUMABLE_CHANGES and ours[name] != theirs.get(name)]
    if changed:
        was = ", ".join(f"{name} {theirs.get(name)!r}" for name in changed)
        raise InputError(f"the checkpoint in {folder} was made with {was}: resume with the same options")


def load(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, config: Mapping[str, Any]
) -> tuple[dict[str, Tensor], Position]:
    """Put model, optimiser and random state back; return the best weights and the position."""
    tensors, note = read_tensors(folder / _FILE)
    try:
        if note.pop(_OWNER, None) not in (None, _owner(config)):
            raise ValueError("it is another training's")
        return _put_back(tensors, note, model, optimizer)
    except (KeyError, ValueError, TypeError, RuntimeError, AttributeError) as error:
        raise InputError(f"{folder / _FILE} does not fit ({first_line(error)}): train anew with ‹force›") from None


def _owner(config: Mapping[str, Any]) -> str:
    """The training that a checkpoint belongs to: what may not change while it is resumed."""
    options = {name: value for name, value in config["options"].items() if name not in RESUMABLE_CHANGES}
    told = [options, *(config.get(name) for name in ("dataset", "tokens", "size", "longest_input", "longest_rule"))]
    return digest(json.dumps(told, sort_keys=True).encode())


def _put_back(
    tensors: Mapping[str, Tensor], note: Mapping[str, Any], model: nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[dict[str, Tensor], Position]:
    parts: dict[str, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        part, _, rest = name.partition(".")
        parts.setdefault(part, {})[rest] = tensor
    model.load_state_dict(parts["model"])
    torch.set_rng_state(parts["random"]["torch"])
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in parts.get("optimizer", {}).items():
        index, _, rest = name.partition(".")
        state.setdefault(int(index), {})[rest] = tensor
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
    return parts["best"], Position(**note)
