"""The generator of built-in scenarios: a domain, its instance, a distorted database and the true mapping."""

from ruleminer.problem.generator.distortions import KINDS
from ruleminer.problem.generator.domain_file import written_domains
from ruleminer.problem.generator.generate import DEFAULT_DOMAIN, DEFAULT_SIZE, ScenarioSummary, generate_scenario
from ruleminer.problem.generator.names import NAMES

__all__ = [
    "DEFAULT_DOMAIN",
    "DEFAULT_SIZE",
    "KINDS",
    "NAMES",
    "ScenarioSummary",
    "generate_scenario",
    "written_domains",
]
