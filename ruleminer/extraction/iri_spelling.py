"""IRIs put together from a row: `spelled(iri, row, term, cols)`, for all facts at once.

An IRI is cut at `/` and `#`; a *segment* is a run of the pieces. A row explains an IRI by columns whose text is one
of its segments; what no column explains is constant text. Of the ways to choose segments that do not overlap, those
count that explain the most pieces this row can explain. Of all rows, those count that explain as many pieces as the
best row, and those that explain one fewer, but the longest of the IRI's segments that stand in the database: an IRI
with a constant in it (`…/hctype/OIL`) is explained in full by rows that happen to hold that word, too. What all IRIs of
an argument begin with is its namespace: a row that explains nothing beyond it explains nothing, a segment counts as
the longest only beyond it, and a piece of it that is alike some predicate's name may be constant text even if a column
holds it (`…/member/…` where some column says `member`). A column of texts may also hold a piece percent-decoded
(`New%20York`, `New+York`), if IRIs of the argument are so encoded.

A text that is no IRI, `PX1/2`, is a key of several columns: all of its pieces stand in the row, or else it names
nothing there. Not so those that are alike a predicate's name, nor words that are no table's name and that no row holds:
they may be fixed text (`ex:disc/101`).

Small numbers stand in many rows, so rows are not looked for by any segment. A row that explains c of the m pieces
that can be explained at all explains one of the m - c + 1 rarest; a first look, at the rarest piece only, tells how
large c must be. Only pieces beyond the namespace lead to rows; if n pieces of it stand somewhere, a row that explains
c explains c - n beyond it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

import duckdb
import pyarrow as pa

from ruleminer.extraction.compound_keys import KeyColumns
from ruleminer.rules.mapping import looks_like_iri
from ruleminer.structure.words import best_likeness

_ALIKE = 0.7  # of a piece of a namespace and a predicate's name
_ROWS_AT_ONCE = 2_000_000
_LOOKED_AT = ("spelt", "spelt_cell", "held", "piece", "seed", "bound", "seed_now", "turn", "alike_row")
_TEMPORARY = (*_LOOKED_AT, "plain_text", "pattern", "way", "placed", "worded", "naming_word")

# What stands where: the cells that spell a segment (by its number), and how many rows each segment and each piece
# would lead to. Only texts are encoded. `inner_pieces` counts those of the namespace that stand somewhere.
_OCCURRENCES = """
    CREATE OR REPLACE TEMP TABLE spelt AS
    SELECT CAST(row_number() OVER () AS INTEGER) AS txt, text FROM (SELECT DISTINCT text FROM segment);

    CREATE OR REPLACE TEMP TABLE spelt_cell AS
    SELECT c.row, c.col, s.txt, v.family = 'text' AS is_text
    FROM cell c JOIN value v USING (val) JOIN spelt s ON s.text = coalesce(c.raw, v.key);

    CREATE OR REPLACE TEMP TABLE held AS
    SELECT s.iri, s.first, s.last, t.txt, s.how, s.inside, s.stop - s.start AS size,
           IF(s.how = '', o.rows, o.texts) AS rows
    FROM segment s JOIN spelt t USING (text)
    JOIN (SELECT txt, count(*) AS rows, count(*) FILTER (is_text) AS texts FROM spelt_cell GROUP BY 1) o USING (txt)
    WHERE s.how = '' OR o.texts > 0;

    CREATE OR REPLACE TEMP TABLE piece AS
    SELECT iri, piece, sum(rows) AS rows, row_number() OVER (PARTITION BY iri ORDER BY sum(rows), piece) AS rarity,
           count(*) OVER (PARTITION BY iri) AS pieces, any_value(inner_pieces) AS inner_pieces
    FROM (SELECT iri, unnest(range(first, last + 1)) AS piece, rows, inside FROM held)
    LEFT JOIN (SELECT iri, count(DISTINCT piece) AS inner_pieces FROM (
                   SELECT iri, inside, unnest(range(first, last + 1)) AS piece FROM held)
               WHERE piece <= inside GROUP BY 1) USING (iri)
    WHERE piece > inside GROUP BY iri, piece;

    CREATE OR REPLACE TEMP TABLE seed AS
    SELECT DISTINCT h.iri, h.txt FROM held h JOIN piece p ON p.iri = h.iri AND p.piece BETWEEN h.first AND h.last
    WHERE p.rarity = 1;
    CREATE OR REPLACE TEMP TABLE bound (iri INTEGER, sure INTEGER);
"""

# Rows that hold a segment over one of the seed pieces, with all segments of the IRI they hold; some IRIs at a time.
_HITS = """
    (SELECT iri, row, first, last, col, how, inside
     FROM (SELECT DISTINCT iri, row FROM seed_now JOIN spelt_cell USING (txt))
     JOIN spelt_cell USING (row) JOIN held USING (iri, txt) WHERE how = '' OR is_text)
"""

# `sure`: some row explains so many pieces, and one beyond the namespace. Single pieces never overlap, and one run
# explains all of its own.
_FIRST_LOOK = f"""
    INSERT INTO bound
    SELECT iri, max(sure) FROM (
        SELECT iri, greatest(max(last - first + 1) FILTER (last > inside),
                             IF(bool_or(first = last AND first > inside),
                                bit_count(bit_or(1::BIGINT << first) FILTER (first = last)), 0)) AS sure
        FROM {_HITS} GROUP BY iri, row)
    GROUP BY iri;
"""

_SECOND_SEEDS = """
    CREATE OR REPLACE TEMP TABLE seed AS
    WITH ranked AS (
        SELECT h.*, p.rarity, p.pieces, b.sure, p.rows AS piece_rows, p.piece,
               b.sure - coalesce(p.inner_pieces, 0) AS outer_sure,
               h.last > h.inside AND h.size = max(h.size) FILTER (h.last > h.inside) OVER (PARTITION BY h.iri)
                   AS is_longest
        FROM held h JOIN bound b USING (iri)
        JOIN piece p ON p.iri = h.iri AND p.piece BETWEEN h.first AND h.last),
    cost AS (
        SELECT iri, sum(rows) FILTER (is_longest AND piece = greatest(first, inside + 1)) AS by_longest,
               sum(rows) FILTER (rarity <= pieces - greatest(outer_sure - 1, 1) + 1) AS by_rarest
        FROM ranked GROUP BY iri)
    SELECT iri, txt FROM ranked WHERE rarity <= pieces - greatest(outer_sure, 1) + 1
    UNION
    SELECT iri, txt FROM ranked JOIN cost USING (iri)
    WHERE sure > 1
      AND IF(by_longest <= by_rarest, is_longest, rarity <= pieces - greatest(outer_sure - 1, 1) + 1);
    CREATE OR REPLACE TEMP TABLE alike_row (iri INTEGER, one BIGINT, rows BIGINT[]);
"""

# Rows that are hit in the same way are explained in the same ways: they have the same hits, told by two sums of hashes.
_SECOND_LOOK = f"""
    INSERT INTO alike_row
    SELECT iri, min(row), list(row) FROM (
        SELECT iri, row, sum(hash(first, last, col, how)) AS mark, sum(hash(how, col, last, first, 1)) AS mark2
        FROM {_HITS} JOIN bound USING (iri) GROUP BY iri, row
        HAVING bit_count(bit_or(((1::BIGINT << (last - first + 1)) - 1) << first)) >= any_value(sure) - 1)
    GROUP BY iri, mark, mark2;
"""

_WAYS = """
    CREATE OR REPLACE TEMP TABLE pattern AS
    SELECT row_number() OVER () AS pattern, iri, any_value(a.rows) AS rows,
           list({'first': first, 'last': last, 'col': col, 'how': how}) AS hits, any_value(inside) AS inside
    FROM alike_row a JOIN spelt_cell c ON c.row = a.one JOIN held USING (iri, txt)
    WHERE how = '' OR is_text GROUP BY iri, one;

    CREATE OR REPLACE TEMP TABLE way AS
    WITH RECURSIVE step AS (
        SELECT pattern, inside, 0 AS upto, 0 AS explained,
               []::STRUCT(first TINYINT, last TINYINT, col INTEGER, how VARCHAR)[] AS chosen
        FROM pattern
        UNION ALL
        SELECT pattern, inside, h.last, explained + h.last - h.first + 1, list_append(chosen, h)
        FROM (SELECT s.*, unnest(p.hits) AS h FROM step s JOIN pattern p USING (pattern))
        WHERE h.first > upto),
    best AS (
        SELECT pattern, inside, explained, chosen FROM step WHERE upto > inside
        QUALIFY explained = max(explained) OVER (PARTITION BY pattern))
    SELECT pattern, explained, chosen, false AS shortened FROM best
    UNION ALL
    SELECT b.pattern, explained - 1, list_filter(chosen, lambda one: one <> h), true
    FROM (SELECT *, unnest(chosen) AS h FROM best) b
    JOIN pattern p USING (pattern) JOIN segment s ON s.iri = p.iri AND s.first = h.first AND s.last = h.last
    SEMI JOIN naming_word w ON w.text = s.text WHERE s.how = '' AND s.first = s.last AND s.last <= s.inside;

    DELETE FROM way USING pattern p, plain_text t
    WHERE p.pattern = way.pattern AND t.iri = p.iri AND way.explained < t.pieces;

    CREATE OR REPLACE TEMP TABLE placed AS
    SELECT w.pattern, w.explained, w.chosen, w.shortened, p.iri, h.col, h.how, w.number, s.start, s.stop,
           s.last > s.inside AS beyond
    FROM (SELECT *, unnest(chosen) AS h, unnest(range(1, len(chosen) + 1)) AS number FROM way) w
    JOIN pattern p USING (pattern)
    JOIN segment s ON s.iri = p.iri AND s.first = w.h.first AND s.last = w.h.last AND s.how = w.h.how;

    -- The constant text stands between, before and behind the chosen segments.
    CREATE OR REPLACE TEMP TABLE worded AS
    WITH kept AS (
        SELECT pattern, chosen FROM (
            SELECT p.pattern, p.chosen, p.iri, any_value(explained) AS explained, any_value(shortened) AS shortened,
                   max(stop - start) FILTER (beyond) AS longest, any_value(l.longest) AS possible
            FROM placed p JOIN (SELECT iri, max(size) AS longest FROM held WHERE last > inside GROUP BY 1) l USING (iri)
            GROUP BY p.pattern, p.chosen, p.iri)
        QUALIFY explained = max(explained) OVER (PARTITION BY iri)
             OR explained = max(explained) OVER (PARTITION BY iri) - 1 AND (longest = possible OR shortened)),
    split AS (
        SELECT *, lag(stop, 1, 1) OVER (PARTITION BY pattern, chosen ORDER BY number) AS after
        FROM placed SEMI JOIN kept USING (pattern, chosen))
    SELECT pattern, list_distinct(list(col ORDER BY number)) AS cols,
           list({'text': substr(i.text, after, start - after), 'col': split.col, 'how': split.how} ORDER BY number)
           || [{'text': substr(any_value(i.text), max(stop)), 'col': NULL, 'how': ''}] AS parts
    FROM split JOIN iri i USING (iri) GROUP BY pattern, chosen;
"""

_SPELLED = """
    CREATE OR REPLACE TABLE term AS
    SELECT CAST(row_number() OVER (ORDER BY parts) AS INTEGER) AS term, parts FROM (SELECT DISTINCT parts FROM worded);

    -- Of an IRI alone it is enough to know the ways. Of what stands beside it, the rows are asked, too.
    CREATE OR REPLACE TABLE spelling AS
    SELECT DISTINCT p.iri, t.term, w.cols FROM worded w JOIN pattern p USING (pattern) JOIN term t USING (parts);

    CREATE OR REPLACE TABLE spelled AS
    SELECT p.iri, unnest(p.rows) AS row, t.term, w.cols
    FROM worded w JOIN pattern p USING (pattern) JOIN term t USING (parts);
"""


def spell_iris(work: duckdb.DuckDBPyConnection, key_columns: KeyColumns) -> None:
    """Fill `term(term, parts)`, `spelling(iri, term, cols)` and `spelled` from `segment` and `cell`.

    Keys of which the columns are known are spelt by these alone. Joins are written in the order in which they are best
    done.
    """
    predicates = [name for (name,) in work.execute("SELECT DISTINCT predicate FROM fact").fetchall()]
    _find_naming_words(work, predicates)
    work.execute(_OCCURRENCES)
    _find_plain_texts(work, predicates)
    _look(work, _FIRST_LOOK)
    work.execute(_SECOND_SEEDS)
    _look(work, _SECOND_LOOK)
    work.execute(_WAYS)
    work.execute(_SPELLED)
    if key_columns:
        _leave_known_columns(work, key_columns)
    for name in _TEMPORARY:
        work.execute(f"DROP TABLE IF EXISTS {name}")


def _leave_known_columns(work: duckdb.DuckDBPyConnection, key_columns: KeyColumns) -> None:
    """Leave out what spells keys by other columns than those in which they may stand."""
    rows = [{"text": text, "cols": list(cols)} for text, some in key_columns.items() for cols in some]
    schema = pa.schema([("text", pa.string()), ("cols", pa.list_(pa.int32()))])
    work.register("key_column", pa.Table.from_pylist(rows, schema))
    cols = "list_filter(list_transform(term.parts, lambda part: part.col), lambda col: col IS NOT NULL)"
    for relation in ("spelling", "spelled"):
        work.execute(
            f"""
            DELETE FROM {relation} USING iri, term
            WHERE iri.iri = {relation}.iri AND term.term = {relation}.term
              AND iri.text IN (SELECT text FROM key_column)
              AND (iri.text, {cols}) NOT IN (SELECT text, cols FROM key_column)
            """
        )
    work.unregister("key_column")


def names_something(piece: str, predicates: Iterable[str]) -> bool:
    """Whether a piece of a namespace says what kind of thing an IRI names."""
    return best_likeness({piece}, predicates) >= _ALIKE


def must_stand(piece: str, predicates: Iterable[str], known: Set[str]) -> bool:
    """Whether a piece of a text that is no IRI must stand in the row that it names: it is no fixed word.

    `known` are texts that rows hold, and names of tables in lower case.
    """
    is_word = not any(map(str.isdigit, piece)) and piece not in known and piece.lower() not in known
    return not is_word and not names_something(piece, predicates)


def _find_naming_words(work: duckdb.DuckDBPyConnection, predicates: Sequence[str]) -> None:
    """Fill `naming_word(text)`: the pieces of namespaces that are alike a predicate's name."""
    inner = work.execute(
        "SELECT DISTINCT text FROM segment WHERE first = last AND last <= inside AND how = ''"
    ).fetchall()
    words = [text for (text,) in inner if names_something(text, predicates)]
    work.register("words", pa.table({"text": pa.array(words, pa.string())}))
    work.execute("CREATE OR REPLACE TEMP TABLE naming_word AS SELECT * FROM words")
    work.unregister("words")


def _find_plain_texts(work: duckdb.DuckDBPyConnection, predicates: Sequence[str]) -> None:
    """Fill `plain_text(iri, pieces)`: of each text that is no IRI, how many pieces of it must stand in a row."""
    rows = work.execute(
        "SELECT text FROM spelt SEMI JOIN spelt_cell USING (txt) UNION SELECT lower(table_name) FROM source_column"
    ).fetchall()
    known = {text for (text,) in rows}
    pieces: dict[int, int] = {}
    for iri, text, piece in work.execute(
        "SELECT iri, i.text, s.text FROM segment s JOIN iri i USING (iri) WHERE first = last AND how = ''"
        " AND NOT contains(i.text, '://') ORDER BY ALL"
    ).fetchall():
        if not looks_like_iri(text):
            pieces[iri] = pieces.get(iri, 0) + must_stand(piece, predicates, known)
    work.register(
        "plain", pa.table({"iri": pa.array(pieces, pa.int32()), "pieces": pa.array(pieces.values(), pa.int32())})
    )
    work.execute("CREATE OR REPLACE TEMP TABLE plain_text AS SELECT * FROM plain")
    work.unregister("plain")


def _look(work: duckdb.DuckDBPyConnection, statement: str) -> None:
    """Look at the rows that the seeds lead to, a bounded number of them at a time."""
    work.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE turn AS
        SELECT iri, CAST(sum(rows) OVER (ORDER BY iri) AS BIGINT) // {_ROWS_AT_ONCE} AS turn FROM (
            SELECT iri, sum(rows) AS rows FROM seed JOIN (SELECT txt, count(*) AS rows FROM spelt_cell GROUP BY 1) o
            USING (txt) GROUP BY iri)
        """
    )
    for (turn,) in work.execute("SELECT DISTINCT turn FROM turn ORDER BY 1").fetchall():
        work.execute(
            "CREATE OR REPLACE TEMP TABLE seed_now AS SELECT s.* FROM seed s SEMI JOIN "
            "(SELECT iri FROM turn WHERE turn = ?) t USING (iri)",
            [turn],
        )
        work.execute(statement)
