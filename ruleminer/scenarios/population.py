"""How many entities there are, which of them are members of which class, and what their keys are.

The entities of a root class are numbered from 0. A class is an interval of these numbers: sub-classes lie inside
their parent, disjoint ones beside each other, overlapping ones over each other. So membership is a comparison, a
random member is an addition, and nothing has to be looked up. Keys are given out in the order of a permutation, so
that they tell nothing of all this.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ruleminer.errors import InputError
from ruleminer.scenarios.domain import Attribute, Domain, Link
from ruleminer.scenarios.draws import PRIME, Permutation, draw_sql, randomness
from ruleminer.scenarios.value_kinds import code_prefix, code_sql, pick_sql
from ruleminer.scenarios.vocabulary import word_list

_FIRST_KEYS = (1, 1, 1, 1, 100, 1001, 5000, 10001, 200001)
MOST_ENTITIES = 10**9


@dataclass(frozen=True, slots=True)
class Interval:
    """The numbers from `start` to below `end`."""

    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start

    def sql(self, number: str) -> str:
        """SQL for the condition that a number lies in it."""
        return f"{number} >= {self.start} AND {number} < {self.end}"


@dataclass(frozen=True)
class Population:
    """The entities of a domain at a scale."""

    domain: Domain
    scale: float
    seed: int

    @cached_property
    def members(self) -> dict[str, Interval]:
        """The interval of each class."""
        found: dict[str, Interval] = {}
        for root in self.domain.roots:
            size = max(_least(self.domain, root.name), round(root.size * self.scale))
            if root.at_most is not None:
                size = max(_least(self.domain, root.name), min(size, root.at_most))
            _divide(self.domain, root.name, Interval(0, size), found)
        return found

    def size(self, name: str) -> int:
        """How many members a class has."""
        return self.members[name].size

    def fan_out(self, link: Link) -> tuple[int, int]:
        """How many targets an entity has at least and at most."""
        assert link.many is not None
        most = min(link.many[1], max(1, self.size(link.range) - 1))
        return min(link.many[0], most), most

    def expected_rows(self) -> float:
        """The rows of a database with a table for each class, link and property with several values."""
        rows = float(sum(interval.size for interval in self.members.values()))
        for prop in self.domain.properties:
            if isinstance(prop, Link) and prop.many:
                rows += self.size(prop.domain) * sum(self.fan_out(prop)) / 2
            elif isinstance(prop, Attribute) and prop.at_most > 1:
                rows += self.size(prop.domains[0]) * prop.at_most / 2
        return rows

    @cached_property
    def permutations(self) -> dict[str, Permutation]:
        """For each root class the permutation from an entity's number to the place of its key."""
        return {
            root.name: Permutation.drawn(self.seed, f"key/{root.name}", self.size(root.name))
            for root in self.domain.roots
        }

    def key_types(self, name: str) -> tuple[str, ...]:
        """The SQL types of the columns of a class's key."""
        return tuple("VARCHAR" if part.is_code else "INTEGER" for part in self.domain.root(name).key)

    def key_sql(self, name: str, number: str) -> tuple[str, ...]:
        """SQL for the columns of the key of the entity with a number."""
        root = self.domain.root(name)
        place = self.permutations[root.name].sql(number)
        if len(root.key) == 1:
            code = code_sql(code_prefix(root.name), f"({place} + 1)")
            return (code if root.key[0].is_code else self._running(root.name, place),)
        codes = len(word_list("block_codes"))
        return tuple(
            pick_sql("block_codes", f"({place})") if part.is_code else f"CAST(({place}) // {codes} + 1 AS INTEGER)"
            for part in root.key
        )

    def natural_sql(self, name: str, number: str) -> str:
        """SQL for the code that names an entity of a class with a natural code."""
        place = Permutation.drawn(self.seed, f"natural/{name}", self.size(name)).sql(number)
        return code_sql(code_prefix(name), f"({place} + 1)")

    def identity_sql(self, name: str, number: str) -> str:
        """SQL for the argument that stands for an entity in facts."""
        root = self.domain.root(name)
        if root.natural:
            return self.natural_sql(root.name, number)
        keys = self.key_sql(name, number)
        if root.iri is None:
            return f"CAST({keys[0]} AS VARCHAR)"
        texts = root.iri.split("{}")
        parts = [f"'{texts[0]}'"]
        for key, text in zip(keys, texts[1:], strict=True):
            parts += [f"CAST({key} AS VARCHAR)", f"'{text}'"]
        return " || ".join(part for part in parts if part != "''")

    def draw(self, name: str, number: str) -> str:
        """SQL for a draw of this population's seed."""
        return draw_sql(self.seed, name, number)

    def _running(self, root: str, place: str) -> str:
        first = randomness(self.seed, f"first key/{root}").choice(_FIRST_KEYS)
        return f"CAST({place} + {first} AS INTEGER)"


def populated(domain: Domain, size: int, seed: int) -> Population:
    """The population whose plain database has about `size` rows."""
    if not 1 <= size <= MOST_ENTITIES:
        raise InputError(f"size {size} is out of range: give a number of rows from 1 to {MOST_ENTITIES}")
    low, high = 0.0, 1.0
    while Population(domain, high, seed).expected_rows() < size:
        high *= 2
        if high > PRIME:  # every class has reached its `at_most`
            break
    for _ in range(25):
        middle = (low + high) / 2
        if Population(domain, middle, seed).expected_rows() < size:
            low = middle
        else:
            high = middle
    return Population(domain, high, seed)


def _least(domain: Domain, name: str) -> int:
    """The fewest members a class may have, so that none below it is empty."""
    return 2 + sum(_least(domain, child.name) for child in domain.children(name))


def _divide(domain: Domain, name: str, interval: Interval, found: dict[str, Interval]) -> None:
    found[name] = interval
    children = domain.children(name)
    sizes = [max(_least(domain, child.name), int(child.size * interval.size)) for child in children]
    if not domain.cls(name).overlapping:
        spare = [size - _least(domain, child.name) for child, size in zip(children, sizes, strict=True)]
        while sum(sizes) > interval.size:  # small classes are rounded up at the cost of the largest
            largest = spare.index(max(spare))
            sizes[largest] -= 1
            spare[largest] -= 1
    start = interval.start
    for child, size in zip(children, sizes, strict=True):
        start = min(start, interval.end - size)
        _divide(domain, child.name, Interval(start, start + size), found)
        # Three in ten members of an overlapping class are members of the next one too.
        start += size * 7 // 10 if domain.cls(name).overlapping else size
