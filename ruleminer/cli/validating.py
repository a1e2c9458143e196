"""`validate`: a mapping against a scenario's query pairs, or against facts of the user's own."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ruleminer.cli.app import (
    JsonOption,
    LinksOption,
    QuietOption,
    RoleOption,
    SchemaOption,
    TimeoutOption,
    TrustOption,
    app,
    print_json,
)
from ruleminer.errors import InputError


@app.command(
    epilog="Examples: ruleminer validate --scenario rodi/cmt_renamed --mapping mapping.ttl --reasoning none  ·  "
    "ruleminer validate --mapping mapping.ttl --examples facts.csv --ontology shop.ttl --db shop.sqlite"
)
def validate(
    given: Annotated[
        Path | None,
        typer.Argument(
            metavar="MAPPING", help="An R2RML mapping, ours or another tool's; or a run's folder. Or say --mapping."
        ),
    ] = None,
    mapping: Annotated[Path | None, typer.Option(help="The mapping or run.", show_default="MAPPING")] = None,
    scenario: Annotated[Path | None, typer.Option(help="A scenario folder with query pairs.")] = None,
    examples: Annotated[
        list[Path] | None,
        typer.Option(help="Facts of your own, in place of a scenario; with --ontology and --db. May be repeated."),
    ] = None,
    ontology: Annotated[Path | None, typer.Option(help="For --examples: the ontology.")] = None,
    db: Annotated[
        str | None, typer.Option("--db", help="A live database.", show_default="the scenario's, in DuckDB; the run's")
    ] = None,
    schema: SchemaOption = None,
    role: RoleOption = None,
    links: LinksOption = None,
    reasoning: Annotated[str, typer.Option(help="none, rdfs or structural.")] = "rdfs",
    reference: Annotated[
        Path | None,
        typer.Option(
            help="For --scenario: another mapping, which tells what can be reached at all.", show_default="none"
        ),
    ] = None,
    timeout: TimeoutOption = 300.0,
    trust: TrustOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run a mapping and score its triples as RODI does, query by query; or look for your own facts among them.

    With --examples it ends with exit code 0 if all facts that hold are derived and none that does not, else with 1.
    """
    from ruleminer import terminal
    from ruleminer.dataset import read_dataset
    from ruleminer.sources.database import Database, with_role
    from ruleminer.validation.triple_files import mapping_file
    from ruleminer.validation.validate import validate_mapping

    if (given is not None and mapping is not None) or (named := given or mapping) is None:
        raise InputError("name the mapping: a file or a run, as in ruleminer validate RUN, or with --mapping, not both")
    db, mapping = with_role(db, role), mapping_file(named)
    if (scenario is None) == (not examples):
        raise InputError("say what to hold the mapping against: --scenario FOLDER or --examples FILE, one of the two")
    if scenario is not None and links is not None:
        raise InputError("--links goes with --examples: the queries of a scenario need no links")
    with terminal.progress_bars(quiet or as_json) as progress:
        if scenario is not None:
            result = validate_mapping(
                mapping, scenario, db=db, schema=schema, reasoning=reasoning, timeout=timeout, trust=trust,
                reference=reference,
                progress=progress,
            )  # fmt: skip
        else:
            from ruleminer.proposals.live_structure import live_structure, run_of
            from ruleminer.structure.link_file import read_links
            from ruleminer.structure.structure import Structure, learn_structure
            from ruleminer.validation.own_facts import check_facts

            def learn(database: Database, notes: list[str]) -> Structure:
                if links is not None:
                    return learn_structure(database, read_links(links, database.schema))
                run = run_of(named)
                return learn_structure(database) if run is None else live_structure(run, database, notes)

            if db is None and (run := run_of(named)) is not None:
                source = read_dataset(run).manifest["source"]
                db, schema = source["url"], schema or source["schema"]
            if ontology is None or db is None:
                missing = "" if db is not None else " and --db DATABASE"
                raise InputError(f"--examples needs --ontology FILE{missing}")
            check = check_facts(
                mapping, examples or (), ontology, db, schema=schema, reasoning=reasoning, timeout=timeout, trust=trust,
                learn=learn, progress=progress,
            )  # fmt: skip
    if scenario is None:
        if as_json:
            print_json({**asdict(check), "passes": check.passes})
        else:
            for drawn in terminal.fact_check_tables(check):
                terminal.results.print(drawn)
        raise typer.Exit(0 if check.passes else 1)
    if as_json:
        print_json(asdict(result))
        return
    for drawn in terminal.validation_tables(result):
        terminal.results.print(drawn)
