"""Training: p(rule | fact) from a run's dataset, exact to resume, the same on one process or several.

Per update: the loss of the allowed rules, averaged over the facts of a batch, plus the term for forbidden rules.

    negatives same-head     forbidden rules leave the allowed sets; plus −log(1 − M), where M is the mass of the
                            first tokens by which forbidden rules of the same head leave the trie. M bounds their
                            mass from above, and needs no node of its own
    negatives remove        forbidden rules leave the allowed sets, nothing else
    negatives paper         allowed sets as they are; plus γ Σ −L over 50 sampled forbidden sets of any head, each
                            bounded below (losses.paper_negatives)
    negatives none          negatives are ignored
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ruleminer import notebook
from ruleminer.dataset import read_dataset, require_dataset
from ruleminer.errors import InputError, RuleminerError
from ruleminer.learn import checkpoint, model_files
from ruleminer.learn.batches import PAPER_SETS, PaperNegatives, pass_batches, plain_batch
from ruleminer.learn.checkpoint import Position
from ruleminer.learn.curve import LEARNED, draw_curve
from ruleminer.learn.examples import Example, SplitExamples, TrainingSet, examples_of, training_set
from ruleminer.learn.losses import forbidden_mass, loss_named, paper_negatives
from ruleminer.learn.options import TrainOptions
from ruleminer.learn.tokens import Tokens
from ruleminer.learn.transformer import SIZES, Scores
from ruleminer.learn.trie import ALLOWED, FORBIDDEN
from ruleminer.learn.workers import Workers, is_first, workers
from ruleminer.progress import Progress, Say, silent, unsaid
from ruleminer.run import Run, RunLike
from ruleminer.whole_files import remove, swap, unwritable, write_whole

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

    def _repr_html_(self) -> str:
        headings = ("P_pos", "P_neg", "updates", "seconds", "stopped, for", "parameters")
        figures = (notebook.share(self.p_pos), notebook.share(self.p_neg), self.updates, round(self.seconds))
        shown = notebook.table(f"Model in {self.folder}", headings, [(*figures, self.reason, self.parameters)])
        return shown + notebook.picture(self.folder / "curve.png", "the learning curve")


def train_run(
    run: RunLike,
    options: TrainOptions | None = None,
    resume: bool = False,
    force: bool = False,
    progress: Progress = silent,
    say: Say = unsaid,
) -> TrainResult:
    """Train a model on RUN/dataset and leave it in RUN/model.

    `resume` goes on where a killed run was. A model that is there is replaced only with `force`, and only when the new
    one is there: until it ends, a training is in RUN/.training.
    """
    run, options = Run.of(run), options or TrainOptions()
    require_dataset(run)
    if not resume and not force:
        run.keep_model()  # before the team gathers: its first member writes there
    device = choose_device(options.device)
    set_threads(options.threads)
    alone = run.held("train") if is_first() else nullcontext()
    with alone, deterministic(device), workers(device) as team:
        if not resume and not force and team.first:
            run.keep_model()  # another may have made one meanwhile
        if not team.first:
            progress, say = silent, unsaid
        return Training(run, options, team, resume, progress, say).run()


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
        raise InputError("device cuda was asked for, but torch sees no CUDA device; use ‹device=cpu›")
    return torch.device("cuda" if name == "cuda" or (name == "auto" and torch.cuda.is_available()) else "cpu")


def set_threads(threads: int | None) -> None:
    """As many threads as asked for, else the cores that this process may use, shared among local peers."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    torch.set_num_threads(threads or max(1, cores // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))))


class Training:
    """A training run in progress."""

    def __init__(
        self,
        run: RunLike,
        options: TrainOptions,
        team: Workers,
        resume: bool,
        progress: Progress = silent,
        say: Say = unsaid,
    ) -> None:
        run = Run.of(run)
        self.run_folder, self.options, self.team = run, options, team
        self.progress, self.say, self.measured = progress, say, ""
        self.folder = run.training
        self.loss = loss_named(options.loss)
        self.position = Position()
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
        self.passes = max(options.passes, -(-options.least_updates // a_pass))
        self.updates = options.updates or self.passes * a_pass
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
        position, last_save = self.position, -math.inf  # from the first update on, there is something to resume
        self._report_data()
        batches = self._batches()
        while not position.finished:
            began = time.monotonic()
            places = self._update(batches[position.batch], self._share_done(len(batches)))
            position.batch += 1
            if position.batch == len(batches):
                position.number, position.batch = position.number + 1, 0
                batches = self._batches()
                if position.number % self.validate_every == 0 or self._is_through():
                    self._validate()
            took = time.monotonic() - began
            position.seconds += took
            self._decide_whether_done()
            loss = f"loss {position.loss_sum / max(position.loss_facts, 1):.4f}"
            done = round(self._share_done(len(batches)) * self.updates)
            self.progress("training", f"{loss}  {self.measured}{places / took:,.0f} tokens/s", done, self.updates)
            if position.finished or time.monotonic() - last_save > _CHECKPOINT_SECONDS:
                self._save()
                last_save = time.monotonic()
        return self._finish()

    def _share_done(self, batches: int) -> float:
        """How much of the updates, or of the passes where no number of updates was asked for."""
        position = self.position
        if self.options.updates is not None:
            return position.update / self.options.updates
        return (position.number + position.batch / batches) / self.passes

    def _is_through(self) -> bool:
        if self.options.updates is not None:
            return self.position.update >= self.options.updates
        return self.position.number >= self.passes

    def _batches(self) -> list[list[int]]:
        return pass_batches(self.sizes, self.options.batch_nodes, self.options.seed, self.position.number)

    def _update(self, facts: Sequence[int], done: float) -> int:
        """One step of the optimiser; the number of places of tries it took."""
        options, position, team = self.options, self.position, self.team
        mine = team.share(facts)
        weight = len(mine) / len(facts) * team.count  # DDP takes the mean over processes
        if self.paper is not None:
            seed = [options.seed, 1 + team.rank, position.update]
            batch, bits = self.paper.batch(self.data, mine or facts[:1], options.row_length, seed)
        else:
            batch, bits = plain_batch(self.data, mine or facts[:1], options.row_length), []
        for group in self.optimizer.param_groups:
            group["lr"] = options.learning_rate * self._rate(done)
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
                f"the loss became {total} (gradient {float(norm):g}) at update {position.update + 1}: training "
                f"stopped; the last good checkpoint is in {self.folder}; train anew with a ‹learning_rate› below "
                f"{options.learning_rate:g}"
            )
        self.optimizer.step()
        position.update += 1
        position.loss_sum += total
        position.loss_facts += len(facts)
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

    def _rate(self, done: float) -> float:
        """A linear rise over the first updates, then half a cosine."""
        rise = (self.position.update + 1) / max(self.options.warmup, 1)
        fall = 0.5 * (1 + math.cos(math.pi * done))
        return min(rise, 1.0) * (_LAST_RATE + (1 - _LAST_RATE) * fall)

    @torch.no_grad()
    def _validate(self) -> None:
        position, data = self.position, self.validation
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
            "update": position.update,
            "pass": position.number,
            "loss": position.loss_sum / position.loss_facts,
            "p_pos": p_pos,
            "p_neg": p_neg,
        }
        position.loss_sum = position.loss_facts = 0.0
        position.stale += 1
        if p_pos - p_neg > position.best or position.best_line is None:
            if p_pos - p_neg > position.best + _LEAST_GAIN:
                position.stale = 0
            position.best, position.best_line = p_pos - p_neg, line
            self.best = self._weights()
            if self.team.first:
                model_files.write_tensors(self.folder / "model.safetensors", self.best)
        position.lines += 1
        if self.team.first:
            model_files.append_line(self.folder / "metrics.jsonl", json.dumps(line))
        self.measured = f"P_pos {p_pos:.4f}  P_neg {p_neg:.4f}  "
        self.say(
            f"update {line['update']:>5}  pass {line['pass']:>6.2f}  loss {line['loss']:9.4f}  "
            f"{self.measured}{position.seconds:6.1f} s"
        )

    def _decide_whether_done(self) -> None:
        position, limit = self.position, self.options.time_limit
        seconds = self.team.total(position.seconds)[0] / self.team.count if limit else 0.0
        if self._is_through():
            if position.loss_facts:  # updates that nobody has validated yet
                self._validate()
            updates = self.options.updates
            position.finished = f"{self.passes} passes over the data" if updates is None else "as many as asked for"
        elif position.best > 1 - _LEAST_GAIN:
            position.finished = "nothing left to gain on the validation facts"
        elif position.stale >= self.options.patience:
            position.finished = f"no gain on the validation facts in {position.stale} validations"
        elif limit and seconds > 60 * limit:
            if position.loss_facts:  # updates that nobody has validated yet
                self._validate()
            position.finished = f"{_TIME_IS_UP} of {limit:g} min, earlier sessions included"

    def _finish(self) -> TrainResult:
        position, best = self.position, self.position.best_line
        assert best is not None
        parameters = sum(weight.numel() for weight in self.model.parameters())
        place = self.run_folder.model
        result = TrainResult(
            best["p_pos"], best["p_neg"], position.update, position.seconds, position.finished, parameters, place
        )
        if self.team.first:
            told = {name: value for name, value in asdict(result).items() if name != "seconds"}
            self._write_config({**self.config, "result": {**told, "folder": place.name}})
            write_whole(self.folder / "times.json", json.dumps({"seconds": round(position.seconds, 2)}) + "\n")
            draw_curve(self.folder)
            try:
                # An old model without a checkpoint cannot be taken for a training that goes on, wherever it lies.
                (place / "checkpoint.safetensors").unlink(missing_ok=True)
                swap(self.folder, place)
            except OSError as problem:
                raise unwritable(place, problem) from None
        self.say(
            f"Stopped after {position.update} updates, {position.seconds:.0f} s: {position.finished}. "
            f"Validation P_pos {result.p_pos:.4f}, P_neg {result.p_neg:.4f}. Model in {place}"
        )
        if result.p_pos < LEARNED:
            self.say("note: the model has learned little; it needs more time, more updates or more facts")
        return result

    def _sets(self, examples: SplitExamples) -> tuple[TrainingSet, TrainingSet]:
        options = self.options
        used = examples.forbidden("train") if options.negatives in ("same-head", "remove") else set()
        mark = options.negatives == "same-head"
        data = training_set(examples, examples.positives["train"], used, options.longest_rule, mark)
        if not len(data):
            raise InputError(
                f"no training fact of {self.run_folder} has an allowed rule of at most {options.longest_rule} tokens "
                f"({data.left_out} are longer; see ‹longest_rule›)"
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
            "tokens": model_files.digest(self.examples.tokens.model),
            "size": asdict(SIZES[self.options.size]),
            "longest_input": self.options.longest_input,
            "longest_rule": max(longest, self.options.longest_rule),
            "dataset": self.dataset_hash,
            "options": self.options.to_json(),
        }
        return config if origin is None else origin.fitted(config)

    def _report_data(self) -> None:
        data, examples = self.data, self.examples
        self.say(
            f"{len(data)} training facts, {len(self.validation)} validation facts, {len(examples.rules)} rules, "
            f"{sum(self.sizes)} places in tries, {sum(w.numel() for w in self.model.parameters()):,} parameters"
        )
        for count, what in (
            (data.left_out, f"candidates are longer than {self.options.longest_rule} tokens and left out"),
            (data.emptied, "training facts have no allowed rule (forbidden or too long) and teach nothing"),
            (examples.without_candidates, "positive facts have no candidate at all"),
        ):
            if count:
                self.say(f"note: {count} {what}")

    def _weights(self) -> dict[str, Tensor]:
        return {name: weight.detach().clone() for name, weight in self.model.state_dict().items()}

    def _write_config(self, config: dict[str, Any]) -> None:
        write_whole(self.folder / "config.json", json.dumps(config, indent=2) + "\n")

    def _start_afresh(self) -> None:
        try:
            remove(self.folder)
            self.folder.mkdir(parents=True)
        except OSError as problem:
            raise unwritable(self.folder, problem) from None
        write_whole(self.folder / "tokens.model", self.examples.tokens.model)
        self._write_config(self.config)

    def _save(self) -> None:
        if self.team.first:
            checkpoint.save(self.folder, self.model, self.best, self.optimizer, self.position, self.config)

    def _restore(self) -> None:
        before = self.run_folder.unfinished or self.run_folder.model
        checkpoint.check(before, self.config)
        if self.options.start and "start" not in self.config:
            raise InputError(f"the training in {before} began from scratch: resume it without ‹start›")
        self.best, self.position = checkpoint.load(before, self.model, self.optimizer, self.config)
        if self.team.first:
            self._go_on_from(before)
            metrics = self.folder / "metrics.jsonl"
            write_whole(metrics, model_files.first_lines(metrics, self.position.lines))
            if self.position.best_line is not None:
                model_files.write_tensors(self.folder / "model.safetensors", self.best)
        if self.position.finished.startswith(_TIME_IS_UP):  # there may be more time now
            self.position.finished = ""
            self._decide_whether_done()

    def _go_on_from(self, before: Path) -> None:
        """A model that has ended stays as it is until the new one is complete: its training goes on in a copy."""
        if before == self.folder:
            return
        try:
            remove(self.folder)
            fresh = self.folder.with_name(f"{self.folder.name}.fresh")
            remove(fresh)
            shutil.copytree(before, fresh, symlinks=True)
            fresh.rename(self.folder)
        except (OSError, shutil.Error) as problem:
            raise InputError(f"{self.folder}: cannot be written ({problem})") from None


@dataclass(frozen=True)
class _Origin:
    """What a model has of the one that it goes on from."""

    tokens: Tokens
    config: Mapping[str, Any]
    told: Mapping[str, str]  # where it is from
    weights: Mapping[str, Tensor] | None  # None where a checkpoint has newer ones

    def fitted(self, config: dict[str, Any]) -> dict[str, Any]:
        """A new model's config with the dimensions of this one, which must do for the data."""
        for name, what in (("longest_input", "a fact"), ("longest_rule", "a rule (see ‹longest_rule›)")):
            if config[name] > self.config[name]:
                raise InputError(
                    f"the model to go on from has room for {self.config[name]} tokens of {what}, not {config[name]}: "
                    "ask for no more, or train from scratch"
                )
        own = {name: self.config[name] for name in ("size", "longest_input", "longest_rule")}
        return {**config, **own, "start": dict(self.told)}


def _origin(run: Run, options: TrainOptions, resume: bool) -> _Origin | None:
    """The model that this one goes on from, if any; a run that is resumed has all it needs of it."""
    folder = run.unfinished or run.model
    if resume and (folder / "config.json").is_file():
        saved = model_files.read_config(folder)
        if "start" not in saved:
            return None
        return _Origin(model_files.read_tokens(folder, saved), saved, saved["start"], None)
    if options.start is None:
        return None
    if Path(options.start).resolve() == run.folder.resolve():
        raise InputError(f"{run} cannot start from its own model: ‹resume=True› goes on with it")
    start = model_files.load_model(Path(options.start))
    weights = (Run.of(options.start).model / "model.safetensors").read_bytes()
    told = {"run": options.start, "sha256": hashlib.sha256(weights).hexdigest()}
    return _Origin(start.tokens, start.config, told, start.model.state_dict())


def evenly(items: Sequence[Example], most: int) -> list[Example]:
    """At most so many of the items, spread over all of them."""
    if len(items) <= most:
        return list(items)
    return [items[i * len(items) // most] for i in range(most)]
