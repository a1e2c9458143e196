"""How the examples write values, where that tells how they are to be published."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from ruleminer.dataset import Dataset

_DAY = r"^\d{4}-\d\d-\d\d$"


def days_of(dataset: Dataset) -> frozenset[str]:
    """The properties of which every example that holds has a day as its value, without an hour."""
    facts = dataset.facts
    facts = facts.filter(pc.and_(facts["positive"], pc.is_valid(facts["arg2"])))
    are_days = pc.match_substring_regex(facts["arg2"], _DAY)
    told = (
        pa.table({"predicate": facts["predicate"], "days": are_days}).group_by("predicate").aggregate([("days", "all")])
    )
    return frozenset(told.filter(told["days_all"])["predicate"].to_pylist())
