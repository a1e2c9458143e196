"""The losses of `ruleminer.learn.losses`, for use outside this project.

from ruleminer.losses import libra, of_logits
loss = libra(of_logits(logits, allowed)).mean()   # logits and a boolean mask, (..., classes)
loss.backward()
"""

from ruleminer.learn.losses import (
    LOSSES,
    Loss,
    Outputs,
    libra,
    libra_plain,
    loss_named,
    lws,
    merit,
    nll,
    of_logits,
    rc,
    sag,
    uniform,
)

__all__ = [
    "LOSSES",
    "Loss",
    "Outputs",
    "libra",
    "libra_plain",
    "loss_named",
    "lws",
    "merit",
    "nll",
    "of_logits",
    "rc",
    "sag",
    "uniform",
]
