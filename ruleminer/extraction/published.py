"""Values as people publish them: a year for a date, euros for cents, a full name for two columns.

Where no rule derives all examples of a property as its values stand in the database, the values of the rows at hand are
transformed in every way there is (`rules/transformations.py`), and those that become an example's second argument make
rules of the same templates. So it is where these are truth values, and all rules that derive them reach other tables:
some row that a link leads to says `true` by accident. Which transformations are tried is a closed set; parameters are
few, or told by the data.

    formed(fact, pos, val, space, form, changed)    a value that a form makes the argument of
    spelled_text(fact, pos, row, term, cols)        a text that the columns of a row and what stands between them make

`changed` tells that the form made a difference. A rule that no example needs a form for is dropped: plain ones say it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from string import ascii_lowercase, ascii_uppercase

import duckdb
from sqlglot import exp

from ruleminer.rules.dialects import DUCKDB, Dialect
from ruleminer.rules.lexical import family
from ruleminer.rules.templates import Spread, Template
from ruleminer.rules.transformation_sql import transformed_sql
from ruleminer.rules.transformations import FALSE, SHORTEST_DAY, TRANSFORMATIONS, TRUE, WRITTEN, parameter_problem
from ruleminer.rules.values import Kind, Transformed, Variable

# The T stands between day and time where a database keeps them as text.
SEPARATORS = (" ", "T", ", ", ",", "-", " - ", "/", "@", ":", ": ", ";", "|", "_", ".", "#", "=", " (", "(", ")")
FACTORS = (Decimal("0.01"), Decimal(100), Decimal("0.001"), Decimal(1000))
MOST_FIELDS, MOST_ITEMS, DECIMALS = 40, 5, (1, 2, 3, 4)
LONGEST = 1000  # characters of a value that is transformed
MOST_WORDS, LONGEST_RUN = 8, 4  # pieces of a text that is put together, and of one column's part in it
CUT = r"[ ,;:/()|_.\-]+"
"""What may stand between the parts of a text."""

# Forms that move a number's point, pad it with zeros or trim it: values with other digits need not be put into them.
_SAME_DIGITS = ("times", "scale", "number")
_DIGITS = "translate({}, '+-. 0', '')"
_LONGEST_TRUTH = max(map(len, (*TRUE, *FALSE)))
_VALUE = Variable("a")  # what a form is applied to
# Of facts with the same arguments one is asked about, if the property of any of them is unsettled.
_UNSETTLED_FACTS = "SELECT alike FROM fact WHERE predicate IN (SELECT predicate FROM unsettled)"
POSITION = 2
"""The argument that is looked for in other forms: entities go by their keys as they are."""


def forms(fields: Iterable[str] = ()) -> list[Transformed]:
    """All transformations that are tried; `fields` are the names of fields in the JSON at hand."""
    plain = [Transformed(name, _VALUE) for name in ("date", "year", "timestamp", "boolean", "number")]
    plain += [Transformed(name, _VALUE, (how,)) for how in WRITTEN for name in ("day", "moment")]
    plain += [Transformed(name, _VALUE) for name in ("trim", "lower", "upper")]
    plain += [Transformed("times", _VALUE, (factor,)) for factor in FACTORS]
    plain += [Transformed("scale", _VALUE, (decimals,)) for decimals in DECIMALS]
    plain += [Transformed(name, _VALUE, (mark,)) for mark in SEPARATORS for name in ("before", "after")]
    plain += [Transformed("item", _VALUE, (number,)) for number in range(1, MOST_ITEMS + 1)]
    named = sorted(name for name in set(fields) if parameter_problem("field", (name,)) is None)
    return plain + [Transformed("field", _VALUE, (name,)) for name in named[:MOST_FIELDS]]


def form_text(form: Transformed) -> str:
    """A form as relations hold it."""
    return json.dumps([form.name, *map(str, form.parameters)])


def form_of(text: str, variable: Variable) -> Transformed:
    """The form that `form_text` wrote, of a variable."""
    name, *parameters = json.loads(text)
    read = {"times": Decimal, "scale": int, "item": int}.get(name, str)
    return Transformed(name, variable, tuple(read(parameter) for parameter in parameters))


def can_be_published(template: Template) -> bool:
    """Whether a template's second argument may stand in another form: it has one place, and nothing only filters."""
    if template.refines or len(template.arguments) < POSITION or template.arguments[0] == template.arguments[1]:
        return False
    variable = template.arguments[POSITION - 1]
    definition = dict(template.definitions).get(variable)
    if definition is not None and not isinstance(definition, Spread):
        return False
    terms = [term for atom in template.body for _, term in atom.columns]
    if not all(isinstance(term, Variable) for term in terms):
        return False
    return terms.count(variable) == (definition is None) and all(
        len(atom.columns) + len(atom.spreads) > 1 for atom in template.body
    )


def find_unsettled(work: duckdb.DuckDBPyConnection, templates: Sequence[Template]) -> None:
    """Fill `unsettled(predicate)`: the properties of which no rule so far derives all examples.

    Of those whose examples are all truth values, only rules of one table count.
    """
    of_one_table = ", ".join(str(number) for number, one in enumerate(templates) if len(one.body) == 1) or "NULL"
    work.execute(
        f"""
        CREATE OR REPLACE TABLE unsettled AS
        WITH example AS (SELECT fact, predicate, arg2 FROM fact WHERE positive AND arity = 2),
        asked AS (SELECT predicate, count(*) AS facts, bool_and(arg2 IN ('true', 'false')) AS truth
                  FROM example GROUP BY 1),
        best AS (SELECT predicate, max(facts) AS facts, max(facts) FILTER (template IN ({of_one_table})) AS near
                 FROM (SELECT predicate, rule, any_value(template) AS template, count(*) AS facts
                       FROM candidate JOIN example USING (fact) JOIN rule USING (rule) GROUP BY 1, 2)
                 GROUP BY 1)
        SELECT predicate FROM asked LEFT JOIN best USING (predicate)
        WHERE coalesce(IF(truth, best.near, best.facts), 0) < asked.facts
        """
    )


def stands_beside(template: Template) -> bool:
    """Whether both arguments stand in one row, the first as it is."""
    first = template.arguments[0]
    return len(template.body) == 1 and any(term == first for _, term in template.body[0].columns)


def form_values(
    work: duckdb.DuckDBPyConnection, dialect: Dialect, to_things: Collection[str] = (), beside: bool = False
) -> None:
    """Fill `formed` for the facts of unsettled properties from `value`; `beside` if no value matters but those in a
    row with the first argument.

    What properties lead `to_things` by are keys: they may be written in other letters, but are no sums and no days.
    """
    rows = f"""SELECT row FROM argument_cell SEMI JOIN (
               SELECT val FROM argument WHERE pos <> {POSITION} AND fact IN ({_UNSETTLED_FACTS})) USING (val)"""
    near = f"SEMI JOIN (SELECT val FROM cell SEMI JOIN ({rows}) USING (row)) USING (val)"
    work.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE asked_reading AS
        SELECT fact, pos, family, key FROM reading
        WHERE pos = {POSITION} AND fits AND key <> '' AND fact IN ({_UNSETTLED_FACTS});
        CREATE OR REPLACE TEMP TABLE asked_key AS SELECT DISTINCT family AS made_family, key AS made FROM asked_reading;
        CREATE OR REPLACE TEMP TABLE formed_value (val BIGINT, form VARCHAR, made_family VARCHAR, made VARCHAR,
                                                   changed BOOLEAN);
        """
    )
    asked = {name for (name,) in work.execute("SELECT DISTINCT made_family FROM asked_key").fetchall()}
    if asked:
        documents = f"family = 'text' AND length(key) <= {LONGEST} AND key LIKE '{{%' AND json_valid(key)"
        names = work.execute(f"SELECT DISTINCT unnest(json_keys(key)) FROM value WHERE {documents}").fetchall()
        tried = [one for one in forms(name for (name,) in names) if family(TRANSFORMATIONS[one.name].gives) in asked]
        work.execute(f"CREATE OR REPLACE TEMP TABLE value_tried AS SELECT * FROM value {near if beside else ''}")
        taken = dict(map(_taken, tried))
        for relation, query in taken.items():
            work.execute(f"CREATE OR REPLACE TEMP TABLE {relation} AS {query}")
        by_kind: dict[Kind, list[str]] = {}
        for form in tried:
            by_kind.setdefault(family(TRANSFORMATIONS[form.name].gives), []).append(_formed_sql(form, dialect))
        for gives, queries in by_kind.items():  # together: a statement for each would cost more than what it finds
            work.execute(
                f"""
                INSERT INTO formed_value
                SELECT val, form, made_family, made, family <> made_family OR key <> made
                FROM ({" UNION ALL ".join(queries)})
                JOIN (SELECT * FROM asked_key WHERE made_family = '{gives}') USING (made)
                """
            )
        for relation in taken:
            work.execute(f"DROP TABLE {relation}")
        work.execute("DROP TABLE value_tried")
    work.execute(
        """
        CREATE OR REPLACE TABLE formed AS
        SELECT r.fact, CAST(r.pos AS TINYINT) AS pos, v.val, CAST(NULL AS INTEGER) AS space, v.form, v.changed
        FROM formed_value v JOIN asked_reading r ON r.family = v.made_family AND r.key = v.made
        WHERE v.made_family = 'text' OR r.fact NOT IN (
            SELECT alike FROM fact GROUP BY 1 HAVING bool_and(list_contains($things::VARCHAR[], predicate)))
        """,
        {"things": sorted(to_things)},
    )


def _formed_sql(form: Transformed, dialect: Dialect) -> str:
    """What one form makes of all values that it takes."""
    conditions = []
    if form.name in ("before", "after"):
        conditions.append(f"contains(key, {exp.Literal.string(str(form.parameters[0])).sql('duckdb')})")
    elif form.name in ("field", "item"):
        conditions.append(f"key LIKE '{'{' if form.name == 'field' else '['}%'")
    elif form.name in ("day", "moment"):
        conditions.append(f"length(key) >= {SHORTEST_DAY} AND key[1] BETWEEN '0' AND '9'")
    elif form.name == "boolean":
        conditions.append(f"(length(key) <= {_LONGEST_TRUTH} OR key LIKE ' %' OR key LIKE '% ')")
    made = transformed_sql(form, exp.column("key"), None, DUCKDB).sql("duckdb")
    if form.name in ("lower", "upper") and not dialect.folds_all_letters:
        letters = (ascii_uppercase, ascii_lowercase) if form.name == "lower" else (ascii_lowercase, ascii_uppercase)
        made = f"translate(key, '{letters[0]}', '{letters[1]}')"
    form_literal = exp.Literal.string(form_text(form)).sql("duckdb")
    where = " AND ".join(conditions) or "true"
    return f"SELECT val, {form_literal} AS form, family, key, {made} AS made FROM {_taken(form)[0]} WHERE {where}"


def _taken(form: Transformed) -> tuple[str, str]:
    """The relation of the values that a form takes, with its query: forms that take the same look at fewer together."""
    known = TRANSFORMATIONS[form.name]
    families = sorted({str(family(kind)) for kind in known.takes})
    taken = ", ".join(f"'{name}'" for name in families)
    name = "_".join(["taken", *families])
    query = f"SELECT val, family, key FROM value_tried WHERE family IN ({taken}) AND length(key) <= {LONGEST}"
    if form.name in _SAME_DIGITS:
        gives = family(known.gives)
        name = f"{name}_of_{gives}"
        query += f""" AND key < ':' AND {_DIGITS.format("key")} IN (
            SELECT {_DIGITS.format("made")} FROM asked_key WHERE made_family = '{gives}')"""
    return name, query


def spell_texts(work: duckdb.DuckDBPyConnection) -> None:
    """Fill `spelled_text` for the facts of unsettled properties, and add what it is made of to `term`.

    Every piece of a text must be a column's, or a part of one, and there are two columns at least.
    """
    work.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE published_text AS
        SELECT CAST(row_number() OVER (ORDER BY text) AS INTEGER) AS iri, text,
               regexp_extract_all(text, '{CUT}') AS marks, string_split_regex(text, '{CUT}') AS pieces
        FROM (SELECT DISTINCT text FROM argument_text
              WHERE pos = {POSITION} AND coalesce(kind = 'text', true) AND NOT contains(text, '://')
                AND fact IN ({_UNSETTLED_FACTS}))
        WHERE len(pieces) BETWEEN 2 AND {MOST_WORDS};

        CREATE OR REPLACE TEMP TABLE text_segment AS
        WITH piece AS (
            SELECT iri, text, len(pieces) AS count, unnest(range(1, len(pieces) + 1)) AS number,
                   unnest(pieces) AS piece, unnest(list_prepend('', marks)) AS mark FROM published_text),
        placed AS (
            SELECT *, sum(length(mark) + length(piece)) OVER (PARTITION BY iri ORDER BY number) + 1 AS stop FROM piece)
        SELECT a.iri, a.number AS first, b.number AS last, a.count, CAST(a.stop - length(a.piece) AS INTEGER) AS start,
               CAST(b.stop AS INTEGER) AS stop,
               substr(a.text, CAST(a.stop - length(a.piece) AS INTEGER),
                      CAST(b.stop - a.stop + length(a.piece) AS INTEGER)) AS text
        FROM placed a JOIN placed b ON a.iri = b.iri AND b.number BETWEEN a.number AND a.number + {LONGEST_RUN - 1}
        WHERE length(a.piece) > 0 AND length(b.piece) > 0;

        CREATE OR REPLACE TEMP TABLE text_cell AS
        SELECT c.row, c.col, s.text FROM cell c JOIN value v USING (val)
        JOIN (SELECT DISTINCT text FROM text_segment) s ON s.text = coalesce(c.raw, v.key);

        -- A row must hold every piece, so it is looked for by the rarest.
        CREATE OR REPLACE TEMP TABLE text_seed AS
        WITH held AS (
            SELECT s.*, n.rows FROM text_segment s
            JOIN (SELECT text, count(*) AS rows FROM text_cell GROUP BY 1) n USING (text)),
        piece AS (
            SELECT iri, count, piece, sum(rows) AS rows
            FROM (SELECT iri, count, unnest(range(first, last + 1)) AS piece, rows FROM held) GROUP BY ALL),
        rarest AS (
            SELECT iri, arg_min(piece, (rows, piece)) AS piece FROM piece GROUP BY iri
            HAVING count(*) = any_value(count))
        SELECT DISTINCT h.iri, c.row FROM rarest r JOIN held h ON h.iri = r.iri AND r.piece BETWEEN h.first AND h.last
        JOIN text_cell c USING (text);

        CREATE OR REPLACE TEMP TABLE text_hit AS
        SELECT DISTINCT s.iri, c.row, s.first, s.last, s.count, c.col, s.start, s.stop
        FROM text_seed d JOIN text_cell c USING (row) JOIN text_segment s ON s.iri = d.iri AND s.text = c.text;

        CREATE OR REPLACE TEMP TABLE text_way AS
        WITH RECURSIVE step AS (
            SELECT iri, row, last AS upto, count, [{{'start': start, 'stop': stop, 'col': col}}] AS chosen
            FROM text_hit WHERE first = 1
            UNION ALL
            SELECT s.iri, s.row, h.last, s.count,
                   list_append(s.chosen, {{'start': h.start, 'stop': h.stop, 'col': h.col}})
            FROM step s JOIN text_hit h ON h.iri = s.iri AND h.row = s.row AND h.first = s.upto + 1)
        SELECT iri, row, chosen, list_distinct(list_transform(chosen, lambda one: one.col)) AS cols
        FROM step WHERE upto = count AND len(chosen) > 1;

        CREATE OR REPLACE TEMP TABLE text_worded AS
        WITH part AS (
            SELECT iri, chosen, unnest(chosen) AS one, unnest(range(1, len(chosen) + 1)) AS number
            FROM (SELECT DISTINCT iri, chosen FROM text_way)),
        split AS (SELECT *, lag(one.stop, 1, 1) OVER (PARTITION BY iri, chosen ORDER BY number) AS after FROM part)
        SELECT iri, chosen,
               list({{'text': substr(t.text, after, one.start - after), 'col': one.col, 'how': ''}} ORDER BY number)
               || [{{'text': substr(any_value(t.text), max(one.stop)), 'col': NULL, 'how': ''}}] AS parts
        FROM split JOIN published_text t USING (iri) GROUP BY iri, chosen;

        INSERT INTO term
        SELECT CAST((SELECT coalesce(max(term), 0) FROM term) + row_number() OVER () AS INTEGER), parts
        FROM (SELECT DISTINCT parts FROM text_worded EXCEPT SELECT parts FROM term);

        CREATE OR REPLACE TABLE spelled_text AS
        SELECT a.fact, CAST({POSITION} AS TINYINT) AS pos, w.row, t.term, w.cols
        FROM text_way w JOIN text_worded USING (iri, chosen) JOIN term t USING (parts) JOIN published_text p USING (iri)
        JOIN argument_text a ON a.text = p.text AND a.pos = {POSITION} AND coalesce(a.kind = 'text', true)
        """
    )
    for name in ("published_text", "text_segment", "text_cell", "text_seed", "text_hit", "text_way", "text_worded"):
        work.execute(f"DROP TABLE {name}")
