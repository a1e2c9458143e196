"""Candidates: every template's statement run, its results turned into rules, each rule's text once.

Templates that refine others come last, and only for predicates with a positive fact of which every rule found so far
derives some negative as well. Everywhere else a narrower rule would say no more, and there are very many of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation

import duckdb
import pyarrow as pa

from ruleminer.extract.catalog import Catalog
from ruleminer.extract.cells import Source
from ruleminer.extract.codes import code_columns
from ruleminer.extract.compile import Compiled, compile_template
from ruleminer.extract.spelling import spell_iris
from ruleminer.rules.canonical import canonical
from ruleminer.rules.parser import joined
from ruleminer.rules.printer import rule_text
from ruleminer.rules.templates import Restriction, Spread, Template
from ruleminer.rules.values import Atom, Concat, Constant, Kind, Rule, Scalar, Term, Variable


@dataclass(frozen=True, slots=True)
class Cut:
    """What `--max-candidates` took away."""

    facts: int
    candidates: int


def find_candidates(
    work: duckdb.DuckDBPyConnection,
    source: Source,
    catalog: Catalog,
    templates: Sequence[Template],
    progress: Callable[[str, int, int], None] = lambda template, done, total: None,
) -> None:
    """Fill `rule(rule, template, text)` and `candidate(fact, rule)`; templates done before are not run again."""
    compiled = [compile_template(template, catalog) for template in templates]
    work.execute("CREATE TABLE IF NOT EXISTS rule (rule INTEGER, template INTEGER, text VARCHAR)")
    work.execute("CREATE TABLE IF NOT EXISTS candidate (fact INTEGER, rule INTEGER)")
    work.execute("CREATE TABLE IF NOT EXISTS searched (template INTEGER)")
    work.execute("CREATE TABLE IF NOT EXISTS contradicted (predicate VARCHAR)")
    done = {number for (number,) in work.execute("SELECT template FROM searched").fetchall()}
    if len(done) < len(templates) and any(atom.spreads for template in templates for atom in template.body):
        spell_iris(work)
    numbers = dict(work.execute("SELECT text, rule FROM rule").fetchall())
    plain = [index for index, template in enumerate(templates) if not template.refines]
    for place, index in enumerate([*plain, *(i for i in range(len(templates)) if i not in plain)]):
        template = templates[index]
        progress(template.name, place, len(templates))
        if place == len(plain):
            _find_contradicted(work, plain)
        if index in done or (template.refines and not _one(work, "SELECT count(*) FROM contradicted")):
            continue
        statement = compiled[index]
        if any(slot.restriction is Restriction.CODE for slot in template.slots()):
            statement = compile_template(template, catalog.with_codes(code_columns(work, source, catalog)))
        work.begin()
        try:
            _search(work, catalog, statement, index, numbers)
            work.execute("INSERT INTO searched VALUES (?)", [index])
            work.commit()
        except BaseException:
            work.rollback()
            raise
    progress("", len(templates), len(templates))


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


def _search(
    work: duckdb.DuckDBPyConnection, catalog: Catalog, compiled: Compiled, index: int, numbers: dict[str, int]
) -> None:
    outputs = [output.name for output in compiled.outputs]
    work.execute(f"CREATE OR REPLACE TEMP TABLE found AS {compiled.sql}")
    values = [output for output in compiled.outputs if output.what == "value"]
    terms = [output for output in compiled.outputs if output.what == "term"]
    selected = outputs + [f"k_{output.name}.key AS key_{output.name}" for output in values]
    selected += [f"p_{output.name}.parts AS parts_{output.name}" for output in terms]
    joins = "".join(f" JOIN value k_{o.name} ON k_{o.name}.val = {o.name}" for o in values)
    joins += "".join(f" JOIN term p_{o.name} ON p_{o.name}.term = {o.name}" for o in terms)
    distinct = f"SELECT DISTINCT predicate, {', '.join(outputs)} FROM found JOIN fact USING (fact)"
    instances = work.sql(f"SELECT predicate, {', '.join(selected)} FROM ({distinct}){joins}").to_arrow_table()
    fresh: list[tuple[int, str]] = []
    rules: list[int | None] = []
    for batch in instances.to_batches():
        for predicate, *cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            rule = instantiate(compiled, predicate, cells, catalog)
            if rule is None:
                rules.append(None)
                continue
            text = rule_text(canonical(rule))
            if text not in numbers:
                numbers[text] = len(numbers)
                fresh.append((numbers[text], text))
            rules.append(numbers[text])
    work.register("named", instances.append_column("rule", pa.array(rules, pa.int32())))
    work.register(
        "fresh",
        pa.table(
            {
                "rule": pa.array([n for n, _ in fresh], pa.int32()),
                "text": pa.array([t for _, t in fresh], pa.string()),
            }
        ),
    )
    work.execute("INSERT INTO rule SELECT rule, ?, text FROM fresh", [index])
    work.execute(
        f"""INSERT INTO candidate
            SELECT DISTINCT fact, n.rule FROM found JOIN fact USING (fact)
            JOIN named n USING (predicate, {", ".join(outputs)}) WHERE n.rule IS NOT NULL"""
    )
    work.unregister("named")
    work.unregister("fresh")


def instantiate(compiled: Compiled, predicate: str, cells: Sequence[object], catalog: Catalog) -> Rule | None:
    """The rule that one row of a statement's result stands for.

    None where a constant has no form in the rule language (an infinite date, say).
    """
    template, outputs = compiled.template, compiled.outputs
    columns = {(o.atom, o.place): cell for o, cell in zip(outputs, cells, strict=False) if o.what == "column"}
    extra = iter(cells[len(outputs) :])
    keys = {(o.atom, o.place): next(extra) for o in outputs if o.what == "value"}
    terms = {o.place: next(extra) for o in outputs if o.what == "term"}
    spread_columns: dict[int, list[int]] = {}
    for output in outputs:
        if output.what == "term":
            parts = terms[output.place]
            assert isinstance(parts, list)
            spread_columns.setdefault(output.atom, []).extend(p["col"] for p in parts if p["col"] is not None)

    atoms: list[Atom] = []
    variable_of: dict[int, Variable] = {}  # of a column that a concatenation uses
    table = ""
    for number, pattern in enumerate(template.body):
        placed: dict[int, Term] = {}
        for place, (_, term) in enumerate(pattern.columns):
            column = columns[number, place]
            assert isinstance(column, int)
            if isinstance(term, Variable | Constant):
                placed[column] = term
            else:
                constant = constant_of(str(keys[number, place]), catalog.columns[column].type.kind)
                if constant is None:
                    return None
                placed[column] = constant
        ordered: dict[int, Term] = {}
        for column in spread_columns.get(number, ()):
            fresh = Variable(f"spread{column}")
            term = placed.pop(column, None) or ordered.get(column, fresh)
            assert isinstance(term, Variable)
            ordered[column] = variable_of[column] = term
        ordered |= placed
        table = catalog.columns[next(iter(ordered))].table
        atoms.append(Atom(table, tuple((catalog.columns[c].name, term) for c, term in ordered.items())))
    definitions = []
    for index, (variable, definition) in enumerate(template.definitions):
        if isinstance(definition, Spread):
            parts = terms[index]
            assert isinstance(parts, list)
            pieces: list[str | Variable] = []
            for part in parts:
                pieces.append(part["text"])
                if part["col"] is not None:
                    pieces.append(variable_of[part["col"]])
            definition = Concat(joined(pieces))
        definitions.append((variable, definition))
    return Rule(predicate, template.arguments, tuple(atoms), tuple(definitions))


def constant_of(key: str, kind: Kind) -> Constant | None:
    """The constant of a column's kind with this lexical form, or None if the language has none."""
    try:
        value = _READ[kind](key)
    except (ValueError, InvalidOperation):
        return None
    return None if isinstance(value, Decimal) and not value.is_finite() else Constant(kind, value)


_READ: dict[Kind, Callable[[str], Scalar]] = {
    Kind.INTEGER: int,
    Kind.DECIMAL: Decimal,
    Kind.BOOLEAN: lambda key: key == "true",
    Kind.DATE: date.fromisoformat,
    Kind.TIMESTAMP: datetime.fromisoformat,
    Kind.TEXT: str,
}


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
