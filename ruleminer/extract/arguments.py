"""Facts as relations: what each argument can mean, and where an IRI can be cut. All in SQL, for all facts at once."""

from __future__ import annotations

import duckdb
import pyarrow as pa

# The pieces between separators may hold a separator themselves (block 7/12): runs of up to this many are tried.
LONGEST_RUN = 4
# A text of more pieces is no IRI but prose or a path, and is not cut.
MOST_PIECES = 60

_NUMBER = r"^([+-]?)0*(\d+?)(?:\.(\d*?)0*)?$"


def load_facts(work: duckdb.DuckDBPyConnection, facts: pa.Table) -> None:
    """Fill `fact`, `reading` and `segment` from an examples table (predicate, arg1, arg2, kind1, kind2, positive).

    Facts are numbered in the order of their text, so the same facts get the same numbers. One that is given twice
    counts once; the same atom as positive and as negative counts as both.
    """
    work.register("given", facts)
    work.execute(
        """
        CREATE OR REPLACE TABLE fact AS
        SELECT CAST(row_number() OVER (ORDER BY predicate, arg1, arg2 NULLS FIRST, kind1 NULLS FIRST,
                                       kind2 NULLS FIRST, positive DESC) - 1 AS INTEGER) AS fact,
               predicate, CAST(IF(arg2 IS NULL, 1, 2) AS TINYINT) AS arity, arg1, arg2, kind1, kind2, positive,
               coalesce(kind1, 'text') = 'text' AS plain1, coalesce(kind2, 'text') = 'text' AS plain2
        FROM (SELECT DISTINCT predicate, arg1, arg2, kind1, kind2, positive FROM given)
        """
    )
    work.unregister("given")
    work.execute(
        """
        CREATE OR REPLACE VIEW argument_text AS
        SELECT fact, 1 AS pos, arg1 AS text, kind1 AS kind FROM fact
        UNION ALL SELECT fact, 2, arg2, kind2 FROM fact WHERE arity = 2
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
        """
    )


def _cut_iris(work: duckdb.DuckDBPyConnection) -> None:
    """`iri`: the argument texts with a `/` or `#`; `segment`: their runs of pieces between those marks.

    The scheme and the host (everything up to the third `/` of `http://host/`) are never cut.
    """
    work.execute(
        r"""
        CREATE OR REPLACE TABLE iri AS
        SELECT CAST(row_number() OVER (ORDER BY text) AS INTEGER) AS iri, text,
               length(regexp_extract(text, '^[A-Za-z][A-Za-z0-9+.-]*://[^/#]*')) AS kept
        FROM (SELECT DISTINCT text FROM argument_text
              WHERE coalesce(kind = 'text', true) AND regexp_matches(text, '[/#]'))
        """
    )
    work.execute(
        f"""
        CREATE OR REPLACE TABLE segment AS
        WITH cut AS (
            SELECT iri, text, kept, string_split_regex(substr(text, kept + 1), '[/#]') AS pieces FROM iri
            WHERE len(pieces) <= {MOST_PIECES}),
        piece AS (
            SELECT iri, text, unnest(range(1, len(pieces) + 1)) AS number, unnest(pieces) AS piece, kept FROM cut),
        placed AS (
            SELECT iri, text, number, length(piece) AS size,
                   kept + number + coalesce(sum(length(piece)) OVER (
                       PARTITION BY iri ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS start
            FROM piece)
        SELECT a.iri, CAST(a.number AS TINYINT) AS first, CAST(b.number AS TINYINT) AS last,
               CAST(a.start AS INTEGER) AS start, CAST(b.start + b.size AS INTEGER) AS stop,
               substr(a.text, CAST(a.start AS INTEGER), CAST(b.start + b.size - a.start AS INTEGER)) AS text
        FROM placed a JOIN placed b ON a.iri = b.iri AND b.number BETWEEN a.number AND a.number + {LONGEST_RUN - 1}
        WHERE a.size > 0 AND b.size > 0
        """
    )
