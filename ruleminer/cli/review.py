"""The way back: review a run, question by question, and see what changed."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ruleminer.cli.app import (
    ExcludeOption,
    JsonOption,
    QuietOption,
    RoleOption,
    SchemaOption,
    TableOption,
    TimeoutOption,
    app,
    print_json,
)
from ruleminer.errors import InputError


@app.command(
    epilog="Examples: ruleminer review run  ·  ruleminer review run --terminal --ask 10  ·  "
    "ruleminer review run --answers answers.txt"
)
def review(
    run: Annotated[Path, typer.Argument(help="A run folder: extracted, and trained if you like.")],
    in_terminal: Annotated[
        bool, typer.Option("--terminal", help="Ask here, in the terminal, and serve no page.")
    ] = False,
    ask: Annotated[int | None, typer.Option(help="Stop after so many questions.", show_default="none")] = None,
    answers: Annotated[
        Path | None, typer.Option(help="Take the answers from a file, a line each: y, n, ?, 0–9, a, r, -, u, q.")
    ] = None,
    start: Annotated[
        Path | None, typer.Option("--start", help="Begin with a mapping that is there: mapping.rules or R2RML.")
    ] = None,
    same: Annotated[
        list[str] | None,
        typer.Option("--same", help="Two columns that name the same kind of thing: 'table.column = table.column'."),
    ] = None,
    db: Annotated[
        str | None,
        typer.Option("--db", help="The live database, read only.", show_default="the one extracted from"),
    ] = None,
    schema: SchemaOption = None,
    role: RoleOption = None,
    ranker: Annotated[
        str | None, typer.Option(help="joint, neural, evidence or coverage.", show_default="joint")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="A run whose model to ask, learnt from other databases.", show_default="RUN's own"),
    ] = None,
    ontology: Annotated[Path | None, typer.Option(help="The ontology.", show_default="the one extracted with")] = None,
    include: TableOption = None,
    exclude: ExcludeOption = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where the page is served on 127.0.0.1; 0 takes a free port.")
    ] = 0,
    browse: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    timeout: TimeoutOption = 30.0,
    quiet: QuietOption = False,
) -> None:
    """Answer questions, accept, reject and edit rules: on a page of this computer, or in the terminal."""
    from ruleminer import terminal
    from ruleminer.proposals.request import ProposeRequest
    from ruleminer.review.dialogue import file_answers
    from ruleminer.review.review import Beginning, review_page, review_terminal
    from ruleminer.sources.database import with_role

    if ask is not None and ask < 0:
        raise InputError(f"‹ask› must be a whole number from 0, not {ask}")
    request = ProposeRequest(
        run=run, db=with_role(db, role), schema=schema, ranker=ranker, model=model, ontology=ontology,
        include=tuple(include or ()), exclude=tuple(exclude or ()), timeout=timeout,
    )  # fmt: skip
    bars = partial(terminal.progress_bars, quiet)
    beginning = Beginning(start, tuple(same or ()))
    if in_terminal or answers is not None or ask is not None:
        source = file_answers(answers) if answers is not None else terminal.typed
        result = review_terminal(request, source, terminal.say, ask, beginning, bars)
        for line in terminal.review_lines(result):
            terminal.results.print(line, markup=False, soft_wrap=True)
    else:
        review_page(request, terminal.say, port, browse, beginning, bars)


@app.command(epilog="Example: ruleminer diff run-of-may run-of-june --db postgresql://reader@host/db")
def diff(
    before: Annotated[
        Path, typer.Argument(help="A run with proposals, a folder of them, a mapping.rules, or R2RML (with --db).")
    ],
    after: Annotated[Path, typer.Argument(help="Another one.")],
    db: Annotated[
        str | None, typer.Option("--db", help="Count the facts gained and lost in this database.", show_default="none")
    ] = None,
    schema: SchemaOption = None,
    timeout: TimeoutOption = 300.0,
    as_json: JsonOption = False,
) -> None:
    """Show what changed between two mappings, term by term: rules, and with a database the facts gained and lost."""
    from ruleminer import terminal
    from ruleminer.review.diff import mapping_difference
    from ruleminer.sources.database import open_database

    if db is None:
        found = mapping_difference(before, after)
    else:
        with open_database(db, schema=schema, timeout=timeout) as database:
            found = mapping_difference(before, after, database)
    if as_json:
        print_json(asdict(found))
        return
    for drawn in terminal.difference_tables(found):
        terminal.results.print(drawn)
