"""`pretrain`: the decision network that the package ships, made anew."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ruleminer.cli.app import JsonOption, QuietOption, app, print_json
from ruleminer.progress import unsaid


@app.command(epilog="Example: ruleminer pretrain --out network --databases 480")
def pretrain(
    out: Annotated[Path, typer.Option("--out", help="Where the network goes, and what it learns from.")],
    databases: Annotated[int, typer.Option(help="Generated databases to learn from, with two ontologies each.")] = 480,
    held_out: Annotated[int, typer.Option(help="Others, by which it is measured.")] = 36,
    passes: Annotated[int, typer.Option(help="How often each is looked at.")] = 6,
    loss: Annotated[str, typer.Option(help="libra, nll, rc or uniform.")] = "libra",
    seed: Annotated[int, typer.Option(help="The same seed gives the same network on the same machine.")] = 0,
    width: Annotated[int, typer.Option(help="How wide the network's layers are.")] = 32,
    messages: Annotated[bool, typer.Option(help="Whether terms hear of each other.")] = True,
    threads: Annotated[int, typer.Option(help="Threads to learn with.")] = 1,
    processes: Annotated[int, typer.Option(help="Processes that make the databases to learn from.")] = 2,
    force: Annotated[bool, typer.Option("--force", help="Replace a network that is there.")] = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make the network that decides mappings: from generated databases alone. A run that was stopped goes on."""
    from ruleminer import terminal
    from ruleminer.learn.decision_training import DecisionOptions
    from ruleminer.pretraining.pretrain import PretrainRequest
    from ruleminer.pretraining.pretrain import pretrain as make

    options = DecisionOptions(loss=loss, passes=passes, seed=seed, messages=messages, width=width)
    request = PretrainRequest(
        out=out,
        databases=databases,
        held_out=held_out,
        options=options,
        threads=threads,
        processes=processes,
        force=force,
    )
    silence = quiet or as_json
    with terminal.progress_bars(silence) as progress:
        result = make(request, progress, unsaid if silence else terminal.say)
    if as_json:
        print_json({**asdict(result), "folder": str(result.folder)})
        return
    rows = [
        (name, score["terms"], f"{score['right']:.3f}", f"{score['right_of_mapped']:.3f}", f"{score['none_found']:.3f}")
        for name, score in result.scores.items()
    ]
    headings = ("given", "terms", "right", "right rule, of those in the data", "none, of those that are not")
    terminal.results.print(terminal.table(f"{result.folder}: {result.parameters:,} weights, held out", headings, rows))
