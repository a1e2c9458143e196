"""What a schema says of itself, whatever engine it came from."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ruleminer.errors import DatabaseError
from ruleminer.rules.columns import ColumnType
from ruleminer.rules.values import Kind, Place
from ruleminer.sources.schema import Column, ForeignKey, Schema, Table, closed_schema, kind_of_type, quote_identifier

PAPER = Table(
    "paper",
    (Column.of_type("id", "integer", False), Column.of_type("title", "character varying(200)", True)),
    ("id",),
    (("title",),),
    rows=3,
)
REVIEW = Table(
    "review", (Column.of_type("paper", "integer", True),), foreign_keys=(ForeignKey(("paper",), "paper", ("id",)),)
)


@pytest.mark.parametrize(
    ("sql_type", "kind"),
    [
        ("INTEGER", Kind.INTEGER),
        ("UBIGINT", Kind.INTEGER),
        ("smallint", Kind.INTEGER),
        ("int unsigned", Kind.INTEGER),
        ("numeric(13,6)", Kind.DECIMAL),
        ("DECIMAL(5, 2)", Kind.DECIMAL),
        ("double precision", Kind.DECIMAL),
        ("REAL", Kind.DECIMAL),
        ("boolean", Kind.BOOLEAN),
        ("date", Kind.DATE),
        ("timestamp(3) without time zone", Kind.TIMESTAMP),
        ("TIMESTAMP WITH TIME ZONE", Kind.TIMESTAMP),
        ("datetime", Kind.TIMESTAMP),
        ("character varying(22)", Kind.TEXT),
        ("interval", Kind.TEXT),
        ("point", Kind.TEXT),
        ("INTEGER[]", Kind.TEXT),
        ("DECIMAL(5,2)[]", Kind.TEXT),
        ("time without time zone", Kind.TEXT),
        ("STRUCT(a INTEGER)", Kind.TEXT),
        ("", Kind.TEXT),
    ],
)
def test_a_type_has_a_kind(sql_type: str, kind: Kind) -> None:
    assert kind_of_type(sql_type) is kind


def test_a_schema_survives_its_json() -> None:
    schema = Schema("s", (PAPER, REVIEW), (("secret", "no permission"),))
    assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema


def test_a_missing_table_is_told_with_the_nearest_names() -> None:
    schema = Schema("cmt", (PAPER, REVIEW), (("secret", "no permission to read it"),))
    assert schema.table("paper") is PAPER
    assert "paper" in schema
    assert "papers" not in schema
    with pytest.raises(DatabaseError, match=r"^no table 'Papers' in schema 'cmt'; did you mean paper\?$"):
        schema.table("Papers")
    with pytest.raises(DatabaseError, match=r"no table 'x'.*; there are paper, review"):
        schema.table("x")
    with pytest.raises(DatabaseError, match="'secret' cannot be read: no permission"):
        schema.table("secret")
    with pytest.raises(DatabaseError, match="table 'paper' has no column 'titel'; did you mean title"):
        PAPER.column("titel")


def test_every_foreign_key_of_a_schema_leads_to_one_of_its_tables() -> None:
    assert closed_schema(None, [REVIEW]).table("review").foreign_keys == ()
    assert closed_schema(None, [REVIEW, PAPER]).table("review").foreign_keys == REVIEW.foreign_keys


def test_keys_are_spelled_like_the_columns_they_name() -> None:
    loose = Table(
        "review",
        REVIEW.columns,
        foreign_keys=(ForeignKey(("PAPER",), "Paper", ("ID",)), ForeignKey(("paper",), "paper", ())),
    )
    assert closed_schema(None, [loose, PAPER]).table("review").foreign_keys == REVIEW.foreign_keys


def test_any_identifier_can_be_quoted_but_nul() -> None:
    assert quote_identifier('a"b;--') == '"a""b;--"'
    with pytest.raises(DatabaseError, match="NUL"):
        quote_identifier("a\0b")


LENDING = Table(
    "lending",
    (
        Column.of_type("book", "uuid", False),
        Column.of_type("reader", "integer", True),
        Column.of_type("card", "integer", False),
        Column.of_type("day", "date", False),
    ),
    ("book", "day"),
    (("card",), ("reader", "day")),
    (
        ForeignKey(("book", "day"), "shelf", ("id", "day")),
        ForeignKey(("reader",), "paper", ("id",)),
        ForeignKey(("reader",), "reader", ("number",)),
    ),
)


def test_a_table_tells_its_keys_and_links_of_one_column() -> None:
    assert PAPER.keys == ("id", "title")
    assert PAPER.own_key == "id"
    assert LENDING.keys == ("card",)
    assert LENDING.own_key is None, "its rows are named by two columns together"
    assert replace(LENDING, primary_key=()).own_key == "card"
    reader = Place("lending", "reader")
    assert LENDING.links == ((reader, Place("paper", "id")), (reader, Place("reader", "number")))
    assert LENDING.link_ends == {"reader": Place("reader", "number")}
    schema = Schema("s", (LENDING, PAPER, REVIEW))
    assert Place("paper", "title") in schema
    assert Place("paper", "card") not in schema
    assert Place("book", "title") not in schema
    assert schema.keys == {("lending", "card"), ("paper", "id"), ("paper", "title")}
    assert schema.links == (*LENDING.links, (Place("review", "paper"), Place("paper", "id")))


def test_the_type_of_a_column_trusts_no_view() -> None:
    schema = Schema("s", (LENDING, replace(LENDING, name="lent", is_view=True)))
    assert schema.type_of("lending", "book") == ColumnType(Kind.TEXT, "uuid", nullable=False)
    assert schema.type_of("lent", "book") == ColumnType(Kind.TEXT, "uuid", nullable=True)
    with pytest.raises(DatabaseError, match="has no column 'boek'; did you mean book"):
        schema.type_of("lending", "boek")
