"""Lines without repeats, whether they fit into memory or not."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruleminer.validation.distinct_lines import distinct_lines

LINES = st.lists(st.integers(0, 300).map(lambda number: b"line %d\n" % number), max_size=400)


def batched(lines: list[bytes]) -> list[list[bytes]]:
    """Seven lines at a time."""
    return [lines[start : start + 7] for start in range(0, len(lines), 7)]


def distinct(lines: list[bytes], held: int) -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        found = [line for batch in distinct_lines(batched(lines), Path(folder), held) for line in batch]
        assert not list(Path(folder).iterdir())
    return found


@settings(max_examples=30)
@given(LINES, st.sampled_from([200, 1000, 10**6]))
def test_every_line_comes_once(lines: list[bytes], held: int) -> None:
    found = distinct(lines, held)
    assert len(found) == len(set(found))
    assert set(found) == set(lines)
    assert found == distinct(lines, held)


def test_what_fits_keeps_its_order() -> None:
    assert distinct([b"b\n", b"a\n", b"b\n", b"c\n"], 100) == [b"b\n", b"a\n", b"c\n"]


@pytest.mark.parametrize("held", [1_000, 50_000])
def test_no_batch_is_larger_than_what_may_be_held(tmp_path: Path, held: int) -> None:
    lines = [b"%09d\n" % number for number in range(20_000)] * 2
    batches = list(distinct_lines(batched(lines), tmp_path, held))
    assert sum(map(len, batches)) == 20_000
    assert max(sum(map(len, batch)) for batch in batches) <= held + 10 * 7
