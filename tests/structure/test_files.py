"""A structure on disk: the same after reading, the same bytes twice, and one line if somebody damaged it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ruleminer.errors import InputError
from ruleminer.sources.database import open_database
from ruleminer.structure.files import read_structure, write_structure
from ruleminer.structure.link_file import LinkWishes
from ruleminer.structure.structure import Structure, learn_structure
from tests.extraction.small_worlds import LINKS, in_duckdb

from .test_structure import things
from .worlds import database_of


def structures(folder: Path) -> list[Structure]:
    with open_database(in_duckdb(folder / "world.duckdb", 0)) as database:
        odd = learn_structure(database, LINKS)
    with open_database(database_of(folder, *things())) as database:
        return [odd, learn_structure(database, LinkWishes())]


def test_a_structure_comes_back_as_it_was(tmp_path: Path) -> None:
    for structure in structures(tmp_path):
        write_structure(structure, tmp_path / "structure.json")
        again = read_structure(tmp_path / "structure.json")
        assert again is not None
        assert again.to_json() == structure.to_json()
        assert (again.schema, again.spaces, again.codes) == (structure.schema, structure.spaces, structure.codes)
        assert again.keys == structure.keys
        assert [link.evidence for link in again.links] == [link.evidence for link in structure.links]
        assert [t.rows for t in again.profile.tables.values()] == [t.rows for t in structure.profile.tables.values()]


def test_the_same_structure_gives_the_same_bytes_and_leaves_nothing_else(tmp_path: Path) -> None:
    (structure, _), folder = structures(tmp_path), tmp_path / "run"
    folder.mkdir()
    write_structure(structure, folder / "structure.json")
    first = (folder / "structure.json").read_bytes()
    again = read_structure(folder / "structure.json")
    assert again is not None
    write_structure(again, folder / "structure.json")
    assert (folder / "structure.json").read_bytes() == first
    assert [path.name for path in folder.iterdir()] == ["structure.json"]


def test_the_file_is_json_that_any_program_reads(tmp_path: Path) -> None:
    """A link that the user added has no score that JSON knows."""

    def refused(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    structure, _ = structures(tmp_path)
    assert structure.links
    write_structure(structure, tmp_path / "structure.json")
    json.loads((tmp_path / "structure.json").read_text("utf-8"), parse_constant=refused)


def test_a_run_without_a_structure_has_none(tmp_path: Path) -> None:
    assert read_structure(tmp_path / "structure.json") is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[]",
        lambda text: "null",
        lambda text: "{}",
        lambda text: text.replace('"format": 1', '"format": 99'),
        lambda text: text.replace('"profile"', '"profil"'),
        lambda text: text.replace('"kind": "integer"', '"kind": "colour"'),
        lambda text: text.replace('"columns": [', '"columns": ["x", '),
        lambda text: json.dumps({**json.loads(text), "links": [{"ends": ["a"]}]}),
        lambda text: json.dumps({**json.loads(text), "profile": ["a"]}),
        lambda text: json.dumps({**json.loads(text), "schema": 7}),
        lambda text: "\xff",
    ],
    ids=["cut", "empty", "list", "null", "nothing", "newer", "a part is missing", "kind", "columns", "link",
         "profile", "schema", "other text"],
)  # fmt: skip
def test_a_damaged_file_is_one_line(damage: object, tmp_path: Path) -> None:
    path = tmp_path / "structure.json"
    write_structure(structures(tmp_path)[1], path)
    path.write_text(damage(path.read_text("utf-8")), "latin-1")  # type: ignore[operator]
    with pytest.raises(InputError, match="is damaged") as caught:
        read_structure(path)
    assert str(caught.value).startswith(f"{path} is damaged (")
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith("): extract anew")
