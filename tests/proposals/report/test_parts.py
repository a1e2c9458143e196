"""The parts of a report: colours, charts, coverage and the learning curve."""

from __future__ import annotations

import doctest

from hypothesis import given
from hypothesis import strategies as st

from ruleminer.learn.curve import CurvePoint
from ruleminer.proposals.report import formats
from ruleminer.proposals.report.charts import curve_charts, reliability_chart
from ruleminer.proposals.report.colouring import rule_pieces, sql_pieces
from ruleminer.proposals.report.coverage import coverage_of
from ruleminer.proposals.report.review import Trust, pages_of
from tests.proposals.report.made_up import everything, proposal, proposals


def test_formats_do_what_their_docstrings_say() -> None:
    assert doctest.testmod(formats).failed == 0


def test_rules_are_coloured_by_what_their_parts_are() -> None:
    pieces = [piece for piece in rule_pieces('Author(x) <- "my table"(ID: x, "is it": true, n: 2, t: "a")') if piece[0]]
    assert pieces == [
        ("head", "Author"),
        ("table", '"my table"'),
        ("column", "ID"),
        ("column", '"is it"'),
        ("number", "true"),
        ("column", "n"),
        ("number", "2"),
        ("column", "t"),
        ("text", '"a"'),
    ]


def test_sql_is_coloured_by_what_its_parts_are() -> None:
    pieces = [piece for piece in sql_pieces("SELECT \"from\" FROM t WHERE a = 'it''s'") if piece[0]]
    assert pieces == [
        ("keyword", "SELECT"),
        ("name", '"from"'),
        ("keyword", "FROM"),
        ("keyword", "WHERE"),
        ("text", "'it''s'"),
    ]


@given(st.text())
def test_colouring_changes_no_text(text: str) -> None:
    assert "".join(piece for _, piece in rule_pieces(text)) == text
    assert "".join(piece for _, piece in sql_pieces(text)) == text


def test_each_class_stands_once_in_the_tree_even_in_a_circle() -> None:
    made, ontology, _, _ = everything()
    classes, objects, data = coverage_of(pages_of(made), ontology)
    assert sorted(leaf.name for leaf in classes.leaves) == ["Author", "Bid", "Chair", "Unheard"]
    assert {leaf.name: leaf.depth for leaf in classes.leaves}["Chair"] == 1
    assert (classes.proposed, objects.proposed, data.proposed) == (1, 1, 1)
    assert classes.trusts[Trust.NOTHING] == 2


def test_without_an_ontology_coverage_lists_what_has_a_proposal() -> None:
    (classes,) = coverage_of(pages_of(proposals(proposal("b"), proposal("A"))), None)
    assert [leaf.name for leaf in classes.leaves] == ["A", "b"]


def test_reliability_chart_has_a_dot_for_each_bin_with_trials() -> None:
    calibration = proposals().calibration
    assert calibration is not None
    chart = reliability_chart(calibration)
    assert len(chart.dots) == 1
    assert chart.left <= chart.dots[0].x <= chart.right
    assert chart.top <= chart.dots[0].y <= chart.bottom


def test_curves_stay_within_their_frames() -> None:
    points = [CurvePoint(i, loss, 0.5, 0.1) for i, loss in enumerate((1e9, 3.0, 0.0, 1e-9))]
    for chart in curve_charts(points):
        for line in chart.lines:
            for x, y in (map(float, point.split(",")) for point in line.points.split()):
                assert chart.left <= x <= chart.right
                assert chart.top <= y <= chart.bottom


def test_one_point_is_no_curve() -> None:
    assert curve_charts([CurvePoint(1, 1.0, 0.5, 0.1)]) == ()
