"""A mapping's files: one for each language that other tools read."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from contextlib import ExitStack
from pathlib import Path

from sqlalchemy.engine import URL

from ruleminer.rules.columns import TypeOf
from ruleminer.rules.dialects import Dialect
from ruleminer.rules.export.obda import obda_text, properties_text
from ruleminer.rules.export.r2rml import r2rml_text
from ruleminer.rules.export.text import rules_text
from ruleminer.rules.export.views import views_text
from ruleminer.rules.export.yarrrml import yarrrml_text
from ruleminer.rules.mapping import Mapping
from ruleminer.sources.database import dialect_of, has_jdbc, parse_url
from ruleminer.whole_files import writing

MAPPING_FILES = frozenset(
    f"mapping.{language}" for language in ("ttl", "obda", "yarrrml.yml", "sql", "rules", "properties")
)


def mapping_texts(
    mapping: Mapping, dialect: Dialect, types: TypeOf, url: str | None = None, schema: str | None = None
) -> dict[str, str]:
    """The files of a mapping by name. With the database's URL, also where it is, without the password.

    `schema` is where the tables are: the views name it, and Ontop is told to look there. The others leave it to the
    connection (docs/exports.md).
    """
    texts = {
        "mapping.ttl": r2rml_text(mapping, dialect, types),
        "mapping.obda": obda_text(mapping, dialect, types),
        "mapping.yarrrml.yml": yarrrml_text(mapping, dialect, types),
        "mapping.sql": views_text(mapping, dialect, types, schema),
        "mapping.rules": rules_text(mapping),
    }
    parsed = None if url is None else parse_url(url)
    if parsed is not None and has_jdbc(parsed):
        texts["mapping.properties"] = properties_text(jdbc_url(parsed, schema), dialect.jdbc_driver, parsed.username)
    return texts


def write_texts(texts: Dict[str, str], folder: Path) -> tuple[Path, ...]:
    """Write texts as files of a folder; none of them is there under its name before all are written."""
    with ExitStack() as all_or_none:
        for name, text in texts.items():
            all_or_none.enter_context(writing(folder / name)).write_text(text, "utf-8", newline="\n")
    return tuple(folder / name for name in texts)


def jdbc_url(url: URL, schema: str | None) -> str:
    """A database's URL as Java writes it, without user and password. Java knows no Unix sockets: localhost it is."""
    option = dialect_of(url).jdbc_schema
    if option is None:
        return f"jdbc:{url.drivername}:{url.database}"
    host = url.host or "localhost"
    server = f"[{host}]" if ":" in host else host
    place = url.database if option else schema or url.database
    plain = URL.create("jdbc", database=place, query={option: schema} if schema and option else {})
    port = f":{url.port}" if url.port else ""
    return f"jdbc:{url.drivername}://{server}{port}{plain.render_as_string().removeprefix('jdbc://')}"
