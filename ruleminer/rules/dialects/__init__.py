"""What differs between the SQL of our engines, one small file each."""

from ruleminer.rules.dialects.dialect import BOUND, Dialect
from ruleminer.rules.dialects.duckdb import DUCKDB
from ruleminer.rules.dialects.mysql import MYSQL
from ruleminer.rules.dialects.postgres import POSTGRES
from ruleminer.rules.dialects.spark import SPARK
from ruleminer.rules.dialects.sqlite import SQLITE

DIALECTS = (DUCKDB, POSTGRES, SQLITE, MYSQL, SPARK)

__all__ = ["BOUND", "DIALECTS", "DUCKDB", "MYSQL", "POSTGRES", "SPARK", "SQLITE", "Dialect"]
