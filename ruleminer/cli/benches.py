"""The experiments: `bench NAME` (short for `bench run NAME`), `bench list` and `bench report`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ruleminer.cli.app import JsonOption, print_json


class _RunByDefault(TyperGroup):
    """What is no command is the name of a bench."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_RunByDefault,
    no_args_is_help=True,
    help="Run an experiment, the paper's or our own: `bench NAME`.",
    epilog="Try: ruleminer bench list  ·  ruleminer bench synthetic-small  ·  ruleminer bench report",
)

_OWN = "the bench's own"


@app.command("run", epilog="Example: ruleminer bench synthetic-small")
def bench_run(
    name: Annotated[str, typer.Argument(help="A bench; `ruleminer bench list` shows them all.")],
    losses: Annotated[
        str | None, typer.Option(help="Only these losses, with commas between.", show_default=_OWN)
    ] = None,
    seeds: Annotated[int | None, typer.Option(help="How many seeds.", show_default=_OWN)] = None,
    epochs: Annotated[int | None, typer.Option(help="How many passes over the data.", show_default=_OWN)] = None,
    scale: Annotated[str, typer.Option(help="smoke, cpu or paper.")] = "cpu",
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "cpu",
    db: Annotated[
        str | None, typer.Option("--db", help="mapping: a server with the scenarios, each in its own schema.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            help="The data; real: a folder with a database and truth.tsv, or of such folders.",
            show_default="RULEMINER_DATA",
        ),
    ] = None,
    only: Annotated[
        str, typer.Option("--only", help='Only units with these words in their names, as in "sakila 5 keys".')
    ] = "",
    tune: Annotated[bool, typer.Option("--tune", help="real-world: also choose each loss's learning rate.")] = False,
    out: Annotated[Path, typer.Option("--out", help="Where results go; a run that was stopped goes on there.")] = Path(
        "bench-results"
    ),
    as_json: JsonOption = False,
) -> None:
    """Run an experiment, the paper's or our own, with published figures beside ours where there are some."""
    from ruleminer import terminal
    from ruleminer.bench.runner import run_bench
    from ruleminer.bench.units import BenchOptions

    chosen = tuple(losses.split(",")) if losses else None
    options = BenchOptions(chosen, seeds, epochs, scale, device, out, data, db, tuple(only.split()), tune)
    with terminal.progress_bars() as progress:
        result = run_bench(name, options, progress, terminal.say)
    if as_json:
        print_json([vars(record) for record in result.records])
    else:
        terminal.print_bench(result)


@app.command("list")
def show_benches(as_json: JsonOption = False) -> None:
    """Show all benches: what each reproduces, what it needs and how long it takes."""
    from ruleminer import terminal
    from ruleminer.bench.catalogue import bench_list

    benches = bench_list()
    if as_json:
        print_json([asdict(info) for info in benches])
    else:
        terminal.results.print(terminal.bench_table(benches))


@app.command("report", epilog="Example: ruleminer bench report bench-results")
def collect_report(
    folder: Annotated[Path, typer.Argument(help="The folder with the runs.")] = Path("bench-results"),
) -> None:
    """Collect all runs below a folder in one page, FOLDER/report.html."""
    from ruleminer import terminal
    from ruleminer.bench.report import bench_report

    terminal.results.print(str(bench_report(folder)), markup=False)
