"""The stage `propose`: from a run's dataset and model, and the live database, to ranked proposals and a mapping."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import ruleminer
from ruleminer.errors import InputError
from ruleminer.extract.dataset import Dataset
from ruleminer.learn.curve import LEARNED, kept, read_curve
from ruleminer.learn.model_files import FOLDER, dataset_hash, load_model
from ruleminer.learn.options import DEVICES
from ruleminer.learn.scoring import Fact, RuleScorer
from ruleminer.learn.training import choose_device
from ruleminer.problem.database import Database, open_database
from ruleminer.problem.ontology import Ontology, read_ontology
from ruleminer.propose.calibration import calibrated, trials
from ruleminer.propose.claims import winners
from ruleminer.propose.describe import describe, guessed, nothing
from ruleminer.propose.extensions import Extensions
from ruleminer.propose.guesses import guesses
from ruleminer.propose.judge import Judge
from ruleminer.propose.memory import Memory
from ruleminer.propose.pool import GUESS, Pool, dataset_pools, rule_pool
from ruleminer.propose.prior import PriorWeights
from ruleminer.propose.proposals import Proposal, Proposals, Status
from ruleminer.propose.ranking import Judged, Ranker

DEFAULT_RANKER = Ranker.EVIDENCE
_ASKED, _BEAM = 2, 4  # facts per predicate that the model writes rules for, and how many

Progress = Callable[[str, str, int, int], None]


@dataclass(frozen=True, slots=True)
class ProposeRequest:
    """The options of `propose-mappings`; None stands for "not given"."""

    run: Path
    db: str | None = None
    schema: str | None = None
    ontology: Path | None = None
    ranker: str | None = None
    model: Path | None = None  # a run whose model is asked instead of this run's own
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    device: str = "auto"
    timeout: float = 300.0
    out: Path | None = None
    iris: tuple[str, ...] = ()  # "Class=template" of the user
    base: str | None = None
    scenario: Path | None = None  # whose query pairs check the mapping
    reasoning: str = "rdfs"
    guess: bool = False  # also put guesses for terms without examples into the mapping
    seed: int = 0

    def __post_init__(self) -> None:
        if self.ranker is not None and self.ranker not in (*Ranker,):
            raise InputError(f"--ranker must be one of {', '.join(Ranker)}, not {self.ranker!r}")
        if self.device not in DEVICES:
            raise InputError(f"--device must be one of {', '.join(DEVICES)}, not {self.device!r}")
        if self.seed < 0:
            raise InputError(f"--seed must be a whole number from 0, not {self.seed}")


def propose(
    request: ProposeRequest,
    dataset: Dataset,
    ontology: Ontology,
    database: Database,
    progress: Progress = lambda stage, what, done, total: None,
) -> Proposals:
    """Rank rules for every class and property of the ontology."""
    notes: list[str] = []
    scorer = _scorer(request, dataset, notes)
    ranker = _ranker(request, scorer)
    own_model = request.model is None or request.model.resolve() == request.run.resolve()
    if own_model and ranker is Ranker.NEURAL:
        notes.append(
            "the run's own model knows of these examples only: the neural ranker hears it for terms without examples, "
            "and is the evidence ranker elsewhere; --model asks one that learnt from other schemas"
        )
    seconds: dict[str, float] = {}
    notes += [*_misfits(dataset, database), *_cut(dataset)]
    extensions = Extensions(database)
    judge = Judge(ontology, extensions, scorer, own_model=own_model)
    with _timed(seconds, "pool"):
        progress("pool", "", 0, 1)
        pools = dataset_pools(dataset)
        progress("pool", "", 1, 1)
    with _timed(seconds, "model"):
        written = _written_rules(scorer, pools, database, progress) if scorer and _can_write(request, notes) else {}
    with _timed(seconds, "database"):
        memory = Memory(request.run, extensions)
        judged, reasons = _judge_all(judge, pools, written, progress, memory)
    with _timed(seconds, "ranking"):
        weights = PriorWeights()
        calibration = calibrated(trials(judged.values(), ranker, weights, seed=request.seed))
        rankers = [name for name in Ranker if name is not Ranker.NEURAL or scorer is not None]
        best = {name: winners(judged, name, weights) for name in rankers}
        done: dict[str, Proposal] = {}
        for number, (predicate, one) in enumerate(judged.items()):
            progress("ranking", predicate, number, len(judged))
            done[predicate] = describe(one, ranker, weights, ontology, extensions, calibration, best)
        progress("ranking", "", len(judged), len(judged))
    with _timed(seconds, "guesses"):
        rest = list(_without_examples(ontology, done, pools, reasons, judge, ranker, progress))
    if extensions.lost:
        memory.save(now=True)
        notes.append(f"{extensions.lost}; what had been asked by then is proposed")
    else:
        memory.forget()
    notes += _refusals(pools, extensions)
    tables = database.schema.tables
    return Proposals(
        str(request.run),
        {
            "url": database.safe_url,
            "schema": database.schema_name,
            "dialect": database.dialect,
            "tables": len(tables),
            "rows": sum(table.rows or 0 for table in tables),
        },
        str(ranker),
        {
            "positives": sum(len(pool.positives) for pool in pools.values()),
            "negatives": sum(len(pool.negatives) for pool in pools.values()),
        },
        tuple(sorted([*done.values(), *rest], key=lambda p: (p.status is not Status.PROPOSED, p.predicate))),
        calibration,
        (),
        tuple(dict.fromkeys(notes)),
        {name: round(value, 3) for name, value in seconds.items()},
        {"ruleminer": ruleminer.__version__, "python": platform.python_version()},
    )


def run_ontology(request: ProposeRequest, dataset: Dataset) -> Ontology:
    """The ontology of a run, or the one that the user gives."""
    if request.ontology is not None:
        return read_ontology(request.ontology)
    if dataset.ontology is None:
        raise InputError(f"the dataset in {request.run} has no ontology with it: give it with --ontology FILE")
    return dataset.ontology


def _scorer(request: ProposeRequest, dataset: Dataset, notes: list[str]) -> RuleScorer | None:
    home = request.model or request.run
    if request.model is None and not (home / FOLDER).is_dir():
        notes.append(f"no model in {request.run}: the neural ranker is left out (`ruleminer train {request.run}`)")
        return None
    if request.model is not None and not (home / FOLDER / "config.json").is_file():
        raise InputError(f"--model {home}: no {FOLDER}/config.json in it; give the folder of a run that was trained")
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


def _ranker(request: ProposeRequest, scorer: RuleScorer | None) -> Ranker:
    if request.ranker is None:
        return DEFAULT_RANKER
    if request.ranker == Ranker.NEURAL and scorer is None:
        raise InputError(f"--ranker neural needs a model: `ruleminer train {request.run}` makes one")
    return Ranker(request.ranker)


def live_database(request: ProposeRequest, dataset: Dataset) -> Database:
    """The database that the user names, or the one that the run was extracted from."""
    source = dataset.manifest["source"]
    return open_database(
        request.db or source["url"],
        schema=request.schema or (source["schema"] if request.db is None else None),
        include=request.include,
        exclude=request.exclude,
        timeout=request.timeout,
    )


def _misfits(dataset: Dataset, database: Database) -> list[str]:
    """What the dataset's tables have that the live database has not."""
    live, notes = database.schema, []
    unreadable = dict(live.unreadable)
    wanted = [table.name for table in dataset.schema.tables]
    missing = [name for name in wanted if name not in live and name not in unreadable]
    where = f"{database.safe_url}{f', schema {live.name}' if live.name else ''}"
    if len(missing) == len(wanted):
        raise InputError(
            f"none of the {len(wanted)} tables of the run is in {where}: is this the right database, "
            "and the right --schema?"
        )
    if not any(name in live for name in wanted):
        raise InputError(
            f"none of the {len(wanted)} tables of the run can be read in {where}: has this user the right?"
        )
    if missing:
        some = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
        count = "1 table of the run is" if len(missing) == 1 else f"{len(missing)} tables of the run are"
        notes.append(
            f"{count} not in the database: {some}; rules on {'it' if len(missing) == 1 else 'them'} are left out"
        )
    for name, reason in unreadable.items():
        notes.append(f"table {name} cannot be read ({reason}); rules on it are left out")
    for table in dataset.schema.tables:
        if table.name in live:
            here = {column.name for column in live.table(table.name).columns}
            gone = [column.name for column in table.columns if column.name not in here]
            if gone:
                notes.append(f"table {table.name} has no column {', '.join(gone)} any more; rules on it are left out")
    return notes


def _cut(dataset: Dataset) -> list[str]:
    cut = dataset.manifest.get("cut", {}).get("facts", 0)
    if not cut:
        return []
    return [
        f"{cut:,} facts of the run have more candidates than extraction kept (--max-candidates): rules beyond count as "
        "if they did not derive them"
    ]


def _can_write(request: ProposeRequest, notes: list[str]) -> bool:
    """Whether the model has learned enough to be asked for rules; one that has not takes long to write nonsense."""
    best = kept(read_curve((request.model or request.run) / FOLDER))
    if best is None or best.p_pos >= LEARNED:
        return True
    told = f"the model has learned little (validation P_pos {best.p_pos:.3f})"
    notes.append(f"{told}: it is not asked to write rules itself")
    return False


def _written_rules(
    scorer: RuleScorer, pools: Mapping[str, Pool], database: Database, progress: Progress
) -> dict[str, list[str]]:
    """The rules that the model itself writes for some facts of each predicate."""
    written: dict[str, list[str]] = {}
    for number, (predicate, pool) in enumerate(pools.items()):
        progress("model", predicate, number, len(pools))
        facts: list[Fact] = [(predicate, arguments) for arguments in pool.positives[:_ASKED]]
        texts = [text for found in scorer.rules_for(facts, database.schema, _BEAM) for text, _ in found]
        written[predicate] = list(dict.fromkeys(texts))
    progress("model", "", len(pools), len(pools))
    return written


def _judge_all(
    judge: Judge,
    pools: Mapping[str, Pool],
    written: Mapping[str, Sequence[str]],
    progress: Progress,
    memory: Memory,
) -> tuple[dict[str, Judged], dict[str, str]]:
    """Each pool judged by the live database, and for those that cannot be: why."""
    judged: dict[str, Judged] = {}
    reasons: dict[str, str] = {}
    for number, (predicate, pool) in enumerate(pools.items()):
        progress("database", predicate, number, len(pools))
        found = judge.judged(pool, written.get(predicate, ()))
        memory.save()
        if found is not None:
            judged[predicate] = found
        elif not pool.rules:
            reasons[predicate] = f"no rule of the templates derives any of its {len(pool.positives)} examples"
        else:
            refused = next(filter(None, map(judge.extensions.refusal, pool.rules)), "its rules derive nothing here")
            reasons[predicate] = f"no rule can be run in this database: {refused}"
    progress("database", "", len(pools), len(pools))
    return judged, reasons


def _without_examples(
    ontology: Ontology,
    done: Mapping[str, Proposal],
    pools: Mapping[str, Pool],
    reasons: Mapping[str, str],
    judge: Judge,
    ranker: Ranker,
    progress: Progress,
) -> Iterator[Proposal]:
    # Examples may be of a term that the ontology itself does not declare, such as rdfs:label.
    asked = (ontology.find(predicate) for predicate in reasons)
    terms = [t for t in dict.fromkeys((*ontology.terms, *asked)) if t.name not in done]
    for number, term in enumerate(terms):
        progress("guesses", term.name, number, len(terms))
        reason = reasons.get(term.name, "no examples")
        rules = [] if judge.extensions.lost else guesses(term, judge.extensions)
        found = judge.judged(rule_pool(term.name, rules, GUESS)) if rules else None
        told = guessed(found, term, reason, ranker, judge) if found else nothing(term, reason)
        if term.name in pools:
            pool = pools[term.name]
            told = replace(told, positives=len(pool.positives), negatives=len(pool.negatives))
        yield told
    progress("guesses", "", len(terms), len(terms))


def _refusals(pools: Mapping[str, Pool], extensions: Extensions) -> list[str]:
    reasons: dict[str, int] = {}
    for pool in pools.values():
        for rule in pool.rules:
            reason = extensions.refusal(rule)
            if reason and reason != extensions.lost:
                reasons[reason] = reasons.get(reason, 0) + 1
    return [
        f"{count} rule{'s' if count > 1 else ''} could not be run: {reason}"
        for reason, count in sorted(reasons.items())
    ]


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - start
