"""What of a URL nobody may see."""

from __future__ import annotations

import pytest
from sqlalchemy.engine import make_url

from ruleminer.cli.failures import _report
from ruleminer.sources.engines.engine import scrubbed, without_password

SECRET = "T0PSECRET"
URLS = (
    f"postgresql://me:{SECRET}@host/db",
    f"postgresql://me@host/db?pwd={SECRET}",
    f"duckdb:///md?motherduck_token={SECRET}",
    f"spark://lake?spark.hadoop.fs.azure.account.key.acct.dfs.core.windows.net={SECRET}",
    f"spark://lake?spark.hadoop.fs.s3a.access.key={SECRET}",
)


@pytest.mark.parametrize("url", URLS)
def test_a_secret_is_neither_shown_nor_told(url: str) -> None:
    assert SECRET not in without_password(make_url(url))
    assert SECRET not in scrubbed(f"no access with {SECRET}", make_url(url))
    assert SECRET not in _report(ValueError(f"cannot open {url}"), ["ruleminer"])


def test_an_option_that_only_looks_like_a_key_is_shown() -> None:
    assert "keyspace=shop" in without_password(make_url("postgresql://me@host/db?keyspace=shop"))
