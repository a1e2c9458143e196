"""The options of training, checked once."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from ruleminer.errors import InputError
from ruleminer.learn.losses import loss_named
from ruleminer.learn.transformer import SIZES

NEGATIVES = ("same-head", "remove", "paper", "none")
DEVICES = ("auto", "cpu", "cuda")
PRECISIONS = ("float32", "bf16")


@dataclass(frozen=True)
class TrainOptions:
    """What decides a training run; two runs with equal options, data and model to start from end in the same model."""

    loss: str = "libra"
    size: str = "small"
    seed: int = 0
    negatives: str = "same-head"  # how forbidden rules are kept down: see examples.py and training.py
    negatives_weight: float = 1.0  # γ of the paper with `paper`
    learning_rate: float = 3e-3
    weight_decay: float = 0.01
    warmup: int = 40  # updates
    clip: float = 1.0
    updates: int | None = None  # exactly so many, unless nothing is gained any more; None: whole passes, as follows
    least_updates: int = 600  # rounded up to whole passes
    passes: int = 6  # at least
    patience: int = 8  # validations without gain before it stops
    batch_nodes: int = 2500  # places of tries in a batch
    row_length: int = 64  # places that attend to each other
    longest_rule: int = 64  # tokens; longer candidates are left out, and counted
    longest_input: int = 128  # tokens; longer facts are cut
    vocabulary: int = 1024
    start: str | None = None  # a run with whose model to begin; its size and vocabulary are then this one's
    device: str = "auto"
    precision: str = "float32"
    compile: bool = False
    threads: int | None = None  # default: the cores; two busy threads on a core are slower than one
    time_limit: float | None = None  # minutes

    def __post_init__(self) -> None:
        loss = loss_named(self.loss)
        if loss.needs_all_outputs:
            raise InputError(
                f"loss {self.loss!r} needs the probability of every possible rule, which no sequence model has; "
                "use libra, nll, merit, rc or uniform"
            )
        for name, known in (("size", SIZES), ("negatives", NEGATIVES), ("device", DEVICES), ("precision", PRECISIONS)):
            if getattr(self, name) not in known:
                raise InputError(f"unknown ‹{name}› {getattr(self, name)!r}; known are {', '.join(known)}")
        lowest: dict[str, float] = {"warmup": 0, "weight_decay": 0, "negatives_weight": 0, "seed": 0}
        lowest |= {"longest_rule": 8, "longest_input": 8, "vocabulary": 700, "row_length": 16}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int | float) and not isinstance(value, bool):
                least = lowest.get(field.name)
                if least is not None and value < least:
                    raise InputError(f"‹{field.name}› must be at least {least:g}, not {value:g}")
                if least is None and not value > 0:
                    raise InputError(f"‹{field.name}› must be above 0, not {value:g}")

    def to_json(self) -> dict[str, Any]:
        """Plain values, for config.json."""
        return asdict(self)


RESUMABLE_CHANGES = {"threads", "time_limit", "device", "start"}  # options that may differ when a run is taken up again
