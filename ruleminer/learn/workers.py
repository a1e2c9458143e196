"""One process or several: data-parallel training under `torchrun`, with the same code."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

T = TypeVar("T")


@dataclass(frozen=True)
class Workers:
    """This process among its peers."""

    rank: int
    count: int
    device: torch.device

    @property
    def first(self) -> bool:
        """Whether this is the one that writes files and talks to the user."""
        return self.rank == 0

    def share(self, items: Sequence[T]) -> list[T]:
        """The items of a batch that fall to this process: every count-th one."""
        return list(items[self.rank :: self.count])

    def total(self, *values: float) -> list[float]:
        """Sums over all processes."""
        if self.count == 1:
            return list(values)
        sums = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.all_reduce(sums)
        return sums.tolist()

    def parallel(self, model: nn.Module) -> nn.Module:
        """The model, with gradients averaged over the processes if there are several."""
        return DistributedDataParallel(model) if self.count > 1 else model


def is_first() -> bool:
    """Whether this process will be the one that writes, before it is joined with its peers."""
    return int(os.environ.get("RANK", "0")) == 0


@contextmanager
def workers(device: torch.device) -> Iterator[Workers]:
    """This process, joined with its peers if `torchrun` started it."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield Workers(0, 1, device)
        return
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield Workers(dist.get_rank(), count, device)
        gc.collect()  # a parallel model that outlives its process group can hang when it goes
        dist.barrier()
    finally:
        dist.destroy_process_group()
