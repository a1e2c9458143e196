"""What the commands print fits a terminal of 80 columns, and says which example is wrong."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from ruleminer import terminal
from ruleminer.extraction.summary import DatasetSummary, Gap
from ruleminer.proposals.made_from import as_proposed, wishes
from ruleminer.proposals.proposal import Status
from ruleminer.proposals.request import ProposeRequest
from ruleminer.proposals.stage import Delivery
from ruleminer.terminal import proposals as proposal_screen
from tests.proposals.report.made_up import proposal, proposals


def summary(*gaps: Gap, **manifest: Any) -> DatasetSummary:
    return DatasetSummary(3, 2, 1, (), gaps, manifest, {})


def test_a_wrong_example_is_told_with_its_value() -> None:
    wrong = Gap("orderDate", True, 1, "no such value in any column", "2021-13-06", "4, 2021-13-06")
    lost = Gap("likes", True, 3, "no template leads from one to the other", "1, 2", "1, 2")
    assert terminal.dataset_notes(summary(wrong, lost, Gap("P", False, 1, "why", "x", "x"))) == [
        "no rule: orderDate(4, 2021-13-06): no such value in any column: 2021-13-06",
        "no rule: likes(1, 2): no template leads from one to the other, and 2 more examples so",
    ]


def test_of_many_reasons_some_are_told_and_the_rest_counted() -> None:
    told = terminal.dataset_notes(summary(*(Gap(f"P{i}", True, 1, "why", "x", "x") for i in range(8))))
    assert len(told) == 6
    assert "3 more reasons" in told[-1]


def test_all_searches_that_were_cut_are_one_line() -> None:
    cut = [{"template": f"t{n}", "facts": n, "example": "e", "why": "no room"} for n in (1, 7, 2)]
    (line,) = terminal.dataset_notes(summary(cut_searches=cut))
    assert line.startswith("the search was cut 10 times, by 3 templates; most often t7: no room")
    assert "manifest.json" in line


@pytest.mark.parametrize("width", [80, 160])
def test_the_table_of_proposals_fits(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposal_screen, "results", terminal.PlainConsole(file=StringIO(), width=width))
    drawn = StringIO()
    console = Console(file=drawn, width=width)
    for one in terminal.proposal_tables(proposals(*(proposal(f"predicateOfSomeLength{i}") for i in range(3)))):
        console.print(one)
    lines = drawn.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert all(line[-1] in "┓┃┩│┘" for line in lines[1:]), "no border is cut off"
    assert ("chosen otherwise" in drawn.getvalue()) <= (width > 80)


def test_a_review_keeps_the_scenario_that_proposals_were_checked_against(tmp_path: Path) -> None:
    made = wishes(ProposeRequest(run=tmp_path, scenario=tmp_path, reasoning="none"))
    again = as_proposed(ProposeRequest(run=tmp_path), {"made_from": made})
    assert (again.scenario, again.reasoning) == (tmp_path.resolve(), "none")
    gone = as_proposed(ProposeRequest(run=tmp_path), {"made_from": {**made, "scenario": str(tmp_path / "gone")}})
    assert (gone.scenario, gone.reasoning) == (None, "rdfs")


def test_drafts_are_counted_as_they_stand_in_the_mapping_and_what_is_missing_is_named() -> None:
    made = proposals(
        *(replace(proposal(name, 0.8, positives=0), status=Status.GUESSED) for name in ("A", "B")),
        replace(proposal("C", 0.1, positives=0), status=Status.GUESSED),
        *(replace(proposal(f"N{i}", None, positives=0), status=Status.NOTHING, rules=()) for i in range(5)),
    )
    lines = terminal.delivery_lines(Delivery(made, Path("out"), (), None, frozenset({"A", "B"})))
    assert "0 of 8 terms proposed from examples, 2 drafted without, 5 without a rule (N0, N1, N2, N3, N4)" in lines, (
        lines
    )
    assert "1 drafted but not sure enough for the mapping (C)" in lines
