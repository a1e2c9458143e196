"""Mapping → our own rule language, which `parse_rules` reads back."""

from __future__ import annotations

from ruleminer.rules.mapping import Mapping
from ruleminer.rules.printer import rule_text


def rules_text(mapping: Mapping) -> str:
    """The rules, one a line. Several of one predicate are a union."""
    return "".join(f"{rule_text(rule.rule)}\n" for rule in mapping.rules)
