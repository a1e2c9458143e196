"""The picture of a schema graph: every table and link is in it, nothing stands on another, and nothing is markup."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruleminer.errors import InputError
from ruleminer.rules.values import Kind
from ruleminer.sources.schema import Column, ForeignKey, Schema, Table
from ruleminer.structure.graph_layout import Layout, layout_of
from ruleminer.structure.links import DiscoveredLink
from ruleminer.structure.picture import space_colours, svg, write_picture
from ruleminer.structure.profile import empty_profile
from ruleminer.structure.structure import Structure

SVG = "{http://www.w3.org/2000/svg}"


def structure(links: dict[str, list[str]], discovered: tuple[tuple[str, str], ...] = ()) -> Structure:
    """Tables with a key `id`, and a column named like each table that they lead to."""
    tables = tuple(
        Table(
            name,
            tuple(Column(c, "integer", Kind.INTEGER, False) for c in dict.fromkeys(["id", *(f"to {t}" for t in ends)])),
            ("id",),
            foreign_keys=tuple(ForeignKey((f"to {end}",), end, ("id",)) for end in dict.fromkeys(ends)),
            rows=7,
        )
        for name, ends in links.items()
    )
    schema = Schema(None, tables)
    found = tuple(
        DiscoveredLink(start, f"to {end}", end, "id", 5.0, ("all its values lie there",)) for start, end in discovered
    )
    return Structure(schema, empty_profile(schema), (), found)


SHOP = structure({"customer": [], "order": ["customer"], "line": ["order", "product"], "product": []})


def apart(layout: Layout) -> bool:
    return all(
        a.x + a.width <= b.x or b.x + b.width <= a.x or a.y + a.height <= b.y or b.y + b.height <= a.y
        for a, b in combinations(layout.boxes, 2)
    )


def test_a_table_stands_to_the_right_of_those_it_leads_to() -> None:
    boxes = {box.table: box for box in layout_of(SHOP).boxes}
    assert boxes["customer"].x < boxes["order"].x < boxes["line"].x
    assert boxes["product"].x == boxes["order"].x, "near the only table that leads to it"


def test_lines_go_from_the_linking_column_to_the_key() -> None:
    layout = layout_of(SHOP)
    boxes = {box.table: box for box in layout.boxes}
    for line in layout.lines:
        start, end = boxes[line.link.table], boxes[line.link.target]
        assert line.points[0] == (start.x, start.row(line.link.columns[0]))
        assert line.points[-1] == (end.x + end.width, end.row("id"))


@given(st.dictionaries(st.sampled_from("abcdefghijkl"), st.lists(st.sampled_from("abcdefghijkl"), max_size=4)))
@settings(max_examples=60, deadline=None)
def test_no_box_stands_on_another_and_no_line_leaves_the_picture(links: dict[str, list[str]]) -> None:
    closed = {name: [end for end in ends if end in links] for name, ends in links.items()}
    layout = layout_of(structure(closed))
    assert {box.table for box in layout.boxes} == set(links)
    assert len(layout.lines) == sum(len(set(ends)) for ends in closed.values())
    assert apart(layout)
    for x, y in (point for line in layout.lines for point in line.points):
        assert 0 <= x <= layout.width
        assert 0 <= y <= layout.height


def test_forty_tables_around_one_are_spread_over_several_layers() -> None:
    layout = layout_of(structure({"hub": [], **{f"spoke{n}": ["hub"] for n in range(40)}}))
    assert apart(layout)
    assert len({box.x for box in layout.boxes}) == 4
    assert layout.height < 1300, "fourteen boxes and a line"


def test_a_discovered_link_is_dashed_and_says_why() -> None:
    root = ElementTree.fromstring(svg(structure({"a": [], "b": ["a"], "c": ["a"]}, (("c", "a"),))))
    told = {}
    for group in root.iter(f"{SVG}g"):
        paths = [path.get("class") for path in group.findall(f"{SVG}path")]
        if paths:
            told[group.findtext(f"{SVG}title")] = paths[-1]
    assert told == {
        "b.to a → a.id\ndeclared": "link",
        "c.to a → a.id\ndiscovered: all its values lie there": "link discovered",
    }


def test_names_are_never_markup() -> None:
    odd = '<script>"&\x07'
    text = svg(structure({odd: [odd], "b": [odd]}))
    assert "<script>" not in text
    titles = [title.text or "" for title in ElementTree.fromstring(text).iter(f"{SVG}title")]
    assert any('<script>"&�' in title for title in titles)


def test_columns_of_one_space_have_one_colour_and_spaces_differ() -> None:
    colours = space_colours(SHOP)
    assert colours["order", "to customer"] == colours["customer", "id"]
    assert len({colours["customer", "id"], colours["order", "id"], colours["product", "id"]}) == 3
    assert ("line", "id") not in colours, "a space of one column needs no colour"


def test_pictures_are_files_of_two_kinds_written_alike_each_time(tmp_path: Path) -> None:
    write_picture(SHOP, tmp_path / "shop.svg")
    first = (tmp_path / "shop.svg").read_bytes()
    write_picture(SHOP, tmp_path / "shop.svg")
    assert (tmp_path / "shop.svg").read_bytes() == first
    write_picture(SHOP, tmp_path / "shop.png")
    assert (tmp_path / "shop.png").read_bytes().startswith(b"\x89PNG")
    assert {path.name for path in tmp_path.iterdir()} == {"shop.svg", "shop.png"}
    with pytest.raises(InputError, match=r"\*\.svg or \*\.png"):
        write_picture(SHOP, tmp_path / "shop.jpg")


def test_an_empty_database_has_a_picture() -> None:
    assert "0 tables" in svg(structure({}))
