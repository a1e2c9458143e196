"""Several processes against one: training under `torchrun` (gloo), and the making of databases for `pretrain`.

    python benchmarks/processes.py --json processes.json          # the paper's published set, cmt_renamed
    python benchmarks/processes.py --run RUN --rounds 5           # a run of `ruleminer extract`

The same updates of the same network by one process of one thread, by one of as many threads as there are cores, and by
processes of one thread each; the first updates are not measured, so that what starting costs is not in them. All ways
take turns, `--rounds` times. An update does the same in each round, so the least of its seconds is what it takes where
others leave it alone; the table has the mean of these, on the clock, and of the processor: there an update counts as
long as the busiest of its processes. The share of ideal speed is the seconds of one thread over those of n processes,
over n, or over the cores where they are fewer (by the processor: over n). Two trainings at the same time that know
nothing of each other tell what the machine itself gives. How much of its cores others took meanwhile is told as well.

Problems for `pretrain` are made by one process and by as many as there are cores, the start of processes included; the
share by the processor is the seconds of one over those of all together.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from ruleminer.bench.reference_sets import write_reference_set
from ruleminer.errors import InputError
from ruleminer.learn.options import TrainOptions
from ruleminer.sources.data_folder import data_folder

_CORES = len(os.sched_getaffinity(0))
_APART = "2 trainings apart"
_FIRST = 10  # updates that are not measured
_TICKS = os.sysconf("SC_CLK_TCK")


def train(run: Path, options: TrainOptions, out: Path) -> None:
    """Train in this process, one of several perhaps; each leaves what its updates took."""
    from ruleminer.learn.training import Training, train_run

    clock, processor = [], []
    update = Training._update

    def timed(self: Training, *asked: Any) -> int:
        began, before = time.perf_counter(), time.process_time()
        places = update(self, *asked)
        clock.append(time.perf_counter() - began)
        processor.append(time.process_time() - before)
        return places

    Training._update = timed  # type: ignore[method-assign]
    done = train_run(run, options, force=True)
    result = {"clock": clock[_FIRST:], "processor": processor[_FIRST:]}
    metrics = (done.folder / "metrics.jsonl").read_text("utf-8").splitlines()
    result["loss"] = [json.loads(metrics[-1])["loss"]]
    out.with_suffix(f".{os.environ.get('RANK', '0')}").write_text(json.dumps(result), "utf-8")


def make(folder: Path, databases: int, processes: int) -> None:
    """Problems for `pretrain`."""
    from ruleminer.pretraining.corpus import make_corpus
    from ruleminer.structure.meaning import meaning

    make_corpus(folder, databases, meaning(), processes=processes)


def busy() -> float:
    """Seconds in which the machine's cores did something, for whomever."""
    user, nice, system, _, _, *rest = map(int, Path("/proc/stat").read_text().splitlines()[0].split()[1:9])
    return (user + nice + system + sum(rest)) / _TICKS


def children() -> float:
    """Processor seconds of what this process started and that has ended."""
    told = os.times()
    return told.children_user + told.children_system


def alone(words: list[list[str]]) -> dict[str, float]:
    """Programs side by side: seconds on the clock and of the processor, and the cores that others took meanwhile."""
    began, others, own = time.perf_counter(), busy(), children()
    with ThreadPoolExecutor(len(words)) as pool:
        list(pool.map(lambda one: subprocess.run(one, check=True, stdout=subprocess.DEVNULL), words))
    seconds, own = time.perf_counter() - began, children() - own
    return {"seconds": seconds, "processor_seconds": own, "others": (busy() - others - own) / seconds / _CORES}


def command(run: Path, out: Path, processes: int, threads: int, updates: int) -> list[str]:
    """What trains a run."""
    launch = [sys.executable]
    if processes > 1:
        launch += ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    return [*launch, __file__, "--train", str(run), str(out), str(threads), str(updates)]


def training(run: Path, scratch: Path, updates: int) -> dict[str, dict[str, Any]]:
    """One round of all ways: for each update its seconds on the clock, and of the processor of the busiest process."""
    copies = [scratch / name for name in ("one", "other")]
    for copy in copies:
        if not copy.exists():
            copy.mkdir()
            (copy / "dataset").symlink_to((run / "dataset").resolve())
    ways = {"1 process, 1 thread": (1, 1), f"1 process, {_CORES} threads": (1, _CORES)}
    ways |= {f"{n} processes": (n, 1) for n in (2, 4)}
    found: dict[str, dict[str, Any]] = {}
    for name, (processes, threads) in ways.items():
        told = alone([command(copies[0], scratch / "a", processes, threads, updates)])
        found[name] = told | together([scratch / f"a.{rank}" for rank in range(processes)])
    told = alone([command(copy, scratch / name, 1, 1, updates) for copy, name in zip(copies, "ab", strict=True)])
    found[_APART] = told | together([scratch / "a.0", scratch / "b.0"])
    return found


def together(files: list[Path]) -> dict[str, Any]:
    """What processes left of the same updates: the longest of each."""
    told = [json.loads(file.read_text("utf-8")) for file in files]
    longest = {name: list(map(max, zip(*(one[name] for one in told), strict=True))) for name in ("clock", "processor")}
    return longest | {"loss": told[0]["loss"][0]}


def making(scratch: Path, databases: int) -> dict[str, dict[str, float]]:
    """One round: the same problems by one process and by several, and whether they are the same bytes."""
    found, made = {}, []
    for processes in (1, _CORES):
        folder = Path(tempfile.mkdtemp(dir=scratch))
        words = [sys.executable, __file__, "--make", str(folder), str(databases), str(processes)]
        found[f"{processes} process{'es' if processes > 1 else ''}"] = alone([words]) | {"databases": databases}
        made.append({path.name: path.read_bytes() for path in sorted(folder.glob("*.npz"))})
    if not made[0] or made[0] != made[1]:
        raise SystemExit("several processes made other problems than one")
    return found


def trained(rounds: list[dict[str, dict[str, Any]]]) -> dict[str, dict[str, float]]:
    """For each way the mean over updates of the least that each took in any round."""
    found = {}
    for way in rounds[0]:
        least = {
            name: statistics.mean(map(min, zip(*(one[way][name] for one in rounds), strict=True)))
            for name in ("clock", "processor")
        }
        found[way] = least | {
            "others": statistics.mean(one[way]["others"] for one in rounds),
            "loss": rounds[0][way]["loss"],
        }
    return found


def made(rounds: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """For each way the least of each figure."""
    return {way: {name: min(one[way][name] for one in rounds) for name in told} for way, told in rounds[0].items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, help="a run folder with a dataset")
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--databases", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--train", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--make", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.train:
        run, out, threads, updates = arguments.train
        options = replace(TrainOptions(), updates=int(updates), threads=int(threads))
        train(Path(run), options, Path(out))
        return
    if arguments.make:
        folder, databases, processes = arguments.make
        make(Path(folder), int(databases), int(processes))
        return
    training_rounds, making_rounds = [], []
    with tempfile.TemporaryDirectory(prefix="processes-") as place:
        scratch, run = Path(place), arguments.run
        if run is None:
            data = data_folder()
            if data is None:
                raise InputError("no data: give --run RUN, or set RULEMINER_DATA to the folder of real data")
            run = scratch / "cmt_renamed"
            write_reference_set(data / "reference", "cmt_renamed", run)
        for _ in range(arguments.rounds):
            training_rounds.append(training(run, scratch, arguments.updates))
            making_rounds.append(making(scratch, arguments.databases))
    figures = {"cores": _CORES, "training": trained(training_rounds), "making": made(making_rounds)}
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")
    show(figures)


def show(figures: dict[str, Any]) -> None:
    """A line for each way."""
    print(
        f"{'training':22}{'s/update':>10}{'of ideal':>10}{'processor s':>13}{'of ideal':>10}{'others':>8}{'loss':>14}"
    )
    cores, plain = figures["cores"], figures["training"]["1 process, 1 thread"]
    for way, one in figures["training"].items():
        threads = 1 if way == _APART else int(way.split()[-2] if "thread" in way else way.split()[0])
        gained = plain["clock"] / one["clock"] / min(threads, cores)
        processes = 1 if "process," in way else threads
        shared = plain["processor"] / one["processor"] / processes
        print(
            f"{way:22}{one['clock']:>10.4f}{gained:>10.0%}{one['processor']:>13.4f}{shared:>10.0%}"
            f"{one['others']:>8.0%}{one['loss']:>14.8g}"
        )
    print(f"\n{'making':22}{'s':>10}{'of ideal':>10}{'processor s':>13}{'of ideal':>10}{'others':>8}")
    plain = figures["making"]["1 process"]
    for way, one in figures["making"].items():
        gained = plain["seconds"] / one["seconds"] / int(way.split()[0])
        shared = plain["processor_seconds"] / one["processor_seconds"]
        told = f"{one['seconds']:>10.1f}{gained:>10.0%}{one['processor_seconds']:>13.1f}{shared:>10.0%}"
        print(f"{way:22}{told}{one['others']:>8.0%}")


if __name__ == "__main__":
    main()
