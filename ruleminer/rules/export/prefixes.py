"""Prefixed names: which IRIs a format may shorten, and by which prefixes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

# Narrower than Turtle's, so that no format needs an escape.
_LOCAL = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?")
_PREFIX = re.compile(r"(?:[A-Za-z](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?)?")


def written_iri(iri: str, prefixes: Mapping[str, str]) -> str:
    """The IRI as Turtle and its kin write it: by a prefix, or between angle brackets. No IRI needs an escape."""
    return short_iri(iri, prefixes) or f"<{iri}>"


def short_iri(iri: str, prefixes: Mapping[str, str]) -> str | None:
    """The IRI as a prefixed name, if there is one; of several prefixes that with the longest namespace.

    >>> short_iri("http://cmt#Author", {"": "http://cmt#"})
    ':Author'
    """
    fitting = [
        (namespace, prefix)
        for prefix, namespace in prefixes.items()
        if namespace and iri.startswith(namespace) and _PREFIX.fullmatch(prefix)
    ]
    for namespace, prefix in sorted(fitting, key=lambda item: (-len(item[0]), item[1])):
        if _LOCAL.fullmatch(iri.removeprefix(namespace)):
            return f"{prefix}:{iri.removeprefix(namespace)}"
    return None


def prefixes_in_use(prefixes: Mapping[str, str], iris: Iterable[str]) -> dict[str, str]:
    """The prefixes that shorten one of the IRIs, in the order of their names."""
    used = {short.partition(":")[0] for iri in iris if (short := short_iri(iri, prefixes)) is not None}
    return {prefix: prefixes[prefix] for prefix in sorted(used)}
