"""`ruleminer.toml`: source, ontology, examples, run and IRIs, said once for all commands.

    ontology = "shop.ttl"
    examples = ["facts.csv"]
    run = "run"

    [source]
    db = "postgresql://reader@localhost/shop"
    schema = "public"

    [iri]
    Person = "http://example.org/person/{}"

What is said on the command line wins. Files are found from the folder of the configuration. Nothing heavy is imported
here: every command passes by.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ruleminer.errors import InputError

FILE = "ruleminer.toml"
_TEXTS = ("ontology", "run", "links", "base", "datatypes", "db", "schema")
_LISTS = ("examples", "include", "exclude")
_SOURCE = ("db", "schema", "include", "exclude")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_LOGIN = re.compile(r"^[A-Za-z0-9+]+://([^/?#]*)@")
_PASSWORD = re.compile(r"^[A-Za-z0-9+]+://[^/@:]*:([^/@]+)@|[?&](?:password|passwd|pwd)=([^&]+)", re.IGNORECASE)


@dataclass(frozen=True)
class Configuration:
    """What a configuration says; None and () stand for "not said"."""

    db: str | None = None
    schema: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    ontology: str | None = None
    examples: tuple[str, ...] = ()
    run: str | None = None
    links: str | None = None
    base: str | None = None
    datatypes: str | None = None
    iri: Mapping[str, str] = field(default_factory=dict)
    file: Path | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.db is not None:
            refuse_password(self.db, self.shown)

    @property
    def shown(self) -> str:
        """The file's name for people."""
        return str(self.file or FILE)

    def path(self, text: str) -> str:
        """A file that the configuration names, as seen from the working folder."""
        return text if self.file is None else str(self.file.parent / text)

    def defaults(self, given: Collection[str]) -> dict[str, Any]:
        """Values for the options of a command by their names, beside those that are `given`.

        Another database has other tables: what was said of the own one is left out along with it.
        """
        values: dict[str, Any] = {
            "ontology": self.ontology and self.path(self.ontology),
            "examples": [self.path(one) for one in self.examples],
            "run": self.run and self.path(self.run),
            "base": self.base,
            "datatypes": self.datatypes,
            "iri": [f"{name}={template}" for name, template in self.iri.items()],
        }
        if not {"db", "url"} & set(given):
            values |= {
                "db": self.db and self.url(),
                "schema": self.schema,
                "include": list(self.include),
                "exclude": list(self.exclude),
                "links": self.links and self.path(self.links),
            }
        return {name: value for name, value in values.items() if value}

    def url(self) -> str:
        """The database, with variables of the environment in their places; a plain file is found from here.

        A variable beside which more is said of user, password or options is one of these, whatever signs it has.
        """
        assert self.db is not None
        said = _LOGIN.match(self.db)
        login = said.end(1) if said else 0

        def value(found: re.Match[str]) -> str:
            if found[1] not in os.environ:
                raise InputError(f"{self.shown}: source.db names ${{{found[1]}}}, which the environment does not have")
            before = found.string[: found.start()]
            part = found.start() < login or "?" in before
            return quote(os.environ[found[1]], safe="") if part else os.environ[found[1]]

        url = _VARIABLE.sub(value, self.db)
        return url if ":" in url else self.path(url)


def refuse_password(url: str, shown: str) -> None:
    """Refuse a URL that holds a password; one that stands in a variable is not in the file."""
    found = _PASSWORD.search(url)
    if found and not _VARIABLE.fullmatch(found[1] or found[2]):
        raise InputError(
            f"{shown}: source.db holds a password, and files are copied and committed; "
            "put it into ~/.pgpass, or into a variable of the environment: postgresql://user:${DB_PASSWORD}@host/database"
        )


def find_configuration(asked: Path | None) -> Configuration | None:
    """The configuration that is asked for, or the one of the working folder, if there is one."""
    file = asked or Path(FILE)
    if asked is None and not file.is_file():
        return None
    return read_configuration(file)


def read_configuration(file: Path) -> Configuration:
    """The configuration of a file; what it says that nobody knows is refused."""
    try:
        said = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror or error})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: is no TOML: {error}") from None
    except RecursionError:
        raise InputError(f"{file}: is nested too deeply") from None
    outside = [name for name in (one.name for one in fields(Configuration)) if name not in (*_SOURCE, "iri", "file")]
    source, iri = _table(said, "source", file), _table(said, "iri", file)
    _refuse_unknown(said, [*outside, "source", "iri"], "", file)
    _refuse_unknown(source, _SOURCE, "source.", file)
    values = {**{name: said[name] for name in outside if name in said}, **source}
    for name, value in values.items():
        told = f"source.{name}" if name in _SOURCE else name
        if name in _LISTS:
            several = [value] if isinstance(value, str) else value
            if not isinstance(several, list) or not all(isinstance(one, str) for one in several):
                raise InputError(f"{file}: {told} must be a text or a list of texts, not {value!r}")
            values[name] = tuple(several)
        elif not isinstance(value, str):
            raise InputError(f"{file}: {told} must be a text, not {value!r}")
    for name, template in iri.items():
        if not isinstance(template, str):
            raise InputError(f"{file}: iri.{name} must be a text such as http://example.org/person/{{}}")
    return Configuration(**values, iri=iri, file=file)


def _table(said: Mapping[str, Any], name: str, file: Path) -> dict[str, Any]:
    table = said.get(name, {})
    if not isinstance(table, dict):
        raise InputError(f"{file}: {name} must be a table, headed by [{name}]")
    return table


def _refuse_unknown(said: Mapping[str, Any], known: Collection[str], where: str, file: Path) -> None:
    everywhere = {name: (f"source.{name}" if name in _SOURCE else name) for name in (*_TEXTS, *_LISTS, "iri", "source")}
    for name in said:
        if name not in known:
            near = difflib.get_close_matches(name, everywhere, n=1, cutoff=0.5)
            hint = (
                f"; the nearest that is known is {everywhere[near[0]]}" if near else f"; known are {', '.join(known)}"
            )
            raise InputError(f"{file}: nobody knows the key {where}{name}{hint}")


def configuration_text(said: Configuration) -> str:
    """A configuration as a file, with a word on each key; what is not said stands there as a comment."""

    def line(name: str, example: str) -> str:
        value = getattr(said, name)
        text = _toml(list(value) if isinstance(value, tuple) else value) if value else example
        return f"{'' if value else '# '}{name} = {text}"

    lines = [
        "# What ruleminer's commands take from here; options on the command line win.",
        "# Files are found from this file's folder.",
        "",
        "# The ontology to publish to, and what is known already: CSV, Parquet, RDF, query pairs.",
        line("ontology", '"ontology.ttl"'),
        line("examples", '["facts.csv"]'),
        "# Where extraction, training and proposals leave their files.",
        line("run", '"run"'),
        "# Links between tables to add or to forbid (docs/structure.md).",
        line("links", '"links.txt"'),
        "# What the IRIs of entities start with.",
        line("base", '"http://example.org/data/"'),
        "# Whose datatypes values get (docs/exports.md).",
        line("datatypes", '"ontology"'),
        "",
        "[source]",
        "# A file, or duckdb:///…, sqlite:///…, postgresql://user@host/database, mysql://user@host/database, or a",
        "# folder of files: parquet:folder, csv:folder. No password here: ~/.pgpass has PostgreSQL's, or a variable of",
        "# the environment: postgresql://user:${DB_PASSWORD}@host/database, or all of it: ${DB_URL}.",
        line("db", '"postgresql://reader@localhost/shop"'),
        line("schema", '"public"'),
        line("include", '["order*", "customer"]'),
        line("exclude", '["*_audit"]'),
        "",
        "[iri]",
        "# How entities of a class, a table or table.column are named, with {} for the key.",
        *(f"{_toml(name)} = {_toml(template)}" for name, template in said.iri.items()),
        *([] if said.iri else ['# Person = "http://example.org/person/{}"']),
    ]
    return "\n".join(lines) + "\n"


def _toml(value: str | list[str]) -> str:
    """A text or a list of texts: TOML reads JSON's, but for one character that it wants escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
