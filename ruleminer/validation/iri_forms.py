"""Which IRIs a mapping gives its things: by term, to compare two mappings; by kind of thing, to find what clashes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ruleminer.problem.ontology import local_name
from ruleminer.validation.r2rml_values import R2RMLMapping, RefObject, TermMap, TermType

_TOLD = 3  # forms, and terms, that a note names


def iri_forms_of_terms(mapping: R2RMLMapping) -> dict[str, frozenset[str]]:
    """The forms of the IRIs at the ends of each class and property, by local name: `http://…/album/{}`."""
    found: dict[str, set[str]] = {}
    for triples_map in mapping.maps:
        subject = _form(triples_map.subject)
        for iri in triples_map.classes:
            found.setdefault(local_name(iri), set()).add(subject)
        for pair in triples_map.predicate_objects:
            ends = [mapping.parent(one.parent).subject if isinstance(one, RefObject) else one for one in pair.objects]
            forms = {form for end in ends if (form := _form(end))}
            for predicate in pair.predicates:
                if predicate.constant:
                    found.setdefault(local_name(predicate.constant.strip("<>")), set()).update({subject, *forms})
    return {term: frozenset(filter(None, forms)) for term, forms in found.items()}


def _form(term: TermMap) -> str:
    """The IRIs of a term map with marks for its columns; nothing if it makes none of columns."""
    if term.term_type is not TermType.IRI or not term.template:
        return ""
    return "".join(part if isinstance(part, str) else "{}" for part in term.template)


def changed_forms(before: R2RMLMapping, after: R2RMLMapping) -> Iterator[str]:
    """A line for each change of IRIs, with the terms whose things have others now."""
    old, new = iri_forms_of_terms(before), iri_forms_of_terms(after)
    changes: dict[tuple[frozenset[str], frozenset[str]], list[str]] = {}
    for term in sorted({*old} & {*new}):
        if old[term] != new[term]:
            lost, gained = old[term] - new[term], new[term] - old[term]
            changes.setdefault((lost or old[term], gained or new[term]), []).append(term)
    for (lost, gained), terms in changes.items():
        were, are = (_several(sorted(some)) or "none" for some in (lost, gained))
        yield f"{_several(terms)}: other IRIs, {were} before and {are} after"


def clashes(forms: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    """What is wrong with the forms of IRIs by kind of thing: one that has several, and one form of several kinds."""
    kinds: dict[str, list[str]] = {}
    for kind, some in forms.items():
        for form in some:
            kinds.setdefault(form, []).append(kind)
        if len(some) > 1:
            yield f"things of {kind} have several IRIs, which nothing joins: {_several(sorted(some))}"
    for form, named in sorted(kinds.items()):
        if len(named) > 1:
            yield f"{form} names things of {_several(sorted(named))}, which would be taken for the same"


def _several(names: list[str]) -> str:
    more = [f"{len(names) - _TOLD} more"] if len(names) > _TOLD else []
    return " and ".join([*names[:_TOLD], *more])
