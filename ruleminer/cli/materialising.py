"""`materialise`: the triples of a mapping, written to files."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ruleminer.cli.app import (
    JsonOption,
    QuietOption,
    RoleOption,
    SchemaOption,
    TimeoutOption,
    TrustOption,
    app,
    print_json,
)


@app.command(
    epilog="Examples: ruleminer materialise run --out triples  ·  "
    "ruleminer materialise mapping.ttl --db parquet:lake --format parquet --out triples"
)
def materialise(
    run: Annotated[Path, typer.Argument(help="A run folder with proposals, or an R2RML mapping of any tool.")],
    out: Annotated[Path, typer.Option(help="The folder to write; it must be new.")],
    db: Annotated[
        str | None,
        typer.Option("--db", help="The live database, read only.", show_default="the one the run was made from"),
    ] = None,
    schema: SchemaOption = None,
    role: RoleOption = None,
    form: Annotated[str, typer.Option("--format", help="nt (N-Triples), nq (N-Quads) or parquet.")] = "nt",
    force: Annotated[bool, typer.Option("--force", help="Replace what an earlier call wrote.")] = False,
    timeout: TimeoutOption = 300.0,
    trust: TrustOption = False,
    jobs: Annotated[int, typer.Option(help="Processes that make triples; Spark has its own.")] = 1,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write the triples that a mapping makes of a database, each once, in parts, in bounded memory."""
    from ruleminer import terminal
    from ruleminer.sources.database import with_role
    from ruleminer.validation.triple_files import materialise_files

    with terminal.progress_bars(quiet or as_json) as progress:
        written = materialise_files(
            run,
            out,
            db=with_role(db, role),
            schema=schema,
            form=form,
            force=force,
            timeout=timeout,
            trust=trust,
            jobs=jobs,
            progress=progress,
        )
    for note in written.notes:
        terminal.log.print(note, markup=False)
    if as_json:
        print_json(asdict(written))
        return
    repeats = "" if written.triples == written.derived else f" ({written.derived:,} with repeats)"
    parts = f"{len(written.files)} part{'s' * (len(written.files) > 1)}"
    told = f"{written.folder}: {written.triples:,} triples{repeats} from {written.rows:,} rows, in {parts}"
    terminal.results.print(told, markup=False)
