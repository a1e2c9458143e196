"""Spaces are the closure of links around keys: held to a plain search over generated schemas."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ruleminer.rules.values import Kind, Place
from ruleminer.sources.schema import Column, ForeignKey, Schema, Table
from ruleminer.structure.spaces import Partition, spaces_of

TABLES, COLUMNS = ("a", "b", "c", "d"), ("k", "l", "m", "n")
PLACES = [Place(table, column) for table in TABLES for column in COLUMNS]


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    """Four tables with keys and links anywhere: chains, circles, links to what is no key, keys of two columns."""
    links = draw(st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(PLACES)), max_size=10))
    tables = []
    for name in TABLES:
        primary = draw(st.sampled_from([(), ("k",), ("l",), ("k", "l")]))
        unique = draw(st.sampled_from([(), (("m",),), (("k",), ("m", "n"))]))
        keys = [ForeignKey((start.column,), end.table, (end.column,)) for start, end in links if start.table == name]
        if draw(st.booleans()):
            keys.append(ForeignKey(("k", "l"), "a", ("k", "l")))  # of two columns: joins no single one
        columns = tuple(Column(column, "INTEGER", Kind.INTEGER, nullable=True) for column in COLUMNS)
        tables.append(Table(name, columns, primary, unique, tuple(keys)))
    return Schema(None, tuple(tables))


def reachable(start: Place, schema: Schema) -> set[Place]:
    """All columns that links lead to and from, step by step."""
    found, waiting = {start}, [start]
    while waiting:
        place = waiting.pop()
        for one, other in schema.links:
            for near, far in ((one, other), (other, one)):
                if near == place and far not in found:
                    found.add(far)
                    waiting.append(far)
    return found


@given(schemas())
def test_every_key_and_every_link_to_one_kind_is_in_exactly_one_space(schema: Schema) -> None:
    spaces = spaces_of(schema)
    members = [place for space in spaces for place in space.places]
    assert len(members) == len(set(members)), "each once"
    of = {place: space for space in spaces for place in space.places}
    assert set(of) >= schema.keys | {end for _, end in schema.links}
    assert set(of) <= schema.keys | {place for link in schema.links for place in link}
    for start, end in schema.links:
        if start in schema.keys or {goal for other, goal in schema.links if other == start} == {end}:
            assert of[start] == of[end]


@given(schemas())
def test_a_space_is_known_by_a_key_that_leads_nowhere_if_there_is_one(schema: Schema) -> None:
    leading = {start for start, end in schema.links if start != end}
    for space in spaces_of(schema):
        assert space.places[0] == space.key
        assert space.name == space.key.table
        assert list(space.places[1:]) == sorted(space.places[1:])
        assert space.key not in leading or all(place in leading for place in space.places)


@given(schemas(), st.randoms())
def test_the_order_of_tables_and_links_does_not_matter(schema: Schema, dice: object) -> None:
    mixed = list(schema.tables)
    dice.shuffle(mixed)  # type: ignore[attr-defined]
    turned = [Table(t.name, t.columns, t.primary_key, t.unique, t.foreign_keys[::-1]) for t in mixed]
    assert spaces_of(Schema(None, tuple(turned))) == spaces_of(schema)


def test_of_a_circle_the_key_that_most_columns_lead_to_is_the_root() -> None:
    def table(name: str, *ends: tuple[str, str]) -> Table:
        columns = (Column("id", "INTEGER", Kind.INTEGER, nullable=False), Column("x", "INTEGER", Kind.INTEGER, True))
        keys = tuple(ForeignKey((column,), target, ("id",)) for column, target in ends)
        return Table(name, columns, ("id",), (), keys)

    circle = (table("a", ("id", "b")), table("b", ("id", "a")), table("c", ("x", "b")))
    spaces = spaces_of(Schema(None, circle))
    assert [space.key for space in spaces] == [("b", "id"), ("c", "id")]
    assert spaces[0].places == (("b", "id"), ("a", "id"), ("c", "x"))


def test_sets_that_were_joined_are_one_under_the_name_of_the_first() -> None:
    sets: Partition[int] = Partition()
    sets.join(1, 2)
    sets.join(3, 4)
    sets.join(2, 4)
    assert {sets.of(member) for member in (1, 2, 3, 4)} == {1}
    assert sets.groups([5, 4, 1, 3]) == [[5], [4, 1, 3]]


def test_a_column_that_leads_to_two_kinds_is_of_neither() -> None:
    integer = Column.of_type("id", "integer", nullable=False)
    target = Column.of_type("target", "integer", nullable=True)
    goals = tuple(ForeignKey(("target",), name, ("id",)) for name in ("album", "playlist"))
    schema = Schema(
        None,
        (
            Table("album", (integer,), ("id",)),
            Table("comment", (integer, target), ("id",), (), goals),
            Table("playlist", (integer,), ("id",)),
        ),
    )
    places = {space.name: space.places for space in spaces_of(schema)}
    assert places == {name: (Place(name, "id"),) for name in ("album", "comment", "playlist")}
