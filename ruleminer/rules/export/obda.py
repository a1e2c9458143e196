"""Mapping → Ontop's native format: the `.obda` file, and the `.properties` file that tells Ontop where the data is."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as Dict

from ruleminer.rules.columns import TypeOf
from ruleminer.rules.dialects import Dialect
from ruleminer.rules.export.prefixes import prefixes_in_use, written_iri
from ruleminer.rules.export.triple_sql import XSD
from ruleminer.rules.export.triples import IriMap, TriplesMap, ValueMap, mapped_terms, triples_maps
from ruleminer.rules.mapping import Mapping


def obda_text(mapping: Mapping, dialect: Dialect, types: TypeOf) -> str:
    """The mapping as an `.obda` file for a database of this dialect, whose columns `types` tells."""
    maps = triples_maps(mapping, dialect, types, tables=False)
    prefixes = prefixes_in_use({**mapping.prefixes, "xsd": XSD}, mapped_terms(maps))
    lines = ["[PrefixDeclaration]", *(f"{prefix}:\t{namespace}" for prefix, namespace in prefixes.items()), ""]
    lines += ["[MappingDeclaration] @collection [["]
    for triples_map in maps:
        lines += [
            f"mappingId\t{triples_map.name}",
            f"target\t\t{_target(triples_map, prefixes)}",
            f"source\t\t{triples_map.query.sql(dialect.name)}",
            "",
        ]
    return "\n".join([*lines, "]]", ""])


def properties_text(jdbc_url: str, driver: str, user: str | None) -> str:
    """Ontop's `.properties`. The password is left for the user to add, or to give on Ontop's command line."""
    settings = {"jdbc.url": jdbc_url, "jdbc.driver": driver} | ({"jdbc.user": user} if user else {})
    lines = ["# Add jdbc.password=... here, or give it to Ontop as --db-password."]
    return "\n".join([*lines, *(f"{name}={_property(value)}" for name, value in settings.items()), ""])


def _target(triples_map: TriplesMap, prefixes: Dict[str, str]) -> str:
    def pairs() -> Iterator[str]:
        for term in triples_map.classes:
            yield f"a {written_iri(term, prefixes)}"
        for term, target in triples_map.links:
            what = _iri(target) if isinstance(target, IriMap) else _value(target, prefixes)
            yield f"{written_iri(term, prefixes)} {what}"

    return f"{_iri(triples_map.subject)} {' ; '.join(pairs())} ."


def _iri(iri: IriMap) -> str:
    return f"<{''.join(part if isinstance(part, str) else f'{{{part.name}}}' for part in iri.parts)}>"


def _value(value: ValueMap, prefixes: Dict[str, str]) -> str:
    return f"{{{value.column.name}}}" + (f"^^{written_iri(value.datatype, prefixes)}" if value.datatype else "")


def _property(value: str) -> str:
    """A value of a Java properties file: only backslashes and what is not Latin-1 need an escape here."""
    escaped = value.replace("\\", "\\\\")
    return "".join(c if " " <= c <= "~" else "".join(f"\\u{u:04x}" for u in _utf16(c)) for c in escaped)


def _utf16(character: str) -> tuple[int, ...]:
    units = character.encode("utf-16-be")
    return tuple(int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
