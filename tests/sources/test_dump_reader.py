"""A dump file cut into statements and COPY blocks."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from ruleminer.errors import InputError
from ruleminer.sources.pgdump.reader import CopyBlock, Statement, read_dump


def events(path: Path) -> list[tuple[int, str] | tuple[int, str, list[bytes]]]:
    found: list[tuple[int, str] | tuple[int, str, list[bytes]]] = []
    for event in read_dump(path):
        if isinstance(event, CopyBlock):
            found.append((event.line, event.statement.text, list(event.rows)))
        else:
            found.append((event.line, event.text))
    return found


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "dump.sql"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_statements_end_at_semicolons_that_count(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "-- a; comment\n/* another; /* nested; */ still; */\n\n"
        "SELECT ';', 'it''s;', E'\\';', \"na;me\" -- why; not\n;\n"
        "SELECT $$;$$, $tag$ ; $$ ; $tag$; SELECT a$b$c;\n"
        "\\connect other\n"
        "SELECT 1;;\nSELECT 'two\nlines;\n';",
    )
    assert events(path) == [
        (4, "SELECT ';', 'it''s;', E'\\';', \"na;me\""),
        (6, "SELECT $$;$$, $tag$ ; $$ ; $tag$"),
        (6, "SELECT a$b$c"),
        (7, "\\connect other"),
        (8, "SELECT 1"),
        (9, "SELECT 'two\nlines;\n'"),
    ]


def test_a_function_body_without_quotes_is_one_statement(tmp_path: Path) -> None:
    body = "CREATE FUNCTION f() RETURNS void\n    BEGIN ATOMIC\n INSERT INTO t VALUES (1);\n SELECT 2;\nEND"
    assert events(written(tmp_path, f"{body};\n\nSELECT 3;\n")) == [(1, body), (7, "SELECT 3")]


def test_copy_blocks_come_with_their_raw_rows(tmp_path: Path) -> None:
    path = written(tmp_path, "COPY a (b) FROM stdin;\n1;'\n\\N\n\n\\.\n\nCOPY c FROM stdin;\n\\.\nSELECT 1;\n")
    assert events(path) == [
        (2, "COPY a (b) FROM stdin", [b"1;'\n", b"\\N\n", b"\n"]),
        (8, "COPY c FROM stdin", []),
        (9, "SELECT 1"),
    ]


def test_rows_nobody_reads_are_skipped(tmp_path: Path) -> None:
    path = written(tmp_path, "COPY a (b) FROM stdin;\nSELECT 9;\n\\.\nSELECT 1;\n")
    assert [event.text for event in read_dump(path) if isinstance(event, Statement)] == ["SELECT 1"]


def test_gzip_is_recognised_by_content(tmp_path: Path) -> None:
    path = written(tmp_path, gzip.compress(b"SELECT 1;\n"))
    assert events(path) == [(1, "SELECT 1")]


def test_other_encodings_and_line_ends_are_understood(tmp_path: Path) -> None:
    text = "SET client_encoding = 'LATIN1';\nSELECT 'ü';\nCOPY a FROM stdin;\nü\n\\.\n"
    assert events(written(tmp_path, text.encode("latin-1")))[1:] == [
        (2, "SELECT 'ü'"),
        (4, "COPY a FROM stdin", ["ü\n".encode()]),
    ]
    crlf = "\ufeffSELECT 1;\r\nCOPY a FROM stdin;\r\n1\r\n\\.\r\n"
    assert events(written(tmp_path, crlf)) == [(1, "SELECT 1"), (3, "COPY a FROM stdin", [b"1\r\n"])]
    with pytest.raises(InputError, match="encoding we do not know: KLINGON"):
        events(written(tmp_path, "SET client_encoding = 'KLINGON';\n"))


def test_backslashes_escape_where_the_session_says_so(tmp_path: Path) -> None:
    path = written(tmp_path, "SET standard_conforming_strings = off;\nSELECT 'it\\'s; one';\n")
    assert events(path)[1:] == [(2, "SELECT 'it\\'s; one'")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"dump\.sql is empty"),
        (b"PGDMP\x01", r"make one with pg_dump --format=plain"),
        (b"CREATE TABLE a (\n    b integer\n", r"dump\.sql:2: .*cut off in the statement that begins in line 1"),
        (b"SELECT 1;\nSELECT 'half\n\n", r"dump\.sql:3: .*cut off in the statement that begins in line 2"),
        (b"SELECT 1;\n/* half", r"dump\.sql:2: the dump is cut off"),
        (b"COPY a (b) FROM stdin;\n1\n2\n", r"dump\.sql:3: .*the COPY data from line 2 on have no end"),
        (b"COPY a (b) FROM stdin;\n1\n\\", r"have no end"),
        (b"--\n-- PostgreSQL database dump\n--\n\nSELECT 1;\n", r"its last line should be '-- PostgreSQL database"),
        (gzip.compress(b"SELECT 1;\n" * 9999)[:-20], r"cut off: its gzip stream has no end"),
        (gzip.compress(b"SELECT 1;\n" * 9999)[:-8] + b"checksum", r"cannot unpack the dump: CRC check failed"),
        (b"SELECT '\xff';\n", r"dump\.sql:1: not the text of a dump: byte 8 of the line is not utf-8"),
    ],
)
def test_a_broken_dump_is_told_with_its_line(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        events(written(tmp_path, content))
    assert "\n" not in str(caught.value)


def test_a_missing_dump_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such dump: "):
        events(tmp_path / "none.sql")
    with pytest.raises(InputError, match=r"cannot read .*: Is a directory"):
        events(tmp_path)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("CREATE UNIQUE INDEX a ON b (c)", "CREATE INDEX"),
        ("create or replace function f()", "CREATE FUNCTION"),
        ("CREATE UNLOGGED TABLE a (b int)", "CREATE TABLE"),
        ("CREATE MATERIALIZED VIEW v AS SELECT 1", "CREATE MATERIALIZED VIEW"),
        ("ALTER DEFAULT PRIVILEGES FOR ROLE a", "ALTER PRIVILEGES"),
        ("GRANT ALL ON a TO b", "GRANT"),
        ("\\restrict abc", "psql command"),
        ("UPDATE a SET b = 1", ""),
        ("hello", ""),
        ("'", ""),
    ],
)
def test_statements_have_labels(text: str, label: str) -> None:
    assert Statement(1, text).label == label
