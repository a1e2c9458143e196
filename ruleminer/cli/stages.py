"""The stages: inspect, extract, train, evaluate and propose-mappings."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ruleminer.cli.app import (
    DeviceOption,
    ExcludeOption,
    JsonOption,
    LinksOption,
    QuietOption,
    RoleOption,
    SchemaOption,
    TableOption,
    ThreadsOption,
    TimeoutOption,
    TrustOption,
    app,
    print_json,
)
from ruleminer.errors import InputError
from ruleminer.progress import unsaid

if TYPE_CHECKING:
    from ruleminer.proposals.stage import Delivery

IriOption = Annotated[
    list[str] | None, typer.Option("--iri", help="How entities of a class are named: 'Person=http://…/{}'.")
]
BaseOption = Annotated[
    str | None,
    typer.Option(help="What the IRIs of all other entities start with.", show_default="http://example.org/data/"),
]
DatatypesOption = Annotated[
    str | None,
    typer.Option(
        help="Whose datatypes values get: ontology or database.", show_default="ontology; days where the examples are"
    ),
]
CheckedOption = Annotated[
    Path | None, typer.Option(help="Also validate the mapping against this scenario's query pairs.")
]
ReasoningOption = Annotated[str, typer.Option(help="For --scenario: none, rdfs or structural.")]
MinConfidenceOption = Annotated[
    float, typer.Option(help="How sure a term without examples must be to be in the mapping, from 0 to 1.")
]

datasets = typer.Typer(no_args_is_help=True, help="Look at extracted datasets.")


@app.command(
    epilog="Examples: ruleminer inspect postgresql://reader@localhost/shop --schema public --ontology shop.ttl  ·  "
    "ruleminer inspect shop.sqlite --links links.txt --picture shop.svg"
)
def inspect(
    url: Annotated[
        str | None,
        typer.Argument(
            help="A database: a file, duckdb:///…, sqlite:///…, postgresql://…, mysql://…, parquet:DIR, csv:DIR."
        ),
    ] = None,
    schema: SchemaOption = None,
    role: RoleOption = None,
    ontology: Annotated[Path | None, typer.Option(help="An ontology to show beside it (Turtle or RDF/XML).")] = None,
    include: TableOption = None,
    exclude: ExcludeOption = None,
    links: LinksOption = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw tables and links into this file, *.svg or *.png.", show_default="none")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="List all terms of a large ontology, not what it is about.")
    ] = False,
    timeout: TimeoutOption = 300.0,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show what a database holds: tables, keys, links (declared or discovered, and why), codes; and an ontology."""
    from ruleminer import terminal
    from ruleminer.problem.ontology import read_ontology
    from ruleminer.sources.database import open_database, with_role
    from ruleminer.structure.link_file import read_links
    from ruleminer.structure.overview import overview, unprofiled
    from ruleminer.structure.picture import check_picture, write_picture
    from ruleminer.structure.structure import learn_structure

    if url is None and ontology is None:
        raise InputError("nothing to inspect: give a database, --ontology FILE, or both")
    if url is None and (links or picture):
        raise InputError("--links and --picture go with a database")
    if picture is not None:
        check_picture(picture)
    terms = read_ontology(ontology) if ontology else None
    drawn = terminal.ontology_tables(terms, everything) if terms else []
    if terms and terminal.is_large(terms) and not everything:
        drawn.append("--all lists all of its terms")
    told = {"ontology": asdict(terms)} if terms else {}
    for iri in terms.missing_imports if terms else ():
        terminal.log.print(f"it imports {iri}, of which no file lies beside it: its terms are not known", markup=False)
    if url is None:
        print_json(told) if as_json else terminal.results.print(*drawn)
        return
    with open_database(
        with_role(url, role) or url, schema=schema, include=include or (), exclude=exclude or (), timeout=timeout
    ) as database:
        shape, source = database.schema, database.safe_url
        wishes = read_links(links, shape) if links else None
        with terminal.progress_bars(quiet or as_json) as progress:
            structure = learn_structure(database, wishes, progress=progress)
    if picture is not None:
        write_picture(structure, picture)
    if as_json:
        print_json({"database": {"url": source, **shape.to_json()}, "structure": overview(structure), **told})
        return
    for part in (*terminal.structure_tables(structure, source), *drawn):
        terminal.results.print(part)
    for name, reason in shape.unreadable:
        terminal.log.print(f"cannot read {name}: {reason}", markup=False)
    for name, reason in unprofiled(structure):
        terminal.log.print(f"known by its rows alone: {name}, for {reason}", markup=False)
    if picture is not None:
        terminal.log.print(f"Look at {picture}", markup=False)


@app.command(
    epilog="Examples: ruleminer extract --scenario shop --out run  ·  ruleminer extract --recipe cmt --out runs  ·  "
    "ruleminer extract --db postgresql://reader@host/db --ontology shop.ttl --examples facts.csv --out run"
)
def extract(
    out: Annotated[Path, typer.Option("--out", help="The run folder to write.")],
    scenario: Annotated[Path | None, typer.Option(help="A scenario folder; with --db, its live database.")] = None,
    db: Annotated[str | None, typer.Option("--db", help="A live database, read only.")] = None,
    schema: SchemaOption = None,
    role: RoleOption = None,
    ontology: Annotated[Path | None, typer.Option(help="The ontology to publish to.")] = None,
    examples: Annotated[
        list[Path] | None,
        typer.Option(help="Facts: CSV, Parquet, RDF, .qpair files or folders of them. May be repeated."),
    ] = None,
    recipe: Annotated[str | None, typer.Option(help="A dataset of the paper: cmt, npd or npd-20.")] = None,
    positives: Annotated[
        int | None, typer.Option(help="At most so many positives per predicate; 0 takes all.", show_default="100")
    ] = None,
    negatives: Annotated[str | None, typer.Option(help="uniform, realistic or none.", show_default="uniform")] = None,
    templates: Annotated[
        Path | None, typer.Option(help="A folder or file of templates.", show_default="all of ours")
    ] = None,
    links: LinksOption = None,
    max_candidates: Annotated[
        int | None, typer.Option(help="At most so many rules per fact; 0 keeps all.", show_default="1000")
    ] = None,
    include: TableOption = None,
    exclude: ExcludeOption = None,
    seed: Annotated[int, typer.Option(help="The same seed draws the same facts.")] = 0,
    timeout: TimeoutOption = 600.0,
    memory: Annotated[str, typer.Option(help="Memory for the search; what does not fit goes to disk.")] = "2GB",
    force: Annotated[bool, typer.Option("--force", help="Replace a dataset that is there.")] = False,
    trust: TrustOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find, for each known fact, every mapping rule that derives it; the result is a dataset to learn from."""
    from ruleminer import terminal
    from ruleminer.extraction.request import ExtractRequest, extract_datasets
    from ruleminer.extraction.summary import summarise
    from ruleminer.sources.database import with_role

    request = ExtractRequest(
        out=out, scenario=scenario, db=with_role(db, role), schema=schema, ontology=ontology,
        examples=tuple(examples or ()),
        recipe=recipe, positives=positives, negatives=negatives, templates=templates, links=links,
        max_candidates=max_candidates, include=tuple(include or ()), exclude=tuple(exclude or ()), seed=seed,
        timeout=timeout, memory=memory, force=force, trust=trust,
    )  # fmt: skip
    with terminal.progress_bars(quiet or as_json) as progress:
        folders = extract_datasets(request, progress, terminal.tell_examples)
    summaries = [summarise(folder) for folder in folders]
    if as_json:
        print_json([asdict(summary) for summary in summaries])
        return
    for folder, summary in zip(folders, summaries, strict=True):
        terminal.results.print(terminal.dataset_line(folder, summary), markup=False)
        for line in terminal.dataset_notes(summary):
            terminal.log.print(line, markup=False)
    terminal.log.print(f"See it with: ruleminer dataset show {folders[0].parent}", markup=False)


@datasets.command("show", epilog="Example: ruleminer dataset show run")
def dataset_show(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    as_json: JsonOption = False,
    rules: Annotated[int, typer.Option(help="How many of the most shared rules per predicate (JSON).")] = 3,
) -> None:
    """Show what is in a dataset: facts and candidates per predicate, the rules that explain most, and the gaps."""
    from ruleminer import terminal
    from ruleminer.extraction.summary import summarise

    summary = summarise(run, rules)
    if as_json:
        print_json(asdict(summary))
        return
    for drawn in terminal.dataset_tables(summary):
        terminal.results.print(drawn)


@app.command(epilog="Example: ruleminer train run --loss libra --seed 0")
def train(
    run: Annotated[Path, typer.Argument(help="A run folder with a dataset.")],
    loss: Annotated[str, typer.Option(help="libra, nll, uniform, rc or merit (merit:0.5 sets β).")] = "libra",
    size: Annotated[
        str | None, typer.Option(help="The model: tiny, small, paper-cmt or paper-npd.", show_default="small")
    ] = None,
    start: Annotated[
        Path | None, typer.Option("--from", help="Go on from another run's model, not from scratch.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same model on the same machine.")] = 0,
    negatives: Annotated[str, typer.Option(help="Forbidden rules: same-head, remove, paper or none.")] = "same-head",
    learning_rate: Annotated[float | None, typer.Option(help="The peak learning rate.", show_default="0.003")] = None,
    updates: Annotated[
        int | None,
        typer.Option(
            help="Stop after exactly so many updates, or earlier if nothing is gained.",
            show_default="at least 600, in at least 6 passes over the data",
        ),
    ] = None,
    longest_rule: Annotated[
        int | None, typer.Option(help="Leave out candidates of more tokens.", show_default="64")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a stopped run was.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Train anew where there is a model already.")] = False,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Stop after so many minutes in all, earlier sessions included, with what is learned.",
            show_default="none",
        ),
    ] = None,
    precision: Annotated[str, typer.Option(help="float32 or bf16.")] = "float32",
    compile_model: Annotated[bool, typer.Option("--compile", help="Compile the model first (pays on a GPU).")] = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train a model on a run's dataset: which rule is meant by which fact."""
    from ruleminer import terminal
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
    silence = quiet or as_json
    with terminal.progress_bars(silence) as progress:
        result = train_run(
            run, options, resume=resume, force=force, progress=progress, say=unsaid if silence else terminal.say
        )
    if os.environ.get("RANK", "0") != "0":  # torchrun has started several, and the first one talks
        return
    if as_json:
        print_json(asdict(result))
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
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
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
        print_json(metrics)
    else:
        terminal.results.print(terminal.metrics_table(metrics))


@app.command(
    "propose-mappings",
    epilog="Examples: ruleminer propose-mappings run --db postgresql://reader@host/db --schema public  ·  "
    "ruleminer propose-mappings run --iri 'Person=http://example.org/person/{}' --scenario shop",
)
def propose_mappings(
    run: Annotated[Path, typer.Argument(help="A run folder: extracted, and trained if you like.")],
    db: Annotated[
        str | None,
        typer.Option("--db", help="The live database, read only.", show_default="the one extracted from"),
    ] = None,
    schema: SchemaOption = None,
    role: RoleOption = None,
    ranker: Annotated[
        str | None,
        typer.Option(help="joint, evidence, neural or coverage; the others are shown beside it.", show_default="joint"),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="A run whose model to ask, learnt from other databases.", show_default="RUN's own"),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Where the files go.", show_default="RUN/proposals")] = None,
    iri: IriOption = None,
    base: BaseOption = None,
    datatypes: DatatypesOption = None,
    ontology: Annotated[Path | None, typer.Option(help="The ontology.", show_default="the one extracted with")] = None,
    start: Annotated[
        Path | None,
        typer.Option("--start", help="Pin the rules of a mapping that is there: mapping.rules or R2RML."),
    ] = None,
    scenario: CheckedOption = None,
    reasoning: ReasoningOption = "rdfs",
    noise: Annotated[
        bool, typer.Option("--noise", help="Some examples may be wrong: a rule need not derive all of them.")
    ] = False,
    min_confidence: MinConfidenceOption = 0.25,
    include: TableOption = None,
    exclude: ExcludeOption = None,
    device: DeviceOption = "auto",
    seed: Annotated[int, typer.Option(help="Which examples are held out to calibrate the confidence.")] = 0,
    timeout: TimeoutOption = 300.0,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Propose a mapping: ranked rules for each class and property, checked in the live database, with a report."""
    from ruleminer import terminal
    from ruleminer.proposals.request import ProposeRequest
    from ruleminer.proposals.stage import propose_mappings as deliver
    from ruleminer.review.review import pin_start
    from ruleminer.run import Run
    from ruleminer.sources.database import with_role

    request = ProposeRequest(
        run=run, db=with_role(db, role), schema=schema, ranker=ranker, model=model, out=out,
        iris=tuple(iri or ()), base=base, datatypes=datatypes,
        ontology=ontology, scenario=scenario, reasoning=reasoning, min_confidence=min_confidence, noise=noise,
        include=tuple(include or ()), exclude=tuple(exclude or ()), device=device, seed=seed, timeout=timeout,
    )  # fmt: skip
    if start is not None:
        with Run.of(run).held("propose-mappings"):
            pin_start(request, start, terminal.say)
    with terminal.progress_bars(quiet or as_json) as progress:
        delivery = deliver(request, progress)
    _tell_delivery(delivery, as_json)


@app.command(
    epilog="Example: ruleminer draft --db postgresql://reader@host/db --schema public --ontology shop.ttl --out run"
)
def draft(
    db: Annotated[str, typer.Option("--db", help="The database, read only.")],
    ontology: Annotated[Path, typer.Option(help="The ontology to publish to.")],
    out: Annotated[Path, typer.Option("--out", help="The run folder to write; the mapping is in RUN/proposals.")],
    schema: SchemaOption = None,
    role: RoleOption = None,
    min_confidence: MinConfidenceOption = 0.25,
    links: LinksOption = None,
    iri: IriOption = None,
    base: BaseOption = None,
    datatypes: DatatypesOption = None,
    scenario: CheckedOption = None,
    reasoning: ReasoningOption = "rdfs",
    include: TableOption = None,
    exclude: ExcludeOption = None,
    timeout: TimeoutOption = 300.0,
    force: Annotated[bool, typer.Option("--force", help="Replace a dataset that is there.")] = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Draft a mapping from a database and an ontology alone: no example is needed, and each choice has its reasons."""
    from ruleminer import terminal
    from ruleminer.proposals.draft import DraftRequest, draft_mapping
    from ruleminer.sources.database import with_role

    request = DraftRequest(
        db=with_role(db, role) or db, ontology=ontology, out=out, schema=schema, min_confidence=min_confidence,
        links=links, include=tuple(include or ()), exclude=tuple(exclude or ()), iris=tuple(iri or ()), base=base,
        datatypes=datatypes,
        scenario=scenario, reasoning=reasoning, timeout=timeout, force=force,
    )  # fmt: skip
    with terminal.progress_bars(quiet or as_json) as progress:
        delivery = draft_mapping(request, progress)
    _tell_delivery(delivery, as_json)


def _tell_delivery(delivery: Delivery, as_json: bool) -> None:
    from ruleminer import terminal

    if as_json:
        told = delivery.proposals.to_json()
        validation = None if delivery.validation is None else asdict(delivery.validation)
        print_json({**told, "files": [str(path) for path in delivery.files], "validation": validation})
        return
    for drawn in terminal.proposal_tables(delivery.proposals):
        terminal.results.print(drawn)
    if delivery.validation is not None:
        for told_of in terminal.validation_tables(delivery.validation):
            terminal.results.print(told_of)
    for line in terminal.delivery_lines(delivery):
        terminal.log.print(line, markup=False)
