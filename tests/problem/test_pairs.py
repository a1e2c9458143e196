"""Query pairs: reading `.qpair` files, and what broken ones say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleminer.errors import InputError
from ruleminer.problem.pairs import QueryPair, pair_text, read_pair, read_pairs

PAIR = r"""name=Q7 (Books <-> Writers)
orderNum=070

sql=SELECT COUNT(*) \n\
FROM "Book" \n\
	JOIN "Writer" ON "Book"."by" = "Writer"."ID"

sparql=prefix : <http://example.org/> \n\
SELECT (COUNT(*) AS ?n) \n\
WHERE {?b :writtenBy ?w}

# a remark
categories=link, path-1
entityIdCols=0, 1
entityIdVars=
disabled=true
comment=caf\u00e9
"""


def write(folder: Path, text: str, name: str = "Q7.qpair") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_continued_lines_escapes_and_lists_are_read(tmp_path: Path) -> None:
    assert read_pair(write(tmp_path, PAIR)) == QueryPair(
        stem="Q7",
        name="Q7 (Books <-> Writers)",
        sql='SELECT COUNT(*) \nFROM "Book" \nJOIN "Writer" ON "Book"."by" = "Writer"."ID"',
        sparql="prefix : <http://example.org/> \nSELECT (COUNT(*) AS ?n) \nWHERE {?b :writtenBy ?w}",
        categories=("link", "path-1"),
        entity_id_columns=(0, 1),
        disabled=True,
        order=70,
        comment="café",
    )


def test_a_pair_needs_only_its_two_queries(tmp_path: Path) -> None:
    pair = read_pair(write(tmp_path, "sql=SELECT 1\nsparql=SELECT * {}\n", "mine.qpair"))
    assert (pair.name, pair.order, pair.disabled, pair.categories) == ("mine", 0, False, ())


def test_utf_8_and_latin_1_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "q.qpair"
    for encoding in ("utf-8", "latin-1", "utf-8-sig"):
        path.write_bytes("sql=SELECT 'Nordsjøen'\nsparql=ASK {}\n".encode(encoding))
        assert read_pair(path).sql == "SELECT 'Nordsjøen'"


def test_a_folder_is_read_in_the_pairs_own_order(tmp_path: Path) -> None:
    for name, order in (("a", 20), ("b", 5), ("c", 10)):
        write(tmp_path, f"sql=SELECT 1\nsparql=ASK {{}}\norderNum={order}\n", f"{name}.qpair")
    assert [pair.stem for pair in read_pairs(tmp_path)] == ["b", "c", "a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sparql=ASK {}\n", "Q7.qpair: has no sql"),
        ("sql=SELECT 1\nsparql=\n", "Q7.qpair: has no sparql"),
        ("sql=a\n\nsparql=b\nsql=c\n", "Q7.qpair, line 4: sql is given a second time (first on line 1)"),
        ("name=x\nsql=SELECT 1 \\\n  FROM a\n  WHERE b\nsparql=c\n", "line 4: unknown key 'WHERE'"),
        ("sql=SELECT '\\u00g1'\nsparql=b\n", "line 1: broken escape"),
        ("sql=a\nsparql=b\nentityIdCols=first\n", "entityIdCols must be whole numbers, not 'first'"),
        ("sql=a\nsparql=b\ndisabled=maybe\n", "disabled must be true or false, not 'maybe'"),
    ],
)
def test_a_broken_pair_is_one_line_that_names_the_file(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_pair(write(tmp_path, text))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_files_and_empty_folders_are_said_to_be_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_pair(tmp_path / "none.qpair")
    with pytest.raises(InputError, match=r"has no \.qpair files"):
        read_pairs(tmp_path)
    with pytest.raises(InputError, match="no such folder"):
        read_pairs(tmp_path / "none")


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1).map(str.strip).filter(bool)


@given(
    st.builds(
        QueryPair,
        stem=st.just("any"),
        name=words,
        sql=words,
        sparql=words,
        categories=st.lists(st.from_regex(r"[\w-]+", fullmatch=True).map(str.strip).filter(bool)).map(tuple),
        entity_id_columns=st.lists(st.integers(0, 9)).map(tuple),
        disabled=st.booleans(),
        order=st.integers(0, 999),
        comment=words,
    )
)
def test_a_written_pair_reads_back_the_same(tmp_path_factory: pytest.TempPathFactory, pair: QueryPair) -> None:
    path = tmp_path_factory.getbasetemp() / "any.qpair"
    path.write_text(pair_text(pair), encoding="utf-8", newline="")
    assert read_pair(path) == replace(pair, stem="any")


@pytest.mark.data
def test_all_real_pairs_are_read(real_data: Path) -> None:
    counts = {folder.parent.name: len(read_pairs(folder)) for folder in (real_data / "rodi").glob("*/queries")}
    assert counts.pop("npd") == 439
    assert sorted(counts.values()) == [29] * 7 + [39] * 7
    disabled = [pair.stem for pair in read_pairs(real_data / "rodi/cmt_denormalized/queries") if pair.disabled]
    assert disabled == ["Q10", "Q28", "Q38", "Q45"]
