"""PostgreSQL's COPY text format, read exactly."""

from __future__ import annotations

import io

import psycopg2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleminer.sources.pgdump.copy_text import copy_batches, copy_fields, copy_line, copy_table

# PostgreSQL holds no NUL and no lone surrogates.
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
nasty = st.text(st.sampled_from("\\Nntbxr017.\t\n\r\"' ü\ufeff"))
fields = st.none() | texts | nasty


@given(st.lists(fields, min_size=1))
def test_fields_survive_their_line(row: list[str | None]) -> None:
    line = copy_line(row)
    assert line.count(b"\n") == 1
    assert copy_fields(line) == row


@given(st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(fields, min_size=width, max_size=width), min_size=1)))
def test_a_batch_of_lines_is_read_like_its_lines(rows: list[list[str | None]]) -> None:
    names = [f"c{number}" for number in range(len(rows[0]))]
    table = copy_table([copy_line(row) for row in rows], names)
    assert [list(row.values()) for row in table.to_pylist()] == rows


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"\n", [""]),
        (b"\\N\n", [None]),
        (b"\\\\N\n", ["\\N"]),
        (b"a\\Nb\n", ["aNb"]),
        (b"\t\n", ["", ""]),
        (b"a\\tb\\nc\\rd\\be\\ff\\vg\\\\h\n", ["a\tb\nc\rd\be\ff\vg\\h"]),
        (b"\\101\\x42\\x4\\1013\\8\n", ["AB\x04A38"]),
        (b"\\303\\274\\xc3\\xBC\n", ["üü"]),
        (b"\\x\\.\\q\\'\n", ["x.q'"]),
        (b"crlf\tend\r\n", ["crlf", "end"]),
        (b"\xef\xbb\xbfmark\n", ["\ufeffmark"]),
        (b"no line end", ["no line end"]),
    ],
)
def test_escapes_mean_what_postgresql_says(line: bytes, expected: list[str | None]) -> None:
    assert copy_fields(line) == expected
    names = [f"c{number}" for number in range(len(expected))]
    assert [list(row.values()) for row in copy_table([line], names).to_pylist()] == [expected]


def test_postgresql_writes_what_we_read(empty_postgres: str) -> None:
    values = [None, "", "\\N", "\\.", "a\tb\nc\rd\\", "\b\f\v", "ünï 🦆", '"', "'", " ", "\x01\x7f", "\u2028", "\ufeff"]
    with psycopg2.connect(empty_postgres) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE t (n integer, v text)")
        cursor.executemany("INSERT INTO t VALUES (%s, %s)", list(enumerate(values)))
        out = io.BytesIO()
        cursor.copy_expert("COPY (SELECT v FROM t ORDER BY n) TO STDOUT", out)
        assert [copy_fields(line) for line in out.getvalue().split(b"\n")[:-1]] == [[value] for value in values]
        cursor.copy_expert("COPY t FROM STDIN", io.BytesIO(b"".join(copy_line(["99", value]) for value in values)))
        cursor.execute("SELECT v FROM t WHERE n = 99")
        assert sorted(map(repr, cursor.fetchall())) == sorted(repr((value,)) for value in values)


def test_the_line_that_does_not_fit_is_told() -> None:
    with pytest.raises(ValueError, match="fields") as caught:
        copy_table([b"1\t2\n", b"3\n", b"4\t5\n"], ["a", "b"])
    assert caught.value.args == (1, "1 fields where 2 are expected")
    with pytest.raises(ValueError, match="UTF-8") as caught:
        copy_table([b"1\t2\n", b"3\t\xff\n"], ["a", "b"])
    assert caught.value.args[0] == 1
    with pytest.raises(ValueError, match="UTF-8"):
        copy_table([b"\\xff\n"], ["a"])


def test_batches_are_bounded_in_size() -> None:
    lines = (b"x" * (1 << 20) for _ in range(20))
    assert [len(batch) for batch in copy_batches(lines)] == [4, 4, 4, 4, 4]
    assert list(copy_batches([])) == []
