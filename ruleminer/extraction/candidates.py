"""Candidates: every template's statement run, its results turned into rules, the text of each body once.

Then the second arguments of properties that no rule derives all examples of are looked for in other forms
(`published.py`). Before that, examples that could be read in several ways (`entities.py`) are read in one.
Templates that refine others come last, and only for predicates with a positive fact of which every
rule found so far derives some negative as well. Everywhere else a narrower rule would say no more, and there are very
many of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa

from ruleminer.extraction.catalog import Catalog
from ruleminer.extraction.cells import undo
from ruleminer.extraction.compound_keys import KeyColumns
from ruleminer.extraction.instances import BodyTexts, Piece
from ruleminer.extraction.iri_spelling import spell_iris
from ruleminer.extraction.published import can_be_published, find_unsettled, form_values, spell_texts, stands_beside
from ruleminer.extraction.template_sql import FACTS, AtomRelation, Compiled, Plan, compile_template, predicates_meant
from ruleminer.progress import Progress, silent
from ruleminer.rules.dialects import DUCKDB, Dialect
from ruleminer.rules.printer import name_text
from ruleminer.rules.templates import Template

# A fact that a template has more instances for than this says little; so does one that leads to so many rows.
MOST_INSTANCES, MOST_ROWS = 1_000, 1_000
TOO_MANY_INSTANCES = f"more than {MOST_INSTANCES:,} instances"
TOO_MANY_ROWS = f"more than {MOST_ROWS:,} rows lead on from it in one way"
NO_ROOM = "does not fit into the memory allowed"
_BATCH = 50_000  # rules that pass through Python at once


@dataclass(frozen=True, slots=True)
class Cut:
    """What the limit on candidates took away."""

    facts: int
    candidates: int


def find_candidates(
    work: duckdb.DuckDBPyConnection,
    catalog: Catalog,
    templates: Sequence[Template],
    progress: Progress = silent,
    *,
    bounded: bool = True,
    published_by: Dialect | None = None,
    key_columns: KeyColumns | None = None,
    to_things: Collection[str] = (),
) -> None:
    """Fill `rule` and `candidate(fact, rule)`; templates done before are not run again.

    A rule is a predicate with a body: the same body is looked for, and made into text, once for all predicates.

    With `bounded`, a fact keeps the first of very many instances of a template, the same ones each time. With
    `published_by`, second arguments are looked for in other forms, too, as far as a source of this dialect makes them.
    `key_columns` tell where keys of several columns may stand of which examples tell the table. What properties lead
    `to_things` by are keys, and have other letters at most.
    """
    work.execute(
        """
        CREATE TABLE IF NOT EXISTS rule (
            rule INTEGER, template INTEGER, head VARCHAR, body INTEGER, text VARCHAR);
        CREATE TABLE IF NOT EXISTS body (body INTEGER, text VARCHAR)
        """
    )
    predicates = [name for (name,) in work.execute("SELECT DISTINCT predicate FROM fact").fetchall()]
    work.register("heads", pa.table({"head": predicates, "text": list(map(name_text, predicates))}))
    work.execute("CREATE OR REPLACE TABLE head AS SELECT * FROM heads")
    work.unregister("heads")
    work.execute("CREATE TABLE IF NOT EXISTS candidate (fact INTEGER, rule INTEGER)")
    work.execute("CREATE TABLE IF NOT EXISTS searched_part (template INTEGER, first INTEGER, stop INTEGER)")
    work.execute("CREATE TABLE IF NOT EXISTS contradicted (predicate VARCHAR)")
    work.execute("CREATE TABLE IF NOT EXISTS formed_rule (rule INTEGER, changed BOOLEAN)")
    work.execute("CREATE TABLE IF NOT EXISTS cut_search (template INTEGER, fact INTEGER, why VARCHAR)")
    with _joins_as_written(work):
        numbers = dict(work.execute("SELECT text, body FROM body").fetchall())
        facts = _one(work, "SELECT count(*) FROM fact")
        search = _Search(work, catalog, numbers, bounded, published_by or DUCKDB, facts, key_columns or {}, to_things)
        _search_templates(search, templates, progress, published_by is not None)
    progress("candidates", "", len(templates), len(templates))


@contextmanager
def _joins_as_written(work: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Statements join in the order in which they are written.

    Some values stand in one row, some in 100,000: an order that is chosen by averages may take thirty times as long.
    """
    work.execute("SET disabled_optimizers = 'join_order'")
    try:
        yield
    finally:
        work.execute("SET disabled_optimizers = ''")


@dataclass(frozen=True, slots=True)
class _Search:
    """What all searches of a run share.

    `numbers` are those of the bodies found so far, by their texts; `held` is the part of the facts that is at hand.
    """

    work: duckdb.DuckDBPyConnection
    catalog: Catalog
    numbers: dict[str, int]
    bounded: bool
    dialect: Dialect
    facts: int
    key_columns: KeyColumns
    to_things: Collection[str]
    held: list[tuple[int, int]] = field(default_factory=list)

    def done(self) -> set[int]:
        """The templates that were searched for all facts."""
        ended = f"SELECT template FROM searched_part WHERE stop = {self.facts}"
        return {number for (number,) in self.work.execute(ended).fetchall()}

    def hold(self, first: int, end: int) -> None:
        """Have some facts at hand, one of those that are alike."""
        if self.held != [(first, end)]:
            self.held.clear()
            self.work.execute(
                f"""
                CREATE OR REPLACE TEMP TABLE {FACTS} AS
                SELECT f.*, coalesce(lead, 1) AS lead, coalesce(rows1, 0) AS rows1, coalesce(rows2, 0) AS rows2
                FROM fact f LEFT JOIN lead USING (fact) WHERE fact = alike AND fact >= {first} AND fact < {end}
                """
            )
            self.held.append((first, end))


def _search_templates(search: _Search, templates: Sequence[Template], progress: Progress, published: bool) -> None:
    work = search.work
    compiled = [compile_template(template, search.catalog) for template in templates]
    done = search.done()
    if not done >= set(range(len(templates))) and any(atom.spreads for template in templates for atom in template.body):
        spell_iris(work, search.key_columns)
    plain = [index for index, template in enumerate(templates) if not template.refines]
    for place, index in enumerate([*plain, *(i for i in range(len(templates)) if i not in plain)]):
        template = templates[index]
        progress("candidates", template.name, place, len(templates))
        if place == len(plain):
            _choose_readings(work)
            if published:
                _search_published(search, templates, done)
            _find_contradicted(work, plain)
        if index in done or (template.refines and not _one(work, "SELECT count(*) FROM contradicted")):
            continue
        _search_all(search, compiled[index], index, index)
    if len(plain) == len(templates):
        _choose_readings(work)
        if published:
            _search_published(search, templates, done)


def _search_published(search: _Search, templates: Sequence[Template], done: Collection[int]) -> None:
    """Search for second arguments in other forms, by the templates that allow for it, where examples ask for it.

    That a template was searched so is remembered by its number beyond those of all templates.
    """
    fitting = [index for index, template in enumerate(templates) if can_be_published(template)]
    waiting = [index for index in fitting if len(templates) + index not in done]
    work = search.work
    find_unsettled(work, templates)
    if waiting and _one(work, "SELECT count(*) FROM unsettled"):
        beside = all(stands_beside(templates[index]) for index in waiting)
        form_values(work, search.dialect, search.to_things, beside)
        if any(atom.spreads for index in waiting for atom in templates[index].body):
            spell_texts(work)
        for index in waiting:
            compiled = compile_template(templates[index], search.catalog, published=True)
            _search_all(search, compiled, index, len(templates) + index)
    _drop_unchanged(work)


def _search_all(search: _Search, compiled: Compiled, index: int, mark: int) -> None:
    """Search for all facts at once; where memory is short, for half of them, and half again.

    A fact that is too much even alone is left without rules of this template, and told. What was done is remembered
    by the `mark`.
    """
    work = search.work
    known = work.execute("SELECT stop FROM searched_part WHERE template = ?", [mark]).fetchall()
    waiting = [(max((stop for (stop,) in known), default=0), search.facts)]
    while waiting:
        first, end = waiting.pop(0)
        if first == end:
            continue
        search.hold(first, end)
        work.begin()
        try:
            fresh = _search(search, compiled, index)
            work.execute("INSERT INTO searched_part VALUES (?, ?, ?)", [mark, first, end])
            work.commit()
            search.numbers.update(fresh)
        except duckdb.OutOfMemoryException:
            undo(work)
            middle = (first + end) // 2
            if middle > first:
                waiting[:0] = [(first, middle), (middle, end)]
            else:
                _note_cut(work, compiled, index, f"SELECT {first} AS fact", NO_ROOM)
                work.execute("INSERT INTO searched_part VALUES (?, ?, ?)", [mark, first, end])
        except BaseException:
            undo(work)
            raise


def _choose_readings(work: duckdb.DuckDBPyConnection) -> None:
    """Of the readings of an example leave the one whose best rule derives most of the other examples.

    If several do, the likeliest tables come first, and of their rows the one whose best rule is the shortest. The
    others are no facts any more, neither positive nor negative.
    """
    if not _one(work, "SELECT count(*) FROM fact WHERE said IS NOT NULL AND turn > 0 AND positive"):
        return
    work.execute(
        """
        CREATE OR REPLACE TEMP TABLE misread AS
        WITH derived AS (
            SELECT c.fact, c.rule, -length(r.text) AS shortness, coalesce(f.said, -1 - f.fact) AS example
            FROM candidate c JOIN fact f USING (fact) JOIN rule r USING (rule)
            WHERE f.positive AND f.predicate IN (SELECT predicate FROM fact WHERE said IS NOT NULL)),
        heard AS (SELECT rule, count(DISTINCT example) AS examples FROM derived GROUP BY rule),
        best AS (SELECT fact, max({'examples': examples, 'shortness': shortness}) AS best
                 FROM derived JOIN heard USING (rule) GROUP BY fact)
        SELECT fact FROM fact LEFT JOIN best USING (fact) WHERE said IS NOT NULL AND positive
        QUALIFY row_number() OVER (PARTITION BY said ORDER BY best.examples DESC NULLS LAST, tables,
                                         best.shortness DESC NULLS LAST, turn) > 1;
        """
    )
    work.begin()
    work.execute("DELETE FROM candidate WHERE fact IN (SELECT fact FROM misread)")
    work.execute("UPDATE fact SET positive = NULL WHERE fact IN (SELECT fact FROM misread)")
    work.commit()


def chosen_readings(work: duckdb.DuckDBPyConnection) -> dict[int, int]:
    """Which reading was taken, by example."""
    chosen = "SELECT said, turn FROM fact WHERE said IS NOT NULL AND positive IS NOT NULL"
    return dict(work.execute(chosen).fetchall())


def _find_contradicted(work: duckdb.DuckDBPyConnection, plain: Sequence[int]) -> None:
    """Fill `contradicted(predicate)` by what the plain templates found."""
    work.execute(
        f"""
        CREATE OR REPLACE TABLE contradicted AS
        WITH found AS (
            SELECT fact, predicate, positive, rule FROM candidate JOIN fact USING (fact) JOIN rule USING (rule)
            WHERE template IN ({", ".join(map(str, plain))})),
        wide AS (SELECT DISTINCT rule, true AS wide FROM found WHERE NOT positive)
        SELECT DISTINCT predicate FROM (
            SELECT fact, predicate FROM found LEFT JOIN wide USING (rule) WHERE positive
            GROUP BY fact, predicate HAVING bool_and(coalesce(wide, false)))
        """
    )


def refined_predicates(work: duckdb.DuckDBPyConnection, templates: Sequence[Template]) -> dict[str, list[str]]:
    """The predicates whose rules were too wide: `refined` by narrower ones, or `too_wide` still, for there are none."""
    refining = ", ".join(str(index) for index, template in enumerate(templates) if template.refines) or "NULL"
    rows = work.execute(
        f"""
        SELECT predicate, predicate IN (
            SELECT predicate FROM candidate JOIN fact USING (fact) JOIN rule USING (rule)
            WHERE template IN ({refining}))
        FROM contradicted ORDER BY 1
        """
    ).fetchall()
    return {
        "refined": [name for name, narrower in rows if narrower],
        "too_wide": [name for name, narrower in rows if not narrower],
    }


def _search(search: _Search, compiled: Compiled, index: int) -> dict[str, int]:
    """Find and write down the rules of some facts; the bodies that are new, with their numbers, are returned."""
    work = search.work
    outputs = tuple(output.name for output in compiled.outputs)
    rows = 0
    for plan in compiled.plans:
        rows = _find(search, compiled, plan, index, rows)
        for atom in plan.atoms:
            work.execute(f"DROP TABLE IF EXISTS {atom.name}; DROP TABLE IF EXISTS {atom.reached_name}")
    if not rows:
        return {}
    if search.bounded and rows > MOST_INSTANCES:
        named = [f"catalog_naming({name})" for name in compiled.argument_columns]  # what names things comes first
        order = (*named, *outputs, *(["changed"] if compiled.published else []))
        values = tuple(output.name for output in compiled.outputs if output.what == "value")
        _cut(work, compiled, index, _Limit("found", ("fact",), order, MOST_INSTANCES, TOO_MANY_INSTANCES, values))
    fresh = _name_bodies(search, compiled)
    meant = "".join(f" AND {condition}" for condition in predicates_meant(compiled.template, compiled.published))
    changed = "bool_or(d.changed AND f.positive)" if compiled.published else "true"
    work.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE derived AS
        SELECT f.fact, f.predicate AS head, n.body, {changed} AS changed
        FROM found d JOIN body_named n USING ({", ".join(outputs)}) JOIN fact f ON f.alike = d.fact
        WHERE n.body IS NOT NULL AND f.positive IS NOT NULL{meant} GROUP BY f.fact, f.predicate, n.body;
        DROP TABLE found;
        DROP TABLE body_named;
        INSERT INTO rule
        SELECT (SELECT count(*) FROM rule) + row_number() OVER (ORDER BY head, body) - 1, {index}, head, body,
               h.text || b.text
        FROM (SELECT DISTINCT head, body FROM derived) ANTI JOIN rule USING (head, body)
        JOIN head h USING (head) JOIN body b USING (body);
        INSERT INTO candidate
        SELECT fact, rule FROM derived JOIN rule USING (head, body) ANTI JOIN candidate USING (fact, rule);
        """
    )
    if compiled.published:
        work.execute(
            """INSERT INTO formed_rule
               SELECT rule, bool_or(changed) FROM derived JOIN rule USING (head, body) GROUP BY rule"""
        )
    work.execute("DROP TABLE derived")
    return fresh


def _find(search: _Search, compiled: Compiled, plan: Plan, index: int, before: int) -> int:
    """Add to `found`, which has so many rows by now, what a plan finds; how many it has then."""
    work = search.work
    sizes: dict[str, int] = {}
    for atom in plan.atoms:
        if atom.reached is not None and not _made(work, atom.reached_name, atom.reached):
            return before
        sizes[atom.name] = _made(work, atom.name, atom.sql)
        if not sizes[atom.name]:
            return before
    for atom in plan.atoms:
        if search.bounded and atom.of_facts and atom.order and sizes[atom.name] > MOST_ROWS:
            values = tuple(name for name in atom.order if name.startswith("val"))
            limit = _Limit(atom.name, atom.columns, atom.order, MOST_ROWS, TOO_MANY_ROWS, values)
            if _is_crowded(work, limit):
                _leave_what_meets(work, atom)
                _cut(work, compiled, index, limit)
    if not before:
        return _made(work, "found", plan.sql)
    return before + _one(work, f"INSERT INTO found {plan.sql}")


def _made(work: duckdb.DuckDBPyConnection, name: str, sql: str) -> int:
    """Make a relation; how many rows it has."""
    return _one(work, f"CREATE OR REPLACE TEMP TABLE {name} AS {sql}")


def _drop_unchanged(work: duckdb.DuckDBPyConnection) -> None:
    """Leave out the rules whose form makes a difference for no positive fact, whichever part of the facts it is in."""
    plain = "SELECT rule FROM formed_rule GROUP BY 1 HAVING NOT bool_or(changed)"
    work.execute(f"DELETE FROM candidate WHERE rule IN ({plain})")


def _name_bodies(search: _Search, compiled: Compiled) -> dict[str, int]:
    """Fill `body_named(outputs…, body)` for what was found, and `body(body, text)` with what is new; returns the new.

    A body is built once, however many facts and predicates have a rule with it.
    """
    work, numbers = search.work, search.numbers
    whats = [(output.name, output.what) for output in compiled.outputs]
    terms = _parts_of_terms(work, [name for name, what in whats if what == "term"])
    selected = [f"k_{name}.key" if what == "value" else name for name, what in whats]
    joins = "".join(f" JOIN value k_{name} ON k_{name}.val = {name}" for name, what in whats if what == "value")
    outputs = ", ".join(name for name, _ in whats)
    query = f"SELECT {outputs}, {', '.join(selected)} FROM (SELECT DISTINCT {outputs} FROM found){joins}"
    texts = BodyTexts(compiled, search.catalog, search.dialect)
    fresh: dict[str, int] = {}
    work.execute(f"CREATE OR REPLACE TEMP TABLE body_named AS SELECT {outputs}, 0 AS body FROM found LIMIT 0")
    instances = work.sql(query).to_arrow_table()
    places = range(len(whats), 2 * len(whats))
    for batch in instances.to_batches(max_chunksize=_BATCH):
        told = [batch.column(place).to_pylist() for place in places]
        told = [
            [terms[cell] for cell in cells] if what == "term" else cells
            for (_, what), cells in zip(whats, told, strict=True)
        ]
        bodies: list[int | None] = []
        for cells in zip(*told, strict=True):
            text = texts.text(cells)
            if text is None:
                bodies.append(None)
                continue
            number = numbers.get(text, fresh.get(text))
            if number is None:
                number = fresh[text] = len(numbers) + len(fresh)
            bodies.append(number)
        named = batch.select(range(len(whats))).append_column("body", pa.array(bodies, pa.int32()))
        work.register("named_now", pa.Table.from_batches([named]))
        work.execute("INSERT INTO body_named SELECT * FROM named_now")
        work.unregister("named_now")
    work.register(
        "fresh", pa.table({"body": pa.array(fresh.values(), pa.int32()), "text": pa.array(fresh, pa.string())})
    )
    work.execute("INSERT INTO body SELECT body, text FROM fresh")
    work.unregister("fresh")
    return fresh


def _parts_of_terms(work: duckdb.DuckDBPyConnection, names: Sequence[str]) -> dict[int, tuple[Piece, ...]]:
    """How the IRIs in `found` are put together, by their numbers."""
    if not names:
        return {}
    used = " UNION ".join(f"SELECT {name} FROM found" for name in names)
    rows = work.execute(f"SELECT term, parts FROM term WHERE term IN ({used})").fetchall()
    return {term: tuple((part["text"], part["col"], part["how"]) for part in parts) for term, parts in rows}


@dataclass(frozen=True, slots=True)
class _Limit:
    """At most so many rows of a relation with the same columns, in order."""

    relation: str
    columns: tuple[str, ...]
    order: tuple[str, ...]
    most: int
    why: str
    values: tuple[str, ...]
    """Those of the order that are values; they go by their texts."""

    @property
    def crowded(self) -> str:
        """The statement for what has more rows than that."""
        return f"SELECT {', '.join(self.columns)} FROM {self.relation} GROUP BY ALL HAVING count(*) > {self.most}"


def _is_crowded(work: duckdb.DuckDBPyConnection, limit: _Limit) -> bool:
    return _one(work, f"SELECT count(*) FROM ({limit.crowded})") > 0


def _leave_what_meets(work: duckdb.DuckDBPyConnection, atom: AtomRelation) -> None:
    """Of very many rows that lead on from a fact, most lead nowhere: leave those that the other atoms meet."""
    for other, condition in atom.meets:
        work.execute(
            f"CREATE OR REPLACE TEMP TABLE {atom.name} AS SELECT * FROM {atom.name} SEMI JOIN {other} ON {condition}"
        )


def _cut(work: duckdb.DuckDBPyConnection, compiled: Compiled, index: int, limit: _Limit) -> None:
    """Leave no more rows of a relation than the limit allows, and note the facts that lose some."""
    alike, relation = ", ".join(limit.columns), limit.relation
    if _is_crowded(work, limit):
        _note_cut(work, compiled, index, limit.crowded, limit.why)
        # Values go by hashes, which say nothing of their order.
        texts = {name: (f"of_{name}.family", f"of_{name}.key") for name in limit.values}
        order = ", ".join(part for name in limit.order for part in texts.get(name, (name,)))
        joins = " ".join(f"LEFT JOIN value of_{name} ON of_{name}.val = {relation}.{name}" for name in limit.values)
        work.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE {relation} AS SELECT {relation}.* FROM {relation} {joins}
            QUALIFY row_number() OVER (PARTITION BY {alike} ORDER BY {order}) <= {limit.most}
            """
        )


def _note_cut(work: duckdb.DuckDBPyConnection, compiled: Compiled, index: int, crowded: str, why: str) -> None:
    """Note that facts were cut short, and all that have the same arguments, if the template means their predicate."""
    meant = " AND ".join(predicates_meant(compiled.template, compiled.published)) or "true"
    work.execute(
        f"""INSERT INTO cut_search SELECT DISTINCT {index}, f.fact, '{why}'
            FROM ({crowded}) c JOIN fact f ON f.alike = c.fact WHERE {meant}"""
    )


def cut_searches(work: duckdb.DuckDBPyConnection, templates: Sequence[Template]) -> list[dict[str, object]]:
    """What the limits of the search took away: by template and reason, of how many facts, and one of them."""
    rows = work.execute(
        """
        SELECT template, why, count(DISTINCT fact),
               arg_min(predicate || '(' || concat_ws(', ', arg1, arg2) || ')', fact)
        FROM cut_search JOIN fact USING (fact) GROUP BY ALL ORDER BY ALL
        """
    ).fetchall()
    return [
        {"template": templates[number].name, "why": why, "facts": facts, "example": example}
        for number, why, facts, example in rows
    ]


def cut_candidates(work: duckdb.DuckDBPyConnection, most: int | None) -> Cut:
    """Fill `kept(fact, rule)`: at most so many candidates per fact, in order of template, length and text."""
    if most is None:
        work.execute("CREATE OR REPLACE VIEW kept AS SELECT fact, rule FROM candidate")
        return Cut(0, 0)
    before = _one(work, "SELECT count(*) FROM candidate")
    facts = _one(work, f"SELECT count(*) FROM (SELECT fact FROM candidate GROUP BY 1 HAVING count(*) > {int(most)})")
    work.execute(
        """
        CREATE OR REPLACE TABLE kept AS
        SELECT fact, rule FROM candidate JOIN rule USING (rule)
        QUALIFY row_number() OVER (PARTITION BY fact ORDER BY template, length(text), text) <= ?
        """,
        [most],
    )
    return Cut(facts, before - _one(work, "SELECT count(*) FROM kept"))


def _one(work: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = work.execute(sql).fetchone()
    assert row is not None
    return int(row[0])
