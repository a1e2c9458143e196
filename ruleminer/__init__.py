"""ruleminer learns the mapping from a relational database to an ontology from examples.

    import ruleminer

    database = ruleminer.open_database("shop.duckdb")
    ontology = ruleminer.read_ontology("shop.ttl")
    ruleminer.extract(database, ontology, "facts.csv", "run")
    ruleminer.propose("run", database=database)

docs/api.md tells the rest. What is used is imported when it is first asked for: torch takes seconds.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from ruleminer import losses
    from ruleminer.api import ExtractResult, draft, extract, materialise, propose, train, validate, write_triples
    from ruleminer.errors import DatabaseError, InputError, RuleminerError
    from ruleminer.extraction.pipeline import ExtractOptions
    from ruleminer.learn.options import TrainOptions
    from ruleminer.problem.ontology import read_ontology
    from ruleminer.run import Run
    from ruleminer.scenarios.generate import generate_scenario
    from ruleminer.sources.database import open_database

_HOMES = {
    **dict.fromkeys(
        ("ExtractResult", "draft", "extract", "materialise", "propose", "train", "validate", "write_triples"),
        "ruleminer.api",
    ),
    **dict.fromkeys(("DatabaseError", "InputError", "RuleminerError"), "ruleminer.errors"),
    "ExtractOptions": "ruleminer.extraction.pipeline",
    "Run": "ruleminer.run",
    "TrainOptions": "ruleminer.learn.options",
    "generate_scenario": "ruleminer.scenarios.generate",
    "open_database": "ruleminer.sources.database",
    "read_ontology": "ruleminer.problem.ontology",
}

__all__ = [
    "DatabaseError",
    "ExtractOptions",
    "ExtractResult",
    "InputError",
    "RuleminerError",
    "Run",
    "TrainOptions",
    "__version__",
    "draft",
    "extract",
    "generate_scenario",
    "losses",
    "materialise",
    "open_database",
    "propose",
    "read_ontology",
    "train",
    "validate",
    "write_triples",
]


def __getattr__(name: str) -> Any:
    if name == "losses":
        return import_module("ruleminer.losses")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return list(__all__)
