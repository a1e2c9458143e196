"""From a seed to a problem for the decision network: a database is made up, an ontology reworded, the truth worked out.

Nothing is read from anywhere but the generator: which schemas and ontologies of real life the network is measured on
does not enter.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from pathlib import Path
from random import Random

import duckdb
import numpy as np

from ruleminer.learn.decision_problem import Problem
from ruleminer.pretraining.extensions import Extensions, Facts
from ruleminer.pretraining.habits import fill_lookups, key_values, with_lookups, with_records, with_texts
from ruleminer.pretraining.weak_keys import with_weak_keys
from ruleminer.problem.ontology import Property, arity, ontology_of
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.hypotheses import World, problem_of
from ruleminer.proposals.parts import Part, all_parts
from ruleminer.rules.body import Body
from ruleminer.rules.values import Rule
from ruleminer.scenarios.distortions import distorted_layout
from ruleminer.scenarios.domain import Domain
from ruleminer.scenarios.draws import randomness
from ruleminer.scenarios.layout import Layout
from ruleminer.scenarios.names import Naming, named
from ruleminer.scenarios.ontology_file import ontology_graph
from ruleminer.scenarios.population import populated
from ruleminer.scenarios.random_domain import random_domain
from ruleminer.scenarios.rewording import Reworded, objects_of, reworded, subjects_of
from ruleminer.scenarios.rows import connect, fill_tables
from ruleminer.scenarios.truth import attribute_rules, true_rules
from ruleminer.sources.database import open_database
from ruleminer.sources.schema import quote_identifier
from ruleminer.structure.meaning import Meaning
from ruleminer.structure.spaces import Space
from ruleminer.structure.structure import learn_structure

_ROWS = (300, 600, 1200, 2000)
ONTOLOGIES = 2  # wordings of an ontology for each database
_MOST_PARTS = 240  # of an open-ended ontology
SAMPLE = 24  # true facts of a term, and as many of others, that examples are drawn from

Truth = dict[str, dict[Space | None, Facts]]
"""The true facts of each term, by the kind of thing that they speak of."""


def problems(seed: int, meaning: Meaning | None, domain: Domain | None = None) -> list[Problem]:
    """The problems of a seed: one database, of a random domain unless one is given, and some ontologies for it."""
    generator = randomness(seed, "problems")
    domain = _by_keys(domain or with_records(random_domain(seed), generator))
    population = populated(domain, generator.choice(_ROWS), seed)
    kind = generator.choices(("mixed", "plain", "restructuring", "cleaning", "renaming"), (16, 1, 1, 1, 1))[0]
    names = generator.choices(("mixed", "same", "synonym", "abbreviated", "opaque"), (10, 2, 2, 1, 1))[0]
    layout, lookups = with_lookups(with_texts(distorted_layout(population, kind), generator), generator)
    naming = named(layout, kind, names, seed)
    rules = [(name, naming.rule(rule)) for name, rule in _rules(domain, layout)]
    ontology = ontology_of(ontology_graph(domain))
    for prop, own_key in key_values(domain, layout, naming, ontology, generator):
        ontology = replace(ontology, properties=(*ontology.properties, prop))
        rules.append((prop.name, own_key))
    with tempfile.TemporaryDirectory(prefix="ruleminer-problem-") as folder:
        path = Path(folder) / "database.duckdb"
        connection = connect(path, Path(folder) / "spill", population)
        try:
            fill_tables(connection, layout, naming, True, lambda table: None)
            fill_lookups(connection, lookups, naming, generator)
            _thin(connection, layout, naming, generator)
            rules = with_weak_keys(connection, domain, layout, naming, rules, generator)
        finally:
            connection.close()
        with open_database(f"duckdb:///{path}") as database:
            derivations = Derivations(database, learn_structure(database))
            world = World(derivations, meaning)
            asked = Extensions(database)
            offered = {*world.shapes.classes, *world.shapes.objects, *world.shapes.values}
            derivations.recall({body: len(asked.facts(body)) for body in offered})
            wordings = [reworded(ontology, randomness(seed, f"ontology {number}")) for number in range(ONTOLOGIES)]
            wanted = {name for wording in wordings for names in wording.origin.values() for name in names}
            truth: Truth = {}
            for name, rule in (*rules, *_of_ends(rules, wanted)):
                own, at = truth.setdefault(name, {}), world.space_of(rule)
                own[at] = own.get(at, frozenset()) | asked.facts(Body(rule))
            return [_problem(wording, truth, world, asked, generator) for wording in wordings]


def _by_keys(domain: Domain) -> Domain:
    """The domain with entities named by their keys, some of several columns; no IRI has a form of its own."""
    classes = tuple(
        replace(one, iri="/".join(["{}"] * len(one.key)) if len(one.key) > 1 else None, natural=None)
        for one in domain.classes
    )
    return replace(domain, classes=classes)


def _rules(domain: Domain, layout: Layout) -> Iterator[tuple[str, Rule]]:
    """All true rules by what they are true of: a term, or what of a property one of its classes has."""
    for rule in true_rules(domain, layout):
        yield rule.predicate, rule
    for prop in domain.attributes:
        if len(prop.domains) > 1:
            for owner in prop.domains:
                for rule in attribute_rules(domain, layout, prop, owner):
                    yield f"{prop.name} of {owner}", rule


def _of_ends(rules: Sequence[tuple[str, Rule]], wanted: Set[str]) -> Iterator[tuple[str, Rule]]:
    """The rules of classes that are all that some property leads to, or all that has it."""
    for name, rule in rules:
        if len(rule.arguments) == 2:
            for argument, of in zip(rule.arguments, (subjects_of(name), objects_of(name)), strict=True):
                if of in wanted:
                    definitions = tuple(one for one in rule.definitions if one[0] == argument)
                    yield of, replace(rule, arguments=(argument,), definitions=definitions)


def _true(truth: Truth, wording: Reworded, part: Part) -> Facts:
    """The true facts of a term, or of a part of it."""
    names = wording.origin.get(part.whole.name, ())
    if part.at is not None:
        return frozenset[tuple[str, ...]]().union(*(truth.get(name, {}).get(part.at, ()) for name in names))
    if part.term is not part.whole and isinstance(part.term, Property):
        owner = wording.ontology.get(part.term.domains[0])
        owners = wording.origin.get(owner.name, ()) if owner else ()
        names = tuple(f"{name} of {one}" for name in names for one in owners)
    return frozenset[tuple[str, ...]]().union(*(facts for name in names for facts in truth.get(name, {}).values()))


def _thin(connection: duckdb.DuckDBPyConnection, layout: Layout, naming: Naming, generator: Random) -> None:
    """Take data away that the ontology speaks of: tables that nobody filled, columns that nobody uses."""
    empty = generator.choice((0.0, 0.0, 0.1, 0.3))
    unused = generator.choice((0.0, 0.0, 0.1, 0.2))
    for table in layout.tables.values():
        name = quote_identifier(naming.tables[table.id])
        if generator.random() < empty:
            connection.execute(f"DELETE FROM {name}")
        for column in table.columns:
            if not column.required and column.id not in table.key and generator.random() < unused:
                connection.execute(f"UPDATE {name} SET {quote_identifier(naming.columns[table.id, column.id])} = NULL")


def _problem(wording: Reworded, truth: Truth, world: World, asked: Extensions, generator: Random) -> Problem:
    parts = all_parts(wording.ontology.terms, wording.ontology, world, _MOST_PARTS)
    problem, hypotheses = problem_of([part.candidates(world) for part in parts], world, wording.ontology)
    right = np.zeros(problem.there.shape, bool)
    derives = np.zeros((*problem.there.shape, 2 * SAMPLE), bool)
    samples = np.zeros((len(parts), 2), np.int64)
    judged = np.ones(len(parts), bool)
    everything = [fact for spaces in truth.values() for facts in spaces.values() for fact in facts]
    for number, part in enumerate(parts):
        facts = _true(truth, wording, part)
        if not facts:
            right[number, 0] = True
            continue
        wrong = [fact for fact in everything if len(fact) == arity(part.term) and fact not in facts]
        shown = generator.sample(sorted(facts), min(SAMPLE, len(facts)))
        astray = generator.sample(sorted(wrong), min(SAMPLE, len(wrong)))
        samples[number] = len(shown), len(astray)
        for column, body in enumerate(hypotheses[number], start=1):
            derived = asked.facts(body)
            right[number, column] = derived == facts
            derives[number, column, : len(shown)] = [fact in derived for fact in shown]
            derives[number, column, len(shown) : len(shown) + len(astray)] = [fact in derived for fact in astray]
        judged[number] = right[number].any()
    return replace(problem, right=right, judged=judged, derives=derives, samples=samples)
