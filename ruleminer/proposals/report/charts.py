"""The geometry of the report's charts: points, lines and ticks in pixels; the templates draw them as SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ruleminer.learn.curve import CurvePoint
from ruleminer.proposals.proposal import Calibration
from ruleminer.proposals.report.formats import count, number, share

_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 14.0, 12.0, 42.0  # room for the labels
_TENTHS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True, slots=True)
class Tick:
    """A label on an axis."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points, in the look of its role."""

    role: str
    points: str


@dataclass(frozen=True, slots=True)
class Dot:
    """A point with a text that shows when it is pointed at."""

    role: str
    x: float
    y: float
    radius: float
    text: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart within its frame."""

    name: str
    x_label: str
    y_label: str
    width: float
    height: float
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    lines: tuple[Line, ...]
    dots: tuple[Dot, ...] = ()
    left: float = _LEFT
    top: float = _TOP
    legend: tuple[tuple[str, str], ...] = field(default=())  # role, text

    @property
    def right(self) -> float:
        """Where the frame ends."""
        return self.width - _RIGHT

    @property
    def bottom(self) -> float:
        """Where the horizontal axis is."""
        return self.height - _BOTTOM


def reliability_chart(calibration: Calibration) -> Chart:
    """What was promised against what came true, on held-out examples; the larger a dot, the more trials."""
    width = height = 340.0
    across, up = _scale(0, 1, _LEFT, width - _RIGHT), _scale(0, 1, height - _BOTTOM, _TOP)
    bins = [one for one in calibration.bins if one.trials]
    most = max((one.trials for one in bins), default=1)
    dots = tuple(
        Dot(
            "came-true",
            across(one.confidence),
            up(one.outcome),
            round(3 + 6 * math.sqrt(one.trials / most), 2),
            f"confidence {share(one.confidence)}, came true {share(one.outcome)}, {count(one.trials)} trials",
        )
        for one in bins
    )
    return Chart(
        "Reliability of the confidence on held-out examples",
        "confidence",
        "share that came true",
        width,
        height,
        tuple(Tick(across(at), f"{at:.1f}") for at in _TENTHS),
        tuple(Tick(up(at), f"{at:.1f}") for at in _TENTHS),
        (
            Line("ideal", _points(((0.0, 0.0), (1.0, 1.0)), across, up)),
            Line("came-true", _points([(one.confidence, one.outcome) for one in bins], across, up)),
        ),
        dots,
    )


def curve_charts(points: Sequence[CurvePoint]) -> tuple[Chart, ...]:
    """The probabilities on validation facts, and the training loss on a logarithmic axis."""
    if len(points) < 2:
        return ()
    width = 420.0
    first, last = points[0].update, points[-1].update
    across = _scale(first, last, _LEFT, width - _RIGHT)
    updates = tuple(Tick(across(at), count(round(at))) for at in _round_steps(first, last))
    up = _scale(0, 1, 260 - _BOTTOM, _TOP)
    probabilities = Chart(
        "Probability of allowed and forbidden rules on validation facts",
        "updates",
        "probability",
        width,
        260,
        updates,
        tuple(Tick(up(at), f"{at:.1f}") for at in _TENTHS),
        (
            Line("allowed", _points([(point.update, point.p_pos) for point in points], across, up)),
            Line("forbidden", _points([(point.update, point.p_neg) for point in points], across, up)),
        ),
        legend=(("allowed", "allowed rules"), ("forbidden", "forbidden rules")),
    )
    logs = [math.log10(max(point.loss, 1e-6)) for point in points]
    low, high = math.floor(min(logs)), math.ceil(max(logs))
    high = max(high, low + 1)
    height = _scale(low, high, 200 - _BOTTOM, _TOP)
    step = max(1, math.ceil((high - low) / 5))
    losses = Chart(
        "Training loss, logarithmic axis",
        "updates",
        "training loss",
        width,
        200,
        updates,
        tuple(Tick(height(at), number(10.0**at, max(0, -at))) for at in range(low, high + 1, step)),
        (Line("loss", _points([(p.update, log) for p, log in zip(points, logs, strict=True)], across, height)),),
    )
    return probabilities, losses


Scale = Callable[[float], float]


def _scale(low: float, high: float, start: float, end: float) -> Scale:
    span = high - low or 1.0

    def place(value: float) -> float:
        return round(start + (value - low) / span * (end - start), 2)

    return place


def _points(values: Sequence[tuple[float, float]], across: Scale, up: Scale) -> str:
    return " ".join(f"{across(x)},{up(y)}" for x, y in values)


def _round_steps(low: float, high: float) -> tuple[float, ...]:
    """Four to eight round numbers between two bounds."""
    rough = max(high - low, 1) / 5
    magnitude = 10 ** math.floor(math.log10(rough))
    step = max(1.0, next(factor * magnitude for factor in (1, 2, 5, 10) if factor * magnitude >= rough))
    first = math.ceil(low / step)
    return tuple(step * place for place in range(first, math.floor(high / step) + 1))
