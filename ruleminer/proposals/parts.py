"""A property that several classes have is decided for each of them: the name of a person stands in another table than
that of a conference. Its rules are those of its parts, together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ruleminer.problem.ontology import OntologyTerm, Property, local_name

_MOST = 8  # classes beyond which a property is anybody's, and decided as a whole


def parts_of(term: OntologyTerm) -> tuple[OntologyTerm, ...]:
    """The property once for each class that it is declared to start at; the term itself if there are not several."""
    if not isinstance(term, Property) or not 2 <= len(term.domains) <= _MOST:
        return (term,)
    return tuple(
        # What its name is must stay the last of its IRI.
        replace(term, iri=f"{domain}~{term.iri}", name=f"{term.name} of {local_name(domain)}", domains=(domain,))
        for domain in term.domains
    )


def all_parts(terms: Iterable[OntologyTerm]) -> list[tuple[OntologyTerm, OntologyTerm]]:
    """Every term with each of its parts, in order: (term, part)."""
    return [(term, part) for term in terms for part in parts_of(term)]
