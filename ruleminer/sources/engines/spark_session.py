"""Sessions of Spark: of a Java process that this process starts and shares, or of a server (Spark Connect)."""

from __future__ import annotations

import logging
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy.engine import URL

from ruleminer.errors import DatabaseError
from ruleminer.sources.engines.engine import one_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OPTIONS = ("master", "schema", "format", "keep")
_STARTED = {  # what a Java process is started with
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.ui.retainedExecutions": "1",  # of an interface that is not there
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.ui.retainedTasks": "100",
}
_LOCAL = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
_SMALL = {  # a local Java process that is started for little: compilers of code that runs often would take most of it
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC",
}
_SIZE = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)
_PAGES = 2**13  # that a task may have
_HEADER = 16  # bytes that Java puts before an array
_OLDEST_JAVA = 17
_starting = threading.Lock()


def started(url: URL, is_small: bool) -> SparkSession:
    """A session of this process, whose Java process is started by the first who asks, for little or for much."""
    session_of = _pyspark_session()
    master = option_text(url.query.get("master")) or "local[*]"
    own = {name: option_text(value) or "" for name, value in url.query.items() if name.startswith("spark.")}
    with _starting:
        forget_dead()
        known = session_of._instantiatedSession  # the active one is that of a thread
        if known is not None and known.sparkContext._jsc is not None:
            _refuse_changes(known, {"spark.master": option_text(url.query.get("master")), **own})
            return known
        if problem := java_problem():
            raise DatabaseError(problem)
        if master.startswith("local"):  # functions of ours run in this Python, wherever the PATH leads
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = session_of.builder.master(master).appName("ruleminer")
        local = {}
        if master.startswith("local"):
            local = {**_LOCAL, "spark.buffer.pageSize": page_size(own), **(_SMALL if is_small else {})}
        nowhere = {"spark.sql.warehouse.dir": str(Path(tempfile.gettempdir(), "ruleminer-spark-warehouse"))}
        for name, value in {**_STARTED, **nowhere, **local, **own}.items():
            builder = builder.config(name, value)
        session = _start(builder)
        session.sparkContext.setLogLevel("OFF")
        # What tasks tell comes in by a server of pyspark's, which prints a stack trace when the Java process is gone.
        session.sparkContext._accumulatorServer.handle_error = lambda *lost: None  # type: ignore[method-assign]
        return session


def page_size(options: Mapping[str, str]) -> str:
    """The pages in which tasks of a local session get memory: the smallest that let one task have all there is.

    Each broadcast and each aggregate takes a page, however few its rows; of Spark's own size, up to 64 MB, those of a
    few hundred small statements keep Java busy with garbage. With its header a page fills whole megabytes: G1 gives an
    array of a region and a byte two regions, and then what Spark thinks it may have is more than there is.
    """
    told = _SIZE.fullmatch(options.get("spark.driver.memory", ""))
    megabytes = int(told[1]) * 1024 ** ("kmgt".index(told[2].lower() or "m") - 1) if told else 1024
    return f"{max(1, math.ceil(megabytes / _PAGES)) * 2**20 - _HEADER}b"


def _refuse_changes(session: SparkSession, wanted: Mapping[str, str | None]) -> None:
    """A process has one Java process, which is as it was started; only what is Spark SQL's can be set for us alone."""
    running = session.sparkContext.getConf()
    for name, value in wanted.items():
        if value is not None and not name.startswith("spark.sql.") and running.get(name) != value:
            raise DatabaseError(f"Spark runs in this process already, and not with {name}={value}")


def java_problem() -> str:
    """What is wrong with the Java runtime that Spark would start; nothing if it will do."""
    needs = f"Spark needs a Java runtime, {_OLDEST_JAVA} or later (Debian: openjdk-17-jre-headless)"
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home, "bin"))) if home else shutil.which("java")
    if java is None:
        return f"{needs}; none was found" + (f" in JAVA_HOME, {home}" if home else "")
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True).stderr
    except (OSError, subprocess.SubprocessError) as error:
        return f"{needs}; {java} does not run ({one_line(error)})"
    version = re.search(r'version "(?:1\.)?(\d+)', said)
    return f"{needs}; {java} is {version[1]}" if version and int(version[1]) < _OLDEST_JAVA else ""


def _start(builder: SparkSession.Builder) -> SparkSession:
    """Start a Java process. What it says of itself is kept from the terminal: it has our stderr while it lives."""
    kept = os.dup(2)
    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 2)
        try:
            return builder.getOrCreate()
        except Exception as error:
            said.seek(0)
            lines = [line for line in said.read().decode("utf-8", "replace").splitlines() if line.strip()]
            reasons = [line for line in lines if re.search(r"error|exception", line, re.IGNORECASE)]
            told = next(iter(reasons or lines[-1:]), one_line(error))
            raise DatabaseError(f"Spark did not start: {told.strip()}") from None
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def connected(url: URL) -> SparkSession:
    """A session of a server's."""
    session_of = _pyspark_session()
    options = "".join(f";{name}={option_text(value)}" for name, value in url.query.items() if name not in OPTIONS)
    user = f";user_id={url.username}" if url.username else ""
    place = f"sc://{url.host or 'localhost'}:{url.port or 15002}/{options}{user}"
    session: SparkSession = session_of.builder.remote(place).create()
    return session


def _pyspark_session() -> type[SparkSession]:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise DatabaseError("Spark needs pyspark: pip install 'ruleminer[spark]'") from None
    # Both print stack traces of what we tell in one line; py4j by the root of all loggers.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(_is_no_lost_connection)
    return SparkSession


def _is_no_lost_connection(record: logging.LogRecord) -> bool:
    return record.module not in ("java_gateway", "clientserver")


def is_alive() -> bool:
    """Whether the Java process that this process started is there."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    return gateway is None or process is None or process.poll() is None


def forget_dead() -> None:
    """Let pyspark start another Java process where the one that it knows is gone."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if is_alive():
        return
    with suppress(Exception):
        SparkContext._gateway.shutdown()  # type: ignore[union-attr]
    SparkContext._active_spark_context = None
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkSession._instantiatedSession = None


def option_text(value: str | tuple[str, ...] | None) -> str | None:
    """An option of a URL; the last one of several."""
    return value[-1] if isinstance(value, tuple) else value
