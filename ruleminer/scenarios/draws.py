"""Pseudo-random choices as SQL arithmetic: the same on every machine and version, nothing kept in Python.

A draw is a random cubic polynomial modulo a prime, evaluated at an entity's number. Its coefficients come from the
seed and the draw's name by a hash that never changes, unlike a database's own `hash()`. A permutation is an affine
map modulo the size.
"""

from __future__ import annotations

import hashlib
import math
import random
from dataclasses import dataclass

PRIME = 2**31 - 1
"""Draws lie below it, and so must what they are drawn for, or the products leave 64 bits."""


def randomness(seed: int, name: str) -> random.Random:
    """A generator for choices made in Python, of the seed and a name."""
    digest = hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=16).digest()
    return random.Random(int.from_bytes(digest))


def draw_sql(seed: int, name: str, number: str) -> str:
    """SQL for a whole number below PRIME, drawn for the value of the column `number`."""
    generator = randomness(seed, name)
    c3, c2, c1, c0 = (generator.randrange(1, PRIME) for _ in range(4))
    return f"((({number} * {c3} + {c2}) % {PRIME} * {number} + {c1}) % {PRIME} * {number} + {c0}) % {PRIME}"


def skewed_sql(draw: str, count: int) -> str:
    """SQL that turns a draw into a number below `count`, small ones more often: some things are popular."""
    return f"({draw} * {draw} // {PRIME}) * {count} // {PRIME}"


def chance_sql(draw: str, probability: float) -> str:
    """SQL for the condition that holds with this probability."""
    return f"{draw} < {round(probability * PRIME)}"


def stride(count: int, wish: int = 7919) -> int:
    """A step that visits all numbers below `count` before it repeats one."""
    step = wish % count or 1
    while math.gcd(step, count) != 1:
        step += 1
    return step


@dataclass(frozen=True, slots=True)
class Permutation:
    """A one-to-one map of the numbers below `count`, in SQL in both directions."""

    count: int
    factor: int
    shift: int

    @classmethod
    def drawn(cls, seed: int, name: str, count: int) -> Permutation:
        """A permutation of the seed and a name."""
        generator = randomness(seed, name)
        return cls(count, stride(count, generator.randrange(count, 2 * count)), generator.randrange(count))

    def sql(self, number: str) -> str:
        """SQL for the place of a number."""
        return f"(({number}) * {self.factor} + {self.shift}) % {self.count}"

    def inverse_sql(self, place: str) -> str:
        """SQL for the number at a place."""
        factor = pow(self.factor, -1, self.count) if self.count > 1 else 0
        return f"(({place}) * {factor} + {-self.shift * factor % self.count}) % {self.count}"
