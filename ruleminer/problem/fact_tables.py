"""Facts from tables: Parquet files, Arrow tables, data frames and lists of tuples.

The columns are those of CSV (examples.py). Values may be typed, but are read by their text, as those of CSV are: data
frames turn keys into numbers, and numbers with gaps into floats, whatever the database has.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rdflib import XSD

from ruleminer.errors import InputError
from ruleminer.problem.facts import FACT_SCHEMA
from ruleminer.problem.ontology import Ontology, OntologyTerm, arity
from ruleminer.rules.lexical import lexical_form, number_form
from ruleminer.rules.transformations import FALSE, TRUE
from ruleminer.rules.values import Kind

COLUMNS = ("predicate", "arg1", "arg2", "kind1", "kind2", "label", "positive")
TRUTH = {
    **dict.fromkeys(("positive", "true", "1", "+"), True),
    **dict.fromkeys(("negative", "false", "0", "-"), False),
}
MOST_TOLD = 10  # mistakes told at once


def read_parquet_facts(path: Path, ontology: Ontology) -> pa.Table:
    """The facts of a Parquet file, in its order."""
    try:
        table = pq.read_table(path)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, pa.ArrowException) as problem:
        raise InputError(f"{path}: not readable as Parquet ({str(problem).splitlines()[0]})") from None
    return table_facts(table, ontology, str(path))


def table_of(given: object) -> pa.Table:
    """An Arrow table of what a program has its facts in: a data frame, or tuples `(predicate, arg1[, arg2])`."""
    if isinstance(given, pa.Table):
        return given
    if hasattr(given, "__arrow_c_stream__"):
        try:
            return pa.table(given)
        except (pa.ArrowInvalid, pa.ArrowTypeError):  # a column of numbers and texts
            if not hasattr(given, "to_dict"):
                raise InputError("examples: a column of the table has values of several types") from None
    if isinstance(given, Mapping) or hasattr(given, "to_dict"):
        columns: Mapping[str, Sequence[object]] = given if isinstance(given, Mapping) else given.to_dict("list")
        return pa.table({name: [_text(value) for value in values] for name, values in columns.items()})
    if isinstance(given, Iterable):
        return _of_tuples(given)
    raise InputError(f"examples must be files, tuples, an Arrow table or a data frame, not {type(given).__name__}")


def _of_tuples(given: Iterable[object]) -> pa.Table:
    rows = []
    for number, row in enumerate(given, 1):
        if not isinstance(row, Sequence) or isinstance(row, str) or not 2 <= len(row) <= 3:
            raise InputError(f"examples, fact {number}: must be (predicate, argument[, argument]), not {row!r}")
        rows.append([_text(value) for value in (*row, None)[:3]])
    names = ("predicate", "arg1", "arg2")
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table({name: pa.array(values, pa.string()) for name, values in zip(names, columns, strict=True)})


def table_facts(table: pa.Table, ontology: Ontology, source: str) -> pa.Table:
    """The facts of a table, in its order; `source` is what errors name."""
    check_columns(table.column_names, source)
    count = table.num_rows
    given = {name: _texts(table[name]) for name in table.column_names}
    nothing = pa.nulls(count, pa.string())
    names = given["predicate"]
    terms = found_terms(names, ontology, source)
    kinds = [_kinds(given.get(f"kind{place}", nothing), source) for place in (1, 2)]
    arguments = [_blank_is_null(stripped(given.get(f"arg{place}", nothing), kinds[place - 1])) for place in (1, 2)]
    _check_arity(names, terms, arguments, source)
    arguments[1] = _with_truths(names, terms, arguments[1], kinds[1], ontology)
    called = pa.array([terms[name].name for name in names.to_pylist()], pa.string())
    return pa.table(
        {
            "predicate": called,
            "arg1": arguments[0],
            "arg2": arguments[1],
            "kind1": kinds[0],
            "kind2": kinds[1],
            "positive": _truth(given.get("label", given.get("positive")), count, source),
            "origin": nothing,
        },
        schema=FACT_SCHEMA,
    )


def with_truth(
    arguments: tuple[str, ...], kinds: tuple[Kind | None, ...], term: OntologyTerm, ontology: Ontology
) -> tuple[str, ...]:
    """The arguments as they are written; but of a property that is true or false, `Y` and `no` are that."""
    if len(arguments) < 2 or kinds[1] is not None or ontology.datatype(term.iri) != str(XSD.boolean):
        return arguments
    return (arguments[0], _truth_of(arguments[1]))


def _with_truths(
    names: pa.Array, terms: Mapping[str, OntologyTerm], values: pa.Array, kinds: pa.Array, ontology: Ontology
) -> pa.Array:
    told = [name for name, term in terms.items() if ontology.datatype(term.iri) == str(XSD.boolean)]
    if not told:
        return values
    asked = pc.and_(pc.is_in(names, pa.array(told, pa.string())), pc.and_(pc.is_null(kinds), pc.is_valid(values)))
    return pa.array(
        [
            _truth_of(text) if is_asked else text
            for text, is_asked in zip(values.to_pylist(), asked.to_pylist(), strict=True)
        ],
        pa.string(),
    )


def _truth_of(text: str) -> str:
    word = text.casefold()
    if not word.isalpha():  # 1 and 0 are truth values as they are
        return text
    return "true" if word in TRUE else "false" if word in FALSE else text


def check_columns(header: Sequence[str], source: str) -> None:
    """Refuse a header with columns that are unknown, missing, twice there, or that say the same."""
    unknown = [name for name in header if name not in COLUMNS]
    missing = [name for name in ("predicate", "arg1") if name not in header]
    if unknown or missing or len(set(header)) < len(header) or {"label", "positive"} <= set(header):
        found = ",".join(header) or "nothing"
        raise InputError(f"{source}: the header must be predicate,arg1[,arg2][,label], not {found}")


def found_terms(names: pa.Array, ontology: Ontology, source: str) -> dict[str, OntologyTerm]:
    """The terms that the names mean; all names that mean none are told at once."""
    terms: dict[str, OntologyTerm] = {}
    problems: list[str] = []
    for name in pc.unique(names).to_pylist():
        try:
            if not name:
                raise InputError("a fact without a predicate")
            terms[name] = ontology.find(name.strip())
        except InputError as problem:
            problems.append(str(problem))
    refuse(problems, source)
    return terms


def refuse(problems: Sequence[str], source: str) -> None:
    """Raise if there are problems, with the first of them."""
    if not problems:
        return
    if len(problems) == 1:
        raise InputError(f"{source}: {problems[0]}")
    told = [f"\n  {problem}" for problem in problems[:MOST_TOLD]]
    more = f"\n  and {len(problems) - MOST_TOLD} more" if len(problems) > MOST_TOLD else ""
    raise InputError(f"{source}: {len(problems)} mistakes{''.join(told)}{more}")


def stripped(texts: pa.Array, kinds: pa.Array) -> pa.Array:
    """Texts without the blanks around them, which nobody means; but a text that is called one stays as it is."""
    return pc.if_else(pc.fill_null(pc.equal(kinds, str(Kind.TEXT)), False), texts, pc.utf8_trim_whitespace(texts))


def arity_problem(term: OntologyTerm, given: int) -> str:
    """What is wrong with a fact of a term with so many arguments."""
    what = "a class: it takes one argument" if arity(term) == 1 else "a property: it takes two arguments"
    return f"{term.name} is {what}, not {given}"


def _blank_is_null(texts: pa.Array) -> pa.Array:
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)


def _check_arity(
    names: pa.Array, terms: Mapping[str, OntologyTerm], arguments: Sequence[pa.Array], source: str
) -> None:
    first, second = (pc.is_valid(column) for column in arguments)
    binary = pc.is_in(names, value_set=pa.array([n for n, term in terms.items() if arity(term) == 2], pa.string()))
    wrong = pc.invert(pc.and_(first, pc.equal(second, binary)))
    rows = pc.indices_nonzero(wrong).to_pylist()[:MOST_TOLD]
    problems = []
    for row in rows:
        given = sum(column[row].is_valid for column in arguments)
        problems.append(f"fact {row + 1}: {arity_problem(terms[names[row].as_py()], given)}")
    refuse(problems, source)


def _kinds(texts: pa.Array, source: str) -> pa.Array:
    found = _blank_is_null(texts)
    unknown = {kind for kind in pc.unique(found).to_pylist() if kind is not None} - {*Kind}
    refuse([f"a kind is one of {', '.join(Kind)}, not {kind!r}" for kind in sorted(unknown)], source)
    return found


def _truth(labels: pa.Array | None, count: int, source: str) -> pa.Array:
    if labels is None:
        return pa.repeat(pa.scalar(True), count)
    known = {text: TRUTH.get((text or "").strip().lower() or "positive") for text in pc.unique(labels).to_pylist()}
    unknown = [text for text, truth in known.items() if truth is None]
    refuse(
        [f"a label is positive or negative (1 or 0, true or false, + or -), not {text!r}" for text in unknown], source
    )
    return pa.array([known[text] for text in labels.to_pylist()], pa.bool_())


def _texts(column: pa.ChunkedArray) -> pa.Array:
    """A column as texts: the lexical forms of its values."""
    whole = column.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):  # what combine_chunks makes of no chunk
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.nulls(0, column.type)
    kind = whole.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind):
        return whole.cast(pa.string())
    return pa.array([_text(value) for value in whole.to_pylist()], pa.string())


def _text(value: Any) -> str | None:
    if value is None or (isinstance(value, float | Decimal) and not math.isfinite(value)) or value != value:
        return None
    if isinstance(value, float):
        return number_form(repr(value))
    try:
        return lexical_form(value)
    except TypeError:
        return str(value)
