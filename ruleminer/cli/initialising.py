"""`init`: a configuration file to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ruleminer.cli.app import ExcludeOption, LinksOption, SchemaOption, TableOption, app
from ruleminer.configuration import FILE, Configuration, configuration_text
from ruleminer.errors import InputError
from ruleminer.whole_files import write_whole


@app.command(
    epilog="Example: ruleminer init --db postgresql://reader@localhost/shop --ontology shop.ttl --examples facts.csv"
)
def init(
    file: Annotated[Path, typer.Argument(help="The file to write.")] = Path(FILE),
    db: Annotated[str | None, typer.Option("--db", help="The database, without a password.")] = None,
    schema: SchemaOption = None,
    include: TableOption = None,
    exclude: ExcludeOption = None,
    ontology: Annotated[Path | None, typer.Option(help="The ontology to publish to.")] = None,
    examples: Annotated[list[Path] | None, typer.Option(help="Facts. May be repeated.")] = None,
    run: Annotated[Path, typer.Option(help="The run folder.")] = Path("run"),
    links: LinksOption = None,
    iri: Annotated[list[str] | None, typer.Option("--iri", help="'Person=http://…/{}'. May be repeated.")] = None,
    base: Annotated[str | None, typer.Option(help="What the IRIs of entities start with.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write a ruleminer.toml, so that database, ontology, examples and the rest need not be typed again."""
    from ruleminer import terminal

    said = Configuration(
        db=db, schema=schema, include=tuple(include or ()), exclude=tuple(exclude or ()),
        ontology=None if ontology is None else str(ontology), examples=tuple(map(str, examples or ())),
        run=str(run), links=None if links is None else str(links), base=base,
        iri=dict(_wish(text) for text in iri or ()), file=file,
    )  # fmt: skip
    if file.exists() and not force:
        raise InputError(f"{file} is there already; ‹force=True› replaces it")
    write_whole(file, configuration_text(said))
    terminal.results.print(
        f"{file}: look at it, then run ruleminer extract and ruleminer propose-mappings", markup=False
    )


def _wish(text: str) -> tuple[str, str]:
    from ruleminer.proposals.identity import parse_iri_override

    return parse_iri_override(text)
