"""The rows of a dump, table by table, whether they come by COPY or by INSERT."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from ruleminer.errors import InputError
from ruleminer.sources.pgdump.copy_text import copy_line
from ruleminer.sources.pgdump.declarations import Declarations, SearchPath, folded, parse_quietly
from ruleminer.sources.pgdump.declared import Columns, DumpTable, Name
from ruleminer.sources.pgdump.reader import CopyBlock, Statement, read_dump

_LITERALS = {
    TokenType.STRING,
    TokenType.NATIONAL_STRING,
    TokenType.BYTE_STRING,  # E'...': sqlglot's tokenizer has resolved its escapes
    TokenType.BIT_STRING,
    TokenType.NUMBER,
}
_WORDS = {TokenType.NULL: None, TokenType.DEFAULT: None, TokenType.TRUE: "t", TokenType.FALSE: "f"}


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows for a table, as lines of COPY's text format in UTF-8. `place` tells where the n-th of them stands."""

    table: DumpTable
    columns: Columns
    lines: Iterator[bytes]
    place: Callable[[int], str]


@dataclass(frozen=True, slots=True)
class _Piece:
    name: Name
    columns: Columns
    line: int
    is_copy: bool
    lines: Iterator[bytes]


def dump_rows(path: Path, declared: Declarations) -> Iterator[Rows]:
    """All rows in the order of the file; INSERT statements in a row into one table come as one."""

    def belongs(piece: _Piece) -> tuple[Name, Columns, int]:
        return piece.name, piece.columns, piece.line if piece.is_copy else 0

    for _, group in groupby(_pieces(path), belongs):
        piece = next(group)
        table = declared.tables.get(declared.root(piece.name))
        if table is None:
            raise InputError(f"{path}:{piece.line}: rows for {'.'.join(piece.name)}, which the dump does not declare")
        known = [column.name for column in table.columns]
        columns = piece.columns or tuple(known)
        if not set(columns) <= set(known):
            unknown = sorted(set(columns) - set(known))[0]
            raise InputError(f"{path}:{piece.line}: table {table.name} has no column {unknown!r}")
        lines = chain.from_iterable(part.lines for part in chain([piece], group))
        yield Rows(table, columns, lines, _place(path, piece))


def _place(path: Path, piece: _Piece) -> Callable[[int], str]:
    if piece.is_copy:
        return lambda number: f"{path}:{piece.line + number}"
    return lambda number: f"{path}:{piece.line} (row {number + 1} of the INSERT statements from there on)"


def _pieces(path: Path) -> Iterator[_Piece]:
    search_path = SearchPath()
    for event in read_dump(path):
        if isinstance(event, CopyBlock):
            yield _copy_piece(path, event, search_path)
        elif event.label == "INSERT":
            yield _insert_piece(path, event, search_path)
        else:
            search_path.follow(event)


def _copy_piece(path: Path, block: CopyBlock, search_path: SearchPath) -> _Piece:
    try:
        copy = parse_quietly(block.statement.text)
    except SqlglotError:
        copy = None
    if not isinstance(copy, exp.Copy) or copy.args.get("params"):
        raise InputError(f"{path}:{block.statement.line}: not a COPY statement as pg_dump writes it")
    target = copy.this
    columns = tuple(map(folded, target.expressions)) if isinstance(target, exp.Schema) else ()
    table = target.this if isinstance(target, exp.Schema) else target
    return _Piece(search_path.name(table), columns, block.line, True, block.rows)


def _insert_piece(path: Path, statement: Statement, search_path: SearchPath) -> _Piece:
    # The tokenizer alone: a parse of every statement of a long dump would take hours.
    try:
        tokens = sqlglot.tokenize(statement.text, dialect="postgres")
    except SqlglotError:
        tokens = []
    values = next((n for n, token in enumerate(tokens) if token.token_type is TokenType.VALUES), None)
    if values is None:
        raise InputError(f"{path}:{statement.line}: not an INSERT … VALUES as pg_dump writes it")
    head, columns = _insert_head(tokens[2:values])
    rows = list(_value_lists(tokens[values + 1 :], f"{path}:{statement.line}"))
    return _Piece(search_path.name(head), columns, statement.line, False, map(copy_line, rows))


def _insert_head(tokens: list[Token]) -> tuple[exp.Table, Columns]:
    """The table and columns between INTO and VALUES (or OVERRIDING SYSTEM VALUE VALUES)."""
    names: list[exp.Identifier] = []
    columns: list[exp.Identifier] = []
    found, separated = names, True
    for token in tokens:
        if token.token_type is TokenType.L_PAREN:
            found, separated = columns, True
        elif token.token_type in (TokenType.DOT, TokenType.COMMA):
            separated = True
        elif not separated or token.token_type is TokenType.R_PAREN:
            break
        else:
            found.append(exp.Identifier(this=token.text, quoted=token.token_type is TokenType.IDENTIFIER))
            separated = False
    table = exp.Table(this=names[-1], db=names[-2] if len(names) > 1 else None)
    return table, tuple(map(folded, columns))


def _value_lists(tokens: list[Token], place: str) -> Iterator[list[str | None]]:
    row: list[str | None] | None = None
    negative = ""
    for token in tokens:
        kind = token.token_type
        if row is None:
            if kind is TokenType.L_PAREN:
                row = []
            elif kind is not TokenType.COMMA:
                raise InputError(f"{place}: {token.text!r} where a row of VALUES is expected")
        elif kind is TokenType.R_PAREN:
            yield row
            row = None
        elif kind is TokenType.DASH:
            negative = "-"
        elif kind in _LITERALS:
            row.append(negative + token.text)
            negative = ""
        elif kind in _WORDS:
            row.append(_WORDS[kind])
        elif kind is not TokenType.COMMA:
            raise InputError(f"{place}: {token.text!r} where a plain value is expected, as pg_dump writes it")
