"""The benches by name."""

from __future__ import annotations

from ruleminer.bench import (
    cifar,
    cmt,
    decision,
    drafts,
    dynamics,
    mapping,
    npd,
    questions,
    real,
    real_world,
    rodi,
    synthetic_large,
    synthetic_small,
)
from ruleminer.bench.units import Bench, BenchInfo
from ruleminer.errors import InputError

BENCHES: dict[str, Bench] = {
    bench.info.name: bench
    for bench in (
        dynamics.BENCH,
        synthetic_small.BENCH,
        synthetic_large.BENCH,
        cifar.CIFAR10,
        cifar.CIFAR100,
        real_world.BENCH,
        cmt.BENCH,
        npd.BENCH,
        mapping.BENCH,
        decision.BENCH,
        drafts.BENCH,
        rodi.BENCH,
        real.BENCH,
        questions.BENCH,
    )
}


def bench_list() -> list[BenchInfo]:
    """What each bench reproduces, costs and needs."""
    return [bench.info for bench in BENCHES.values()]


def bench_named(name: str) -> Bench:
    if name not in BENCHES:
        raise InputError(f"unknown bench {name!r}; known are {', '.join(BENCHES)}")
    return BENCHES[name]
