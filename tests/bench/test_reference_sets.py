"""The paper's published sets read as rules of ours."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ruleminer.bench.reference_sets import rule_of_tokens, write_reference_set
from ruleminer.errors import InputError
from ruleminer.rules.printer import rule_text


@pytest.mark.parametrize(
    ("tokens", "rule"),
    [
        ("SOS Author PREDEND var_1 EOH authors id PREDEND var_1 EOP EOS", "Author(x) <- authors(id: x)"),
        (
            "SOS Person PREDEND var_1 EOH persons id name PREDEND var_1 Ada_Byron EOP EOS",
            'Person(x) <- persons(id: x, name: "Ada Byron")',
        ),
        (
            "SOS wrote PREDEND var_1 var_2 EOH reviews by id PREDEND var_1 var_2 EOP users id PREDEND var_1 EOP EOS",
            "wrote(x, y) <- reviews(by: x, id: y), users(id: x)",
        ),
        (
            "SOS Agent PREDEND var_1 EOH baa http://ex.org/ nr /to/ firm PREDEND var_1 EOP EOS",
            'Agent(x) <- baa(nr: a, firm: b), x = "http://ex.org/" ++ a ++ "/to/" ++ b',
        ),
    ],
)
def test_token_strings_read_as_rules(tokens: str, rule: str) -> None:
    assert rule_text(rule_of_tokens(tokens)) == rule


@pytest.mark.data
def test_published_npd_set_has_its_published_size(real_data: Path, tmp_path: Path) -> None:
    dataset = write_reference_set(real_data / "reference", "npd", tmp_path)
    positive = pq.read_table(dataset / "facts.parquet")["positive"].to_pylist()
    assert (sum(positive), len(positive) - sum(positive)) == (9703, 9750)
    assert pq.read_table(dataset / "candidates.parquet").num_rows > 90_000


def test_a_missing_reference_set_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.pos\.jsonl\.gz: no such file"):
        write_reference_set(tmp_path, "none", tmp_path)
