"""Scenarios, made and loaded; the demo."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ruleminer.cli.app import QuietOption, SchemaOption
from ruleminer.cli.app import app as root
from ruleminer.progress import unsaid

app = typer.Typer(no_args_is_help=True, help="Make and load scenarios: a database, an ontology, facts, queries.")


@app.command("generate", epilog="Example: ruleminer scenario generate --kind restructuring --size 5000 --seed 1 shop")
def scenario_generate(
    out: Annotated[Path, typer.Argument(help="The folder to write.")],
    kind: Annotated[str, typer.Option(help="plain, renaming, cleaning, restructuring or denormalising.")] = "plain",
    domain: Annotated[str, typer.Option(help="A built-in domain, or random.")] = "university",
    names: Annotated[
        str | None,
        typer.Option(help="same, synonym, abbreviated or opaque.", show_default="same; synonym for renaming"),
    ] = None,
    size: Annotated[int, typer.Option(help="About how many rows.")] = 2000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same scenario.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace a scenario that is there.")] = False,
) -> None:
    """Make a scenario: a database that was distorted, its ontology, all facts, query pairs and the true mapping."""
    from ruleminer import terminal
    from ruleminer.scenarios.generate import generate_scenario

    summary = generate_scenario(out, domain=domain, kind=kind, names=names, size=size, seed=seed, force=force)
    terminal.results.print(f"{out}: {summary}", markup=False)


@app.command("load", epilog="Example: ruleminer scenario load rodi/cmt_renamed --db postgresql://me@localhost/test")
def scenario_load(
    folder: Annotated[Path, typer.Argument(help="A scenario folder: ours, or one of RODI.")],
    db: Annotated[
        str,
        typer.Option("--db", help="Where to load it: duckdb:///new.duckdb, postgresql://…, mysql://…, sqlite:///…."),
    ],
    schema: SchemaOption = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a schema or file of that name.")] = False,
) -> None:
    """Load a scenario's database into a database of yours."""
    from ruleminer import terminal
    from ruleminer.problem.scenario import load_scenario, open_scenario

    for line in load_scenario(open_scenario(folder), db, schema=schema, replace=replace):
        terminal.results.print(line, markup=False)


@root.command(epilog="Example: ruleminer demo --out demo")
def demo(
    out: Annotated[Path, typer.Option("--out", help="The folder to leave everything in.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Another seed, another database.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Use the folder even if it holds something else.")] = False,
    quiet: QuietOption = False,
) -> None:
    """See the whole of it in a minute and a half: generate a database, extract, train, propose, validate, report."""
    from ruleminer import terminal
    from ruleminer.demo import run_demo

    bars = partial(terminal.progress_bars, quiet)
    result = run_demo(out, seed=seed, force=force, step=terminal.step, say=unsaid if quiet else terminal.say, bars=bars)
    for drawn in terminal.demo_tables(result):
        terminal.results.print(drawn)
    for line in terminal.demo_lines(result, out):
        terminal.results.print(line, markup=False)
