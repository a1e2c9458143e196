"""Which IRIs a mapping gives its things: by term, to compare two mappings; by kind of thing, to find what clashes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ruleminer.problem.ontology import local_name
from ruleminer.validation.r2rml_values import R2RMLMapping, RefObject, TermMap, TermType

_TOLD = 3  # forms, and terms, that a note names


def iri_forms_of_ends(mapping: R2RMLMapping) -> dict[tuple[str, int], frozenset[str]]:
    """The forms of the IRIs at each end, 0 or 1, of classes and properties by local name: `http://…/album/{}`."""
    found: dict[tuple[str, int], set[str]] = {}
    for triples_map in mapping.maps:
        subject = _form(triples_map.subject)
        for iri in triples_map.classes:
            found.setdefault((local_name(iri), 0), set()).add(subject)
        for pair in triples_map.predicate_objects:
            ends = [mapping.parent(one.parent).subject if isinstance(one, RefObject) else one for one in pair.objects]
            for predicate in pair.predicates:
                if predicate.constant:
                    name = local_name(predicate.constant.strip("<>"))
                    found.setdefault((name, 0), set()).add(subject)
                    found.setdefault((name, 1), set()).update(map(_form, ends))
    return {end: frozenset(filter(None, forms)) for end, forms in found.items()}


def _form(term: TermMap) -> str:
    """The IRIs of a term map with marks for its columns; nothing if it makes none of columns."""
    if term.term_type is not TermType.IRI or not term.template:
        return ""
    return "".join(part if isinstance(part, str) else "{}" for part in term.template)


def changed_forms(before: R2RMLMapping, after: R2RMLMapping) -> Iterator[str]:
    """A line for each change of IRIs, with the terms whose things have others now."""
    old, new = iri_forms_of_ends(before), iri_forms_of_ends(after)
    changes: dict[tuple[frozenset[str], frozenset[str]], dict[str, None]] = {}
    for end in sorted({*old} & {*new}):
        if old[end] != new[end]:
            changes.setdefault((old[end] - new[end], new[end] - old[end]), {})[end[0]] = None
    for (lost, gained), terms in changes.items():
        were, are = (_several(sorted(some)) for some in (lost, gained))
        if lost and gained:
            yield f"{_several([*terms])}: other IRIs, {were} before and {are} after"
        else:
            yield f"{_several([*terms])}: {'no more' if lost else 'more'} IRIs, {were or are}"


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
