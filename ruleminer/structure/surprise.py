"""How surprising it is that a column's whole numbers lie in a key, in nats: a Bayes factor.

Two tales are weighed. One: the column holds keys, some of them drawn from all, or a stretch of them. The other: it
holds numbers of its own, which start somewhere, mostly at 0 or 1, perhaps at a round number, and go on for a while,
nobody knows how long. A column that ends where the key ends, or starts with it at 5,002, speaks for the first tale;
one that counts from 1 to 14 below a key of 1,000 speaks for the second.
"""

from __future__ import annotations

import math

Span = tuple[int, int]

_SCALE = math.log(1e7)  # the length of a count may be of any magnitude up to ten millions
# How often numbers start at 0 or 1, at one certain digit or round number, elsewhere.
_FROM_ONE, _ROUND, _ELSEWHERE = 0.6, 0.02, 0.3
_DRAWN, _STRETCH = 0.7, 0.3
_COUNTED = 0.9  # share of its span that a counter fills
_HOLES = 2.5  # nats for a key that leaves out numbers: rows get numbers without holes, unless others give them


def surprise(
    own: Span, distinct: int, key: Span, keys: int, beside: tuple[int, int] | None = None, is_key: bool = False
) -> float:
    """The logarithm of how much likelier the column's values are if it holds keys.

    `beside` counts the keys below and above the column's values; without it they are taken to be spread evenly.
    """
    step = (key[1] - key[0] + 1) / max(1, keys)
    below, above = beside or ((own[0] - key[0]) / step, (key[1] - own[1]) / step)
    within = max(1.0, keys - below - above)
    count = min(float(distinct), within)
    width = own[1] - own[0] + 1
    drawn = min(count, 2.0) * math.log(count / keys) + max(0.0, count - 2.0) * math.log(within / keys)
    stretch = -math.log(keys * (keys + 1) / 2)
    linked = math.log(_DRAWN * math.exp(drawn) + _STRETCH * math.exp(stretch))
    alone = math.log(_start(own[0]) * _length(width, is_key)) + min(2.0, count) * math.log(step)
    holes = -distinct * math.log(min(1.0, within / width))
    missing = _HOLES if is_key and not is_counter(own, distinct) else 0.0
    return linked - alone + holes + missing


def is_counter(own: Span, distinct: int) -> bool:
    """Whether values look as if they numbered the rows of their own table."""
    usual = own[0] in (0, 1) or _is_round(own[0])
    return usual and distinct >= _COUNTED * (own[1] - own[0] + 1)


def _length(width: int, is_key: bool) -> float:
    """How often numbers go on for so long: any magnitude is as good as another, but flags and grades are short."""
    return 1 / (_SCALE * width) if is_key else 0.5 / (_SCALE * width) + 0.3 / width**2


def _start(low: int) -> float:
    """How often numbers start here."""
    if low in (0, 1):
        return _FROM_ONE / 2
    if 2 <= low <= 9:  # codes and grades start anywhere
        return _ROUND
    if _is_round(low):
        return _ROUND
    return _ELSEWHERE / (_SCALE * max(1, abs(low)))


def _is_round(low: int) -> bool:
    """A number such as 200 or 5,001, at which somebody might have begun."""
    return any(first >= 100 and len(str(first).rstrip("0")) == 1 for first in (low, low - 1))
