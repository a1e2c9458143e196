"""The command line: each command parses its words, calls one function and prints what it returns."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ruleminer import __version__
from ruleminer.errors import InputError, RuleminerError

# Heavy libraries are imported by the commands that use them, so that --help answers at once.

app = typer.Typer(
    name="ruleminer",
    help="Learn the mapping from a relational database to an ontology from examples.",
    epilog="Start with: ruleminer demo",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
scenarios = typer.Typer(no_args_is_help=True, help="Make and load scenarios: a database, an ontology, facts, queries.")
datasets = typer.Typer(no_args_is_help=True, help="Look at extracted datasets.")
app.add_typer(scenarios, name="scenario")
app.add_typer(datasets, name="dataset")

SchemaOption = Annotated[str | None, typer.Option("--schema", help="The schema to use, where a database has several.")]
TableOption = Annotated[list[str] | None, typer.Option("--include", help="Use these tables only (names or patterns).")]
ExcludeOption = Annotated[
    list[str] | None, typer.Option("--exclude", help="Leave these tables out (names or patterns).")
]
TimeoutOption = Annotated[float, typer.Option("--timeout", help="Seconds to wait for a statement.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bars.")]


_INTERRUPTED = "interrupted; extract, propose-mappings and bench go on when they are run again, train with --resume\n"


def main() -> None:
    """Run the command line; a user's mistake ends in one line and exit code 2."""
    try:
        app()
    except RuleminerError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write(_INTERRUPTED)
        sys.exit(130)
    except SystemExit as end:
        if end.code == 130:  # typer has its own way with Ctrl-C, and says nothing
            sys.stderr.write(_INTERRUPTED)
        raise
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ruleminer {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    pass


def _print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n")


@app.command(epilog="Example: ruleminer inspect postgresql://reader@localhost/shop --schema public --ontology shop.ttl")
def inspect(
    url: Annotated[
        str | None, typer.Argument(help="A database: a file, or duckdb:///…, sqlite:///…, postgresql://….")
    ] = None,
    schema: SchemaOption = None,
    ontology: Annotated[Path | None, typer.Option(help="An ontology to show beside it (Turtle or RDF/XML).")] = None,
    include: TableOption = None,
    exclude: ExcludeOption = None,
    timeout: TimeoutOption = 300.0,
    as_json: JsonOption = False,
) -> None:
    """Show what a database holds: tables, columns, keys, links and row counts; and an ontology's terms."""
    from ruleminer import terminal
    from ruleminer.problem.database import open_database
    from ruleminer.problem.ontology import read_ontology

    if url is None and ontology is None:
        raise InputError("nothing to inspect: give a database, --ontology FILE, or both")
    terms = read_ontology(ontology) if ontology else None
    drawn = terminal.ontology_tables(terms) if terms else []
    told = {"ontology": asdict(terms)} if terms else {}
    if url is None:
        _print_json(told) if as_json else terminal.results.print(*drawn)
        return
    with open_database(url, schema=schema, include=include or (), exclude=exclude or (), timeout=timeout) as database:
        shape = database.schema
        if as_json:
            _print_json({"database": {"url": database.safe_url, **shape.to_json()}, **told})
            return
        terminal.results.print(terminal.schema_table(shape, database.safe_url), *drawn)
        for name, reason in shape.unreadable:
            terminal.log.print(f"cannot read {name}: {reason}", markup=False)


@scenarios.command(
    "generate", epilog="Example: ruleminer scenario generate --kind restructuring --size 5000 --seed 1 shop"
)
def scenario_generate(
    out: Annotated[Path, typer.Argument(help="The folder to write.")],
    kind: Annotated[str, typer.Option(help="plain, renaming, cleaning, restructuring or denormalising.")] = "plain",
    domain: Annotated[str, typer.Option(help="A built-in domain, or random.")] = "university",
    names: Annotated[str | None, typer.Option(help="same, synonym, abbreviated or opaque.")] = None,
    size: Annotated[int, typer.Option(help="About how many rows.")] = 2000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same scenario.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace a scenario that is there.")] = False,
) -> None:
    """Make a scenario: a database that was distorted, its ontology, all facts, query pairs and the true mapping."""
    from ruleminer import terminal
    from ruleminer.problem.generator.generate import generate_scenario

    summary = generate_scenario(out, domain=domain, kind=kind, names=names, size=size, seed=seed, force=force)
    terminal.results.print(f"{out}: {summary}", markup=False)


@scenarios.command(
    "load", epilog="Example: ruleminer scenario load rodi/cmt_renamed --db postgresql://me@localhost/test"
)
def scenario_load(
    folder: Annotated[Path, typer.Argument(help="A scenario folder: ours, or one of RODI.")],
    db: Annotated[
        str, typer.Option("--db", help="Where to load it: duckdb:///new.duckdb, postgresql://…, sqlite:///….")
    ],
    schema: SchemaOption = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a schema or file of that name.")] = False,
) -> None:
    """Load a scenario's database into a database of yours."""
    from ruleminer import terminal
    from ruleminer.problem.scenario import load_scenario, open_scenario

    for line in load_scenario(open_scenario(folder), db, schema=schema, replace=replace):
        terminal.results.print(line, markup=False)


@app.command(
    epilog="Examples: ruleminer extract --scenario shop --out run  ·  ruleminer extract --recipe cmt --out runs  ·  "
    "ruleminer extract --db postgresql://reader@host/db --ontology shop.ttl --examples facts.csv --out run"
)
def extract(
    out: Annotated[Path, typer.Option("--out", help="The run folder to write.")],
    scenario: Annotated[Path | None, typer.Option(help="A scenario folder; with --db, its live database.")] = None,
    db: Annotated[str | None, typer.Option("--db", help="A live database, read only.")] = None,
    schema: SchemaOption = None,
    ontology: Annotated[Path | None, typer.Option(help="The ontology to publish to.")] = None,
    examples: Annotated[
        list[Path] | None, typer.Option(help="Facts: CSV, RDF, .qpair files or folders of them. May be repeated.")
    ] = None,
    recipe: Annotated[str | None, typer.Option(help="A dataset of the paper: cmt, npd or npd-20.")] = None,
    positives: Annotated[int | None, typer.Option(help="At most so many positives per predicate; 0 takes all.")] = None,
    negatives: Annotated[str | None, typer.Option(help="uniform, realistic or none.")] = None,
    templates: Annotated[Path | None, typer.Option(help="A folder or file of templates; default: all of ours.")] = None,
    max_candidates: Annotated[int | None, typer.Option(help="At most so many rules per fact; 0 keeps all.")] = None,
    include: TableOption = None,
    exclude: ExcludeOption = None,
    seed: Annotated[int, typer.Option(help="The same seed draws the same facts.")] = 0,
    timeout: TimeoutOption = 600.0,
    memory: Annotated[str, typer.Option(help="Memory for the search; what does not fit goes to disk.")] = "2GB",
    force: Annotated[bool, typer.Option("--force", help="Replace a dataset that is there.")] = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find, for each known fact, every mapping rule that derives it; the result is a dataset to learn from."""
    from ruleminer import terminal
    from ruleminer.extract.request import ExtractRequest, extract_datasets
    from ruleminer.extract.summary import summarise

    request = ExtractRequest(
        out=out, scenario=scenario, db=db, schema=schema, ontology=ontology, examples=tuple(examples or ()),
        recipe=recipe, positives=positives, negatives=negatives, templates=templates, max_candidates=max_candidates,
        include=tuple(include or ()), exclude=tuple(exclude or ()), seed=seed, timeout=timeout, memory=memory,
        force=force,
    )  # fmt: skip
    with terminal.progress_bars(quiet or as_json) as progress:
        folders = extract_datasets(request, progress, terminal.tell_examples)
    summaries = [summarise(folder) for folder in folders]
    if as_json:
        _print_json([asdict(summary) for summary in summaries])
        return
    for folder, summary in zip(folders, summaries, strict=True):
        terminal.results.print(terminal.dataset_line(folder, summary), markup=False)
    terminal.log.print(f"See it with: ruleminer dataset show {folders[0].parent}", markup=False)


@datasets.command("show", epilog="Example: ruleminer dataset show run")
def dataset_show(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    as_json: JsonOption = False,
    rules: Annotated[int, typer.Option(help="How many of the most shared rules per predicate (JSON).")] = 3,
) -> None:
    """Show what is in a dataset: facts and candidates per predicate, the rules that explain most, and the gaps."""
    from ruleminer import terminal
    from ruleminer.extract.summary import summarise

    summary = summarise(run, rules)
    if as_json:
        _print_json(asdict(summary))
        return
    for drawn in terminal.dataset_tables(summary):
        terminal.results.print(drawn)


@app.command(epilog="Example: ruleminer train run --loss libra --seed 0")
def train(
    run: Annotated[Path, typer.Argument(help="A run folder with a dataset.")],
    loss: Annotated[str, typer.Option(help="libra, nll, uniform, rc or merit (merit:0.5 sets β).")] = "libra",
    size: Annotated[
        str | None, typer.Option(help="The model: tiny, small (default), paper-cmt or paper-npd.", show_default=False)
    ] = None,
    start: Annotated[
        Path | None, typer.Option("--from", help="Go on from another run's model, not from scratch.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same model on the same machine.")] = 0,
    negatives: Annotated[str, typer.Option(help="Forbidden rules: same-head, remove, paper or none.")] = "same-head",
    learning_rate: Annotated[float | None, typer.Option(help="The peak learning rate.")] = None,
    updates: Annotated[int | None, typer.Option(help="Stop after so many updates.")] = None,
    longest_rule: Annotated[int | None, typer.Option(help="Leave out candidates of more tokens.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a stopped run was.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Train anew where there is a model already.")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    threads: Annotated[int | None, typer.Option(help="CPU threads; default: the cores.")] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Stop after so many minutes in all, earlier sessions included, with what is learned."),
    ] = None,
    precision: Annotated[str, typer.Option(help="float32 or bf16.")] = "float32",
    compile_model: Annotated[bool, typer.Option("--compile", help="Compile the model first (pays on a GPU).")] = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train a model on a run's dataset: which rule is meant by which fact."""
    from ruleminer import terminal
    from ruleminer.learn.model_files import refuse_to_replace
    from ruleminer.learn.options import TrainOptions
    from ruleminer.learn.training import train_run

    if start is not None and size is not None:
        raise InputError("--size and --from cannot go together: a model that is gone on with keeps its size")
    options = TrainOptions(
        loss=loss, size=size or "small", seed=seed, negatives=negatives, device=device, threads=threads,
        time_limit=time_limit, precision=precision, compile=compile_model, start=str(start) if start else None,
    )  # fmt: skip
    given = {"learning_rate": learning_rate, "updates": updates, "longest_rule": longest_rule}
    options = replace(options, **{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
    if not resume and not force:
        refuse_to_replace(run)
    result = train_run(run, options, resume=resume, quiet=quiet or as_json)
    if as_json:
        _print_json(asdict(result))
        return
    terminal.results.print(
        f"{result.folder}: validation P_pos {result.p_pos:.3f}, P_neg {result.p_neg:.3f} after {result.updates} "
        f"updates in {result.seconds:.0f} s ({result.reason}; {result.parameters:,} parameters)",
        markup=False,
    )


@app.command(epilog="Example: ruleminer evaluate run --split test")
def evaluate(
    run: Annotated[Path, typer.Argument(help="A run folder with a model.")],
    split: Annotated[str, typer.Option(help="train, validation or test.")] = "test",
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    threads: Annotated[int | None, typer.Option(help="CPU threads; default: the cores.")] = None,
    constrained: Annotated[
        bool, typer.Option("--constrained", help="Decode only rules that are valid for the schema.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Measure a model as the paper does: P_pos, P_neg and the hits of its best rules, on facts it has not seen."""
    from ruleminer import terminal
    from ruleminer.learn.metrics import evaluate_run

    metrics = evaluate_run(run, split, device=device, threads=threads, constrained=constrained)
    if as_json:
        _print_json(metrics)
    else:
        terminal.results.print(terminal.metrics_table(metrics))


@app.command(epilog="Example: ruleminer validate --scenario rodi/cmt_renamed --mapping mapping.ttl --reasoning none")
def validate(
    scenario: Annotated[Path, typer.Option(help="A scenario folder with query pairs.")],
    mapping: Annotated[Path, typer.Option(help="An R2RML mapping, ours or another tool's.")],
    db: Annotated[
        str | None, typer.Option("--db", help="A live database; default: the scenario's own, in DuckDB.")
    ] = None,
    schema: SchemaOption = None,
    reasoning: Annotated[str, typer.Option(help="none, rdfs or structural.")] = "rdfs",
    timeout: TimeoutOption = 300.0,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run a mapping and score its triples as RODI does: every SPARQL query against the SQL query it stands for."""
    from ruleminer import terminal
    from ruleminer.propose.validation.validate import validate_mapping

    with terminal.progress_bars(quiet or as_json) as progress:
        result = validate_mapping(
            mapping, scenario, db=db, schema=schema, reasoning=reasoning, timeout=timeout, progress=progress
        )
    if as_json:
        _print_json(asdict(result))
        return
    for drawn in terminal.validation_tables(result):
        terminal.results.print(drawn)


@app.command(
    "propose-mappings",
    epilog="Examples: ruleminer propose-mappings run --db postgresql://reader@host/db --schema public  ·  "
    "ruleminer propose-mappings run --iri 'Person=http://example.org/person/{}' --scenario shop",
)
def propose_mappings(
    run: Annotated[Path, typer.Argument(help="A run folder: extracted, and trained if you like.")],
    db: Annotated[
        str | None, typer.Option("--db", help="The live database, read only; default: the one extracted from.")
    ] = None,
    schema: SchemaOption = None,
    ranker: Annotated[
        str | None, typer.Option(help="neural, evidence or coverage; the others are shown beside it.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="A run whose model to ask, learnt from other databases; default: RUN's own.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Where the files go; default: RUN/proposals.")] = None,
    iri: Annotated[
        list[str] | None, typer.Option("--iri", help="How entities of a class are named: 'Person=http://…/{}'.")
    ] = None,
    base: Annotated[str | None, typer.Option(help="What the IRIs of all other entities start with.")] = None,
    ontology: Annotated[Path | None, typer.Option(help="The ontology; default: the one extracted with.")] = None,
    scenario: Annotated[
        Path | None, typer.Option(help="Also validate the mapping against this scenario's query pairs.")
    ] = None,
    reasoning: Annotated[str, typer.Option(help="For --scenario: none, rdfs or structural.")] = "rdfs",
    guess: Annotated[
        bool, typer.Option("--guess", help="Also map terms without examples, by their names alone.")
    ] = False,
    include: TableOption = None,
    exclude: ExcludeOption = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    seed: Annotated[int, typer.Option(help="Which examples are held out to calibrate the confidence.")] = 0,
    timeout: TimeoutOption = 300.0,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Propose a mapping: ranked rules for each class and property, checked in the live database, with a report."""
    from ruleminer import terminal
    from ruleminer.propose.deliver import propose_mappings as deliver
    from ruleminer.propose.propose import ProposeRequest

    request = ProposeRequest(
        run=run, db=db, schema=schema, ranker=ranker, model=model, out=out, iris=tuple(iri or ()), base=base,
        ontology=ontology, scenario=scenario, reasoning=reasoning, guess=guess, include=tuple(include or ()),
        exclude=tuple(exclude or ()), device=device, seed=seed, timeout=timeout,
    )  # fmt: skip
    with terminal.progress_bars(quiet or as_json) as progress:
        delivery = deliver(request, progress)
    if as_json:
        told = delivery.proposals.to_json()
        validation = None if delivery.validation is None else asdict(delivery.validation)
        _print_json({**told, "files": [str(path) for path in delivery.files], "validation": validation})
        return
    for drawn in terminal.proposal_tables(delivery.proposals):
        terminal.results.print(drawn)
    if delivery.validation is not None:
        terminal.results.print(*terminal.validation_tables(delivery.validation))
    for line in terminal.delivery_lines(delivery):
        terminal.log.print(line, markup=False)


@app.command(epilog="Example: ruleminer demo --out demo")
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
    result = run_demo(out, seed=seed, force=force, say=terminal.step, bars=bars, quiet=quiet)
    for drawn in terminal.demo_tables(result):
        terminal.results.print(drawn)
    for line in terminal.demo_lines(result, out):
        terminal.results.print(line, markup=False)


@app.command(
    epilog="Try: ruleminer bench list  ·  ruleminer bench synthetic-small  ·  ruleminer bench report bench-results"
)
def bench(
    name: Annotated[str, typer.Argument(help="A bench; `list` to see them all, `report` to collect runs in a page.")],
    folder: Annotated[Path | None, typer.Argument(help="With report: the folder with the runs.")] = None,
    losses: Annotated[str | None, typer.Option(help="Only these losses, with commas between.")] = None,
    seeds: Annotated[int | None, typer.Option(help="How many seeds.")] = None,
    epochs: Annotated[int | None, typer.Option(help="How many passes over the data.")] = None,
    scale: Annotated[str, typer.Option(help="smoke, cpu or paper.")] = "cpu",
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "cpu",
    db: Annotated[
        str | None, typer.Option("--db", help="mapping: a server with the scenarios, each in its own schema.")
    ] = None,
    tune: Annotated[bool, typer.Option("--tune", help="real-world: also choose each loss's learning rate.")] = False,
    out: Annotated[Path, typer.Option("--out", help="Where results go; a run that was stopped goes on there.")] = Path(
        "bench-results"
    ),
    as_json: JsonOption = False,
) -> None:
    """Run an experiment, the paper's or our own, with published figures beside ours where there are some."""
    from ruleminer import terminal
    from ruleminer.bench.catalogue import bench_list
    from ruleminer.bench.frame import BenchOptions
    from ruleminer.bench.report import bench_report
    from ruleminer.bench.runner import run_bench

    if name == "list":
        benches = bench_list()
        if as_json:
            _print_json([asdict(info) for info in benches])
        else:
            terminal.results.print(terminal.bench_table(benches))
    elif name == "report":
        terminal.results.print(str(bench_report(folder or out)), markup=False)
    else:
        chosen = tuple(losses.split(",")) if losses else None
        run_bench(name, BenchOptions(chosen, seeds, epochs, scale, device, out, as_json, db=db, tune=tune))
