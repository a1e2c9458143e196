"""Inputs with errors in them: every parser answers, or raises an error of ours, in bearable time."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from pathlib import Path

from ruleminer.configuration import find_configuration
from ruleminer.errors import RuleminerError
from ruleminer.problem.decisions import read_decisions
from ruleminer.problem.ontology import read_ontology
from ruleminer.problem.pair_sql import branches, parse_pair_sql
from ruleminer.problem.pairs import read_pair
from ruleminer.problem.template_files import read_templates
from ruleminer.rules.parser import parse_rules
from ruleminer.sources.database import parse_url
from ruleminer.sources.pgdump.reader import read_dump
from ruleminer.validation.r2rml import r2rml_of
from tests.faults.world import DUMP, ONTOLOGY, SHAPES

LONGEST = 5.0  # seconds of the processor

RULES = """Author(x) <- person(id: x, "odd name": "a \\"b"), paper(by: x, year: 1999)
p(x, y) <- t(a: x, b: y), y = "u" ++ a
q(x, y) <- t(a: x, b: y), y <> "9999-12-31"
"""
PAIR = """name=Q1
sql=SELECT id, name FROM person WHERE name LIKE 'A%'
sparql=SELECT ?x ?n WHERE {?x <http://x.org/n> ?n}
"""
SQL = "SELECT p.id, lower(q.name) FROM person p LEFT JOIN q ON p.id = q.id WHERE p.a IN (1, 2) UNION SELECT 1, NULL"
MAPPING = """@prefix rr: <http://www.w3.org/ns/r2rml#> .
<#m> rr:logicalTable [ rr:sqlQuery "SELECT id FROM t" ] ; rr:subjectMap [ rr:template "http://x.org/{id}" ;
  rr:class <http://x.org/P> ] ;
  rr:predicateObjectMap [ rr:predicate <http://x.org/p> ; rr:objectMap [ rr:column "a" ] ] .
"""
DECISIONS = "id,when,term,said,arg1,arg2,rule,about\n1,2020-01-01T00:00:00Z,Item,holds,11,,,\n"
TOML = 'db = "shop.duckdb"\nontology = "shop.ttl"\nexamples = ["facts.csv"]\n[iri]\nItem = "http://x.org/{}"\n'
URLS = ("postgresql://me:secret@host:5432/db?sslmode=require", "duckdb:///a/b.duckdb", "sqlite:///x.sqlite",
        "mysql://u@h/d?unix_socket=/x", "parquet:folder", "csv:folder", "spark:folder?master=local[2]")  # fmt: skip


def _file(read: Callable[[Path], object], name: str, place: Path) -> Callable[[str], object]:
    def parse(text: str) -> object:
        path = place / name
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        return read(path)

    return parse


def _dump(path: Path) -> None:
    for event in read_dump(path):
        str(event)


def _pair(sql: str) -> None:
    query = parse_pair_sql(sql)
    if hasattr(query, "args"):
        branches(query)  # type: ignore[arg-type]


def parsers(place: Path) -> dict[str, tuple[Callable[[str], object], tuple[str, ...], int]]:
    """What reads texts, good ones of them, and how often each is tried beside the others."""
    place.mkdir(parents=True, exist_ok=True)
    mapping = place / "m.ttl"
    return {
        "url": (parse_url, URLS, 40),
        "rules": (lambda text: list(parse_rules(text)), (RULES,), 40),
        "pair sql": (_pair, (SQL,), 10),
        "pair": (_file(read_pair, "q.qpair", place), (PAIR,), 5),
        "ontology": (_file(read_ontology, "o.ttl", place), (ONTOLOGY,), 5),
        "mapping": (lambda text: r2rml_of(text.encode("utf-8", "replace"), mapping), (MAPPING,), 2),
        "dump": (_file(_dump, "d.sql", place), (DUMP,), 5),
        "templates": (_file(read_templates, "t.rules", place), (SHAPES,), 5),
        "decisions": (_file(read_decisions, "d.csv", place), (DECISIONS,), 5),
        "configuration": (_file(find_configuration, "r.toml", place), (TOML,), 5),
    }


_ODD = ("\0", "\ud800", "\u202e", "'", '"', "(", ")", "[", "{", "<", ">", ";", "\\", "%", "\x1b", "\n", "𝔘", "--", "/*",
        "$$", "E'", "9" * 400, "(" * 300, "[" * 300, " " * 50)  # fmt: skip


def mutated(text: str, rng: random.Random) -> str:
    """A text with some errors in it."""
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        at, length = rng.randrange(len(text) + 1), rng.randrange(1, 12)
        match rng.randrange(6):
            case 0:
                text = text[:at] + text[at + length :]
            case 1:
                text = text[:at] + rng.choice(_ODD) + text[at:]
            case 2:
                text = text[:at] + text[at : at + length] * rng.randrange(2, 30) + text[at:]
            case 3:
                text = text[:at] + chr(rng.randrange(1, 0x3000)) + text[at + 1 :]
            case 4:
                other = rng.randrange(len(text) + 1)
                text = text[:at] + text[other : other + 4 * length] + text[at:]
            case _:
                text = text[:at]
    return text


def check_input(parse: Callable[[str], object], text: str) -> str:
    """Read a text; what did not hold, or nothing."""
    before = signal.signal(signal.SIGVTALRM, _too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
    try:
        parse(text)
    except RuleminerError:
        pass
    except _TooLongError:
        return f"more than {LONGEST:g} s on {text!r}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]} on {text!r}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return ""


class _TooLongError(BaseException):
    pass


def _too_long(*_: object) -> None:
    raise _TooLongError
