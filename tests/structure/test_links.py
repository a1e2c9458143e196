"""Links that nobody declared: found where inclusion is no accident, and left where it says nothing."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from ruleminer.rules.values import Place
from ruleminer.sources.database import open_database
from ruleminer.structure import links as links_module
from ruleminer.structure.link_file import LinkWishes
from ruleminer.structure.links import DiscoveredLink
from ruleminer.structure.nothing import links_to_nothing
from ruleminer.structure.structure import learn_structure

from .worlds import ENGINES, database_of, on_engine

Pairs = set[tuple[str, str]]

DENSE = "INSERT INTO genre SELECT i, 'g' || i FROM range(1, 3001) r(i)"  # 1 … 3000, so that years lie in it, too
SPARSE = "INSERT INTO genre SELECT 1 + (i * 7919) % 1000003, 'g' || i FROM range(1, 3001) r(i)"
GENRE = "CREATE TABLE genre (genre_id BIGINT PRIMARY KEY, label VARCHAR)"
ITEM = "CREATE TABLE item (item_id BIGINT PRIMARY KEY, {0})"


def found_links(url: str, wishes: LinkWishes | None = None) -> dict[tuple[str, str], DiscoveredLink]:
    """The links beyond the declared ones, by (from, to)."""
    with open_database(url) as database:
        structure = learn_structure(database, wishes)
    found = {(f"{k.table}.{k.column}", f"{k.target}.{k.referenced}"): k for k in structure.links}
    assert len(found) == len(structure.links), "each once"
    return found


def all_links(url: str, wishes: LinkWishes | None = None) -> Pairs:
    """All links of the schema, declared and discovered."""
    with open_database(url) as database:
        schema = learn_structure(database, wishes).schema
    return {(".".join(start), ".".join(end)) for start, end in schema.links}


def item_with(column: str, value: str, rows: int = 400) -> list[str]:
    """A table of items that count from a million on, with one more column."""
    return [ITEM.format(f"{column} BIGINT"), f"INSERT INTO item SELECT 1000000 + i, {value} FROM range({rows}) r(i)"]


def wish(start: str, end: str) -> tuple[Place, Place]:
    return Place(*start.split(".")), Place(*end.split("."))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("quantity", "1 + i % 10"),
        ("year", "1990 + i % 30"),
        ("flag", "1 + i % 2"),
        ("milliseconds", "1 + (i * 37) % 3000"),
        ("whatever", "1 + i % 25"),
    ],
)
def test_a_key_counted_from_1_attracts_no_small_numbers(column: str, value: str, tmp_path: Path) -> None:
    assert not found_links(database_of(tmp_path, GENRE, DENSE, *item_with(column, value)))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_column_of_scattered_numbers_that_are_all_keys_is_a_link_whatever_its_name(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    statements = GENRE, SPARSE, *item_with("whatever", "1 + ((1 + i) * 7919) % 1000003")
    (link,) = found_links(on_engine(engine, tmp_path, request, *statements)).values()
    assert (link.table, link.column, link.target, link.referenced) == ("item", "whatever", "genre", "genre_id")
    assert link.evidence[:2] == ("all its values lie there", "that is no accident")


@pytest.mark.parametrize("name", ["genre_id", "GenreId", "genre", "main_genre", "main_genre_id", "genres"])
def test_where_keys_are_counted_from_1_the_name_decides(name: str, tmp_path: Path) -> None:
    url = database_of(
        tmp_path,
        GENRE,
        DENSE,
        "CREATE TABLE artist (artist_id BIGINT PRIMARY KEY)",
        "INSERT INTO artist SELECT i FROM range(1, 3001) r(i)",
        *item_with(f'"{name}"', "1 + i % 25"),
    )
    assert set(found_links(url)) == {(f"item.{name}", "genre.genre_id")}


def test_a_name_is_not_enough_where_values_are_missing(tmp_path: Path) -> None:
    url = database_of(tmp_path, GENRE, DENSE, *item_with("genre_id", "2900 + i"))
    assert not found_links(url)


@pytest.mark.parametrize(("strange", "is_link"), [(4, True), (40, False)])
def test_real_data_are_dirty_but_not_very(strange: int, is_link: bool, tmp_path: Path) -> None:
    """Some values of 400 are no keys, though they lie between the least and the greatest."""
    first = f"CASE WHEN i < {strange} THEN 2 + i ELSE 1 + ((1 + i) * 7919) % 1000003 END"
    url = database_of(tmp_path, GENRE, SPARSE, "DELETE FROM genre WHERE genre_id BETWEEN 2 AND 99",
                      "INSERT INTO genre VALUES (1, 'one')", *item_with("genre_id", first))  # fmt: skip
    found = found_links(url)
    assert bool(found) == is_link
    if is_link:
        assert found["item.genre_id", "genre.genre_id"].evidence[0] == "99.0% of its values lie there"


@pytest.mark.parametrize("engine", ENGINES)
def test_texts_that_are_keys_elsewhere(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """As they stand and as what they are: a number is no text, and a long text no code."""
    url = on_engine(
        engine, tmp_path, request,
        "CREATE TABLE country (iso VARCHAR PRIMARY KEY, area BIGINT)",
        "INSERT INTO country SELECT 'C' || (i * 37) % 1000, i FROM range(100) r(i)",
        "CREATE TABLE city (id BIGINT PRIMARY KEY, land VARCHAR, label VARCHAR, prose VARCHAR)",
        "INSERT INTO city SELECT 5000 + i, 'C' || ((i % 50) * 37) % 1000, 'c' || (i % 50) * 37, repeat('word ', 30) "
        "FROM range(200) r(i)",
    )  # fmt: skip
    assert set(found_links(url)) == {("city.land", "country.iso")}


def same_keys_twice(folder: Path, *more: str) -> str:
    return database_of(
        folder,
        "CREATE TABLE person (id BIGINT PRIMARY KEY)",
        f"CREATE TABLE author (id BIGINT PRIMARY KEY{''.join(more)})",
        "INSERT INTO person SELECT 1 + (i * 7919) % 1000003 FROM range(300) r(i)",
        "INSERT INTO author SELECT id FROM person",
    )


def test_two_keys_that_lie_in_each_other_are_linked_one_way(tmp_path: Path) -> None:
    assert len(all_links(same_keys_twice(tmp_path))) == 1


def test_a_declared_link_is_kept_and_not_turned_round(tmp_path: Path) -> None:
    url = same_keys_twice(tmp_path, " REFERENCES person (id)")
    assert not found_links(url)
    assert all_links(url) == {("author.id", "person.id")}


def test_a_link_that_the_user_adds_is_not_turned_round(tmp_path: Path) -> None:
    wishes = LinkWishes((wish("person.id", "author.id"),))
    assert all_links(same_keys_twice(tmp_path), wishes) == {("person.id", "author.id")}


def test_a_column_with_a_declared_link_gets_no_other(tmp_path: Path) -> None:
    url = database_of(
        tmp_path,
        GENRE,
        SPARSE,
        "CREATE TABLE copy (genre_id BIGINT PRIMARY KEY)",
        "INSERT INTO copy SELECT genre_id FROM genre",
        ITEM.format("genre_id BIGINT REFERENCES copy (genre_id)"),
        "INSERT INTO item SELECT 2000000 + genre_id, genre_id FROM genre",
    )
    assert ("item.genre_id", "copy.genre_id") in all_links(url)
    assert ("item.genre_id", "genre.genre_id") not in all_links(url)


def test_the_user_adds_links_that_the_data_do_not_show(tmp_path: Path) -> None:
    url = database_of(tmp_path, GENRE, DENSE, *item_with("quantity", "i"))
    wishes = LinkWishes((wish("item.quantity", "genre.genre_id"),))
    (link,) = found_links(url, wishes).values()
    assert link.evidence == ("the user says so",)
    assert all_links(url, wishes) == {("item.quantity", "genre.genre_id")}


def test_the_user_forbids_what_was_found_and_what_was_declared(tmp_path: Path) -> None:
    url = database_of(
        tmp_path,
        GENRE,
        SPARSE,
        ITEM.format("genre_id BIGINT, other BIGINT REFERENCES genre (genre_id)"),
        "INSERT INTO item SELECT 2000000 + genre_id, genre_id, genre_id FROM genre",
    )
    both = {(f"item.{column}", "genre.genre_id") for column in ("genre_id", "other")}
    assert all_links(url) == both
    for start, end in both:
        assert all_links(url, LinkWishes(forbidden=frozenset({wish(start, end)}))) == both - {(start, end)}


def test_a_link_that_is_declared_and_added_is_one(tmp_path: Path) -> None:
    url = same_keys_twice(tmp_path, " REFERENCES person (id)")
    with open_database(url) as database:
        structure = learn_structure(database, LinkWishes((wish("author.id", "person.id"),)))
    assert structure.schema.links == (wish("author.id", "person.id"),)


def test_without_discovery_only_the_declared_links_count(tmp_path: Path) -> None:
    with open_database(same_keys_twice(tmp_path)) as database:
        structure = learn_structure(database, discover=False)
        assert (structure.schema, structure.links) == (database.schema, ())


def test_a_relation_between_rows_of_one_table(tmp_path: Path) -> None:
    url = database_of(
        tmp_path,
        "CREATE TABLE employee (id BIGINT PRIMARY KEY, reports_to BIGINT, age BIGINT)",
        "INSERT INTO employee SELECT 1 + i, CASE WHEN i > 0 THEN 1 + i // 3 END, 20 + i % 40 FROM range(100) r(i)",
    )
    assert set(found_links(url)) == {("employee.reports_to", "employee.id")}


@pytest.mark.parametrize("engine", ENGINES)
def test_large_columns_are_compared_in_the_database_with_the_same_result(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements = GENRE, SPARSE, *item_with("whatever", "1 + ((1 + i % 395) * 7919) % 1000003")
    url = on_engine(engine, tmp_path, request, *statements)
    here = found_links(url)
    monkeypatch.setattr(links_module, "_LOCAL", 10)
    assert set(found_links(url)) == set(here) == {("item.whatever", "genre.genre_id")}


def test_a_column_of_whole_numbers_that_holds_something_else_is_no_link_and_does_no_harm(tmp_path: Path) -> None:
    """SQLite keeps anything in it."""
    with sqlite3.connect(tmp_path / "w.sqlite") as lite:
        lite.execute("CREATE TABLE genre (genre_id INTEGER PRIMARY KEY)")
        lite.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, genre_id INTEGER, kind INTEGER, size INTEGER)")
        lite.executemany("INSERT INTO genre VALUES (?)", [(i,) for i in range(1, 30)])
        lite.executemany(
            "INSERT INTO item VALUES (?, ?, ?, ?)", [(100 + i, 1 + i % 20, i + 0.5, f"size {i}") for i in range(40)]
        )
    lite.close()
    assert set(found_links(f"sqlite:///{tmp_path / 'w.sqlite'}")) == {("item.genre_id", "genre.genre_id")}


def test_a_link_comes_back_from_json(tmp_path: Path) -> None:
    url = database_of(tmp_path, GENRE, DENSE, *item_with("genre_id", "1 + i % 25"))
    (link,) = found_links(url).values()
    again = DiscoveredLink.from_json(link.to_json())
    assert again == DiscoveredLink(*link.to_json()["ends"], round(link.score, 2), link.evidence)


@pytest.mark.parametrize(("column", "is_link"), [("sales_rep_id", True), ("sales_region_id", False)])
def test_who_does_something_is_one_of_the_staff(column: str, is_link: bool, tmp_path: Path) -> None:
    staff = "CREATE TABLE employee (employee_id BIGINT PRIMARY KEY, label VARCHAR)"
    rows = "INSERT INTO employee SELECT i, 'e' || i FROM range(1, 9) r(i)"
    found = found_links(database_of(tmp_path, staff, rows, *item_with(column, "3 + i % 3")))
    assert set(found) == ({(f"item.{column}", "employee.employee_id")} if is_link else set())


@pytest.mark.parametrize(("key", "is_link"), [("PRIMARY KEY (one, second)", True), ("PRIMARY KEY (second)", False)])
def test_a_table_of_pairs_links_both_whatever_its_columns_are_called(key: str, is_link: bool, tmp_path: Path) -> None:
    tables = [f"CREATE TABLE {name} (code BIGINT PRIMARY KEY, label VARCHAR)" for name in ("campaign", "product")]
    rows = [
        f"INSERT INTO {name} SELECT i, 'r' || i FROM range(1, {n}) r(i)"
        for name, n in (("campaign", 6), ("product", 76))
    ]
    pairs = [f"CREATE TABLE promotes (one BIGINT, second BIGINT, {key})",
             "INSERT INTO promotes SELECT 1 + i % 5, 14 + i * 4 FROM range(15) r(i)"]  # fmt: skip
    found = found_links(database_of(tmp_path, *tables, *rows, *pairs))
    assert (("promotes.second", "product.code") in found) == is_link
    assert (("promotes.one", "campaign.code") in found) == is_link


def test_the_parents_id_leads_to_its_own_table_though_small_numbers_lie_in_every_key(tmp_path: Path) -> None:
    script = [
        "CREATE TABLE post (id BIGINT PRIMARY KEY, parent_id BIGINT, title VARCHAR)",
        "INSERT INTO post SELECT i, IF(i % 3 = 0, NULL, 1 + (i * 7919) % (i + 1)), 't' || i FROM range(1, 2401) r(i)",
        "UPDATE post SET parent_id = NULL WHERE parent_id > 2400",
        "CREATE TABLE vote (id BIGINT PRIMARY KEY, weight BIGINT)",
        "INSERT INTO vote SELECT i, i % 3 FROM range(1, 5001) r(i)",
    ]
    found = found_links(database_of(tmp_path, *script))
    assert ("post.parent_id", "post.id") in found
    assert not any(end.startswith("vote.") for _, end in found)


def test_the_keys_of_tables_with_the_same_columns_number_rows_of_their_own(tmp_path: Path) -> None:
    years = [
        sql
        for year, rows in ((2021, 400), (2022, 300), (2023, 200))
        for sql in (
            f"CREATE TABLE visit_{year} (visit_no BIGINT PRIMARY KEY, fee DOUBLE, room VARCHAR)",
            f"INSERT INTO visit_{year} SELECT i, i * 1.5, 'r' || i % 7 FROM range(1, {rows + 1}) r(i)",
        )
    ]
    assert not found_links(database_of(tmp_path, *years))
    more = ["CREATE TABLE visit_text (visit_no BIGINT PRIMARY KEY, told VARCHAR)",
            "INSERT INTO visit_text SELECT i, 'text ' || i FROM range(1, 401) r(i)"]  # fmt: skip
    (tmp_path / "one").mkdir()
    assert set(found_links(database_of(tmp_path / "one", *years[:2], *more))) == {
        ("visit_text.visit_no", "visit_2021.visit_no")
    }


def forum_with(folder: Path, none: int) -> str:
    """Forums of categories, of which those without one say so by a number, and answers to posts."""
    return database_of(
        folder,
        "CREATE TABLE category (id BIGINT PRIMARY KEY, name VARCHAR)",
        "INSERT INTO category SELECT i, 'c' || i FROM range(1, 15) r(i)",
        "CREATE TABLE forum (id BIGINT PRIMARY KEY, category BIGINT)",
        f"INSERT INTO forum SELECT i, CASE WHEN i % 5 = 0 THEN {none} ELSE 1 + i % 14 END FROM range(1, 201) r(i)",
        "CREATE TABLE post (id BIGINT PRIMARY KEY, parent BIGINT, likes BIGINT)",
        f"INSERT INTO post SELECT i, CASE WHEN i % 9 = 1 THEN {none} ELSE i - 1 END, i % 4 FROM range(1, 901) r(i)",
    )


@pytest.mark.parametrize("none", [0, -1])
def test_a_number_below_all_keys_leads_to_nothing_and_the_others_lead_on(none: int, tmp_path: Path) -> None:
    found = found_links(forum_with(tmp_path, none))
    assert set(found) == {("forum.category", "category.id"), ("post.parent", "post.id")}
    assert found["forum.category", "category.id"].evidence[0] == f"all its values but {none} lie there"


def test_of_two_numbers_that_no_key_is_none_stands_for_nothing(tmp_path: Path) -> None:
    url = database_of(
        tmp_path,
        "CREATE TABLE category (id BIGINT PRIMARY KEY)",
        "INSERT INTO category SELECT i FROM range(3, 17) r(i)",
        "CREATE TABLE forum (id BIGINT PRIMARY KEY, category BIGINT)",
        "INSERT INTO forum SELECT i, i % 16 FROM range(1, 201) r(i)",
    )
    assert not found_links(url)


def test_a_count_is_no_link_though_it_is_called_like_one(tmp_path: Path) -> None:
    url = database_of(
        tmp_path,
        "CREATE TABLE post (id BIGINT PRIMARY KEY, comments BIGINT)",
        "INSERT INTO post SELECT i, hash(i) % 30 FROM range(1, 401) r(i)",
        "CREATE TABLE comment (id BIGINT PRIMARY KEY, body VARCHAR)",
        "INSERT INTO comment SELECT i, 'b' || i FROM range(1, 5001) r(i)",
    )
    assert not found_links(url)


def rows_below_few(column: str, folder: Path) -> str:
    """Parts below one of the first eight of four hundred, and below 0 where they are below none."""
    return database_of(
        folder,
        f"CREATE TABLE part (id BIGINT PRIMARY KEY, {column} BIGINT)",
        "INSERT INTO part SELECT i, i % 9 FROM range(1, 401) r(i)",
    )


def test_the_parents_id_is_a_link_though_its_values_go_on_from_0_like_a_count(tmp_path: Path) -> None:
    assert set(found_links(rows_below_few("parent_id", tmp_path))) == {("part.parent_id", "part.id")}
    (tmp_path / "counted").mkdir()
    assert not found_links(rows_below_few("screws", tmp_path / "counted"))


def test_0_leads_to_nothing_in_a_link_that_the_user_tells_whatever_else_stands_there(tmp_path: Path) -> None:
    wishes = LinkWishes(added=(wish("part.screws", "part.id"),))
    with open_database(rows_below_few("screws", tmp_path)) as database:
        structure = learn_structure(database, wishes)
    assert links_to_nothing(structure.schema, structure.profile) == {Place("part", "screws"): 0}


def test_a_key_that_is_called_like_another_table_with_the_same_columns_leads_there(tmp_path: Path) -> None:
    url = database_of(
        tmp_path,
        "CREATE TABLE film (film_id BIGINT PRIMARY KEY, title VARCHAR, told VARCHAR)",
        "INSERT INTO film SELECT i, 't' || i, 'd' || i FROM range(1, 401) r(i)",
        "CREATE TABLE film_de (film_id BIGINT PRIMARY KEY, title VARCHAR, told VARCHAR)",
        "INSERT INTO film_de SELECT i, 'u' || i, 'e' || i FROM range(1, 301) r(i)",
    )
    assert set(found_links(url)) == {("film_de.film_id", "film.film_id")}
