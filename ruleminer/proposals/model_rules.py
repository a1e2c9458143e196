"""What a trained model brings to proposals: its word on rules, and rules that it writes itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from ruleminer.dataset import Dataset
from ruleminer.errors import InputError, RuleminerError
from ruleminer.learn.curve import LEARNED, kept, read_curve
from ruleminer.learn.model_files import dataset_hash, load_model
from ruleminer.learn.scoring import Fact, RuleScorer
from ruleminer.learn.training import choose_device
from ruleminer.progress import Progress
from ruleminer.proposals.pool import Pool
from ruleminer.proposals.ranking import Ranker
from ruleminer.proposals.request import ProposeRequest
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.values import Rule
from ruleminer.run import Run
from ruleminer.sources.database import Database

DEFAULT_RANKER = Ranker.JOINT
_ASKED, _BEAM = 2, 4  # facts per predicate that the model writes rules for, and how many


def load_scorer(request: ProposeRequest, dataset: Dataset, notes: list[str]) -> RuleScorer | None:
    """The model that the user names, or the run's own; None if there is none that can be used, with a note why."""
    home = Run.of(request.model or request.run)
    if request.model is None and not home.model.is_dir():
        if dataset.candidates.num_rows:  # else there is nothing to learn from
            notes.append(f"no model in {request.run}: the neural ranker is left out (`ruleminer train {request.run}`)")
        return None
    if request.model is not None and not home.has_model:
        raise InputError(
            f"‹model› {home}: no {home.model.name}/config.json in it; give the folder of a run that was trained"
        )
    try:
        saved = load_model(home, choose_device(request.device))
    except InputError as error:
        if request.ranker == Ranker.NEURAL or request.model is not None:
            raise
        notes.append(f"{error}; the neural ranker is left out")
        return None
    if request.model is None and saved.config["dataset"] != dataset_hash(dataset.folder):
        notes.append("the dataset has changed since the model was trained: the neural ranker knows the earlier one")
    return RuleScorer(saved)


def chosen_ranker(request: ProposeRequest, scorer: RuleScorer | None) -> Ranker:
    """The ranker that the user names; `neural` needs a model."""
    if request.ranker is None:
        return DEFAULT_RANKER
    if request.ranker == Ranker.NEURAL and scorer is None:
        raise InputError(f"‹ranker=neural› needs a model: train one in {request.run} first")
    return Ranker(request.ranker)


def can_write(request: ProposeRequest, notes: list[str]) -> bool:
    """Whether the model has learned enough to be asked for rules; one that has not takes long to write nonsense."""
    best = kept(read_curve(Run.of(request.model or request.run).model))
    if best is None or best.p_pos >= LEARNED:
        return True
    told = f"the model has learned little (validation P_pos {best.p_pos:.3f})"
    notes.append(f"{told}: it is not asked to write rules itself")
    return False


def written_rules(
    scorer: RuleScorer, pools: Mapping[str, Pool], database: Database, progress: Progress
) -> dict[str, list[Rule]]:
    """The rules that the model itself writes for some facts of each predicate; what is no rule is left out."""
    written: dict[str, list[Rule]] = {}
    for number, (predicate, pool) in enumerate(pools.items()):
        progress("model", predicate, number, len(pools))
        facts: list[Fact] = [(predicate, arguments) for arguments in pool.positives[:_ASKED]]
        texts = dict.fromkeys(text for rules in scorer.rules_for(facts, database.schema, _BEAM) for text, _ in rules)
        written[predicate] = list(_rules_among(texts))
    progress("model", "", len(pools), len(pools))
    return written


def _rules_among(texts: Iterable[str]) -> Iterator[Rule]:
    for text in texts:
        with suppress(RuleminerError):
            yield parse_rule(text)
