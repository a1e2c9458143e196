"""The generator of built-in scenarios: a domain, its instance, a distorted database and the true mapping."""

from ruleminer.scenarios.distortions import KINDS
from ruleminer.scenarios.domain_file import written_domains
from ruleminer.scenarios.generate import DEFAULT_DOMAIN, DEFAULT_SIZE, ScenarioSummary, generate_scenario
from ruleminer.scenarios.names import NAMES

__all__ = [
    "DEFAULT_DOMAIN",
    "DEFAULT_SIZE",
    "KINDS",
    "NAMES",
    "ScenarioSummary",
    "generate_scenario",
    "written_domains",
]
