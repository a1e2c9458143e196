"""Training: p(rule | fact) from a run's dataset, exact to resume, the same on one process or several.

Per update: the loss of the allowed rules, averaged over the facts of a batch, plus the term for forbidden rules.

    --negatives same-head   forbidden rules leave the allowed sets; plus −log(1 − M), where M is the mass of the
                            first tokens by which forbidden rules of the same head leave the trie. M bounds their
                            mass from above, and needs no node of its own
    --negatives remove      forbidden rules leave the allowed sets, nothing else
    --negatives paper       allowed sets as they are; plus γ Σ −L over 50 sampled forbidden sets of any head, each
                            bounded below (losses.paper_negatives)
    --negatives none        negatives are ignored
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ruleminer.errors import InputError, RuleminerError
from ruleminer.extract.dataset import read_dataset
from ruleminer.learn import checkpoint, model_files
from ruleminer.learn.batches import PAPER_SETS, PaperNegatives, pass_batches, plain_batch
from ruleminer.learn.checkpoint import Progress
from ruleminer.learn.curve import LEARNED
from ruleminer.learn.display import Display, draw_curve
from ruleminer.learn.examples import Example, Examples, TrainingSet, examples_of, training_set
from ruleminer.learn.losses import forbidden_mass, loss_named, paper_negatives
from ruleminer.learn.options import TrainOptions
from ruleminer.learn.tokens import Tokens
from ruleminer.learn.transformer import SIZES, Scores
from ruleminer.learn.trie import ALLOWED, FORBIDDEN
from ruleminer.learn.workers import Workers, workers

_CHECKPOINT_SECONDS = 30.0
_TIME_IS_UP = "the time limit"
_VALIDATION_FACTS = 500  # at most; spread evenly
_LEAST_GAIN = 1e-3
_LAST_RATE = 0.03  # of the learning rate


@dataclass(frozen=True)
class TrainResult:
    """What training came to, on the validation facts."""

    p_pos: float
    p_neg: float
    updates: int
    seconds: float
    reason: str
    parameters: int
    folder: Path


def train_run(run: Path, options: TrainOptions | None = None, resume: bool = False, quiet: bool = False) -> TrainResult:
    """Train a model on RUN/dataset and leave it in RUN/model; `resume` goes on where a killed run was."""
    options = options or TrainOptions()
    device = choose_device(options.device)
    set_threads(options.threads)
    with deterministic(device), workers(device) as team, Display(quiet or not team.first) as display:
        return Training(run, options, team, display, resume).run()


@contextmanager
def deterministic(device: torch.device) -> Iterator[None]:
    """Sums in a fixed order: two runs on one machine agree to the bit (on a GPU as far as torch can)."""
    settings: Any = torch.utils.deterministic
    before = torch.are_deterministic_algorithms_enabled(), settings.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True, warn_only=device.type != "cpu")
    settings.fill_uninitialized_memory = False  # it is slow, and nothing here reads such memory
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0])
        settings.fill_uninitialized_memory = before[1]


def choose_device(name: str) -> torch.device:
    """`auto` takes a GPU if there is one."""
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("device cuda was asked for, but torch sees no CUDA device; use --device cpu")
    return torch.device("cuda" if name == "cuda" or (name == "auto" and torch.cuda.is_available()) else "cpu")


def set_threads(threads: int | None) -> None:
    """As many threads as asked for, else the cores that this process may use, shared among local peers."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    torch.set_num_threads(threads or max(1, cores // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))))


class Training:
    """A training run in progress."""

    def __init__(self, run: Path, options: TrainOptions, team: Workers, display: Display, resume: bool) -> None:
        self.run_folder, self.options, self.team, self.display = run, options, team, display
        self.folder = run / model_files.FOLDER
        self.loss = loss_named(options.loss)
        self.progress = Progress()
        dataset = read_dataset(run)
        self.dataset_hash = model_files.dataset_hash(dataset.folder)
        origin = _origin(run, options, resume)
        tokens = origin.tokens if origin else None
        self.examples = examples_of(dataset, options.seed, options.longest_input, options.vocabulary, tokens)
        self.data, self.validation = self._sets(self.examples)
        self.paper = (
            PaperNegatives.of(self.examples, self.examples.negatives["train"], self.data, options.longest_rule)
            if options.negatives == "paper"
            else None
        )
        self.sizes = [len(trie) for trie in self.data.tries]
        a_pass = len(pass_batches(self.sizes, options.batch_nodes, options.seed, 0))
        self.passes = max(options.passes, -(-options.updates // a_pass))
        self.validate_every = max(1, -(-25 // a_pass))  # passes
        self.config = self._config(origin)
        torch.manual_seed(options.seed)
        self.model = model_files.new_model(self.config).to(team.device)
        if origin and origin.weights:
            self.model.load_state_dict(origin.weights)
        self.best = self._weights()
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), options.learning_rate, (0.9, 0.98), weight_decay=options.weight_decay, fused=True
        )
        self.parallel = team.parallel(torch.compile(self.model, dynamic=True) if options.compile else self.model)  # type: ignore[arg-type]
        if resume:
            self._restore()
        elif team.first:
            self._start_afresh()

    def run(self) -> TrainResult:
        """Train until the passes are done, nothing is gained any more, or the time is up."""
        progress, last_save = self.progress, -math.inf  # from the first update on, there is something to resume
        self._report_data()
        batches = self._batches()
        while not progress.finished:
            began = time.monotonic()
            places = self._update(batches[progress.batch], (progress.number + progress.batch / len(batches)))
            progress.batch += 1
            if progress.batch == len(batches):
                progress.number, progress.batch = progress.number + 1, 0
                batches = self._batches()
                if progress.number % self.validate_every == 0 or progress.number == self.passes:
                    self._validate()
            took = time.monotonic() - began
            progress.seconds += took
            self._decide_whether_done()
            done = (progress.number + progress.batch / len(batches)) / self.passes
            self.display.step(done, progress.loss_sum / max(progress.loss_facts, 1), places / took)
            if progress.finished or time.monotonic() - last_save > _CHECKPOINT_SECONDS:
                self._save()
                last_save = time.monotonic()
        return self._finish()

    def _batches(self) -> list[list[int]]:
        return pass_batches(self.sizes, self.options.batch_nodes, self.options.seed, self.progress.number)

    def _update(self, facts: Sequence[int], passes_done: float) -> int:
        """One step of the optimiser; the number of places of tries it took."""
        options, progress, team = self.options, self.progress, self.team
        mine = team.share(facts)
        weight = len(mine) / len(facts) * team.count  # DDP takes the mean over processes
        if self.paper is not None:
            seed = [options.seed, 1 + team.rank, progress.update]
            batch, bits = self.paper.batch(self.data, mine or facts[:1], options.row_length, seed)
        else:
            batch, bits = plain_batch(self.data, mine or facts[:1], options.row_length), []
        for group in self.optimizer.param_groups:
            group["lr"] = options.learning_rate * self._rate(passes_done)
        with torch.autocast(team.device.type, torch.bfloat16, enabled=options.precision == "bf16"):
            scores = self.parallel(batch.to(team.device))
        losses = self._losses(scores, bits)  # (F,)
        loss = losses.mean() * (weight if mine else 0.0)
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), options.clip)
        (total,) = team.total(float(losses.detach().sum()) if mine else 0.0)
        if not math.isfinite(total) or not bool(torch.isfinite(norm)):
            self._save()  # the weights of before this update
            raise RuleminerError(
                f"the loss became {total} (gradient {float(norm):g}) at update {progress.update + 1}: training "
                f"stopped; the last good checkpoint is in {self.folder}; train anew with a --learning-rate below "
                f"{options.learning_rate:g}"
            )
        self.optimizer.step()
        progress.update += 1
        progress.loss_sum += total
        progress.loss_facts += len(facts)
        return len(batch.node_place) * team.count

    def _losses(self, scores: Scores, paper_bits: Sequence[int]) -> Tensor:
        losses = self.loss(scores.outputs(ALLOWED))
        if self.options.negatives == "same-head":
            losses = losses + self.options.negatives_weight * forbidden_mass(scores.log_rest(FORBIDDEN))
        if paper_bits:
            sets = torch.stack([self.loss(scores.outputs(bit)) for bit in paper_bits], -1)  # (F, sets)
            scale = PAPER_SETS / len(paper_bits)
            losses = losses + self.options.negatives_weight * scale * paper_negatives(sets)
        return losses

    def _rate(self, passes_done: float) -> float:
        """A linear rise over the first updates, then half a cosine."""
        rise = (self.progress.update + 1) / max(self.options.warmup, 1)
        fall = 0.5 * (1 + math.cos(math.pi * passes_done / self.passes))
        return min(rise, 1.0) * (_LAST_RATE + (1 - _LAST_RATE) * fall)

    @torch.no_grad()
    def _validate(self) -> None:
        progress, data = self.progress, self.validation
        p_pos = p_neg = 0.0
        self.model.eval()
        for facts in pass_batches([len(t) for t in data.tries], 4 * self.options.batch_nodes, 0, 0):
            mine = self.team.share(facts)
            if mine:
                scores = self.model(plain_batch(data, mine, self.options.row_length).to(self.team.device))
                p_pos += float(scores.log_mass(ALLOWED).exp().sum())
                p_neg += float(scores.log_mass(FORBIDDEN).exp().sum())
        self.model.train()
        p_pos, p_neg = (value / len(data) for value in self.team.total(p_pos, p_neg))
        line = {
            "update": progress.update,
            "pass": progress.number,
            "loss": progress.loss_sum / progress.loss_facts,
            "p_pos": p_pos,
            "p_neg": p_neg,
        }
        progress.loss_sum = progress.loss_facts = 0.0
        progress.stale += 1
        if p_pos - p_neg > progress.best or progress.best_line is None:
            if p_pos - p_neg > progress.best + _LEAST_GAIN:
                progress.stale = 0
            progress.best, progress.best_line = p_pos - p_neg, line
            self.best = self._weights()
            if self.team.first:
                model_files.write_tensors(self.folder / "model.safetensors", self.best)
        progress.lines += 1
        timed = {**line, "seconds": round(progress.seconds, 2)}
        if self.team.first:
            with (self.folder / "metrics.jsonl").open("a", encoding="utf-8") as metrics:
                metrics.write(json.dumps(timed) + "\n")
        self.display.validated(timed)

    def _decide_whether_done(self) -> None:
        progress, limit = self.progress, self.options.time_limit
        seconds = self.team.total(progress.seconds)[0] / self.team.count if limit else 0.0
        if progress.number >= self.passes:
            progress.finished = f"{self.passes} passes over the data"
        elif progress.best > 1 - _LEAST_GAIN:
            progress.finished = "nothing left to gain on the validation facts"
        elif progress.stale >= self.options.patience:
            progress.finished = f"no gain on the validation facts in {progress.stale} validations"
        elif limit and seconds > 60 * limit:
            if progress.loss_facts:  # updates that nobody has validated yet
                self._validate()
            progress.finished = f"{_TIME_IS_UP} of {limit:g} min, earlier sessions included"

    def _finish(self) -> TrainResult:
        progress, best = self.progress, self.progress.best_line
        assert best is not None
        parameters = sum(weight.numel() for weight in self.model.parameters())
        result = TrainResult(
            best["p_pos"], best["p_neg"], progress.update, progress.seconds, progress.finished, parameters, self.folder
        )
        if self.team.first:
            self._write_config({**self.config, "result": {**asdict(result), "folder": self.folder.name}})
            draw_curve(self.folder)
        self.display.say(
            f"Stopped after {progress.update} updates, {progress.seconds:.0f} s: {progress.finished}. "
            f"Validation P_pos {result.p_pos:.4f}, P_neg {result.p_neg:.4f}. Model in {self.folder}"
        )
        if result.p_pos < LEARNED:
            self.display.say("note: the model has learned little; it needs more time, more updates or more facts")
        return result

    def _sets(self, examples: Examples) -> tuple[TrainingSet, TrainingSet]:
        options = self.options
        used = examples.forbidden("train") if options.negatives in ("same-head", "remove") else set()
        mark = options.negatives == "same-head"
        data = training_set(examples, examples.positives["train"], used, options.longest_rule, mark)
        if not len(data):
            raise InputError(
                f"no training fact of {self.run_folder} has an allowed rule of at most {options.longest_rule} tokens "
                f"({data.left_out} are longer; see --longest-rule)"
            )
        held_out = evenly(examples.positives["validation"], _VALIDATION_FACTS)
        known = examples.forbidden("train", "validation")
        validation = training_set(examples, held_out, known, options.longest_rule, mark=True)
        if not len(validation):  # too few facts to hold any out
            validation = training_set(examples, examples.positives["train"], known, options.longest_rule, mark=True)
        return data, validation if len(validation) else data

    def _config(self, origin: _Origin | None) -> dict[str, Any]:
        longest = max(int(trie.depth.max()) for trie in self.data.tries) + 1
        config = {
            "format": 1,
            "vocabulary": len(self.examples.tokens),
            "size": asdict(SIZES[self.options.size]),
            "longest_input": self.options.longest_input,
            "longest_rule": max(longest, self.options.longest_rule),
            "dataset": self.dataset_hash,
            "options": self.options.to_json(),
        }
        return config if origin is None else origin.fitted(config)

    def _report_data(self) -> None:
        data, examples = self.data, self.examples
        self.display.say(
            f"{len(data)} training facts, {len(self.validation)} validation facts, {len(examples.rules)} rules, "
            f"{sum(self.sizes)} places in tries, {sum(w.numel() for w in self.model.parameters()):,} parameters"
        )
        for count, what in (
            (data.left_out, f"candidates are longer than {self.options.longest_rule} tokens and left out"),
            (data.emptied, "training facts have no allowed rule (forbidden or too long) and teach nothing"),
            (examples.without_candidates, "positive facts have no candidate at all"),
        ):
            if count:
                self.display.say(f"note: {count} {what}")

    def _weights(self) -> dict[str, Tensor]:
        return {name: weight.detach().clone() for name, weight in self.model.state_dict().items()}

    def _write_config(self, config: dict[str, Any]) -> None:
        model_files.write_text(self.folder / "config.json", json.dumps(config, indent=2) + "\n")

    def _start_afresh(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in ("checkpoint.safetensors", "model.safetensors", "metrics.jsonl", "curve.png"):
            (self.folder / name).unlink(missing_ok=True)
        model_files.write_bytes(self.folder / "tokens.model", self.examples.tokens.model)
        self._write_config(self.config)

    def _save(self) -> None:
        if self.team.first:
            checkpoint.save(self.folder, self.model, self.best, self.optimizer, self.progress)

    def _restore(self) -> None:
        checkpoint.check(self.folder, self.config)
        if self.options.start and "start" not in self.config:
            raise InputError(f"the training in {self.folder} began from scratch: resume it without --from")
        self.best, self.progress = checkpoint.load(self.folder, self.model, self.optimizer)
        if self.team.first:
            metrics = self.folder / "metrics.jsonl"
            lines = metrics.read_text("utf-8").splitlines(keepends=True) if metrics.is_file() else []
            model_files.write_text(metrics, "".join(lines[: self.progress.lines]))
            if self.progress.best_line is not None:
                model_files.write_tensors(self.folder / "model.safetensors", self.best)
        if self.progress.finished.startswith(_TIME_IS_UP):  # there may be more time now
            self.progress.finished = ""
            self._decide_whether_done()


@dataclass(frozen=True)
class _Origin:
    """What a model has of the one that it goes on from."""

    tokens: Tokens
    config: Mapping[str, Any]
    told: Mapping[str, str]  # where it is from
    weights: Mapping[str, Tensor] | None  # None where a checkpoint has newer ones

    def fitted(self, config: dict[str, Any]) -> dict[str, Any]:
        """A new model's config with the dimensions of this one, which must do for the data."""
        for name, what in (("longest_input", "a fact"), ("longest_rule", "a rule (see --longest-rule)")):
            if config[name] > self.config[name]:
                raise InputError(
                    f"the model to go on from has room for {self.config[name]} tokens of {what}, not {config[name]}: "
                    "ask for no more, or train from scratch"
                )
        own = {name: self.config[name] for name in ("size", "longest_input", "longest_rule")}
        return {**config, **own, "start": dict(self.told)}


def _origin(run: Path, options: TrainOptions, resume: bool) -> _Origin | None:
    """The model that this one goes on from, if any; a run that is resumed has all it needs of it."""
    folder = run / model_files.FOLDER
    if resume and (folder / "config.json").is_file():
        saved = model_files.read_config(folder)
        if "start" not in saved:
            return None
        return _Origin(model_files.read_tokens(folder), saved, saved["start"], None)
    if options.start is None:
        return None
    if Path(options.start).resolve() == run.resolve():
        raise InputError(f"{run} cannot start from its own model: --resume goes on with it")
    start = model_files.load_model(Path(options.start))
    weights = (Path(options.start) / model_files.FOLDER / "model.safetensors").read_bytes()
    told = {"run": options.start, "sha256": hashlib.sha256(weights).hexdigest()}
    return _Origin(start.tokens, start.config, told, start.model.state_dict())


def evenly(items: Sequence[Example], most: int) -> list[Example]:
    """At most so many of the items, spread over all of them."""
    if len(items) <= most:
        return list(items)
    return [items[i * len(items) // most] for i in range(most)]
