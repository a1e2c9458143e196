"""How long a rule is to write down, in nats: which tables, which of their columns, which of a column's values.

The decision network learnt this measure; `prior.py` has the evidence ranker's own, which weighs more by hand.
"""

from __future__ import annotations

import math

from ruleminer.rules.values import Constant, Place, Rule
from ruleminer.structure.structure import Structure

_UNLINKED = 1.5  # for a join that no link explains


class RuleLength:
    """Lengths of rules about one database."""

    def __init__(self, structure: Structure) -> None:
        schema, self._profile = structure.schema, structure.profile
        self._links = dict(schema.links)
        self._table = math.log(max(2, sum(1 for table in structure.profile.tables.values() if table.rows)))
        self._column: dict[Place, float] = {}
        for table in schema.tables:
            naming = {c.name for c in table.columns if Place(table.name, c.name) in schema.keys | self._links.keys()}
            for column in table.columns:
                among = len(naming) if column.name in naming else len(table.columns) - len(naming)
                self._column[Place(table.name, column.name)] = math.log(2 * among)

    def __call__(self, rule: Rule) -> float:
        """The length of one rule."""
        cost = math.log(2) * (len(rule.body) - 1 + sum(len(concat.parts) for _, concat in rule.definitions))
        for atom in rule.body:
            cost += self._table
            for column, term in atom.columns:
                cost += self._column.get(Place(atom.table, column), self._table)
                if isinstance(term, Constant):
                    known = self._profile.column(atom.table, column)
                    cost += math.log(max(2, known.distinct if known else 2))
        joined = ({self._goal(position.place) for position in join} for join in rule.joins)
        return cost + _UNLINKED * sum(len(goals) - 1 for goals in joined)

    def _goal(self, place: Place) -> Place:
        """The key that a column leads to, link by link; itself if it is no link."""
        seen = {place}
        while place in self._links and self._links[place] not in seen:
            place = self._links[place]
            seen.add(place)
        return place
