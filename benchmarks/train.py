"""Training on tries against padded scoring of each candidate alone: tokens, seconds, share of the machine's peak.

    python benchmarks/train.py --json train.json              # the paper's published sets: cmt_renamed and npd
    python benchmarks/train.py --run RUN --run OTHER_RUN      # runs of `ruleminer extract`

Both ways compute the same loss, negatives included, on the same batches, in one process; the table says
how far the losses are apart. What is measured is the whole update: packing, forward, backward, optimiser.
The padded ways get the same list of leaves (allowed rules, and the first tokens by which forbidden ones leave
the trie), one row each: all padded to the longest, or sorted by length and padded in groups of 64.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.utils.flop_counter import FlopCounterMode

from ruleminer.bench.reference_sets import write_reference_set
from ruleminer.errors import InputError
from ruleminer.learn.batches import leaf_paths, pass_batches, plain_batch
from ruleminer.learn.examples import TrainingSet, load_examples, training_set
from ruleminer.learn.losses import forbidden_mass, libra
from ruleminer.learn.options import TrainOptions
from ruleminer.learn.oracle import score_alone
from ruleminer.learn.training import set_threads
from ruleminer.learn.transformer import SIZES, Scores, Transformer
from ruleminer.learn.trie import FORBIDDEN
from ruleminer.sources.data_folder import data_folder

WAYS = ("trie", "padded", "sorted")
Update = Callable[[Sequence[int]], tuple[float, int]]
"""One update on the facts of a batch: the loss before it, and how many tokens it took."""


def loss_of(scores: Scores) -> Tensor:
    """What both ways minimise."""
    return (libra(scores.outputs()) + forbidden_mass(scores.log_rest(FORBIDDEN))).mean()


def trie_loss(model: Transformer, data: TrainingSet, facts: Sequence[int], options: TrainOptions) -> tuple[Tensor, int]:
    """The loss as training computes it."""
    batch = plain_batch(data, facts, options.row_length)
    return loss_of(model(batch)), batch.tokens.numel()


def padded_loss(
    model: Transformer, data: TrainingSet, facts: Sequence[int], rows_at_once: int | None
) -> tuple[Tensor, int]:
    """The same loss with one padded row per leaf; log(1 − Σp) from the sum, for there is nothing better."""
    paths = [leaf_paths(data.tries[i]) for i in facts]
    alone = score_alone(model, [data.inputs[i] for i in facts], paths, rows_at_once)
    labels = [torch.from_numpy(data.tries[i].leaf_label) for i in facts]
    log_p = pad_sequence(alone, batch_first=True, padding_value=-math.inf)
    label = pad_sequence(labels, batch_first=True)
    leak = torch.log((1 - log_p.exp().sum(-1)).clamp(min=1e-7))
    lengths = sorted(len(path) for own in paths for path in own)
    group = rows_at_once or len(lengths)
    tokens = sum(len(part) * part[-1] for part in (lengths[i : i + group] for i in range(0, len(lengths), group)))
    return loss_of(Scores(log_p, label, leak)), tokens


def measure(name: str, run: Path, options: TrainOptions, count: int, peak: float) -> dict[str, Any]:
    """Both ways on the same batches of one dataset."""
    examples = load_examples(run, options.seed, options.longest_input, options.vocabulary)
    facts, forbidden = examples.positives["train"], examples.forbidden("train")
    data = training_set(examples, facts, forbidden, options.longest_rule, mark=True)
    batches = pass_batches([len(trie) for trie in data.tries], options.batch_nodes, options.seed, 0)
    chosen = [batches[i * len(batches) // count] for i in range(min(count, len(batches)))]
    result: dict[str, Any] = {
        "dataset": name,
        "facts": len(data),
        "updates_per_pass": len(batches),
        "measured_updates": len(chosen),
    }
    losses: dict[str, list[float]] = {}
    for way in WAYS:
        torch.manual_seed(options.seed)
        model = Transformer(len(examples.tokens), SIZES[options.size], options.longest_input, options.longest_rule)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

        def update(
            batch: Sequence[int], way: str = way, model: Transformer = model, optimizer: Any = optimizer
        ) -> tuple[float, int]:
            if way == "trie":
                loss, tokens = trie_loss(model, data, batch, options)
            else:
                loss, tokens = padded_loss(model, data, batch, 64 if way == "sorted" else None)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            return float(loss.detach()), tokens

        losses[way], result[way] = time_updates(update, chosen, len(batches), peak)
    apart = [abs(a - b) / max(abs(b), 1e-9) for a, b in zip(losses["trie"], losses["padded"], strict=True)]
    result["loss_apart"] = max(apart)
    for way in WAYS[1:]:
        result[way]["trie_is_faster"] = result[way]["seconds_per_pass"] / result["trie"]["seconds_per_pass"]
    return result


def time_updates(
    update: Update, batches: Sequence[Sequence[int]], per_pass: int, peak: float
) -> tuple[list[float], dict[str, float]]:
    """Losses of the updates, and what they took on average."""
    with FlopCounterMode(display=False) as flops:
        update(batches[0])  # also warms up
    operations = flops.get_total_flops()
    began = time.perf_counter()
    update(batches[0])
    first = time.perf_counter() - began
    losses: list[float] = []
    tokens: list[int] = []
    seconds: list[float] = []
    for batch in batches:
        began = time.perf_counter()
        loss, used = update(batch)
        seconds.append(time.perf_counter() - began)
        losses.append(loss)
        tokens.append(used)
    mean = statistics.mean(seconds)
    return losses, {
        "tokens_per_update": statistics.mean(tokens),
        "seconds_per_update": mean,
        "seconds_per_pass": mean * per_pass,
        "tokens_per_second": sum(tokens) / sum(seconds),
        "gflops": operations / first / 1e9,
        "share_of_peak": operations / first / 1e9 / peak,
    }


def matmul_peak() -> float:
    """GFLOP/s of a large product of matrices, the best of ten."""
    a, b = torch.randn(1536, 1536), torch.randn(1536, 1536)
    best = math.inf
    for _ in range(10):
        began = time.perf_counter()
        a @ b
        best = min(best, time.perf_counter() - began)
    return 2 * 1536**3 / best / 1e9


def main() -> None:
    """Measure, print a table, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, action="append", default=[], help="a run folder with a dataset")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--updates", type=int, default=10, help="updates to measure, spread over a pass")
    parser.add_argument("--size", default="small", choices=SIZES)
    parser.add_argument("--threads", type=int, help="default: the cores")
    arguments = parser.parse_args()
    options = TrainOptions(size=arguments.size)
    set_threads(arguments.threads)
    peak = matmul_peak()
    with tempfile.TemporaryDirectory() as folder:
        runs = {run.name: run for run in arguments.run}
        if not runs:
            data = data_folder()
            if data is None:
                raise InputError("no data: give --run RUN, or set RULEMINER_DATA to the folder of real data")
            for name in ("cmt_renamed", "npd"):
                runs[name] = Path(folder) / name
                write_reference_set(data / "reference", name, runs[name])
        results = [measure(name, run, options, arguments.updates, peak) for name, run in runs.items()]
    report = {
        "threads": torch.get_num_threads(),
        "peak_gflops": peak,
        "torch": torch.__version__,
        "size": {arguments.size: asdict(SIZES[arguments.size])},
        "results": results,
    }
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    show(report)


def show(report: dict[str, Any]) -> None:
    """The report as a table."""
    title = f"one pass of training, {report['threads']} threads, matmul peak {report['peak_gflops']:.0f} GFLOP/s"
    table = Table(title=title)
    for column in ("dataset", "way", "tokens", "s/update", "s/pass", "tokens/s", "of peak", "trie faster"):
        table.add_column(column, justify="left" if column in ("dataset", "way") else "right", no_wrap=True)
    for result in report["results"]:
        for way in WAYS:
            row = result[way]
            table.add_row(
                result["dataset"] if way == "trie" else "",
                way,
                f"{row['tokens_per_update']:,.0f}",
                f"{row['seconds_per_update']:.3f}",
                f"{row['seconds_per_pass']:.1f}",
                f"{row['tokens_per_second']:,.0f}",
                f"{row['share_of_peak']:.0%}",
                f"{row['trie_is_faster']:.1f}×" if "trie_is_faster" in row else "",
                end_section=way == WAYS[-1],
            )
    console = Console()
    console.print(table)
    for result in report["results"]:
        console.print(f"{result['dataset']}: losses of trie and padded are at most {result['loss_apart']:.0e} apart")


if __name__ == "__main__":
    main()
