"""What all commands share: the application, and the options that many of them have.

Heavy libraries are imported by the commands that use them, so that --help answers at once. For the same reason a
default that a library has is written out here, as `show_default`; tests/test_cli.py compares the two.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ruleminer import __version__
from ruleminer.cli.configured import ConfiguredGroup

app = typer.Typer(
    name="ruleminer",
    cls=ConfiguredGroup,
    help="Learn the mapping from a relational database to an ontology from examples.",
    epilog="Start with: ruleminer demo",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

SchemaOption = Annotated[str | None, typer.Option("--schema", help="The schema to use, where a database has several.")]
TableOption = Annotated[
    list[str] | None,
    typer.Option("--include", help="Use these tables only (names or patterns).", show_default="all"),
]
ExcludeOption = Annotated[
    list[str] | None,
    typer.Option("--exclude", help="Leave these tables out (names or patterns).", show_default="none"),
]
TimeoutOption = Annotated[float, typer.Option("--timeout", help="Seconds to wait for a statement.")]
DeviceOption = Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")]
ThreadsOption = Annotated[int | None, typer.Option("--threads", help="CPU threads.", show_default="the cores")]
LinksOption = Annotated[
    Path | None,
    typer.Option("--links", help="Links to add or to forbid: lines 'table.column -> table.column' or 'not … -> …'."),
]
RoleOption = Annotated[
    str | None,
    typer.Option("--role", help="A role of the server to take on for reading (SET ROLE).", show_default="the login's"),
]
TrustOption = Annotated[
    bool, typer.Option("--trust", help="Run SQL of query pairs and mappings as it is: you know who wrote it.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bars.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ruleminer {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            help="Source, ontology, examples and so on, said once.",
            show_default="ruleminer.toml, if it is here",
        ),
    ] = None,
) -> None:
    pass


def print_json(value: Any) -> None:
    """A result for programs, on stdout."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n")
