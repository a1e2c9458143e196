"""Truth values of drafts: of a property that is true or false, a column with `Y` and `N` is published as the former.

With examples nothing of this is needed: they show how values are written.
"""

from __future__ import annotations

from dataclasses import replace

from rdflib import XSD

from ruleminer.problem.ontology import Ontology, OntologyTerm, Property
from ruleminer.rules.body import Body
from ruleminer.rules.canonical import renamed
from ruleminer.rules.transformations import FALSE, TRUE
from ruleminer.rules.values import Concat, Kind, Rule, Transformed, Variable
from ruleminer.structure.structure import Structure

_SPELT = "boolean"


def told_as_truth(
    bodies: tuple[Body, ...], term: OntologyTerm, ontology: Ontology, structure: Structure
) -> tuple[Body, ...]:
    """The rules of a term; of one whose values are true or false, those of columns with words for it made so."""
    if not isinstance(term, Property) or ontology.datatype(term.iri) != str(XSD.boolean):
        return bodies
    return tuple(Body(_told(body.of("_"), structure)) for body in bodies)


def _told(rule: Rule, structure: Structure) -> Rule:
    value = rule.arguments[1]
    places = rule.places_of(value)
    if rule.definition_of(value) is not None or len(places) != 1 or value == rule.arguments[0]:
        return rule
    profile = structure.profile.column(*places[0])
    words = {text.strip(" ").casefold() for text in profile.all_values} if profile else set()
    is_truth = structure.schema.type_of(*places[0]).kind is Kind.BOOLEAN
    if is_truth or not words or not words <= {*TRUE, *FALSE}:
        return rule
    spelt = Variable(f"{value.name}1")
    plain = renamed(rule, {value: spelt})  # a key may be made of the column, too
    made = (value, Concat((Transformed(_SPELT, spelt),)))
    return replace(plain, arguments=rule.arguments, definitions=(*plain.definitions, made))
