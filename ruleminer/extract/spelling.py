"""IRIs put together from a row: `spelled(fact, pos, row, term, cols)`, for all facts at once.

An IRI is cut at `/` and `#`; a *segment* is a run of the pieces. A row explains an IRI by columns whose text is one
of its segments; what no column explains is constant text. Of the ways to choose segments that do not overlap, those
count that explain the most pieces this row can explain. Of all rows, those count that explain as many pieces as the
best row, and those that explain one fewer but still the longest segment that any row explains: an IRI with a
constant in it (`…/hctype/OIL`) is explained in full by rows that happen to hold that word, too.
"""

from __future__ import annotations

import duckdb


def spell_iris(work: duckdb.DuckDBPyConnection) -> None:
    """Fill `term(term, parts)` and `spelled` from `segment` and `cell`."""
    work.execute(
        """
        -- Which columns of which rows hold a segment.
        CREATE OR REPLACE TEMP TABLE hit AS
        SELECT s.iri, c.row, s.first, s.last, c.col
        FROM segment s JOIN value v ON v.key = s.text JOIN cell c ON c.val = v.val AND c.raw IS NULL
        UNION
        SELECT s.iri, c.row, s.first, s.last, c.col FROM segment s JOIN cell c ON c.raw = s.text;

        -- A row that explains at most `most` pieces cannot count where some row explains `sure` + 1 and more.
        CREATE OR REPLACE TEMP TABLE promising AS
        WITH bound AS (
            SELECT iri, row, bit_count(bit_or(((1::BIGINT << (last - first + 1)) - 1) << first)) AS most,
                   greatest(max(last - first + 1), count(DISTINCT first) FILTER (first = last)) AS sure
            FROM hit GROUP BY ALL)
        SELECT iri, row FROM bound QUALIFY most >= max(sure) OVER (PARTITION BY iri) - 1;

        -- Rows that are hit in the same way are explained in the same ways.
        CREATE OR REPLACE TEMP TABLE pattern AS
        SELECT row_number() OVER () AS pattern, iri, hits, list(row) AS rows FROM (
            SELECT iri, row, list({'first': first, 'last': last, 'col': col} ORDER BY first, last, col) AS hits
            FROM hit JOIN promising USING (iri, row) GROUP BY ALL)
        GROUP BY iri, hits;

        CREATE OR REPLACE TEMP TABLE way AS
        WITH RECURSIVE step AS (
            SELECT pattern, 0 AS upto, 0 AS explained, []::STRUCT(first TINYINT, last TINYINT, col INTEGER)[] AS chosen
            FROM pattern
            UNION ALL
            SELECT pattern, h.last, explained + h.last - h.first + 1, list_append(chosen, h)
            FROM (SELECT s.*, unnest(p.hits) AS h FROM step s JOIN pattern p USING (pattern))
            WHERE h.first > upto)
        SELECT pattern, explained, chosen FROM step
        WHERE explained > 0
        QUALIFY explained = max(explained) OVER (PARTITION BY pattern);

        CREATE OR REPLACE TEMP TABLE kept AS
        WITH measured AS (
            SELECT w.pattern, p.iri, w.explained, w.chosen,
                   list_max(list_transform(w.chosen, lambda h: len(s.texts[(h.first, h.last)]))) AS longest
            FROM way w JOIN pattern p USING (pattern)
            JOIN (SELECT iri, map_from_entries(list(((first, last), text))) AS texts FROM segment GROUP BY iri) s
              USING (iri))
        SELECT pattern, iri, chosen FROM measured
        QUALIFY explained = max(explained) OVER (PARTITION BY iri)
             OR explained = max(explained) OVER (PARTITION BY iri) - 1
                AND longest = max(longest) OVER (PARTITION BY iri);

        -- The constant text stands between, before and behind the chosen segments.
        CREATE OR REPLACE TEMP TABLE worded AS
        WITH chosen AS (
            SELECT pattern, iri, chosen, unnest(chosen) AS h, unnest(range(1, len(chosen) + 1)) AS number FROM kept),
        placed AS (
            SELECT c.*, s.start, s.stop FROM chosen c JOIN segment s
              ON s.iri = c.iri AND s.first = c.h.first AND s.last = c.h.last),
        split AS (
            SELECT pattern, iri, chosen, number, h.col AS col, stop,
                   lag(stop, 1, 1) OVER (PARTITION BY pattern, chosen ORDER BY number) AS after, start
            FROM placed)
        SELECT pattern, list_distinct(list(col ORDER BY number)) AS cols,
               list({'text': substr(i.text, after, start - after), 'col': split.col} ORDER BY number)
               || [{'text': substr(any_value(i.text), max(stop)), 'col': NULL}] AS parts
        FROM split JOIN iri i USING (iri) GROUP BY pattern, chosen;

        CREATE OR REPLACE TABLE term AS
        SELECT CAST(row_number() OVER () AS INTEGER) AS term, parts FROM (SELECT DISTINCT parts FROM worded);

        CREATE OR REPLACE TABLE spelled AS
        SELECT a.fact, CAST(a.pos AS TINYINT) AS pos, r.row, t.term, r.cols
        FROM (SELECT p.iri, w.parts, w.cols, unnest(p.rows) AS row
              FROM worded w JOIN pattern p USING (pattern)) r
        JOIN term t USING (parts) JOIN iri i USING (iri)
        JOIN argument_text a ON a.text = i.text AND coalesce(a.kind = 'text', true);
        """
    )
