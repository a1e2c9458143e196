"""A pg_dump file as a stream of statements and COPY blocks, one line in memory at a time."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ruleminer.errors import InputError
from ruleminer.limits import RAISED, largest_read, megabytes

_OPENING = re.compile(r"""--[^\n]*|/\*|(?<![\w$])[eE]'|'|"|(?<![\w$])\$(?:[^\W\d]\w*)?\$|;""")
_PLAIN_STRING, _NAME = re.compile("'"), re.compile('"')
_ESCAPE_STRING = re.compile(r"(?:[^'\\]|\\.|'')*'", re.DOTALL)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_COPY_IN = re.compile(r"COPY\b.*\bFROM\s+stdin\b", re.IGNORECASE | re.DOTALL)
_ENCODING = re.compile(r"SET\s+client_encoding\s*(?:=|TO)\s*'(\w+)'", re.IGNORECASE)
_BACKSLASHES = re.compile(r"SET\s+standard_conforming_strings\s*(?:=|TO)\s*'?off", re.IGNORECASE)
# The body of such a function is statements without quotes around them; pg_dump puts its END in a line of its own.
_ATOMIC = re.compile(r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:FUNCTION|PROCEDURE)\b.*\bBEGIN\s+ATOMIC\b", re.I | re.S)
_TWO_WORDS = {"CREATE", "ALTER", "DROP"}
_ONE_WORD = re.compile(
    "ANALYZE|BEGIN|CLUSTER|COMMENT|COMMIT|COPY|DO|END|GRANT|IMPORT|INSERT|LOCK|REFRESH|REINDEX|RESET|REVOKE|SECURITY|"
    "SELECT|SET|START|VACUUM"
)
_NOISE = {"OR", "REPLACE", "UNIQUE", "UNLOGGED", "TEMPORARY", "TEMP", "RECURSIVE", "DEFAULT"}
_HEADER, _TRAILER = "-- PostgreSQL database dump", "-- PostgreSQL database dump complete"


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement without comments and semicolon (or a psql command), and the line it begins in."""

    line: int
    text: str

    @property
    def label(self) -> str:
        """What kind of statement this is, in the words we report; "" if it has no place in a dump."""
        if self.text.startswith("\\"):
            return "psql command"
        words = [word for word in re.findall(r"\w+", self.text[:200].upper()) if word not in _NOISE]
        if not words:
            return ""
        if words[0] in _TWO_WORDS:
            return " ".join(words[: 3 if words[1:2] == ["MATERIALIZED"] else 2])
        return words[0] if _ONE_WORD.fullmatch(words[0]) else ""


@dataclass(frozen=True, slots=True)
class CopyBlock:
    """A COPY statement and its rows: raw lines of PostgreSQL's text format, in UTF-8, from line `line` on.

    The rows must be read before the next event is asked for; those that are not are skipped.
    """

    line: int
    statement: Statement
    rows: Iterator[bytes]


def read_dump(path: Path) -> Iterator[Statement | CopyBlock]:
    """The statements and COPY blocks of a plain-text dump, gzipped or not, in order."""
    with _opened(path) as stream:
        yield from _Reader(path, stream).events()


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as file:
            head = file.read(5)
            file.seek(0)
            if not head:
                raise InputError(f"{path} is empty")
            if head == b"PGDMP":
                raise InputError(f"{path} is not a plain dump: make one with pg_dump --format=plain")
            if head.startswith(b"\x1f\x8b"):
                with io.BufferedReader(gzip.GzipFile(fileobj=file)) as unpacked:  # GzipFile's own readline is slow
                    yield unpacked
            else:
                yield file
    except FileNotFoundError:
        raise InputError(f"no such dump: {path}") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None


class _Reader:
    def __init__(self, path: Path, stream: BinaryIO) -> None:
        self._path, self._stream, self._longest = path, stream, largest_read()
        self._line = 0
        self._codec = "utf-8"
        self._string = _PLAIN_STRING
        # The statement so far, and what ends the quotation or comment we are in.
        self._parts: list[str] = []
        self._begun = 0
        self._closer: re.Pattern[str] | None = None
        self._comment_depth = 0

    def events(self) -> Iterator[Statement | CopyBlock]:
        complete = True
        while raw := self._readline():
            text = self._decoded(raw)
            if not self._within():
                if text.startswith("\\"):
                    yield Statement(self._line, text.strip())
                    continue
                if text.startswith(_HEADER):
                    complete = text.startswith(_TRAILER)
            for statement in self._statements(text):
                self._heed(statement.text)
                if not _COPY_IN.match(statement.text):
                    yield statement
                    continue
                rows = self._copy_rows()
                yield CopyBlock(self._line + 1, statement, rows)
                for _ in rows:
                    pass
        if self._within():
            raise self._error(f"the dump is cut off in the statement that begins in line {self._begun}")
        if not complete:
            raise self._error(f"the dump is cut off: its last line should be {_TRAILER!r}")

    def _within(self) -> bool:
        return bool(self._parts) or self._comment_depth > 0

    def _statements(self, text: str) -> Iterator[Statement]:
        """The statements that end in this line; what follows the last stays in `_parts`."""
        place = 0
        while place < len(text):
            if self._comment_depth:
                place = self._through_comment(text, place)
                continue
            if self._closer is not None:
                place = self._through_quotation(text, place)
                continue
            opening = _OPENING.search(text, place)
            self._keep(text[place : opening.start() if opening else len(text)])
            if opening is None:
                return
            token, place = opening.group(), opening.end()
            if token == ";":
                statement = "".join(self._parts).strip()
                if _ATOMIC.match(statement) and not statement.endswith("\nEND"):
                    self._parts.append(token)
                    continue
                self._parts.clear()
                if statement:
                    yield Statement(self._begun, statement)
            elif token == "/*":
                self._comment_depth = 1
            elif not token.startswith("--"):
                self._keep(token)
                self._closer = self._closing(token)

    def _keep(self, text: str) -> None:
        if not self._parts:
            text = text.lstrip()
            self._begun = self._line
        if text:
            self._parts.append(text)

    def _closing(self, token: str) -> re.Pattern[str]:
        if token == "'":
            return self._string
        if token == '"':
            return _NAME
        return _ESCAPE_STRING if token in ("e'", "E'") else re.compile(re.escape(token))

    def _through_quotation(self, text: str, place: int) -> int:
        assert self._closer is not None
        anchored = self._closer is _ESCAPE_STRING
        closing = self._closer.match(text, place) if anchored else self._closer.search(text, place)
        end = closing.end() if closing else len(text)
        self._parts.append(text[place:end])
        if closing:
            self._closer = None
        return end

    def _through_comment(self, text: str, place: int) -> int:
        edge = _COMMENT_EDGE.search(text, place)
        if edge is None:
            return len(text)
        self._comment_depth += 1 if edge.group() == "/*" else -1
        return edge.end()

    def _heed(self, statement: str) -> None:
        """Settings of the session change how the rest of the file is to be read."""
        if encoding := _ENCODING.match(statement):
            name = encoding[1].lower().replace("win", "cp").replace("sql_ascii", "utf-8")
            try:
                self._codec = codecs.lookup(name).name
            except LookupError:
                raise self._error(f"a text encoding we do not know: {encoding[1]}") from None
        elif _BACKSLASHES.match(statement):
            self._string = _ESCAPE_STRING

    def _copy_rows(self) -> Iterator[bytes]:
        begun = self._line + 1
        with self._unpacking():
            while row := self._stream.readline(self._longest + 1):
                self._line += 1
                self._refuse_long(row)
                if row.startswith(b"\\.") and row.rstrip(b"\r\n") == b"\\.":
                    return
                yield row if self._codec == "utf-8" else self._decoded(row).encode()
        raise self._error(f"the dump is cut off: the COPY data from line {begun} on have no end (\\.)")

    def _readline(self) -> bytes:
        with self._unpacking():
            line = self._stream.readline(self._longest + 1)
        self._line += bool(line)
        self._refuse_long(line)
        return line.removeprefix(codecs.BOM_UTF8) if self._line == 1 else line

    def _refuse_long(self, line: bytes) -> None:
        if len(line) > self._longest:
            raise self._error(f"a line of more than {megabytes(self._longest)}; {RAISED}")

    @contextmanager
    def _unpacking(self) -> Iterator[None]:
        try:
            yield
        except EOFError:
            raise self._error("the dump is cut off: its gzip stream has no end") from None
        except (OSError, zlib.error) as error:
            raise self._error(f"cannot unpack the dump: {error}") from None

    def _decoded(self, raw: bytes) -> str:
        try:
            return raw.decode(self._codec)
        except UnicodeDecodeError as error:
            reason = f"byte {error.start} of the line is not {self._codec}"
            raise self._error(f"not the text of a dump: {reason}") from None

    def _error(self, reason: str) -> InputError:
        return InputError(f"{self._path}:{self._line}: {reason}")
