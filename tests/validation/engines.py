"""A small database on each engine, and graphs compared up to the names of blank nodes."""

from __future__ import annotations

import re
import sqlite3
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path

import duckdb
import psycopg2
from pyoxigraph import CanonicalizationAlgorithm, Dataset, Literal, Quad, RdfFormat, parse

from ruleminer.rules.lexical import number_form
from ruleminer.sources.database import Database, open_database
from ruleminer.validation.row_terms import Quad as QuadText

ENGINES = ("duckdb", "sqlite", "postgres")
Filled = Callable[[str, str], Database]


def filled_database(engine: str, sql: str, folder: Path, postgres_url: str) -> Database:
    """A database that these statements have filled, opened for reading."""
    name = uuid.uuid4().hex
    if engine == "postgres":
        connection = psycopg2.connect(postgres_url)
        with connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE SCHEMA s{name}; SET search_path = s{name};")
            cursor.execute(sql)
        connection.close()
        return open_database(postgres_url, schema=f"s{name}")
    path = folder / f"{name}.{engine}"
    if engine == "sqlite":
        with sqlite3.connect(path) as small:
            small.executescript(sql)
        small.close()
    else:
        with duckdb.connect(str(path)) as writer:
            writer.execute(sql)
    return open_database(f"{engine}:///{path}")


def dataset(quads: Iterable[QuadText]) -> Dataset:
    """Materialised quads as a dataset."""
    return parsed("".join(f"{s} {p} {o} {g} .\n" for s, p, o, g in quads))


def parsed(text: str) -> Dataset:
    """N-Quads as a dataset."""
    return Dataset(parse(text, RdfFormat.N_QUADS))


def same(one: Dataset, other: Dataset) -> bool:
    """Whether two datasets are the same but for the names of blank nodes."""
    for each in (one, other):
        each.canonicalize(CanonicalizationAlgorithm.UNSTABLE)
    return one == other


def untyped(graph: Dataset) -> Dataset:
    """The same graph with every literal plain, and numbers written one way."""

    def plain(quad: Quad) -> Quad:
        value = quad.object
        if isinstance(value, Literal):
            is_number = re.fullmatch(r"[+-]?\d+(\.\d+)?(E[+-]?\d+)?", value.value)
            value = Literal(number_form(value.value) if is_number else value.value, language=value.language)
        return Quad(quad.subject, quad.predicate, value, quad.graph_name)

    return Dataset(map(plain, graph))
