"""Facts as relations of the embedded database: its readings of an argument are those of the rule language."""

from __future__ import annotations

import duckdb
import pytest

from ruleminer.extraction.fact_relations import load_facts
from ruleminer.problem.facts import Fact, fact_table
from ruleminer.rules.lexical import readings
from ruleminer.rules.values import Kind

TEXTS = [
    *(
        "7",
        "007",
        "-01053",
        "00.50",
        "٣",
        "+7.50",
        "-0.0",
        "1e3",
        "true",
        "True",
        "1999-01-01",
        "1999-02-30",
        "x",
        "a/b",
        "é",
    ),
    *("2014-05-04 10:00:00", "2014-05-04T10:00:00.500", "2014-05-04 25:00:00", "2014-05-04 10:00"),
    *("2014-05-04T10:00:00Z", "2014-05-04 10:00:00+02", "2014-05-04T23:30:00.25-01:30", "2014-05-04T10:00:00+24:00"),
    *("2014-05-04T10:00:00+02:75", "2014-05-04T10:00:00 UTC", "2014-02-30T10:00:00Z"),
]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
@pytest.mark.parametrize("kind", [None, Kind.TIMESTAMP, Kind.TEXT, Kind.INTEGER])
def test_the_database_reads_arguments_as_the_rule_language_does(kind: Kind | None, zone: str) -> None:
    with duckdb.connect() as work:
        work.execute(f"SET TimeZone = '{zone}'")
        load_facts(work, fact_table(Fact("Thing", (text,), (kind,)) for text in TEXTS))
        told = set(work.execute("SELECT arg1, family, key FROM reading JOIN fact USING (fact) WHERE fits").fetchall())
    assert told == {(text, str(family), key) for text in TEXTS for family, key in readings(text, kind)}


def test_zeros_before_a_number_are_no_reason_against_it() -> None:
    assert readings("007", Kind.INTEGER) == ((Kind.DECIMAL, "7"),)
    assert dict(readings("01053")) == {Kind.TEXT: "01053", Kind.DECIMAL: "1053"}
