"""How results look in a terminal: tables on stdout, progress on stderr."""

from ruleminer.terminal.bench import bench_table, print_bench
from ruleminer.terminal.console import PlainConsole, log, progress_bars, results, say, step, table, typed
from ruleminer.terminal.dataset import dataset_line, dataset_notes, dataset_tables, metrics_table
from ruleminer.terminal.problem import is_large, ontology_tables, structure_tables, tell_examples
from ruleminer.terminal.proposals import delivery_lines, demo_lines, demo_tables, proposal_tables, review_lines
from ruleminer.terminal.validation import difference_tables, fact_check_tables, validation_tables

__all__ = [
    "PlainConsole",
    "bench_table",
    "dataset_line",
    "dataset_notes",
    "dataset_tables",
    "delivery_lines",
    "demo_lines",
    "demo_tables",
    "difference_tables",
    "fact_check_tables",
    "is_large",
    "log",
    "metrics_table",
    "ontology_tables",
    "print_bench",
    "progress_bars",
    "proposal_tables",
    "results",
    "review_lines",
    "say",
    "step",
    "structure_tables",
    "table",
    "tell_examples",
    "typed",
    "validation_tables",
]
