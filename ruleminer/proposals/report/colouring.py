"""Rules and SQL cut into pieces, each with what it is, for the report to colour."""

from __future__ import annotations

import re
from collections.abc import Iterator

Piece = tuple[str, str]  # a style's name, or "" for none, and the text

_RULE = re.compile(
    r"""(?P<name>"(?:[^"\\]|\\.)*"(?=\s*[(:])|[A-Za-z_][\w-]*)
    |(?P<text>"(?:[^"\\]|\\.)*")
    |(?P<number>-?\d[\d.T:-]*)
    |(?P<other>\s+|.)""",
    re.VERBOSE | re.DOTALL,
)
_SQL = re.compile(
    r"""(?P<text>'(?:[^']|'')*')
    |(?P<name>"(?:[^"]|"")*")
    |(?P<number>\b\d+(?:\.\d+)?\b)
    |(?P<word>[A-Za-z_]\w*)
    |(?P<other>\s+|.)""",
    re.VERBOSE | re.DOTALL,
)
_KEYWORDS = re.compile(
    "SELECT|DISTINCT|FROM|AS|WHERE|AND|OR|NOT|NULL|IS|IN|EXISTS|JOIN|INNER|LEFT|CROSS|ON|USING|UNION|ALL|EXCEPT|"
    "INTERSECT|GROUP|ORDER|BY|LIMIT|CAST|CASE|WHEN|THEN|ELSE|END|TRUE|FALSE|LIKE|BETWEEN|WITH|VALUES"
)


def rule_pieces(text: str) -> Iterator[Piece]:
    """The pieces of a rule. Text that is no rule passes, too: nothing is lost or changed."""
    head = True
    for match in _RULE.finditer(text):
        kind, piece = match.lastgroup or "other", match.group()
        if kind == "name":
            following = text[match.end() : match.end() + 2].lstrip()[:1]
            if following == "(":
                kind, head = "head" if head else "table", False
            elif following == ":":
                kind = "column"
            else:
                kind = "number" if piece in ("true", "false") else "other"
        yield ("" if kind == "other" else kind), piece


def sql_pieces(text: str) -> Iterator[Piece]:
    """The pieces of a statement; nothing is lost or changed here, either."""
    for match in _SQL.finditer(text):
        kind, piece = match.lastgroup or "other", match.group()
        if kind == "word":
            kind = "keyword" if _KEYWORDS.fullmatch(piece.upper()) else "other"
        yield ("" if kind == "other" else kind), piece
