"""A rule whatever its predicate: what it derives depends on nothing else, so it is asked for and remembered by this."""

from __future__ import annotations

from dataclasses import replace

from ruleminer.rules.printer import rule_text
from ruleminer.rules.values import Rule

ANY_PREDICATE = "_"  # in the place of a predicate


class Body:
    """A rule without its head's name. Equal by content; its hash is kept, for bodies are looked up a million times."""

    __slots__ = ("_hash", "_rule", "_text")

    def __init__(self, rule: Rule) -> None:
        self._rule = rule if rule.predicate == ANY_PREDICATE else replace(rule, predicate=ANY_PREDICATE)
        self._hash = hash(self._rule)
        self._text: str | None = None

    @property
    def rule(self) -> Rule:
        """The rule with this body, of no predicate."""
        return self._rule

    def of(self, predicate: str) -> Rule:
        """The rule with this body for a predicate."""
        return replace(self._rule, predicate=predicate)

    @property
    def text(self) -> str:
        """The body as it is written down."""
        if self._text is None:
            self._text = rule_text(self._rule)
        return self._text

    @property
    def order(self) -> tuple[int, str]:
        """Where nothing else tells rules apart, the one that is shorter to write comes first."""
        return len(self.text), self.text

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Body) and self._hash == other._hash and self._rule == other._rule

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Body({self.text})"
