"""The decision network on disk: weights as safetensors, and beside them, as JSON, what they were made from.

The package carries one, which decides by default. A network fits the features that it learnt, no others.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file

from ruleminer.errors import InputError
from ruleminer.learn.decision_network import DecisionNetwork
from ruleminer.learn.model_files import write_tensors

WEIGHTS, NOTE = "network.safetensors", "network.json"


@dataclass(frozen=True)
class SavedNetwork:
    """A network, ready to decide, and the note beside its weights."""

    network: DecisionNetwork
    note: Mapping[str, Any]


def save_network(network: DecisionNetwork, folder: Path, features: Sequence[str], note: Mapping[str, Any]) -> None:
    """Write the weights and their note."""
    folder.mkdir(parents=True, exist_ok=True)
    write_tensors(folder / WEIGHTS, network.state_dict())
    told = {
        **note,
        "features": list(features),
        "width": network.width,
        "rounds": network.rounds,
        "messages": network.messages,
        "parameters": sum(one.numel() for one in network.parameters()),
        "sha256": hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest(),
    }
    (folder / NOTE).write_text(json.dumps(told, indent=1) + "\n", "utf-8")


def load_network(folder: Path, features: Sequence[str]) -> SavedNetwork:
    """The network in a folder; one that learnt other features is refused."""
    try:
        note = json.loads((folder / NOTE).read_text("utf-8"))
        if note["features"] != list(features):
            raise ValueError("it learnt other features than this version has")
        network = DecisionNetwork(len(features), note["width"], note["rounds"], note["messages"])
        network.load_state_dict(load_file(folder / WEIGHTS))
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise InputError(
            f"the decision network in {folder} cannot be used ({reason}): make one with pretrain"
        ) from None
    return SavedNetwork(network.eval(), note)


@lru_cache(maxsize=1)
def shipped_network(features: tuple[str, ...]) -> SavedNetwork:
    """The network that the package carries."""
    return load_network(shipped_folder(), features)


def shipped_folder() -> Path:
    """Where the package keeps its network."""
    return Path(str(files("ruleminer") / "learn" / "decision"))
