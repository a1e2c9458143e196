"""Other engines read what we write and derive the same triples.

RULEMINER_MORPH_KGC is the Python of an environment with morph-kgc and psycopg2-binary (it pins old versions of what we
use, so it needs one of its own); RULEMINER_YARRRML_PARSER the program `yarrrml-parser` (npm, @rmlio/yarrrml-parser).
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from ruleminer.problem.copy import copy_database
from ruleminer.problem.database import open_database
from ruleminer.problem.dump import load_dump
from ruleminer.problem.generator import generate_scenario
from tests.propose.exported import Triple, exported, our_triples, triples_of

pytestmark = pytest.mark.slow

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


@pytest.fixture(scope="module")
def morph_python() -> str:
    return program("RULEMINER_MORPH_KGC")


@pytest.fixture(scope="module")
def yarrrml_parser() -> str:
    return program("RULEMINER_YARRRML_PARSER")


def program(variable: str) -> str:
    found = os.environ.get(variable)
    if not found or not Path(found).exists():
        pytest.skip(f"{variable} does not name an installed program")
    return found


def morph_kgc(python: str, mapping: Path, url: str, schema: str) -> set[Triple]:
    """The triples that morph-kgc makes of a mapping."""
    config, out = mapping.with_name("morph.ini"), mapping.with_name("morph.nt")
    db_url = make_url(url).set(drivername="postgresql+psycopg2").render_as_string(hide_password=False)
    config.write_text(
        f"[CONFIGURATION]\noutput_file={out}\noutput_format=N-TRIPLES\nnumber_of_processes=1\nlogging_level=WARNING\n"
        f"[DB]\nmappings={mapping}\ndb_url={db_url}\nconnect_args={{'options': '-csearch_path={schema}'}}\n",
        "utf-8",
    )
    out.unlink(missing_ok=True)
    done = subprocess.run([python, "-m", "morph_kgc", str(config)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return triples_of(out.read_text("utf-8"))


def yarrrml_as_r2rml(parser: str, document: Path) -> Path:
    """What the reference parser of YARRRML makes of a document, as R2RML."""
    out = document.with_name("parsed.ttl")
    command = [parser, "-i", str(document), "-o", str(out), "-f", "R2RML"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.fixture(params=[pytest.param("cmt_renamed", marks=pytest.mark.data), "generated"])
def source(request: pytest.FixtureRequest, tmp_path: Path, empty_postgres: str) -> tuple[str, str, Path | str, Path]:
    """URL, schema, rules and ontology of a source on PostgreSQL."""
    if request.param == "cmt_renamed":
        folder = request.getfixturevalue("real_data") / "rodi" / "cmt_renamed"
        load_dump(folder / "dump.sql", empty_postgres)
        return empty_postgres, "cmt_renamed", CMT_RENAMED, folder / "ontology.ttl"
    folder = tmp_path / "scenario"
    generate_scenario(folder, domain="hospital", kind="restructuring", size=500, seed=3)
    copy_database(folder / "database.duckdb", empty_postgres, schema="made")
    return empty_postgres, "made", folder / "mapping.rules", folder / "ontology.ttl"


def test_morph_kgc_derives_the_same_triples_from_our_r2rml_and_yarrrml(
    morph_python: str, source: tuple[str, str, Path | str, Path], tmp_path: Path
) -> None:
    url, schema, rules, ontology = source
    with open_database(url, schema=schema) as database:
        exported(rules, ontology, database, tmp_path)
        ours = our_triples(tmp_path / "mapping.ttl", database)
    assert len(ours) > 500
    assert morph_kgc(morph_python, tmp_path / "mapping.ttl", url, schema) == ours
    assert morph_kgc(morph_python, tmp_path / "mapping.yarrrml.yml", url, schema) == ours


def test_the_reference_parser_of_yarrrml_reads_the_same_mapping(
    yarrrml_parser: str, source: tuple[str, str, Path | str, Path], tmp_path: Path
) -> None:
    url, schema, rules, ontology = source
    with open_database(url, schema=schema) as database:
        exported(rules, ontology, database, tmp_path)
        parsed = yarrrml_as_r2rml(yarrrml_parser, tmp_path / "mapping.yarrrml.yml")
        assert our_triples(parsed, database) == our_triples(tmp_path / "mapping.ttl", database)
