"""Against a live PostgreSQL that may only be read, or does not fit: what can be proposed is, and the rest is told."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import psycopg2
import pytest
from sqlalchemy.engine import make_url

from ruleminer.dataset import read_dataset
from ruleminer.errors import ConnectionLostError, InputError
from ruleminer.proposals.live_structure import live_structure
from ruleminer.proposals.proposal import Proposals, Status
from ruleminer.proposals.request import ProposeRequest
from ruleminer.proposals.stage import propose_mappings
from ruleminer.proposals.term_proposals import propose_terms
from ruleminer.run import Run
from ruleminer.sources.copy_database import copy_database
from ruleminer.sources.database import Database, open_database
from tests.proposals.conftest import Cli, Extracted

SECRET, SCHEMA = "s3cr@t/p w:d%", "lib"


class Server:
    """The library on PostgreSQL, and a role that may only SELECT."""

    def __init__(self, url: str, library: Extracted) -> None:
        self.role = f"reader_{uuid.uuid4().hex[:8]}"
        self.connection = psycopg2.connect(url)
        self.connection.autocommit, self.owner_url = True, url
        copy_database(library.database, url, schema=SCHEMA)
        self.ask(f"CREATE ROLE {self.role} LOGIN PASSWORD '{SECRET}'")
        self.ask(f"GRANT USAGE ON SCHEMA {SCHEMA} TO {self.role}")
        self.ask(f"GRANT SELECT ON ALL TABLES IN SCHEMA {SCHEMA} TO {self.role}")
        reader = make_url(url).set(username=self.role, password=SECRET)
        self.url = reader.render_as_string(hide_password=False)

    def ask(self, sql: str) -> list[tuple[object, ...]]:
        with self.connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall() if cursor.description else []

    def end_sessions(self) -> None:
        self.ask(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{self.role}'")

    def close(self) -> None:
        self.end_sessions()
        self.ask(f"DROP OWNED BY {self.role}")
        self.ask(f"DROP ROLE {self.role}")
        self.connection.close()


@pytest.fixture
def server(empty_postgres: str, library: Extracted) -> Iterator[Server]:
    made = Server(empty_postgres, library)
    yield made
    made.close()


@pytest.fixture(scope="module")
def expected(library: Extracted) -> Proposals:
    """The proposals of the DuckDB file that everything comes from."""
    return proposed(library, f"duckdb:///{library.database}")


def proposed(library: Extracted, url: str, schema: str | None = None) -> Proposals:
    with open_database(url, schema=schema) as database:
        return propose_with(library, database)


def propose_with(library: Extracted, database: Database) -> Proposals:
    dataset = read_dataset(library.run)
    assert dataset.ontology is not None
    structure = live_structure(library.run, database, [])
    return propose_terms(ProposeRequest(run=library.run), dataset, dataset.ontology, database, structure)


def rules_of(proposals: Proposals) -> dict[str, tuple[str, ...]]:
    return {one.predicate: one.texts for one in proposals.proposed}


def test_a_role_that_can_only_select_gets_the_same_proposals(
    server: Server, library: Extracted, expected: Proposals, tmp_path: Path, cli: Cli
) -> None:
    result = cli("propose-mappings", library.run, "--db", server.url, "--schema", SCHEMA, "--out", tmp_path / "o")
    assert result.code == 0, result.err
    told = json.loads((tmp_path / "o" / "proposals.json").read_text("utf-8"))
    assert {one["predicate"]: tuple(r["text"] for r in one["rules"]) for one in told["proposals"]} == rules_of(expected)
    for ours, theirs in zip(told["proposals"], expected.proposals, strict=True):
        assert ours["derives"] == theirs.derives
        assert ours["sample"] == [list(fact) for fact in theirs.sample]
        assert ours["posterior"] == pytest.approx(theirs.posterior)
        assert ours["confidence"] == pytest.approx(theirs.confidence)
    # And nobody learns the password.
    shown = result.out + result.err
    for path in (tmp_path / "o").iterdir():
        shown += path.read_text("utf-8")
    assert server.role in shown
    for secret in (SECRET, "s3cr", "p%20w", "p+w"):
        assert secret not in shown


def test_a_table_without_rights_is_told_and_the_others_are_proposed(
    server: Server, library: Extracted, expected: Proposals
) -> None:
    server.ask(f'REVOKE SELECT ON {SCHEMA}."Book" FROM {server.role}')
    found = proposed(library, server.url, SCHEMA)
    assert any("table Book cannot be read" in note for note in found.notes)
    wanted = rules_of(expected)
    for predicate in ("Person", "Author", "fullName"):
        assert rules_of(found)[predicate] == wanted[predicate]
    title = next(one for one in found.proposals if one.predicate == "title")
    assert title.status is not Status.PROPOSED
    assert "Book" in title.reason


def test_without_rights_on_any_table_there_is_one_clear_line(
    server: Server, library: Extracted, cli: Cli, tmp_path: Path
) -> None:
    server.ask(f"REVOKE SELECT ON ALL TABLES IN SCHEMA {SCHEMA} FROM {server.role}")
    result = cli("propose-mappings", library.run, "--db", server.url, "--schema", SCHEMA, "--out", tmp_path / "o", "-q")
    assert result.code == 2
    assert "can be read" in result.err
    assert len(result.err.strip().splitlines()) == 1
    assert "s3cr" not in result.err
    assert not (tmp_path / "o").exists()


def test_another_schema_is_one_clear_line(server: Server, library: Extracted, cli: Cli, tmp_path: Path) -> None:
    server.ask("CREATE SCHEMA other")
    server.ask("CREATE TABLE other.something (id integer)")
    server.ask(f"GRANT USAGE ON SCHEMA other TO {server.role}")
    server.ask(f"GRANT SELECT ON other.something TO {server.role}")
    words = ("propose-mappings", library.run, "--db", server.url, "--out", tmp_path / "o", "--quiet")
    for more, line in (
        (("--schema", "other"), "schema other: is this the right database"),
        (("--schema", "nowhere"), "no schema 'nowhere'"),
        ((), f"choose one of {SCHEMA}, other"),
    ):
        result = cli(*words, *more)
        assert result.code == 2, result
        assert line in result.err
        assert len(result.err.strip().splitlines()) == 1
        assert "s3cr" not in result.err
    assert not (tmp_path / "o").exists()


def test_sessions_that_the_server_ends_are_opened_anew(server: Server, library: Extracted, expected: Proposals) -> None:
    ended = []

    def disturb(stage: str, what: str, done: int, total: int) -> None:
        if (stage, done) in {("database", 0), ("ranking", 1), ("ranking", 4)} - set(ended):
            server.end_sessions()
            ended.append((stage, done))

    request = ProposeRequest(run=library.run, db=server.url, schema=SCHEMA)
    dataset = read_dataset(library.run)
    assert dataset.ontology is not None
    with open_database(server.url, schema=SCHEMA) as database:
        structure = live_structure(library.run, database, [])
        found = propose_terms(request, dataset, dataset.ontology, database, structure, disturb)
    assert len(ended) == 3
    assert rules_of(found) == rules_of(expected)
    assert not any("lost" in note for note in found.notes)


@pytest.mark.parametrize("moment", [("database", 0), ("ranking", 2)])
def test_a_server_that_shuts_us_out_halfway_leaves_the_old_mapping(
    server: Server, library: Extracted, tmp_path: Path, moment: tuple[str, int]
) -> None:
    def shut(stage: str, what: str, done: int, total: int) -> None:
        if (stage, done) == moment:
            server.ask(f"ALTER ROLE {server.role} NOLOGIN")
            server.end_sessions()

    request = ProposeRequest(run=library.run, db=server.url, schema=SCHEMA, out=tmp_path / "o")
    propose_mappings(request)
    before = {path.name: path.read_bytes() for path in (tmp_path / "o").iterdir()}
    Run.of(library.run).sizes.unlink(missing_ok=True)
    with pytest.raises(ConnectionLostError, match="was lost; nothing was written"):
        propose_mappings(request, shut)
    assert {path.name: path.read_bytes() for path in (tmp_path / "o").iterdir()} == before
    assert not any(b"s3cr" in content for content in before.values())


def test_a_lock_on_a_table_is_told_and_the_old_mapping_stays(
    server: Server, library: Extracted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ruleminer.sources.engines.postgresql._LOCK_PATIENCE", 0.3)
    request = ProposeRequest(run=library.run, db=server.url, schema=SCHEMA, out=tmp_path / "o", timeout=20)
    propose_mappings(request)
    before = {path.name: path.read_bytes() for path in (tmp_path / "o").iterdir()}
    Run.of(library.run).sizes.unlink(missing_ok=True)
    table = server.ask(f"SELECT max(tablename) FROM pg_tables WHERE schemaname = '{SCHEMA}'")[0][0]
    locker = psycopg2.connect(server.owner_url)
    locker.cursor().execute(f'LOCK TABLE "{SCHEMA}"."{table}" IN ACCESS EXCLUSIVE MODE')
    with pytest.raises(ConnectionLostError, match="locked what we read"):
        propose_mappings(request)
    locker.close()
    assert {path.name: path.read_bytes() for path in (tmp_path / "o").iterdir()} == before


class Failing:
    """A database whose statements lose their connection from the n-th on."""

    def __init__(self, database: Database, after: int) -> None:
        self.database, self.after, self.statements = database, after, 0
        self.schema, self.dialect, self.quoted = database.schema, database.dialect, database.quoted
        self.safe_url, self.schema_name = database.safe_url, database.schema_name

    def rows(self, sql: str, params: object = None) -> Iterator[tuple[object, ...]]:
        self.statements += 1
        if self.statements > self.after:
            raise ConnectionLostError("the connection to x was lost; try again")
        return self.database.rows(sql, params)  # type: ignore[arg-type]


def test_whenever_the_connection_is_lost_that_is_told_and_what_was_asked_is_kept(
    library: Extracted, expected: Proposals
) -> None:
    with open_database(f"duckdb:///{library.database}") as database:
        whole = Failing(database, 10**6)
        propose_with(library, whole)  # type: ignore[arg-type]
        for after in (0, 1, 3, whole.statements // 2, whole.statements - 1):
            Run.of(library.run).sizes.unlink(missing_ok=True)  # what the last one left would not be asked again
            with pytest.raises(ConnectionLostError, match="the connection to x was lost; nothing was written"):
                propose_with(library, Failing(database, after))  # type: ignore[arg-type]
            again = Failing(database, 10**6)
            assert rules_of(propose_with(library, again)) == rules_of(expected)  # type: ignore[arg-type]
            assert again.statements <= whole.statements


@pytest.fixture
def changed(own_library: Extracted) -> Callable[..., Proposals]:
    """The proposals after the database was changed behind the run's back."""

    def change(*statements: str) -> Proposals:
        with duckdb.connect(str(own_library.database)) as connection:
            for statement in statements:
                connection.execute(statement)
        return proposed(own_library, f"duckdb:///{own_library.database}")

    return change


def test_a_missing_table_is_told_and_the_others_are_proposed(
    changed: Callable[..., Proposals], expected: Proposals
) -> None:
    found = changed('DROP TABLE "Book"')
    assert "1 table of the run is not in the database: Book; rules on it are left out" in found.notes
    assert any("could not be run: no table 'Book'" in note for note in found.notes)
    assert rules_of(found)["Author"] == rules_of(expected)["Author"]
    title = next(one for one in found.proposals if one.predicate == "title")
    assert title.status is not Status.PROPOSED
    assert "no table 'Book'" in title.reason


def test_a_renamed_column_is_told_and_the_others_are_proposed(
    changed: Callable[..., Proposals], expected: Proposals
) -> None:
    found = changed('ALTER TABLE "Person" RENAME COLUMN "fullName" TO "label"')
    assert any(note.startswith("table Person has no column fullName any more") for note in found.notes)
    wanted = rules_of(expected)
    assert {p: r for p, r in rules_of(found).items() if p != "fullName"} == {
        p: r for p, r in wanted.items() if p != "fullName"
    }
    assert rules_of(found).get("fullName") != wanted["fullName"]


def test_an_emptied_database_proposes_nothing_and_says_why(changed: Callable[..., Proposals]) -> None:
    found = changed('DELETE FROM "Book"', 'DELETE FROM "Person"')
    assert found.proposed == ()
    assert all("derive nothing here" in one.reason for one in found.proposals)


def test_a_database_without_any_of_the_tables_is_refused(library: Extracted, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "other.duckdb")) as connection:
        connection.execute("CREATE TABLE something (id INTEGER)")
    with pytest.raises(InputError, match="none of the 2 tables of the run is in duckdb:///"):
        proposed(library, f"duckdb:///{tmp_path}/other.duckdb")
