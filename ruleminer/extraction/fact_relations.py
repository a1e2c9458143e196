"""Facts as relations: what each argument can mean, and where an IRI can be cut. All in SQL, for all facts at once."""

from __future__ import annotations

import duckdb
import pyarrow as pa

from ruleminer.extraction.entities import READ, with_spaces
from ruleminer.rules.dialects import DUCKDB
from ruleminer.rules.lexical import ZONE
from ruleminer.rules.transformations import IN_IRIS

# The pieces between separators may hold a separator themselves (block 7/12): runs of up to this many are tried.
LONGEST_RUN = 4
# A text of more pieces is no IRI but prose or a path, and is not cut.
MOST_PIECES = 60

_NUMBER = r"^([+-]?)0*(\d+?)(?:\.(\d*?)0*)?$"


def load_facts(work: duckdb.DuckDBPyConnection, facts: pa.Table) -> None:
    """Fill `fact`, `reading` and `segment` from an examples table (predicate, arg1, arg2, kind1, kind2, positive).

    Facts are numbered in the order of their text, so the same facts get the same numbers. One that is given twice
    counts once; the same atom as positive and as negative counts as both. An example with several readings (`READ`) is
    a fact for each of them until one is chosen. `alike` is the first fact with the same arguments: where all tables are
    numbered from 1, so are many classes, and all of them have the same bodies of rules.
    """
    for name in READ:
        if name not in facts.column_names:
            facts = facts.append_column(name, pa.nulls(facts.num_rows, pa.int32()))
    work.register("given", with_spaces(facts))
    work.execute(
        """
        CREATE OR REPLACE TEMP TABLE fact_given AS
        SELECT CAST(row_number() OVER (ORDER BY predicate, arg1, arg2 NULLS FIRST, kind1 NULLS FIRST,
                                       kind2 NULLS FIRST, positive DESC, space1 NULLS FIRST,
                                       space2 NULLS FIRST, said NULLS FIRST) - 1 AS INTEGER) AS fact,
               predicate, CAST(IF(arg2 IS NULL, 1, 2) AS TINYINT) AS arity, arg1, arg2, kind1, kind2, positive,
               space1, space2, said, turn, tables,
               coalesce(kind1, 'text') = 'text' AS plain1, coalesce(kind2, 'text') = 'text' AS plain2
        FROM (SELECT DISTINCT predicate, arg1, arg2, kind1, kind2, positive, space1, space2, said, turn,
                              tables FROM given)
        """
    )
    work.unregister("given")
    _number_iris(work)
    work.execute(
        """
        CREATE OR REPLACE TABLE fact AS
        SELECT f.*, min(fact) OVER (PARTITION BY arg1, arg2, kind1, kind2, space1, space2) AS alike,
               CASE WHEN plain1 THEN i1.iri END AS iri1, CASE WHEN plain2 THEN i2.iri END AS iri2
        FROM fact_given f LEFT JOIN iri i1 ON i1.text = arg1 LEFT JOIN iri i2 ON i2.text = arg2;
        DROP TABLE fact_given;
        CREATE OR REPLACE VIEW argument_text AS
        SELECT fact, 1 AS pos, arg1 AS text, kind1 AS kind FROM fact WHERE fact = alike
        UNION ALL SELECT fact, 2, arg2, kind2 FROM fact WHERE fact = alike AND arity = 2
        """
    )
    _read_arguments(work)
    _cut_iris(work)


def _read_arguments(work: duckdb.DuckDBPyConnection) -> None:
    """`reading`: every (family, key) an argument's text admits; `fits` where its kind, if it has one, allows it.

    The same as `rules.lexical.readings`, to which a test holds it.
    """
    work.execute(
        f"""
        CREATE OR REPLACE TABLE reading AS
        WITH number AS (
            SELECT fact, pos, kind, regexp_extract(text, '{_NUMBER}', ['sign', 'whole', 'fraction']) AS part
            FROM argument_text WHERE regexp_full_match(text, '[+-]?\\d+(\\.\\d+)?'))
        SELECT fact, pos, 'text' AS family, text AS key, coalesce(kind = 'text', true) AS fits FROM argument_text
        UNION ALL
        SELECT fact, pos, 'decimal',
               IF(part.sign = '-' AND NOT (part.whole = '0' AND part.fraction = ''), '-', '')
               || part.whole || IF(part.fraction = '', '', '.' || part.fraction),
               coalesce(kind IN ('integer', 'decimal'), true)
        FROM number
        UNION ALL
        SELECT fact, pos, 'boolean', text, coalesce(kind = 'boolean', true)
        FROM argument_text WHERE text IN ('true', 'false')
        UNION ALL
        SELECT fact, pos, 'date', text, coalesce(kind = 'date', true) FROM argument_text
        WHERE regexp_full_match(text, '\\d{{4}}-\\d\\d-\\d\\d') AND try_cast(text AS DATE) IS NOT NULL
        UNION ALL
        SELECT fact, pos, 'timestamp', CAST(try_cast(replace(text, 'T', ' ') AS TIMESTAMP) AS VARCHAR),
               coalesce(kind = 'timestamp', true)
        FROM argument_text
        WHERE regexp_full_match(text, '\\d{{4}}-\\d\\d-\\d\\d[ T]\\d\\d:\\d\\d:\\d\\d(\\.\\d{{1,6}})?')
          AND try_cast(replace(text, 'T', ' ') AS TIMESTAMP) IS NOT NULL
        UNION ALL
        SELECT fact, pos, 'timestamp', CAST(make_timestamp(epoch_us(try_cast(text AS TIMESTAMPTZ))) AS VARCHAR),
               coalesce(kind = 'timestamp', true)
        FROM argument_text
        WHERE regexp_full_match(text, '\\d{{4}}-\\d\\d-\\d\\d[ T]\\d\\d:\\d\\d:\\d\\d(\\.\\d{{1,6}})?{ZONE}')
          AND try_cast(text AS TIMESTAMPTZ) IS NOT NULL
        """
    )


def _number_iris(work: duckdb.DuckDBPyConnection) -> None:
    """`iri`: the argument texts with a `/` or `#`; `habit`: which predicates have them, and where.

    The scheme and the host (everything up to the third `/` of `http://host/`) are `kept`: never cut. The namespace is
    what all IRIs that are examples of one argument begin with, up to its last mark.
    """
    work.execute(
        r"""
        CREATE OR REPLACE TEMP TABLE habit AS
        WITH used AS (
            SELECT * FROM (
                SELECT predicate, 1 AS pos, positive, arg1 AS text FROM fact_given WHERE plain1
                UNION SELECT predicate, 2, positive, arg2 FROM fact_given WHERE plain2)
            WHERE regexp_matches(text, '^[A-Za-z][A-Za-z0-9+.-]*:.*[/#]')),
        ends AS (SELECT predicate, pos, min(text) AS a, max(text) AS b FROM used WHERE positive GROUP BY 1, 2)
        SELECT predicate, pos, text, IF(a IS NULL OR a = b, '', regexp_extract(substr(a, 1, len(list_filter(
                   range(1, least(length(a), length(b)) + 1), lambda i: substr(a, 1, i) = substr(b, 1, i)))),
                   '^.*[/#]')) AS shared
        FROM used LEFT JOIN ends USING (predicate, pos);

        CREATE OR REPLACE TABLE iri AS
        SELECT CAST(row_number() OVER (ORDER BY text) AS INTEGER) AS iri, text,
               length(regexp_extract(text, '^[A-Za-z][A-Za-z0-9+.-]*://[^/#]*')) AS kept,
               coalesce(namespace, 0) AS namespace
        FROM (SELECT arg1 AS text FROM fact_given WHERE plain1 UNION SELECT arg2 FROM fact_given WHERE plain2)
        LEFT JOIN (SELECT text, min(IF(starts_with(text, shared), length(shared), 0)) AS namespace
                   FROM habit GROUP BY 1) USING (text)
        WHERE regexp_matches(text, '[/#]')
        """
    )


def _cut_iris(work: duckdb.DuckDBPyConnection) -> None:
    """`segment`: the runs of pieces of IRIs between the marks.

    `inside` counts the pieces of the namespace. `how` tells that the segment's text was percent-decoded, in a way that
    gives the very segment back; it is tried for all IRIs of an argument if one of them was encoded so.
    """
    work.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE raw_segment AS
        WITH cut AS (
            SELECT iri, text, kept, namespace, string_split_regex(substr(text, kept + 1), '[/#]') AS pieces FROM iri
            WHERE len(pieces) <= {MOST_PIECES}),
        piece AS (
            SELECT iri, text, namespace, unnest(range(1, len(pieces) + 1)) AS number, unnest(pieces) AS piece, kept
            FROM cut),
        placed AS (
            SELECT iri, text, namespace, number, length(piece) AS size,
                   kept + number + coalesce(sum(length(piece)) OVER (
                       PARTITION BY iri ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS start
            FROM piece),
        counted AS (
            SELECT *, count(*) FILTER (start + size - 1 <= namespace) OVER (PARTITION BY iri) AS inside FROM placed)
        SELECT a.iri, CAST(a.number AS TINYINT) AS first, CAST(b.number AS TINYINT) AS last,
               CAST(a.start AS INTEGER) AS start, CAST(b.start + b.size AS INTEGER) AS stop,
               substr(a.text, CAST(a.start AS INTEGER), CAST(b.start + b.size - a.start AS INTEGER)) AS text,
               CAST(a.inside AS TINYINT) AS inside
        FROM counted a JOIN counted b ON a.iri = b.iri AND b.number BETWEEN a.number AND a.number + {LONGEST_RUN - 1}
        WHERE a.size > 0 AND b.size > 0;
        """
    )
    _decode_segments(work)


def _decode_segments(work: duckdb.DuckDBPyConnection) -> None:
    """`segment` from the segments as they are written, and what single pieces can be the encoding of.

    An encoding is a habit of an argument (`shown`) if some IRI of it is so encoded, and in no simpler way.
    """
    assert DUCKDB.percent_encoded is not None
    work.execute(
        f"""
        CREATE OR REPLACE MACRO encoded_as(decoded, how) AS CASE how
            WHEN 'encoded' THEN {DUCKDB.percent_encoded("decoded", False)}
            WHEN 'escaped' THEN url_encode(decoded) ELSE replace(url_encode(decoded), '%20', '+') END;
        CREATE OR REPLACE MACRO decoded_from(written, how) AS
            try(url_decode(IF(how = 'plus', replace(written, '+', ' '), written)));

        CREATE OR REPLACE TEMP TABLE shown AS
        SELECT DISTINCT predicate, pos, how FROM (
            SELECT iri, first, min(how) AS how FROM (
                SELECT *, decoded_from(written, how) AS decoded FROM (
                    SELECT iri, first, text AS written, unnest({list(IN_IRIS)}) AS how FROM raw_segment
                    WHERE first = last AND regexp_matches(text, '[%+]')))
            WHERE decoded <> written AND encoded_as(decoded, how) = written GROUP BY ALL)
        JOIN iri USING (iri) JOIN habit USING (text);

        CREATE OR REPLACE TABLE segment AS
        SELECT iri, first, last, start, stop, text, '' AS how, inside FROM raw_segment
        UNION ALL
        SELECT iri, first, last, start, stop, decoded, how, inside FROM (
            SELECT s.*, how, decoded_from(s.text, how) AS decoded FROM raw_segment s JOIN (
                SELECT DISTINCT i.iri, how FROM shown JOIN habit h USING (predicate, pos) JOIN iri i ON i.text = h.text
            ) USING (iri) WHERE s.first = s.last)
        WHERE encoded_as(decoded, how) = text
        """
    )
