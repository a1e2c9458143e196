"""The user's word on links: a line for each, and one line for each mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruleminer.errors import InputError
from ruleminer.rules.values import Kind
from ruleminer.sources.schema import Column, Schema, Table
from ruleminer.structure.link_file import LinkWishes, read_links


def table(name: str, *columns: str) -> Table:
    return Table(name, tuple(Column(column, "INTEGER", Kind.INTEGER, nullable=True) for column in columns))


SCHEMA = Schema(
    None,
    (table("customer", "id", "support rep"), table("employee", "id"), table("v1.order", "id", "by.whom"), table("v1")),
)


def read(folder: Path, text: str) -> LinkWishes:
    (folder / "links.txt").write_text(text, "utf-8")
    return read_links(folder / "links.txt", SCHEMA)


def test_links_are_added_and_forbidden(tmp_path: Path) -> None:
    wishes = read(
        tmp_path,
        """
        # who looks after whom
        customer.support rep -> employee.id   # known to everybody
        not customer.id -> employee.id
        ! employee.id->customer.id
        """,
    )
    assert wishes.added == ((("customer", "support rep"), ("employee", "id")),)
    assert wishes.forbidden == {
        (("customer", "id"), ("employee", "id")),
        (("employee", "id"), ("customer", "id")),
    }


def test_names_may_hold_dots_and_stand_in_quotes(tmp_path: Path) -> None:
    wishes = read(tmp_path, 'v1.order.by.whom -> employee.id\n"v1.order"."id" -> "customer"."id"\n')
    assert wishes.added == (
        (("v1.order", "by.whom"), ("employee", "id")),
        (("v1.order", "id"), ("customer", "id")),
    )


def test_a_file_without_lines_wishes_nothing(tmp_path: Path) -> None:
    assert read(tmp_path, "\n# nothing\n") == LinkWishes()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("customer.id employee.id", "{}:1: a link looks like table.column -> table.column, or not … -> …"),
        ("\nnot customer.id", "{}:2: a link looks like table.column -> table.column, or not … -> …"),
        ("customer.boss -> employee.id", "{}:1: the database has no column customer.boss; "),
        ("customer.id -> employee", "{}:1: the database has no column employee; "),
        ("customer.(id, no) -> employee.(id, no)", "{}:1: a link of several columns counts where the database"),
        ("customer.id -> ", "{}:1: the database has no column ; "),
        ("-> employee.id", "{}:1: the database has no column ; "),
        ("# fine\ncustomer.id -> employee.id\nCustomer.id -> v1", "{}:3: the database has no column Customer.id; "),
    ],
)  # fmt: skip
def test_mistakes_are_one_clear_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    said = str(caught.value)
    assert said.startswith(message.format(tmp_path / "links.txt"))
    assert "\n" not in said


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read links from"):
        read_links(tmp_path / "nowhere.txt", SCHEMA)
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot read links from"):
        read_links(tmp_path / "bytes.txt", SCHEMA)
