"""The dataset on disk: a folder of Parquet files and a manifest, written whole or not at all.

facts.parquet        fact, predicate, arg1, arg2, kind1, kind2, positive, drawn (a negative that nobody gave);
                     where an argument is known to be a key of one space: space1, space2, as table and column of its key
rules.parquet        rule, template, text                 each rule's text once
candidates.parquet   fact, rule                           the rules that derive each fact
unexplained.parquet  fact, pos, reason                    the facts that no rule derives, and why
schema.json          the source's tables and columns
ontology.json        the classes and properties, if an ontology was given
manifest.json        where it came from, with which options, how much there is of what
times.json           when it was made and how long that took; all else is the same whenever it is made from the same
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ruleminer.errors import InputError, first_line
from ruleminer.problem.ontology import Ontology
from ruleminer.rules.body import ANY_PREDICATE, Body
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.values import Place
from ruleminer.run import Run, RunLike
from ruleminer.sources.schema import Schema
from ruleminer.whole_files import is_aside, whole_folder

FORMAT = 1


Example = tuple[str, tuple[str, ...], tuple[Place | None, ...]]
"""A predicate, arguments, and the spaces of these, none if none is known."""


@dataclass(frozen=True)
class Dataset:
    """A dataset, read into memory."""

    folder: Path
    facts: pa.Table
    rules: pa.Table
    candidates: pa.Table
    schema: Schema
    manifest: Mapping[str, Any]
    ontology: Ontology | None = None

    @cached_property
    def rule_texts(self) -> dict[int, str]:
        """The rules by number, as they are written."""
        return dict(zip(self.rules["rule"].to_pylist(), self.rules["text"].to_pylist(), strict=True))

    def bodies(self, numbers: Iterable[int]) -> dict[int, Body]:
        """What these rules say, whatever their predicates; what several predicates share is parsed once."""
        texts = {number: _headless(self.rule_texts[number]) for number in numbers}
        parsed = {text: Body(parse_rule(text)) for text in dict.fromkeys(texts.values())}
        return {number: parsed[text] for number, text in texts.items()}

    @property
    def lines_of_examples(self) -> dict[Example, str]:
        """The file and the line of positive examples from CSV, as far as they are told, by what they say."""
        lines: Mapping[str, str] = self.manifest.get("lines", {})
        found: dict[Example, str] = {}
        for row in self.facts.to_pylist() if lines else ():
            if row["positive"] and (where := lines.get(str(row["fact"]))):
                arguments = tuple(value for value in (row["arg1"], row["arg2"]) if value is not None)
                found[row["predicate"], arguments, _spaces(row)[: len(arguments)]] = where
        return found

    def facts_with_rules(self) -> Iterator[FactWithRules]:
        """Every fact with the rules that derive it, each once."""
        rules_of: dict[int, dict[int, None]] = defaultdict(dict)
        columns = (self.candidates[name].to_pylist() for name in ("fact", "rule"))
        for fact, rule in zip(*columns, strict=True):
            rules_of[fact][rule] = None
        for row in self.facts.to_pylist():
            yield FactWithRules(
                row["fact"],
                row["predicate"],
                tuple(value for value in (row["arg1"], row["arg2"]) if value is not None),
                row["positive"],
                row.get("drawn", not row["positive"]),
                tuple(rules_of.get(row["fact"], ())),
                _spaces(row),
            )


@dataclass(frozen=True, slots=True)
class FactWithRules:
    """A fact of a dataset and the numbers of the rules that derive it."""

    number: int
    predicate: str
    arguments: tuple[str, ...]
    positive: bool
    drawn: bool  # a negative that nobody gave; where that is not known, every negative
    rules: tuple[int, ...]
    spaces: tuple[Place | None, ...] = ()  # of each argument: the key that it is a value of, if that is known


def _headless(text: str) -> str:
    """A rule's text with a stand-in for its predicate; a quoted one is left as it is."""
    return text if text.startswith('"') else ANY_PREDICATE + text[text.find("(") :]


def _spaces(row: Mapping[str, Any]) -> tuple[Place | None, ...]:
    keys = (row.get("space1"), row.get("space2"))
    return tuple(key and Place(key["table"], key["column"]) for key in keys) if any(keys) else ()


@dataclass(frozen=True)
class LabelledFact:
    """A fact to be written, and the texts of the rules that derive it."""

    predicate: str
    arguments: tuple[str, ...]
    rules: tuple[str, ...]
    positive: bool = True


def write_labelled_facts(
    run: RunLike, facts: Sequence[LabelledFact], schema: Schema, source: str, force: bool = False
) -> Path:
    """Write `RUN/dataset` from candidate sets that did not come from an extraction; rules in order of text.

    A dataset that is there is replaced only with `force`. Every rule's template is `given`: nobody knows a better one.
    Nor is it known which negatives were drawn.
    """
    run = Run.of(run)
    if not force:
        run.keep_dataset()
    numbers = {text: number for number, text in enumerate(sorted({rule for fact in facts for rule in fact.rules}))}
    pairs = [(number, numbers[rule]) for number, fact in enumerate(facts) for rule in dict.fromkeys(fact.rules)]
    without = [number for number, fact in enumerate(facts) if not fact.rules]
    nothing = pa.nulls(len(facts), pa.string())
    arguments = [[fact.arguments[place] if place < len(fact.arguments) else None for fact in facts] for place in (0, 1)]
    tables = {
        "facts": {
            "fact": pa.array(range(len(facts)), pa.int32()),
            "predicate": pa.array([fact.predicate for fact in facts], pa.string()),
            "arg1": pa.array(arguments[0], pa.string()),
            "arg2": pa.array(arguments[1], pa.string()),
            "kind1": nothing,
            "kind2": nothing,
            "positive": pa.array([fact.positive for fact in facts], pa.bool_()),
        },
        "unexplained": {
            "fact": pa.array(without, pa.int32()),
            "pos": pa.nulls(len(without), pa.int32()),
            "reason": pa.array(["no rule was given"] * len(without), pa.string()),
        },
        "rules": {
            "rule": pa.array(numbers.values(), pa.int32()),
            "template": pa.array(["given"] * len(numbers), pa.string()),
            "text": pa.array(list(numbers), pa.string()),
        },
        "candidates": {
            "fact": pa.array([fact for fact, _ in pairs], pa.int32()),
            "rule": pa.array([rule for _, rule in pairs], pa.int32()),
        },
    }
    manifest = {"source": source, "facts": len(facts), "rules": len(numbers)}
    with whole_folder(run.dataset) as fresh:
        for name, columns in tables.items():
            pq.write_table(pa.table(columns), fresh / f"{name}.parquet")
        _write_notes(fresh, schema, manifest)
    return run.dataset


def write_empty_dataset(
    run: RunLike,
    schema: Schema,
    manifest: Mapping[str, Any],
    times: Mapping[str, Any],
    ontology: Ontology,
    force: bool = False,
) -> Path:
    """Write `RUN/dataset` without any fact: for a mapping that is drafted from the database and the ontology alone."""
    run = Run.of(run)
    if not force:
        run.keep_dataset()
    columns: dict[str, dict[str, pa.DataType]] = {
        "facts": {
            "fact": pa.int32(),
            **dict.fromkeys(("predicate", "arg1", "arg2", "kind1", "kind2"), pa.string()),
            "positive": pa.bool_(),
            "drawn": pa.bool_(),
        },
        "rules": {"rule": pa.int32(), "template": pa.string(), "text": pa.string()},
        "unexplained": {"fact": pa.int32(), "pos": pa.int32(), "reason": pa.string()},
        "candidates": {"fact": pa.int32(), "rule": pa.int32()},
    }
    with whole_folder(run.dataset) as fresh:
        for name, kinds in columns.items():
            pq.write_table(pa.schema(list(kinds.items())).empty_table(), fresh / f"{name}.parquet")
        _write_ontology(fresh, ontology)
        _write_notes(fresh, schema, manifest, times)
    return run.dataset


def write_dataset(
    work: duckdb.DuckDBPyConnection,
    run: Run,
    template_names: list[str],
    schema: Schema,
    manifest: Mapping[str, Any],
    times: Mapping[str, Any],
    examples: pa.Table,
    ontology: Ontology | None = None,
    spaces: Sequence[Place] = (),
    again: bool = False,
) -> Path:
    """Write `RUN/dataset` from the relations `fact`, `rule`, `kept` and `unexplained`.

    Rules are numbered in order of text. Negatives that are not among the examples were drawn. `spaces` are the keys of
    the spaces that `fact` knows by number. A dataset that is written `again` must be the one that is there.
    """
    with whole_folder(run.dataset) as fresh:
        work.register("template_name", pa.table({"template": range(len(template_names)), "name": template_names}))
        work.execute(
            """
            CREATE OR REPLACE TEMP TABLE numbered AS
            SELECT rule AS old, CAST(row_number() OVER (ORDER BY text) - 1 AS INTEGER) AS rule, name AS template, text
            FROM rule JOIN template_name USING (template) WHERE rule IN (SELECT rule FROM kept)
            """
        )
        work.unregister("template_name")
        work.register("given", examples.filter(pc.invert(examples["positive"])))
        known = work.execute("SELECT 1 FROM fact WHERE space1 IS NOT NULL OR space2 IS NOT NULL LIMIT 1").fetchall()
        keys = [{"table": place.table, "column": place.column} for place in spaces]
        work.register("space_key", pa.table({"number": pa.array(range(len(keys)), pa.int32()), "key": _keys(keys)}))
        key_of = "(SELECT key FROM space_key WHERE number = {0}) AS {0}"
        named = f", {key_of.format('space1')}, {key_of.format('space2')}" if known else ""
        for name, query in (
            (
                "facts",
                "SELECT fact, predicate, arg1, arg2, kind1, kind2, positive, NOT positive AND NOT EXISTS (SELECT 1 "
                "FROM given g WHERE g.predicate = f.predicate AND g.arg1 = f.arg1 "
                "AND g.arg2 IS NOT DISTINCT FROM f.arg2 AND g.space1 IS NOT DISTINCT FROM f.space1 "
                "AND g.space2 IS NOT DISTINCT FROM f.space2) "
                f"AS drawn{named} FROM fact f WHERE positive IS NOT NULL "
                "ORDER BY fact",
            ),
            ("rules", "SELECT rule, template, text FROM numbered ORDER BY rule"),
            ("unexplained", "SELECT fact, pos, reason FROM unexplained ORDER BY fact"),
            ("candidates", "SELECT fact, n.rule FROM kept c JOIN numbered n ON n.old = c.rule ORDER BY ALL"),
        ):
            path = str(fresh / f"{name}.parquet").replace("'", "''")
            work.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet, COMPRESSION zstd)")
        work.unregister("given")
        work.unregister("space_key")
        if ontology is not None:
            _write_ontology(fresh, ontology)
        _write_notes(fresh, schema, manifest, times)
        if again and not _are_alike(fresh, run.dataset):
            told = f"the database is not as it was when the dataset in {run} was extracted"
            raise DatasetChangedError(f"{told}; ‹force=True› replaces it, or choose another folder")
    return run.dataset


class DatasetChangedError(InputError):
    """What was extracted once more is not what is there."""


def _are_alike(one: Path, other: Path) -> bool:
    """Whether two datasets are the same, whenever they were made."""
    names = ["schema.json", "ontology.json", *(f"{name}.parquet" for name in (*_COLUMNS, "unexplained"))]
    return all(_content(one / name) == _content(other / name) for name in names)


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _keys(keys: Sequence[Mapping[str, str]]) -> pa.Array:
    return pa.array(keys, pa.struct([("table", pa.string()), ("column", pa.string())]))


def _write_ontology(folder: Path, ontology: Ontology) -> None:
    (folder / "ontology.json").write_text(json.dumps(ontology.to_json(), ensure_ascii=False) + "\n", "utf-8")


def _write_notes(
    folder: Path, schema: Schema, manifest: Mapping[str, Any], times: Mapping[str, Any] | None = None
) -> None:
    (folder / "schema.json").write_text(json.dumps(schema.to_json(), indent=1, ensure_ascii=False) + "\n", "utf-8")
    text = json.dumps({"format": FORMAT, **manifest}, indent=2, ensure_ascii=False)
    (folder / "manifest.json").write_text(text + "\n", "utf-8")
    (folder / "times.json").write_text(json.dumps(times or {}, indent=1) + "\n", "utf-8")


def proposals_are_stale(run: Run) -> bool:
    """Whether the run's proposals were made from another dataset than the one that is there now."""
    try:
        told = json.loads((run.proposals / "proposals.json").read_text("utf-8"))["made_from"]["dataset"]
        return bool(told != json.loads((run.dataset / "manifest.json").read_text("utf-8")).get("plan"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):  # nobody knows
        return False


def require_dataset(run: RunLike) -> Path:
    """The folder of a run's dataset, or the dataset folder itself; one line where there is none."""
    run = Run.of(run)
    if not run.folder.is_dir():
        raise InputError(f"{run}: no such folder")
    folder = run.dataset if run.has_dataset else run.folder
    if not (folder / "manifest.json").is_file() and not is_aside(run.dataset):  # who holds the run puts it back
        raise InputError(f"no dataset in {run}: extract one first")
    return folder


def read_dataset(run: RunLike) -> Dataset:
    """The dataset of a run folder, or of the dataset folder itself."""
    folder = require_dataset(run)
    manifest_path = folder / "manifest.json"
    try:
        manifest = json.loads(manifest_path.read_text("utf-8"))
        if not isinstance(manifest, dict):
            raise ValueError("manifest.json is no object")
        schema = Schema.from_json(json.loads((folder / "schema.json").read_text("utf-8")))
        ontology_path = folder / "ontology.json"
        ontology = Ontology.from_json(json.loads(ontology_path.read_text("utf-8"))) if ontology_path.is_file() else None
        facts, rules, candidates = (_read_table(folder / f"{name}.parquet") for name in _COLUMNS)
        if candidates.num_rows and not pc.all(pc.is_in(candidates["rule"], rules["rule"])).as_py():
            raise ValueError("candidates.parquet names a rule that is not there")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, pa.ArrowException) as error:
        raise InputError(f"the dataset in {folder} is damaged ({first_line(error)}): extract it anew") from None
    if manifest.get("format") != FORMAT:
        raise InputError(f"the dataset in {folder} has format {manifest.get('format')}, not {FORMAT}: extract it anew")
    return Dataset(folder, facts, rules, candidates, schema, manifest, ontology)


_TEXT, _NUMBER = pa.types.is_string, pa.types.is_integer
_COLUMNS: dict[str, dict[str, Callable[[pa.DataType], bool]]] = {
    "facts": {
        "fact": _NUMBER,
        **dict.fromkeys(("predicate", "arg1", "arg2", "kind1", "kind2"), _TEXT),
        "positive": pa.types.is_boolean,
    },
    "rules": {"rule": _NUMBER, "template": _TEXT, "text": _TEXT},
    "candidates": {"fact": _NUMBER, "rule": _NUMBER},
}
"""What readers of a dataset rely on."""


def _read_table(path: Path) -> pa.Table:
    table = pq.read_table(path)
    for name, is_right in _COLUMNS[path.stem].items():
        if name not in table.column_names or not is_right(table.schema.field(name).type):
            raise ValueError(f"{path.name} has no column {name} of the right type")
    return table


def read_times(folder: Path) -> dict[str, Any]:
    """When a stage's folder was made and how long that took; nothing where that is not known."""
    try:
        told = json.loads((folder / "times.json").read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}
