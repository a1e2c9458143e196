"""A mapping as values, whatever language it is written in: rules, and the RDF terms that their arguments become."""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Mapping as Dict
from dataclasses import dataclass, field

from ruleminer.errors import InputError
from ruleminer.rules.values import Part, Place, Rule

# RFC 3987, iunreserved: what R2RML leaves alone when a value becomes part of an IRI.
_UCSCHAR = "\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef" + "".join(
    f"{chr(plane * 0x10000 + (0x1000 if plane == 14 else 0))}-{chr(plane * 0x10000 + 0xFFFD)}" for plane in range(1, 15)
)
_RESERVED = re.compile(f"[^A-Za-z0-9._~{_UCSCHAR}-]")
_NEVER_IN_AN_IRI = re.compile(r'[\x00-\x20<>"{}|\\^`\x7f-\x9f]')
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
LOOKS_LIKE_IRI = r"://|^urn:|^tag:[^,:]+,\d{4}"
"""A pattern of what a text has that is meant as an IRI; `album:4` is a key of a table, and `tag:4` of one of tags."""
_LOOKS_LIKE_IRI = re.compile(LOOKS_LIKE_IRI)


@dataclass(frozen=True, slots=True)
class Iri:
    """An entity: text and variables of the rule's body, whose values are percent-encoded (`iri_safe`).

    A variable that stands alone holds whole IRIs, which are taken as they are. `spelled` marks a concatenation of
    the rule itself: its values are written as the database writes them, scale included.
    """

    parts: tuple[Part, ...]
    spelled: bool = False


@dataclass(frozen=True, slots=True)
class Literal:
    """A value: a variable, or text and variables that make one text. Without a datatype, that of its column."""

    parts: tuple[Part, ...]
    datatype: str | None = None


@dataclass(frozen=True, slots=True)
class TripleRule:
    """A rule and the triples it derives; `term` is the IRI of its class (then there is no object) or property."""

    rule: Rule
    term: str
    subject: Iri
    object: Iri | Literal | None = None


@dataclass(frozen=True, slots=True)
class Mapping:
    """All rules of a mapping, with prefixes to shorten IRIs by.

    `kept_links` are columns whose every value the database itself keeps in another column: foreign keys, enforced.
    """

    rules: tuple[TripleRule, ...]
    prefixes: Dict[str, str] = field(default_factory=dict)
    kept_links: frozenset[tuple[Place, Place]] = frozenset()

    def __post_init__(self) -> None:
        refuse_illegal_terms(rule.term for rule in self.rules)


def refuse_illegal_terms(iris: Iterable[str]) -> None:
    """Refuse classes and properties that cannot be published with."""
    for iri in iris:
        if not is_absolute(iri) or legal_iri_text(iri) != iri:
            raise InputError(f"{iri!r} is no legal IRI: no engine publishes with it; mend it in the ontology")


def iri_safe(text: str) -> str:
    """A value as part of an IRI: everything percent-encoded but letters, digits and `-._~` (R2RML, "IRI-safe").

    >>> iri_safe("a/b ä%")
    'a%2Fb%20ä%25'
    """
    return _RESERVED.sub(_percent_encoded, text)


def legal_iri_text(text: str) -> str:
    """The fixed text of an IRI, with what can stand in none percent-encoded."""
    return _NEVER_IN_AN_IRI.sub(_percent_encoded, text)


def is_absolute(text: str) -> bool:
    """Whether a text starts as an IRI does, with a scheme."""
    return _ABSOLUTE.match(text) is not None


def looks_like_iri(text: str) -> bool:
    """Whether a text is meant as an IRI, and not as a key, a name or a key of a table."""
    return _LOOKS_LIKE_IRI.search(text) is not None


def _percent_encoded(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match.group().encode("utf-8", "replace"))
