"""Spark (the extra `spark`): a folder of files, or a catalogue's schema, in a session of this machine or of a server.

    spark:FOLDER?master=local[2]          files, read by a session that we start
    spark:?master=spark://host:7077       the catalogue of a session that we start
    sc://host:15002/?schema=sales         the catalogue of a server (Spark Connect)

A folder's tables are views of its Parquet or CSV files. What a statement has read of them stays with Spark, in memory
or on its local disks, up to KEPT bytes of files (`keep=no` in the URL: nothing), so that files are read once. Of a
catalogue, whose cluster serves others, it keeps what `keep=yes` asks it to, as far as its executors have room. Each
`Spark` has a session of its own, so views and settings are nobody else's; those of one process share the Java process
behind them, which ends with it. If that dies, the statement under way fails, and the next starts another.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from importlib.util import find_spec
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import sqlglot
from sqlalchemy.engine import URL
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from ruleminer.errors import ConnectionLostError, DatabaseError
from ruleminer.rules.dialects import SPARK
from ruleminer.sources.engines.engine import (
    ROWS_PER_BATCH,
    ROWS_PER_FETCH,
    Clock,
    Parameters,
    Through,
    one_line,
    scrubbed,
    streamed,
    without_password,
)
from ruleminer.sources.engines.folder import file_tables
from ruleminer.sources.engines.spark_files import format_of, make_view, small_tables
from ruleminer.sources.engines.spark_session import OPTIONS, connected, forget_dead, is_alive, option_text, started
from ruleminer.sources.engines.spark_writing import write_distinct
from ruleminer.sources.schema import Column, Table, quote_identifier

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

_SETTINGS = {  # of our own session: values are read as texts, and names are quoted as everywhere
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.timeType.enabled": "true",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
}
_SMALL = {  # of a session whose files are SMALL: to compile what a statement does would take longer than to do it
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}
KEPT = 2 * 10**9
SMALL = 2 * 10**6  # bytes of Parquet or CSV in all
_TOO_MUCH = "spark.driver.maxResultSize"
_WRITING = {TokenType.INSERT, TokenType.UPDATE, TokenType.DELETE, TokenType.MERGE, TokenType.CREATE, TokenType.DROP}
_BACKSLASH = "a name with a backslash cannot be quoted: it would take the meaning from the quote behind it"

# Spark does not say of its functions what they do, and some call Java or read files.
_ALLOWED = frozenset(
    """abs all and any array array_contains array_join as ascii avg between bigint bool_and bool_or boolean bround by
    case cast ceil ceiling char char_length character_length chr coalesce collect_list collect_set concat concat_ws
    contains count cross cume_dist date date_add date_diff date_format date_sub datediff day dayofmonth dayofweek
    dayofyear decimal decode dense_rank distinct double else encode end endswith except exists exp explode extract
    first first_value float floor format_number format_string from from_json from_unixtime get_json_object greatest
    group having hex hour if ifnull ilike in initcap instr int intersect interval is isnotnull isnull join
    json_array_length json_tuple lag last last_day last_value lateral lcase lead least left length like limit ln locate
    log log10 log2 lower ltrim make_date map max md5 mean median min minute mod month months_between named_struct nanvl
    not nth_value ntile nullif nvl nvl2 on or order over overlay partition percent_rank pmod position pow power quarter
    rank regexp regexp_extract regexp_extract_all regexp_like regexp_replace replace reverse right rint rlike round
    row_number rtrim second select sha1 sha2 sign size smallint some sort_array split split_part sqrt stack startswith
    std stddev str_to_map string struct substr substring substring_index sum then timestamp timestamp_seconds tinyint
    to_char to_date to_json to_number to_timestamp transform translate trim trunc try_cast try_divide try_to_date
    try_to_number try_to_timestamp typeof ucase unbase64 unhex union unix_timestamp upper url_decode url_encode using
    values varchar variance week weekday when where with year zip_with""".split()  # noqa: SIM905
)


class Spark:
    """A session of ours; opened anew for the next statement if it was lost."""

    def __init__(self, url: URL, timeout: float) -> None:
        self._url, self._timeout = url, timeout
        self._shown = without_password(url)
        self._is_remote = url.drivername == "sc"
        self._folder = Path(url.database) if url.database and not self._is_remote else None
        self._schema = option_text(url.query.get("schema"))
        self._known: SparkSession | None = None
        if self._folder is not None and not self._folder.is_dir():
            raise DatabaseError(f"no such folder: {self._folder}")
        for option in url.query:
            if not self._is_remote and option not in OPTIONS and not option.startswith("spark."):
                raise DatabaseError(
                    f"{self._shown}: options of the URL may be {', '.join(OPTIONS)} and spark.…, not {option}"
                )
        self._views: dict[str, tuple[str, list[Path]]] = {}
        self._kept: list[DataFrame] = []
        self._cached: set[str] = set()
        keep = option_text(url.query.get("keep")) or ("yes" if self._folder is not None else "no")
        if keep not in ("yes", "no"):
            raise DatabaseError(f"{self._shown}: keep is yes or no, not {keep}")
        self._keeps = keep == "yes"
        if self._folder is not None:
            kind = format_of(self._folder, option_text(url.query.get("format")))
            self._views = {name: (kind, files) for name, files in file_tables(kind, self._folder).items()}
        self._is_small = self._folder is not None and self._keeps and _bytes(self._views) <= SMALL
        self.dialect = replace(SPARK, gathered="/*+ COALESCE(1) */ ") if self._is_small else SPARK
        self._session()

    def schemas(self) -> tuple[str | None, dict[str, int]]:
        """The schema unqualified names go to, and how many tables and views each schema has; a folder has none."""
        if self._folder is not None:
            return None, {}
        with self._guarded(Clock(self._timeout)):
            catalog = self._session().catalog
            current = catalog.currentDatabase()
            found = {one.name: len(catalog.listTables(one.name)) for one in catalog.listDatabases()}
        return current, {current: 0} | found

    def use_schema(self, name: str) -> None:
        """Let unqualified names go to this schema from now on."""
        if self._folder is not None:
            raise DatabaseError(f"a folder has no schemas, so no schema {name!r}; leave the schema out")
        with self._guarded(Clock(self._timeout)):
            self._session().catalog.setCurrentDatabase(name)
        self._schema = name

    def reflect(self, schema: str | None) -> tuple[list[Table], list[tuple[str, str]]]:
        """The tables, uncounted, and those that cannot be read. Spark's catalogue tells no keys."""
        tables, unreadable = [], []
        clock = Clock(self._timeout)
        with self._guarded(clock):
            session = self._session()
            names = dict.fromkeys(self._views, False)
            if self._folder is None:
                listed = session.catalog.listTables(schema)
                names = {one.name: one.tableType == "VIEW" for one in listed if not one.isTemporary}
        for name, is_view in sorted(names.items()):
            if "\\" in name:
                unreadable.append((name, _BACKSLASH))
                continue
            place = quote_identifier(name) if schema is None else f"{quote_identifier(schema)}.{quote_identifier(name)}"
            try:
                with self._guarded(clock):
                    fields = session.sql(f"SELECT * FROM {place} LIMIT 0").schema.fields
            except ConnectionLostError:
                raise
            except DatabaseError as error:
                unreadable.append((name, str(error)))
                continue
            if any("\\" in field.name for field in fields):
                unreadable.append((name, _BACKSLASH))
                continue
            columns = tuple(Column.of_type(f.name, _sql_type(f.dataType), True) for f in fields)
            tables.append(Table(name, columns, is_view=is_view))
            if self._keeps and self._folder is None:
                with self._guarded(clock):
                    self._keep(session, ".".join(f"`{part.replace('`', '``')}`" for part in (schema, name) if part))
        return tables, unreadable

    def rows(self, sql: str, params: Parameters) -> Iterator[tuple[Any, ...]]:
        """The rows of a query: at once, as Arrow, or where Spark finds that too much a partition at a time."""
        from pyspark.errors import PySparkException

        clock = Clock(self._timeout)
        with self._guarded(clock):
            frame = self._frame(sql, params)
            try:
                batches = frame.toArrow().to_batches(ROWS_PER_FETCH)
            except (PySparkException, pa.ArrowException) as error:  # pyspark has no Arrow for some nested values
                if isinstance(error, PySparkException) and _TOO_MUCH not in str(error):
                    raise
                batches = None
        if batches is None:
            yield from self._partitions(frame, clock)
            return
        for batch in batches:
            columns = [_python_values(column) for column in batch.columns]
            zoned = [at for at, one in enumerate(batch.schema) if pa.types.is_timestamp(one.type) and one.type.tz]
            for row in zip(*columns, strict=True):
                yield _in_utc(row, zoned) if zoned else row

    def _partitions(self, frame: DataFrame, clock: Clock) -> Iterator[tuple[Any, ...]]:
        """The rows of each partition in turn. Spark runs a job for each, and forgets none until it ends."""
        from pyspark.sql.types import TimestampType

        with self._guarded(clock):
            zoned = [at for at, one in enumerate(frame.schema.fields) if isinstance(one.dataType, TimestampType)]
            found = iter(frame.toLocalIterator())
        while True:
            with self._guarded(clock):
                fetched: list[tuple[Any, ...]] = list(islice(found, ROWS_PER_FETCH))
            if not fetched:
                return
            for row in fetched:
                yield _in_utc(row, zoned) if zoned else tuple(row)

    def arrow(self, sql: str, params: Parameters) -> pa.RecordBatchReader:
        """The rows of a query as Arrow batches. They come all at once: what is asked for so must fit into memory."""
        with self._guarded(Clock(self._timeout)):
            table = self._frame(sql, params).toArrow()
        return streamed(table.schema, iter(table.to_batches(ROWS_PER_BATCH)))

    @property
    def writes_in_parallel(self) -> bool:
        """Whether executors write files for us: those of a session of ours do; a server's disks are not ours.

        Spark hands them Arrow only where pandas is, too; without it rows are streamed.
        """
        return not self._is_remote and find_spec("pandas") is not None

    def write_distinct(
        self,
        statements: Sequence[tuple[str, Through]],
        columns: Sequence[str],
        folder: Path,
        form: str,
        per_file: int,
    ) -> tuple[list[Path], int, list[Any]]:
        """What becomes of the rows of statements, each row once, as files that the executors write (spark_writing.py).

        Every statement has the time that one has; what is done with its rows counts here.
        """
        with self._guarded(Clock(self._timeout * max(1, len(statements)))):
            frames = [(self._frame(sql, None), through) for sql, through in statements]
            return write_distinct(self._session(), frames, columns, folder, form, per_file)

    def refused_functions(self, names: Collection[str]) -> set[str]:
        """All but those that are known to compute and nothing else."""
        return {name for name in names if name.lower() not in _ALLOWED and re.match(r"\w", name)}

    def role_problem(self) -> str:
        """A folder has no roles, and a catalogue does not tell of them."""
        return ""

    def limit_memory(self, size: int | None) -> None:
        """Spark's memory is its session's."""

    def close(self) -> None:
        """Give back the session; the Java process stays, for others."""
        session, self._known = self._known, None
        if session is None:
            return
        with suppress(Exception):
            for place in self._cached:
                session.catalog.uncacheTable(place)
            if self._is_remote:
                session.stop()
            else:
                for frame in self._kept:
                    frame.unpersist()
                for name in self._views:
                    session.catalog.dropTempView(name)

    def _frame(self, sql: str, params: Parameters) -> DataFrame:
        _refuse_others(sql)
        return self._session().sql(sql, args=list(params or ()) or None)

    def _session(self) -> SparkSession:
        if self._known is None:
            try:
                self._known = self._opened()
            except DatabaseError:
                raise
            except Exception as error:  # what pyspark raises depends on how far it came
                raise DatabaseError(f"cannot open {self._shown}: {self._told(error)}") from None
        return self._known

    def _opened(self) -> SparkSession:
        session = connected(self._url) if self._is_remote else started(self._url, self._is_small).newSession()
        own = {
            name: option_text(value) or "" for name, value in self._url.query.items() if name.startswith("spark.sql.")
        }
        for name, value in {**(_SMALL if self._is_small else {}), **own, **_SETTINGS}.items():
            if session.conf.get(name, None) != value:  # what a Java process was started with cannot be set again
                session.conf.set(name, value)
        kept = small_tables({name: files for name, (_, files) in self._views.items()}, KEPT if self._keeps else -1)
        self._kept = []
        for name, (kind, files) in self._views.items():
            try:
                frame = make_view(session, kind, files, name)
                if name in kept:
                    self._kept.append(frame.persist())  # what does not fit into memory goes to disk
            except Exception as error:
                raise DatabaseError(f"{files[0]}: cannot be read: {self._told(error)}") from None
        if self._schema is not None:
            session.catalog.setCurrentDatabase(self._schema)
        for place in self._cached:
            session.catalog.cacheTable(place)
        return session

    def _keep(self, session: SparkSession, place: str) -> None:
        """Let Spark keep a table of the catalogue as it is now, once a statement reads it.

        All sessions of an application share what is kept: what somebody else keeps stays when we go.
        """
        if place in self._cached:
            return
        if session.catalog.isCached(place):
            session.catalog.refreshTable(place)
        else:
            session.catalog.cacheTable(place)
            self._cached.add(place)

    @contextmanager
    def _guarded(self, clock: Clock) -> Iterator[None]:
        from py4j.protocol import Py4JError, Py4JNetworkError
        from pyspark.errors import PySparkException

        session, ended = self._known, threading.Event()
        try:
            with clock.waiting(lambda: self._interrupt(ended)):
                try:
                    yield
                finally:
                    ended.set()  # before the wait ends, which waits for an interruption that has begun
        except (PySparkException, Py4JError, OSError, EOFError, pa.ArrowException) as error:
            gone = isinstance(error, Py4JNetworkError | OSError | EOFError) or "UNAVAILABLE" in str(error)
            if gone or (not self._is_remote and not is_alive()):
                self._forget(session)
                raise ConnectionLostError(f"the connection to {self._shown} was lost; try again") from None
            raise DatabaseError(f"{self._shown}: {self._told(error)}") from None
        except (IndexError, TypeError, ValueError) as error:  # pyspark's own, for values that it cannot bind
            raise DatabaseError(f"the query and its parameters do not fit: {self._told(error)}") from None

    def _interrupt(self, ended: threading.Event) -> None:
        """Stop what runs. Until it is heard: a statement that is still planned has no job that could be stopped."""
        while not ended.is_set():
            with suppress(Exception):
                if self._known is not None:
                    self._known.interruptAll()
            ended.wait(0.5)

    def _forget(self, session: SparkSession | None) -> None:
        if self._known is session:
            self._known = None
        if not self._is_remote:
            forget_dead()

    def _told(self, error: object) -> str:
        text = getattr(error, "getMessage", lambda: None)() or str(error)
        reason = re.split(r"\n== SQL|\n\tat |; line \d|\nJVM stacktrace", text.strip(), maxsplit=1)[0]
        return scrubbed(one_line(reason), self._url)


def _refuse_others(sql: str) -> None:
    """A WITH may lead to an INSERT, and a SELECT may call a program (TRANSFORM … USING 'program')."""
    try:
        tokens = sqlglot.tokenize(sql, dialect=SPARK.name)
    except SqlglotError as error:
        raise DatabaseError(f"cannot read this SQL: {one_line(error)}") from None
    for token, behind in zip(tokens, [*tokens[1:], None], strict=True):
        named = behind is not None and behind.token_type is TokenType.L_PAREN  # the columns of a JOIN
        calls = token.token_type is TokenType.USING and not named
        if token.token_type in _WRITING or calls:
            raise DatabaseError(f"not a query: {one_line(sql)[:80]}")


def _bytes(views: Mapping[str, tuple[str, list[Path]]]) -> int:
    return sum(file.stat().st_size for _, files in views.values() for file in files)


def _sql_type(found: DataType) -> str:
    """A type in the words that all engines share (sources/schema.py, rules/columns.py)."""
    from pyspark.sql import types

    match found:
        case types.TimestampType():
            return "timestamp with time zone"
        case types.TimestampNTZType():
            return "timestamp"
        case types.ArrayType():
            return f"{_sql_type(found.elementType)}[]"
        case types.StructType() | types.MapType():
            return "json"
        case _:
            return found.simpleString()


def _python_values(array: pa.Array) -> list[Any]:
    """Values as pyspark gives them: of a struct a tuple, where Arrow would make a dict."""
    if pa.types.is_struct(array.type):
        fields = [_python_values(field) for field in array.flatten()]
        told: list[Any] = list(zip(*fields, strict=True))
    elif pa.types.is_list(array.type):
        values, ends = _python_values(array.values), array.offsets.to_pylist()
        told = [values[start:end] for start, end in pairwise(ends)]
    else:
        return list(array.to_pylist())
    return [one if known else None for one, known in zip(told, array.is_valid().to_pylist(), strict=True)]


def _in_utc(row: Sequence[Any], zoned: list[int]) -> tuple[Any, ...]:
    """pyspark makes times of the zone that this machine is in."""
    values = list(row)
    for at in zoned:
        if isinstance(values[at], datetime):
            values[at] = values[at].astimezone(UTC)
    return tuple(values)
