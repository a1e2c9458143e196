"""What a schema says of itself, whatever engine it came from."""

from __future__ import annotations

import json

import pytest

from ruleminer.errors import DatabaseError
from ruleminer.problem.schema import Column, ForeignKey, Schema, Table, closed_schema, kind_of_type, quote_identifier
from ruleminer.rules.values import Kind

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
