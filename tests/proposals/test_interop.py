"""Other engines read what we write and derive the same triples (`other_engines.py` tells how to name them)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psycopg2
import pytest

from ruleminer.proposals.files import mapping_texts, write_texts
from ruleminer.scenarios import generate_scenario
from ruleminer.sources.copy_database import copy_database
from ruleminer.sources.database import open_database
from ruleminer.sources.dump import load_dump
from tests.proposals.exported import Triple, exported, our_triples
from tests.proposals.other_engines import (
    morph_triples,
    ontop_triples,
    parsed_by_yarrrml_parser,
    parsed_by_yatter,
)
from tests.rules.export import fixture_tables
from tests.rules.export.small_mappings import mapping_of
from tests.rules.export.test_exports import CASES

pytestmark = pytest.mark.slow

Record = Callable[[str, object], None]

CMT_RENAMED = """
Person(x) <- persons(id: x)
Author(x) <- authors(id: x)
Reviewer(x) <- reviewers(id: x)
Document(x) <- documents(id: x)
Review(x) <- reviews(id: x)
PaperAbstract(x) <- paper_abstracts(id: x)
Conference(x) <- conferences(id: x)
ProgramCommittee(x) <- program_committees(id: x)
ProgramCommitteeMember(x) <- pc_members(id: x)
co-writePaper(x, y) <- co_author_paper(cid: x, pid: y)
hasAuthor(x, y) <- papers(id: x, author: y)
hasBeenAssigned(x, y) <- paper_reviewer(rid: x, pid: y), reviewers(id: x)
hasConferenceMember(x, y) <- conference_members(conference: x, conference_member: y)
writeReview(x, y) <- reviews(written: x, id: y)
date(x, y) <- conferences(id: x, date: y)
email(x, y) <- persons(id: x, email: y)
name(x, y) <- persons(id: x, name: y)
name(x, y) <- conferences(id: x, name: y)
paperID(x, y) <- papers(id: x, paper_id: y)
title(x, y) <- papers(id: x, title: y)
siteURL(x, y) <- conferences(id: x, site_url: y)
label(x, y) <- program_committees(id: x, label: y)
"""
CHINOOK = """
MusicGroup(x) <- artist(artist_id: x)
MusicAlbum(x) <- album(album_id: x)
MusicRecording(x) <- track(track_id: x)
MusicPlaylist(x) <- playlist(playlist_id: x)
Person(x) <- customer(customer_id: x)
Person(x) <- employee(employee_id: x)
Order(x) <- invoice(invoice_id: x)
OrderItem(x) <- invoice_line(invoice_line_id: x)
name(x, y) <- artist(artist_id: x, name: y)
name(x, y) <- album(album_id: x, title: y)
name(x, y) <- track(track_id: x, name: y)
name(x, y) <- playlist(playlist_id: x, name: y)
byArtist(x, y) <- album(album_id: x, artist_id: y)
inAlbum(x, y) <- track(track_id: x, album_id: y)
inPlaylist(x, y) <- playlist_track(track_id: x, playlist_id: y)
composer(x, y) <- track(track_id: x, composer: y)
genre(x, y) <- track(track_id: x, genre_id: z), genre(genre_id: z, name: y)
encodingFormat(x, y) <- track(track_id: x, media_type_id: z), media_type(media_type_id: z, name: y)
givenName(x, y) <- customer(customer_id: x, first_name: y)
givenName(x, y) <- employee(employee_id: x, first_name: y)
email(x, y) <- customer(customer_id: x, email: y)
jobTitle(x, y) <- employee(employee_id: x, title: y)
birthDate(x, y) <- employee(employee_id: x, birth_date: y)
customer(x, y) <- invoice(invoice_id: x, customer_id: y)
orderDate(x, y) <- invoice(invoice_id: x, invoice_date: y)
totalPrice(x, y) <- invoice(invoice_id: x, total: y)
orderedItem(x, y) <- invoice_line(invoice_id: x, invoice_line_id: y)
seller(x, y) <- invoice(invoice_id: x, customer_id: z), customer(customer_id: z, support_rep_id: y)
alternateName(x, y) <- customer(customer_id: x, first_name: a, last_name: b), y = a ++ " " ++ b
"""
_NO_SCRIPT = ("DROP DATABASE", "CREATE DATABASE", "\\c ")


@dataclass(frozen=True)
class Exported:
    """A source on PostgreSQL, its mapping's files, and the triples that our own materialiser makes of the R2RML."""

    url: str
    schema: str
    folder: Path
    triples: set[Triple]


REAL = [pytest.param(name, marks=pytest.mark.data) for name in ("cmt_renamed", "chinook")]


@pytest.fixture(params=[*REAL, "generated"])
def source(request: pytest.FixtureRequest, tmp_path: Path, empty_postgres: str) -> Exported:
    schema, rules, ontology = _loaded(request, tmp_path, empty_postgres)
    with open_database(empty_postgres, schema=schema) as database:
        exported(rules, ontology, database, tmp_path)
        triples = our_triples(tmp_path / "mapping.ttl", database)
    assert len(triples) > 500
    return Exported(empty_postgres, schema, tmp_path, triples)


def _loaded(request: pytest.FixtureRequest, folder: Path, url: str) -> tuple[str, Path | str, Path]:
    """A source brought to the server: its schema, rules and ontology."""
    if request.param == "generated":
        made = folder / "scenario"
        generate_scenario(made, domain="hospital", kind="restructuring", size=500, seed=3)
        copy_database(made / "database.duckdb", url, schema="made")
        return "made", made / "mapping.rules", made / "ontology.ttl"
    data = request.getfixturevalue("real_data")
    if request.param == "chinook":
        text = (data / "real" / "chinook" / "chinook.sql").read_text("utf-8")
        script = "\n".join(line for line in text.splitlines() if not line.startswith(_NO_SCRIPT))
        connection = psycopg2.connect(url)
        with connection, connection.cursor() as cursor:
            cursor.execute(script)
        connection.close()
        return "public", CHINOOK, data / "real" / "schema.org" / "schemaorg.ttl"
    load_dump(data / "rodi" / "cmt_renamed" / "dump.sql", url)
    return "cmt_renamed", CMT_RENAMED, data / "rodi" / "cmt_renamed" / "ontology.ttl"


# Ontop's parser of SQL takes no `""` in a name, morph-kgc on PostgreSQL no `%` in a query (docs/exports.md).
READABLE = [case for case in CASES if case.name != "unreadable"]


@pytest.fixture(params=READABLE, ids=lambda case: case.name)
def fixture(request: pytest.FixtureRequest, tmp_path: Path, empty_postgres: str) -> Exported:
    """A case of the exports' fixtures, over tables with odd rows."""
    rules = (request.param / "mapping.rules").read_text("utf-8")
    fixture_tables.load_tables(empty_postgres, rules)
    with open_database(empty_postgres, schema=fixture_tables.SCHEMA) as database:
        texts = mapping_texts(mapping_of(rules), database.dialect, database.schema.type_of)
        write_texts(texts, tmp_path)
        triples = our_triples(tmp_path / "mapping.ttl", database)
    assert len(triples) > 1
    return Exported(empty_postgres, fixture_tables.SCHEMA, tmp_path, triples)


@pytest.mark.parametrize("language", ["mapping.ttl", "mapping.obda"])
def test_ontop_derives_the_same_triples(source: Exported, language: str, record_property: Record) -> None:
    found = ontop_triples(source.folder / language, source.url, source.schema)
    record_property("triples", [len(source.triples), len(found)])  # ours and theirs
    assert found == source.triples


@pytest.mark.parametrize("language", ["mapping.ttl", "mapping.obda"])
def test_ontop_derives_the_same_triples_of_each_fixture(
    fixture: Exported, language: str, record_property: Record
) -> None:
    found = ontop_triples(fixture.folder / language, fixture.url, fixture.schema)
    record_property("triples", [len(fixture.triples), len(found)])  # ours and theirs
    assert found == fixture.triples


@pytest.mark.parametrize("language", ["mapping.ttl", "mapping.yarrrml.yml"])
def test_morph_kgc_derives_the_same_triples(source: Exported, language: str, record_property: Record) -> None:
    found = morph_triples(source.folder / language, source.url, source.schema)
    record_property("triples", [len(source.triples), len(found)])  # ours and theirs
    assert found == source.triples


@pytest.mark.parametrize("language", ["mapping.ttl", "mapping.yarrrml.yml"])
def test_morph_kgc_derives_the_same_triples_of_each_fixture(
    fixture: Exported, language: str, record_property: Record
) -> None:
    found = morph_triples(fixture.folder / language, fixture.url, fixture.schema)
    record_property("triples", [len(fixture.triples), len(found)])  # ours and theirs
    assert found == fixture.triples


@pytest.mark.parametrize("parsed_by", [parsed_by_yarrrml_parser, parsed_by_yatter])
def test_two_parsers_of_yarrrml_read_the_same_mapping(source: Exported, parsed_by: Callable[[Path], Path]) -> None:
    parsed = parsed_by(source.folder / "mapping.yarrrml.yml")
    with open_database(source.url, schema=source.schema) as database:
        assert our_triples(parsed, database) == source.triples
