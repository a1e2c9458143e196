"""`export`: a run's rules, perhaps edited, in another mapping language."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ruleminer.cli.app import (
    ExcludeOption,
    JsonOption,
    RoleOption,
    SchemaOption,
    TableOption,
    TimeoutOption,
    app,
    print_json,
)


@app.command(
    epilog="Examples: ruleminer export run --format obda --out mapping.obda  ·  "
    "ruleminer export run --format r2rml --from edited.rules --out mapping.ttl"
)
def export(
    run: Annotated[Path, typer.Argument(help="A run folder with proposals, or with rules of yours and --from.")],
    language: Annotated[str, typer.Option("--format", help="r2rml, obda, yarrrml, sql or rules.")] = "r2rml",
    start: Annotated[
        Path | None,
        typer.Option("--from", help="A file of rules.", show_default="RUN/proposals/mapping.rules"),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="The file to write.", show_default="the terminal")] = None,
    db: Annotated[
        str | None,
        typer.Option("--db", help="The live database, read only.", show_default="the one extracted from"),
    ] = None,
    schema: SchemaOption = None,
    role: RoleOption = None,
    ontology: Annotated[Path | None, typer.Option(help="The ontology.", show_default="the one extracted with")] = None,
    iri: Annotated[
        list[str] | None,
        typer.Option("--iri", help="How entities of a class are named.", show_default="as proposed"),
    ] = None,
    base: Annotated[
        str | None, typer.Option(help="What the IRIs of all others start with.", show_default="as proposed")
    ] = None,
    datatypes: Annotated[
        str | None, typer.Option(help="Whose datatypes values get: ontology or database.", show_default="as proposed")
    ] = None,
    include: TableOption = None,
    exclude: ExcludeOption = None,
    timeout: TimeoutOption = 300.0,
    as_json: JsonOption = False,
) -> None:
    """Write a run's mapping in another language, also after you have edited its rules; IRIs stay as proposed."""
    from ruleminer import terminal
    from ruleminer.proposals.export import export_mapping
    from ruleminer.proposals.request import ProposeRequest
    from ruleminer.sources.database import with_role

    request = ProposeRequest(
        run=run, db=with_role(db, role), schema=schema, ontology=ontology, iris=tuple(iri or ()), base=base,
        datatypes=datatypes, include=tuple(include or ()), exclude=tuple(exclude or ()), timeout=timeout,
    )  # fmt: skip
    made = export_mapping(request, language, start, out)
    for note in made.notes:
        terminal.log.print(note, markup=False)
    if as_json:
        print_json({"rules": made.rules, "identity": made.identity, "notes": made.notes, "text": made.text})
    elif made.file is None:
        sys.stdout.write(made.text)
    else:
        terminal.results.print(f"{made.file}: {made.rules} rules as {language}", markup=False)
