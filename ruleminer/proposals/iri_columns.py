"""Columns that hold whole IRIs, such as the address of a page: found by a look at their values."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from ruleminer.errors import ConnectionLostError, DatabaseError
from ruleminer.problem.ontology import Ontology
from ruleminer.proposals.identity import entity_arguments
from ruleminer.rules.expressions import identifier
from ruleminer.rules.values import Kind, Place, Rule
from ruleminer.sources.database import Database
from ruleminer.sources.patience import patiently
from ruleminer.structure.structure import Structure

_SCHEMES = ("http://%", "https://%", "urn:%")


def iri_columns(
    rules: Iterable[Rule], ontology: Ontology, database: Database, structure: Structure
) -> frozenset[Place]:
    """The columns that the rules take entities from and whose values are all IRIs; one short query each."""
    places = {
        rule.places_of(variable)[0]
        for rule in rules
        for variable in entity_arguments(ontology, rule, structure)
        if rule.definition_of(variable) is None
    }
    return frozenset(place for place in sorted(places) if _holds_iris(place, database))


def _holds_iris(place: Place, database: Database) -> bool:
    try:
        column = database.schema.type_of(*place)
        if column.kind is not Kind.TEXT or not column.is_text:
            return False
        value = exp.column(identifier(place.column))
        starts = exp.or_(*(exp.Like(this=value, expression=exp.Literal.string(scheme)) for scheme in _SCHEMES))
        some = exp.select("1").from_(exp.Table(this=identifier(place.table))).limit(1)
        others = some.where(exp.not_(starts), exp.Is(this=value, expression=exp.Null()).not_())
        return bool(_rows(some.where(starts), database)) and not _rows(others, database)
    except ConnectionLostError:
        raise
    except DatabaseError:  # a table that is not there or not to be read: nothing to tell about it here
        return False


def _rows(query: exp.Select, database: Database) -> list[tuple[object, ...]]:
    return patiently(lambda: list(database.rows(query.sql(database.dialect.name))))
