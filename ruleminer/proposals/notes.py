"""What did not fit, told in a line each: tables that are gone, candidates that were cut, rules that were refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ruleminer.dataset import Dataset, Example
from ruleminer.errors import InputError
from ruleminer.problem.ontology import Ontology, OntologyClass, Property, PropertyKind
from ruleminer.proposals.candidate_sets import Arguments, Spaces
from ruleminer.proposals.decision import Decision
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.explain import counts_of
from ruleminer.proposals.pool import Pool
from ruleminer.proposals.proposal import told_shortfall
from ruleminer.rules.printer import rule_text
from ruleminer.rules.values import Rule
from ruleminer.sources.database import Database
from ruleminer.structure.spaces import Space
from ruleminer.structure.structure import Structure


def misfits(dataset: Dataset, database: Database) -> list[str]:
    """What the dataset's tables have that the live database has not."""
    live, notes = database.schema, []
    unreadable = dict(live.unreadable)
    wanted = [table.name for table in dataset.schema.tables]
    missing = [name for name in wanted if name not in live and name not in unreadable]
    where = f"{database.safe_url}{f', schema {live.name}' if live.name else ''}"
    if len(missing) == len(wanted):
        raise InputError(
            f"none of the {len(wanted)} tables of the run is in {where}: is this the right database, "
            "and the right ‹schema›?"
        )
    if not any(name in live for name in wanted):
        raise InputError(
            f"none of the {len(wanted)} tables of the run can be read in {where}: has this user the right?"
        )
    if missing:
        some = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
        count = "1 table of the run is" if len(missing) == 1 else f"{len(missing)} tables of the run are"
        notes.append(
            f"{count} not in the database: {some}; rules on {'it' if len(missing) == 1 else 'them'} are left out"
        )
    for name, reason in unreadable.items():
        notes.append(f"table {name} cannot be read ({reason}); rules on it are left out")
    for table in dataset.schema.tables:
        if table.name in live:
            here = {column.name for column in live.table(table.name).columns}
            gone = [column.name for column in table.columns if column.name not in here]
            if gone:
                notes.append(f"table {table.name} has no column {', '.join(gone)} any more; rules on it are left out")
    return notes


def cut_candidates(dataset: Dataset) -> list[str]:
    """How many facts have more rules than were kept."""
    cut = dataset.manifest.get("cut", {}).get("facts", 0)
    if not cut:
        return []
    return [
        f"{cut:,} facts of the run have more candidates than extraction kept (max-candidates): rules beyond count as "
        "if they did not derive them"
    ]


def unshown_parts(decisions: Mapping[str, Decision]) -> list[str]:
    """The parts that were taken though no example shows them, and what they follow from."""
    return [
        f"{name}: {rule_text(one.measured.pool.rules[place]).partition(' <- ')[2]} is taken, though no example "
        f"shows it: {why}"
        for name, one in decisions.items()
        for place, why in one.implied.items()
    ]


def shortfalls(decisions: Mapping[str, Decision], dataset: Dataset) -> list[str]:
    """The terms whose choice does not do justice to all examples, with one that it misses, and where that stands."""
    lines = dataset.lines_of_examples
    told = []
    for name, one in decisions.items():
        pool, chosen = one.measured.pool, list(one.chosen)
        short = told_shortfall(*counts_of(one)) if chosen and not one.drafted else ""
        covered = np.asarray(pool.covers[chosen].any(axis=0))
        spaces: Sequence[Spaces] = pool.spaces[: len(pool.positives)] or ((),) * len(pool.positives)
        missed = [(fact, own) for fact, own, yes in zip(pool.positives, spaces, covered, strict=True) if not yes]
        such = f", not {_told_example(name, *missed[0], lines)}" if missed else ""
        told += [f"{name}: what is proposed {short}{such}"] if short else []
    return told


def slips(decisions: Mapping[str, Decision], dataset: Dataset) -> list[str]:
    """The examples that are taken for slips, for they stand alone against all others of their term."""
    lines, told = dataset.lines_of_examples, []
    for name, one in decisions.items():
        if one.slip is None:
            continue
        pool = one.measured.pool
        spaces = pool.spaces[one.slip.positive] if pool.spaces else ()
        example = _told_example(name, pool.positives[one.slip.positive], spaces, lines)
        other = rule_text(pool.rules[one.slip.rule]).partition(" <- ")[2]
        told.append(
            f"{example} is taken for a slip: the other {len(pool.positives) - 1} examples of {name}, and what else is "
            f"known, speak for {other}; take it out, or give one more like it"
        )
    return told


def _told_example(name: str, fact: Arguments, spaces: Spaces, lines: Mapping[Example, str]) -> str:
    """An example as it is written, with its tables where they are known, and where it stands."""
    homes = spaces if any(spaces) else (None,) * len(fact)
    texts = (f"{home.table}:{text}" if home else text for text, home in zip(fact, homes, strict=True))
    where = lines.get((name, fact, spaces if any(spaces) else ()))
    return f"{name}({', '.join(texts)})" + (f" ({where})" if where else "")


def missing_links(decisions: Mapping[str, Decision], ontology: Ontology, derivations: Derivations) -> list[str]:
    """The columns that properties lead to things by, and no link does: where the examples' values are all keys."""
    structure = derivations.structure
    homes = {
        term.iri: (place, one.rules[0])
        for name, one in decisions.items()
        if isinstance(term := ontology.find(name), OntologyClass)
        and len(one.rules) == 1
        and len((rule := one.rules[0]).body) == 1
        and not rule.definitions
        and (place := rule.places_of(rule.arguments[0])[0]).column == structure.schema.table(place.table).own_key
    }
    found = []
    for name, one in decisions.items():
        term = ontology.find(name)
        if isinstance(term, OntologyClass) or term.kind is not PropertyKind.OBJECT:
            continue
        things = [homes[iri] for iri in term.ranges if iri in homes]
        objects = [(fact[1],) for fact in one.measured.pool.positives if len(fact) > 1]
        for rule in one.rules if len(things) == 1 and objects else ():
            places = rule.places_of(rule.arguments[1])
            if rule.definition_of(rule.arguments[1]) is None and not any(map(structure.space, places)):
                found.append((name, places[0], things[0], objects))
    answers = derivations.coverage([(rule, objects) for _, _, (_, rule), objects in found])
    return [
        f"{name}: the examples join {'.'.join(place)} to {'.'.join(key)}: if that is a link, say so in a file of "
        f"links; without it, what it leads to are other things than those of {key.table}"
        for (name, place, (key, _), _), derived in zip(found, answers, strict=True)
        if derived is not None and all(derived)
    ]


def refusals(pools: Mapping[str, Pool], derivations: Derivations) -> list[str]:
    """Why some rules could not be run, and how many."""
    reasons: dict[str, int] = {}
    for pool in pools.values():
        for rule in pool.rules:
            reason = derivations.refusal(rule)
            if reason and reason != derivations.lost:
                reasons[reason] = reasons.get(reason, 0) + 1
    return [
        f"{count} rule{'s' if count > 1 else ''} could not be run: {reason}"
        for reason, count in sorted(reasons.items())
    ]


def turned_examples(decisions: Mapping[str, Decision], ontology: Ontology, structure: Structure) -> list[str]:
    """Properties that lead from where their range lives to where their domain does, by the examples of all three."""
    homes = {
        ontology.find(name).iri: _spaces(one.rules, 0, structure)
        for name, one in decisions.items()
        if isinstance(ontology.find(name), OntologyClass) and one.rules
    }
    found = []
    for name, one in decisions.items():
        term = ontology.find(name)
        if not isinstance(term, Property) or not one.rules:
            continue
        domain, range_ = ontology.domains(term.iri), ontology.ranges(term.iri)
        starts, ends = (frozenset[Space]().union(*(homes.get(iri, ()) for iri in end)) for end in (domain, range_))
        rules = [_spaces(one.rules, place, structure) for place in (0, 1)]
        if starts and ends and not starts & ends and rules[0] and rules[1] and rules[0] <= ends and rules[1] <= starts:
            found.append(
                f"{name} leads from {_named(range_, homes, ontology)} to {_named(domain, homes, ontology)}, by its "
                "examples; the ontology says the other way round: are they turned round?"
            )
    return found


def _spaces(rules: Iterable[Rule], place: int, structure: Structure) -> frozenset[Space]:
    found = (structure.space(at) for rule in rules for at in rule.places_of(rule.arguments[place]))
    return frozenset(space for space in found if space is not None)


def _named(iris: Iterable[str], homes: Mapping[str, object], ontology: Ontology) -> str:
    return " and ".join(sorted(term.name for iri in iris if iri in homes and (term := ontology.get(iri)) is not None))
