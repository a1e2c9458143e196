"""IRIs put together from a row: `spelled(fact, pos, row, term, cols)`, for all facts at once.

An IRI is cut at `/` and `#`; a *segment* is a run of the pieces. A row explains an IRI by columns whose text is one
of its segments; what no column explains is constant text. Of the ways to choose segments that do not overlap, those
count that explain the most pieces this row can explain. Of all rows, those count that explain as many pieces as the
best row, and those that explain one fewer, but the longest of the IRI's segments that stand in the database: an IRI
with a constant in it (`…/hctype/OIL`) is explained in full by rows that happen to hold that word, too.

Small numbers stand in many rows, so rows are not looked for by any segment. A row that explains c of the m pieces
that can be explained at all explains one of the m - c + 1 rarest; a first look, at the rarest piece only, tells how
large c must be.
"""

from __future__ import annotations

import duckdb

# What stands where: the cells that spell a segment, and how many rows each segment and each piece would lead to.
_OCCURRENCES = """
    CREATE OR REPLACE TEMP TABLE spelt_cell AS
    SELECT c.row, c.col, coalesce(c.raw, v.key) AS text FROM cell c JOIN value v USING (val)
    SEMI JOIN segment s ON s.text = coalesce(c.raw, v.key);

    CREATE OR REPLACE TEMP TABLE held AS
    SELECT s.iri, s.first, s.last, s.text, o.rows
    FROM segment s JOIN (SELECT text, count(*) AS rows FROM spelt_cell GROUP BY 1) o USING (text);

    CREATE OR REPLACE TEMP TABLE piece AS
    SELECT iri, piece, sum(rows) AS rows, row_number() OVER (PARTITION BY iri ORDER BY sum(rows), piece) AS rarity,
           count(*) OVER (PARTITION BY iri) AS pieces
    FROM (SELECT iri, unnest(range(first, last + 1)) AS piece, rows FROM held) GROUP BY iri, piece;
"""

# Rows that hold a segment over one of the seed pieces, with all segments of the IRI they hold.
_HITS = """
    CREATE OR REPLACE TEMP TABLE hit AS
    WITH pair AS (
        SELECT DISTINCT iri, row FROM (SELECT DISTINCT iri, text FROM seed) JOIN spelt_cell USING (text))
    SELECT DISTINCT iri, row, first, last, col FROM pair JOIN spelt_cell USING (row) JOIN held USING (iri, text);
"""

_FIRST_LOOK = """
    CREATE OR REPLACE TEMP TABLE seed AS
    SELECT h.iri, h.text FROM held h JOIN piece p ON p.iri = h.iri AND p.piece BETWEEN h.first AND h.last
    WHERE p.rarity = 1;
"""

# `sure`: some row explains so many pieces. Single pieces never overlap, and one run explains all of its own.
_SECOND_LOOK = """
    CREATE OR REPLACE TEMP TABLE bound AS
    SELECT iri, max(sure) AS sure FROM (
        SELECT iri, greatest(max(last - first + 1), count(DISTINCT first) FILTER (first = last)) AS sure
        FROM hit GROUP BY iri, row)
    GROUP BY iri;

    CREATE OR REPLACE TEMP TABLE seed AS
    WITH ranked AS (
        SELECT h.*, p.rarity, p.pieces, b.sure, p.rows AS piece_rows, p.piece,
               length(h.text) = max(length(h.text)) OVER (PARTITION BY h.iri) AS is_longest
        FROM held h JOIN bound b USING (iri)
        JOIN piece p ON p.iri = h.iri AND p.piece BETWEEN h.first AND h.last),
    cost AS (
        SELECT iri, sum(rows) FILTER (is_longest AND piece = first) AS by_longest,
               sum(rows) FILTER (rarity <= pieces - sure + 2) AS by_rarest
        FROM ranked GROUP BY iri)
    SELECT iri, text FROM ranked WHERE rarity <= pieces - sure + 1
    UNION
    SELECT iri, text FROM ranked JOIN cost USING (iri)
    WHERE sure > 1 AND IF(by_longest <= by_rarest, is_longest, rarity <= pieces - sure + 2);
"""

_WAYS = """
    -- Rows that are hit in the same way are explained in the same ways.
    CREATE OR REPLACE TEMP TABLE pattern AS
    WITH promising AS (
        SELECT iri, row FROM hit JOIN bound USING (iri) GROUP BY iri, row
        HAVING bit_count(bit_or(((1::BIGINT << (last - first + 1)) - 1) << first)) >= any_value(sure) - 1)
    SELECT row_number() OVER () AS pattern, iri, list(row) AS rows,
           list_transform(any_value(codes), lambda code: {'first': CAST(code >> 40 AS TINYINT),
               'last': CAST((code >> 32) & 255 AS TINYINT), 'col': CAST(code & 4294967295 AS INTEGER)}) AS hits
    FROM (SELECT iri, row, list_sort(list((first::BIGINT << 40) + (last::BIGINT << 32) + col)) AS codes
          FROM hit SEMI JOIN promising USING (iri, row) GROUP BY iri, row)
    GROUP BY iri, codes;

    CREATE OR REPLACE TEMP TABLE way AS
    WITH RECURSIVE step AS (
        SELECT pattern, 0 AS upto, 0 AS explained, []::STRUCT(first TINYINT, last TINYINT, col INTEGER)[] AS chosen
        FROM pattern
        UNION ALL
        SELECT pattern, h.last, explained + h.last - h.first + 1, list_append(chosen, h)
        FROM (SELECT s.*, unnest(p.hits) AS h FROM step s JOIN pattern p USING (pattern))
        WHERE h.first > upto)
    SELECT pattern, explained, chosen FROM step WHERE explained > 0
    QUALIFY explained = max(explained) OVER (PARTITION BY pattern);

    CREATE OR REPLACE TEMP TABLE placed AS
    SELECT w.pattern, w.explained, w.chosen, p.iri, h.col, w.number, s.start, s.stop
    FROM (SELECT *, unnest(chosen) AS h, unnest(range(1, len(chosen) + 1)) AS number FROM way) w
    JOIN pattern p USING (pattern) JOIN segment s ON s.iri = p.iri AND s.first = w.h.first AND s.last = w.h.last;

    -- The constant text stands between, before and behind the chosen segments.
    CREATE OR REPLACE TEMP TABLE worded AS
    WITH kept AS (
        SELECT pattern, chosen FROM (
            SELECT p.pattern, p.chosen, p.iri, any_value(explained) AS explained, max(stop - start) AS longest,
                   any_value(l.longest) AS possible
            FROM placed p JOIN (SELECT iri, max(length(text)) AS longest FROM held GROUP BY 1) l USING (iri)
            GROUP BY p.pattern, p.chosen, p.iri)
        QUALIFY explained = max(explained) OVER (PARTITION BY iri)
             OR explained = max(explained) OVER (PARTITION BY iri) - 1 AND longest = possible),
    split AS (
        SELECT *, lag(stop, 1, 1) OVER (PARTITION BY pattern, chosen ORDER BY number) AS after
        FROM placed SEMI JOIN kept USING (pattern, chosen))
    SELECT pattern, list_distinct(list(col ORDER BY number)) AS cols,
           list({'text': substr(i.text, after, start - after), 'col': split.col} ORDER BY number)
           || [{'text': substr(any_value(i.text), max(stop)), 'col': NULL}] AS parts
    FROM split JOIN iri i USING (iri) GROUP BY pattern, chosen;
"""

_SPELLED = """
    CREATE OR REPLACE TABLE term AS
    SELECT CAST(row_number() OVER () AS INTEGER) AS term, parts FROM (SELECT DISTINCT parts FROM worded);

    CREATE OR REPLACE TABLE spelled AS
    SELECT a.fact, CAST(a.pos AS TINYINT) AS pos, r.row, t.term, r.cols
    FROM (SELECT p.iri, w.parts, w.cols, unnest(p.rows) AS row FROM worded w JOIN pattern p USING (pattern)) r
    JOIN term t USING (parts) JOIN iri i USING (iri)
    JOIN argument_text a ON a.text = i.text AND coalesce(a.kind = 'text', true);
"""


def spell_iris(work: duckdb.DuckDBPyConnection) -> None:
    """Fill `term(term, parts)` and `spelled` from `segment` and `cell`."""
    for statements in (_OCCURRENCES, _FIRST_LOOK, _HITS, _SECOND_LOOK, _HITS, _WAYS, _SPELLED):
        work.execute(statements)
