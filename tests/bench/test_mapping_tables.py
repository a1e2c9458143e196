"""The tables and pictures of the mapping study, from records made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ruleminer.bench.mapping_tables import pictures_of, tables_of
from ruleminer.bench.units import Record


def record(kind: str, scenario: str, names: str | None, results: list[tuple[str, int, float, float]]) -> Record:
    settings = {"kind": kind, "scenario": scenario, "names": names, "draws": 1}
    found: list[dict[str, Any]] = [
        {
            "ranker": ranker,
            "examples": examples,
            "wrong": wrong,
            "f1": f1,
            "exact": 3,
            "not_exact": {"no rule": 1},
        }
        for ranker, examples, wrong, f1 in results
    ]
    more = {"one_rule_is_enough_for": 3} if kind == "trial" and scenario != "npd" else {}
    return Record(
        "mapping", scenario, f"{kind}{scenario}{names}", settings, {"results": found, "predicates": 4, **more}, 1.0
    )


RECORDS = [
    Record("mapping", "corpus", "c", {"kind": "corpus"}, {"facts": 3}, 1.0),
    record(
        "trial", "cmt_renamed", None, [("coverage", 0, 0.0, 0.0), ("evidence", 0, 0.0, 0.5), ("evidence", 1, 0.0, 0.75)]
    ),
    record("trial", "npd", None, [("evidence", 0, 0.0, 0.25), ("neural, libra", 0, 0.0, 0.35)]),
    record(
        "trial",
        "workshop-plain",
        "opaque",
        [("evidence", 0, 0.0, 0.3), ("evidence", 1, 0.0, 0.6), ("evidence", 10, 0.3, 0.9)],
    ),
    record("trial", "workshop-renaming", "opaque", [("evidence", 1, 0.0, 0.0)]),
    record("finetuned", "workshop-plain", "opaque", [("neural, libra, this scenario", 1, 0.0, 0.7)]),
]


def rows(title: str) -> dict[str, list[object]]:
    table = next(one for one in tables_of(RECORDS) if one.title.startswith(title))
    return {name: [cell.ours for cell in cells] for name, cells in table.rows}


def test_what_was_learnt_here_stands_beside_the_trial_of_the_same_place() -> None:
    found = rows("Mean F1 over predicates, by number")
    assert found["generated, opaque names: neural, libra, this scenario"] == [None, 0.7, None]
    assert found["generated, opaque names: evidence"] == [0.3, 0.3, 0.9]
    assert found["RODI's CMT: evidence"] == [0.5, 0.75, None]
    assert found["NPD: neural, libra"] == [0.35, None, None]
    assert "NPD: coverage" not in found  # it was not tried there


def test_gains_are_points_over_evidence_where_both_were_tried() -> None:
    found = rows("What a model adds")
    assert found["NPD: neural, libra"] == [pytest.approx(10.0), None]
    assert found["generated, opaque names: neural, libra, this scenario"] == [None, pytest.approx(10.0)]


def test_reasons_are_counted_where_it_was_asked_whether_one_rule_is_enough() -> None:
    found = rows("Proposals of the evidence ranker")
    assert found["0"][0] == 2.0  # cmt_renamed and workshop-plain; npd was not asked
    assert list(found) == ["0", "1", "10, 30% wrong"]


def test_there_is_a_picture_for_each_axis(tmp_path: Path) -> None:
    assert [path.name for path in pictures_of(RECORDS, tmp_path)] == ["examples.png", "names.png", "wrong-examples.png"]
    assert all((tmp_path / name).stat().st_size > 5000 for name in ("examples.png", "names.png", "wrong-examples.png"))


def test_without_trials_there_is_nothing_to_show(tmp_path: Path) -> None:
    assert tables_of(RECORDS[:1]) == []
    assert pictures_of(RECORDS[:1], tmp_path) == []
