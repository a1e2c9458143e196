"""Other programs that read our mappings, each named by an environment variable; a test that needs one skips without it.

| variable | what it names |
|---|---|
| RULEMINER_ONTOP | the script `ontop` of Ontop's CLI, with a PostgreSQL driver beside it; needs Java |
| RULEMINER_MORPH_KGC | the Python of an environment with morph-kgc, sqlalchemy and psycopg2-binary |
| RULEMINER_YARRRML_PARSER | the program `yarrrml-parser` (npm, @rmlio/yarrrml-parser) |

morph-kgc pins old versions of what we use, so it needs an environment of its own; yatter comes with it.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from tests.proposals.exported import Triple, triples_of
from tests.proposals.tcp_bridge import tcp_bridge

_YATTER = """
import sys, yatter
from ruamel.yaml import YAML
text = yatter.translate(YAML(typ="safe", pure=True).load(open(sys.argv[1])), "http://www.w3.org/ns/r2rml#")
open(sys.argv[2], "w").write(text)
"""


def program(variable: str) -> str:
    """The program that a variable names, or a skip."""
    found = os.environ.get(variable)
    if not found or not Path(found).exists():
        pytest.skip(f"{variable} does not name an installed program")
    return found


def ontop_triples(mapping: Path, url: str, schema: str) -> set[Triple]:
    """The triples that Ontop makes of an R2RML or OBDA file."""
    script, place = program("RULEMINER_ONTOP"), make_url(url)
    folder, out = mapping.parent, mapping.with_name("ontop.nt")
    out.unlink(missing_ok=True)
    with tcp_bridge(Path(str(place.query["host"]), ".s.PGSQL.5432")) as port:
        jdbc = f"jdbc:postgresql://127.0.0.1:{port}/{place.database}?currentSchema={schema}"
        settings = {"jdbc.url": jdbc, "jdbc.driver": "org.postgresql.Driver", "jdbc.user": place.username or ""}
        properties = folder / "ontop.properties"
        properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), "utf-8")
        command = [script, "materialize", "-m", mapping, "-p", properties, "-f", "ntriples", "-o", out]
        environment = {**os.environ, "ONTOP_LOG_LEVEL": "error"}
        done = subprocess.run(
            [*map(str, command), "--db-password=none"], capture_output=True, text=True, check=False, env=environment
        )
    assert done.returncode == 0, _told(done.stdout + done.stderr)
    return triples_of(out.read_text("utf-8"))


def morph_triples(mapping: Path, url: str, schema: str) -> set[Triple]:
    """The triples that morph-kgc makes of an R2RML or YARRRML file."""
    python = program("RULEMINER_MORPH_KGC")
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


def parsed_by_yarrrml_parser(document: Path) -> Path:
    """What the reference parser of YARRRML makes of a document, as R2RML."""
    out = document.with_name("parsed.ttl")
    command = [program("RULEMINER_YARRRML_PARSER"), "-i", str(document), "-o", str(out), "-f", "R2RML"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def parsed_by_yatter(document: Path) -> Path:
    """What yatter, which morph-kgc uses, makes of a YARRRML document, as R2RML."""
    out = document.with_name("yatter.ttl")
    command = [program("RULEMINER_MORPH_KGC"), "-c", _YATTER, str(document), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def _told(log: str) -> str:
    """What Ontop says of its failure, without the frames of its stack."""
    return "\n".join(line for line in log.splitlines() if not line.startswith("\tat "))[-2000:]
