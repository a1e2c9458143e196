"""SQL of strangers in many disguises: refused before it runs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice

from ruleminer.errors import DatabaseError
from ruleminer.sources.database import Database
from ruleminer.sources.foreign_sql import caged
from tests.sources.test_foreign_sql import HOSTILE, HOSTILE_POSTGRES

CALLS = {
    "duckdb": ["getenv('HOME')", "read_text('/etc/passwd')", "read_csv('/etc/passwd')", "current_setting('threads')",
               "repeat('x', 1000000000)", "range(1000000000)", "query('SELECT 1')", "nextval('s')", "random()",
               "duckdb_settings()", "glob('/*')", "lpad('x', 1000000000, 'y')", "list_resize([1], 1000000000)"],
    "sqlite": ["load_extension('x')", "writefile('x', 'y')", "readfile('/etc/passwd')", "randomblob(1000000000)",
               "zeroblob(1000000000)", "printf('%1000000000d', 1)", "sqlite_version()", "pragma_table_info('person')",
               "edit('x')", "fts3_tokenizer('x')", "generate_series(1, 1000000000)", "random()"],
    "postgres": ["pg_read_file('/etc/passwd')", "pg_ls_dir('/')", "lo_import('/etc/passwd')", "lo_create(1)",
                 "pg_terminate_backend(1)", "pg_sleep(100)", "set_config('a.b', 'c', false)", "nextval('s')",
                 "pg_reload_conf()", "pg_notify('a', 'b')", "dblink('x', 'SELECT 1')",
                 "query_to_xml('SELECT 1', true, true, '')",
                 "current_setting('data_directory')", "random()", "pg_create_logical_replication_slot('a', 'b')",
                 "wipe()", "txid_current()", "pg_advisory_lock(1)", "has_table_privilege('person', 'select')"],
}  # fmt: skip
FORMS = [
    "SELECT {0} AS id",
    "SELECT id FROM person WHERE CAST({0} AS varchar) IS NOT NULL",
    "SELECT * FROM (SELECT {0} AS id) AS t",
    "WITH t AS (SELECT {0} AS id) SELECT id FROM t",
    "SELECT id FROM person ORDER BY {0}",
    "SELECT CASE WHEN 1 = 1 THEN {0} END AS id FROM person",
    "SELECT id FROM person UNION ALL SELECT {0}",
    "SELECT coalesce(NULL, {0}) AS id",
    "SELECT id FROM person WHERE EXISTS (SELECT {0})",
    "SELECT/**/{0}/**/AS id -- x\n",
    "SELECT id FROM person GROUP BY id HAVING count({0}) > 0",
    "SELECT p.id FROM person p JOIN person q ON p.id = q.id AND {0} IS NOT NULL",
]


def statements(engine: str) -> Iterator[str]:
    """Every call in every form, in several spellings, and what is hostile as it stands."""
    yield from (sql for sql in HOSTILE if len(sql) < 10_000)
    if engine == "postgres":
        yield from HOSTILE_POSTGRES
    for call in CALLS[engine]:
        for form in FORMS:
            for spelt in (call, call.upper(), call.replace("(", " (", 1), f"({call})"):
                yield form.format(spelt)


def check_statement(database: Database, sql: str) -> str:
    """A hostile statement must be refused, or unknown to the engine; what it became, if it ran."""
    try:
        passed = caged(sql, database)
        list(islice(database.rows(passed), 1))  # a function that this build of the engine does not even have
    except DatabaseError:
        return ""
    return f"passed as {passed[:200]}"


def random_statement(database: Database, engine: str, rng: random.Random, known: list[str]) -> tuple[str, str]:
    """One of them, perhaps inside another, perhaps with blanks, comments or capitals where they change nothing."""
    sql = rng.choice(known)
    if rng.random() < 0.5:
        sql = sql.replace(" ", rng.choice(("\n", "\t", " /* */ ", "  ")))
    if rng.random() < 0.3 and sql.startswith("SELECT"):
        sql = f"SELECT * FROM ({sql}) AS outside"
    return sql[:60], check_statement(database, sql)
