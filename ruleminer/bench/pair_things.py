"""The truth of pairs whose entities are IRIs, as things of the database: what who gives no example can speak of.

NPD's pairs spell an entity as text about the columns of a row, `…/field/43506/production/2001/10`. From no example
nobody can know that text: what can be known is which row is meant. So an IRI made of one column is a thing of that
column's space, and one made of all columns of a key, and perhaps of others, is the thing of that key's row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sqlglot import exp

from ruleminer.problem.ontology import Ontology, PropertyKind
from ruleminer.problem.pair_facts import Part, Reading, fact_sql, pair_readings
from ruleminer.problem.pair_sql import AliasedColumn, Sources
from ruleminer.problem.pairs import QueryPair
from ruleminer.proposals.derivations import Derivations, Fact
from ruleminer.rules.body import Body
from ruleminer.rules.values import Atom, Rule, Variable
from ruleminer.sources.foreign_sql import caged
from ruleminer.sources.patience import patiently

_X = Variable("x")


@dataclass(frozen=True, slots=True)
class _Thing:
    """An entity: the columns that its key stands in, of one table."""

    table: str
    columns: tuple[AliasedColumn, ...]

    def written(self, key: Sequence[str], derivations: Derivations) -> str:
        """The entity with the table of its space's key."""
        if len(key) > 1:
            return derivations.texts.of_row(self.table, "/".join(key))
        rule = Rule("_", (_X,), (Atom(self.table, ((self.columns[0].column, _X),)),))
        return derivations.texts.written(Body(rule), (key[0],))[0]


def things_of_pairs(
    pairs: Sequence[QueryPair], ontology: Ontology, derivations: Derivations
) -> Mapping[str, frozenset[Fact]]:
    """All facts by predicate; a predicate is left out if no key says what some of its entities are."""
    found: defaultdict[str, set[Fact]] = defaultdict(set)
    untold = set()
    for reading in pair_readings(pairs, ontology, derivations.database.schema):
        if not isinstance(reading, Reading):
            continue
        term = reading.target.term
        is_value = [False] * reading.target.arity
        is_value[1:] = [getattr(term, "kind", None) is not PropertyKind.OBJECT for _ in is_value[1:]]
        for part in reading.parts:
            arguments = [
                None if plain else _thing(one, part.sources)
                for one, plain in zip(part.arguments.expressions, is_value, strict=True)
            ]
            if any(one is None and not plain for one, plain in zip(arguments, is_value, strict=True)):
                untold.add(term.name)
            elif term.name not in untold:
                found[term.name].update(_facts(part, arguments, derivations))
    return {term: frozenset(own) for term, own in sorted(found.items()) if own and term not in untold}


def _thing(expression: exp.Expr, sources: Sources) -> _Thing | None:
    """Which thing an entity is; None if its columns are no key."""
    columns = [sources.place(one) for one in expression.find_all(exp.Column)]
    known = list(dict.fromkeys(place for place in columns if place is not None))
    if not known or len(known) < len(set(columns)):
        return None
    if len(known) == 1:
        return _Thing(sources.tables[known[0].alias].name, (known[0],))
    given = {one for place in known for one in sources.entity(place)}
    for alias in dict.fromkeys(place.alias for place in known):
        table = sources.tables[alias]
        key = tuple(AliasedColumn(alias, column) for column in table.primary_key)
        if key and given.issuperset(key):
            return _Thing(table.name, key)
    return None


def _facts(part: Part, arguments: Sequence[_Thing | None], derivations: Derivations) -> Iterator[Fact]:
    """The facts of one SELECT, with keys in the place of IRIs."""
    expressions: list[exp.Expr] = []
    for one, expression in zip(arguments, part.arguments.expressions, strict=True):
        expressions += (
            [expression] if one is None else [exp.column(c.column, c.alias, quoted=True) for c in one.columns]
        )
    database = derivations.database
    asked = replace(part, arguments=replace(part.arguments, expressions=tuple(expressions)))
    sql = caged(fact_sql((asked,), database.schema, database.dialect), database)
    rows = patiently(partial(lambda text: database.arrow(text).read_all(), sql))
    texts = [rows[f"arg{place}"].to_pylist() for place in range(1, 1 + len(expressions))]
    for row in zip(*texts, strict=True):
        cells = iter(row)
        yield tuple(
            next(cells) if one is None else one.written([next(cells) for _ in one.columns], derivations)
            for one in arguments
        )
