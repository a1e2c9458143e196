"""Domains: the written ones, those in a file of the user's own, and the random ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ruleminer.errors import InputError
from ruleminer.problem.template_files import read_templates
from ruleminer.rules.templates import Restriction
from ruleminer.rules.values import Rule
from ruleminer.scenarios import KINDS, NAMES, generate_scenario, written_domains
from ruleminer.scenarios.distortions import distorted_layout
from ruleminer.scenarios.domain import Domain, Narrowing, Shortcut
from ruleminer.scenarios.domain_file import read_domain
from ruleminer.scenarios.names import named
from ruleminer.scenarios.population import Population, populated
from ruleminer.scenarios.random_domain import random_domain
from ruleminer.scenarios.truth import true_rules
from ruleminer.scenarios.words import words_of
from tests.problem.shapes import Keys, is_instance

SMALL = """
name = "tiny"
namespace = "http://tiny.example#"
[classes.Cat]
size = 10
[classes.Kitten]
parent = "Cat"
share = 0.4
[classes.Owner]
size = 5
[attributes.petName]
of = "Cat"
value = "first-name"
[links.ownedBy]
from = "Cat"
to = "Owner"
"""


@pytest.mark.parametrize("name", written_domains())
def test_a_written_domain_is_rich(name: str) -> None:
    domain = read_domain(name)
    objects = [prop for prop in domain.properties if domain.is_object_property(prop.name)]
    assert len(domain.classes) >= 12
    assert len(domain.properties) - len(objects) >= 12
    assert len(objects) >= 8
    assert any(cls.overlapping for cls in domain.classes)
    assert any(cls.iri for cls in domain.classes)
    assert any(isinstance(prop, Shortcut) for prop in domain.properties)
    assert any(isinstance(prop, Narrowing) for prop in domain.properties)
    assert all(thing.term.synonyms for thing in (*domain.classes, *domain.properties))


def test_random_domains_differ_and_are_sound() -> None:
    domains = [random_domain(seed) for seed in range(100)]  # an unsound one is an error
    assert len({frozenset(cls.name for cls in domain.classes) for domain in domains}) == 100
    assert all(len(domain.classes) >= 4 and len(domain.links) >= 3 for domain in domains)
    assert random_domain(3) == random_domain(3)
    assert sum(any(cls.iri for cls in domain.classes) for domain in domains) > 20
    assert sum(any(cls.natural for cls in domain.classes) for domain in domains) > 10


def test_what_is_of_something_is_at_the_start_of_its_link() -> None:
    links = [(domain, link) for domain in map(random_domain, range(40)) for link in domain.links if link.inverse]
    told = [(link, words_of(link.inverse.name)) for _, link in links if link.inverse]
    of_role = [(link, words) for link, words in told if words[-1] == "of"]
    assert len(of_role) > 20
    for link, words in of_role:  # the owner of a car: from the owner to the car, whose link is owner or owned by Person
        assert words[:-1] in (words_of(link.range), words_of(link.name)[-len(words) + 1 :])


def test_a_domain_may_come_from_a_file_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(SMALL)
    summary = generate_scenario(tmp_path / "s", domain=str(tmp_path / "tiny.toml"), size=100)
    assert (summary.domain, summary.classes, summary.properties) == ("tiny", 3, 2)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('name = "tiny"', "name = ", "Invalid value"),
        ('name = "tiny"', "", "an entry lacks 'name'"),
        ("size = 10", "", "an entry lacks 'size'"),
        ("size = 10", 'size = "ten"', "not of the kind it should be"),
        ("size = 10", "siez = 10\nsize = 10", "unknown entry 'siez'"),
        ('parent = "Cat"', 'parent = "Dog"', "class Kitten: its parent Dog is not there"),
        ('parent = "Cat"', 'parent = "Kitten"', "class Kitten is below itself"),
        ("share = 0.4", "share = 1.4", "add up to more than 1"),
        ("share = 0.4", "share = 0", "a size is above 0"),
        ("size = 10", 'size = 10\niri = "http://x/"', "its iri needs one {}"),
        ("size = 10", 'size = 10\nnatural = {name = "tag"}', "no sub-classes"),
        ('value = "first-name"', 'value = "colour-name"', "there is no kind of value 'colour-name'"),
        ('value = "first-name"', 'value = "choice"', "choices go with"),
        ('value = "first-name"', 'value = "title"\nat_most = 3', "cannot have 3 different values"),
        ('of = "Cat"', 'of = "Dog"', "petName: there is no class Dog"),
        ('to = "Owner"', 'to = "Owner"\nmissing = 1', "missing is a share"),
        ('to = "Owner"', 'to = "Owner"\nmany = [3, 1]', "many is [least, most]"),
        ("[links.ownedBy]", "[links.PetName]", "two classes or properties are called PetName"),
        ("[links.ownedBy]", '[links."owned by"]', "is no name"),
        ("[links", '[shortcuts.far]\npath = ["petName", "ownedBy"]\n[links', "a path is a link"),
        ("[links", '[narrowings.few]\nproperty = "petName"\nfrom = "Owner"\n[links', "Owner is not below Cat"),
        ("[links", '[narrowings.few]\nproperty = "petName"\n[links', "narrows nothing"),
    ],
)
def test_a_fault_in_a_domain_file_is_told_in_one_line(old: str, new: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text(SMALL.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        generate_scenario(tmp_path / "s", domain=str(path), size=100)
    assert str(caught.value).startswith(f"{path}: ")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def populations() -> list[Population]:
    domains: list[Domain] = [*map(read_domain, written_domains()), *map(random_domain, range(12))]
    return [populated(domain, 300, seed) for seed, domain in enumerate(domains)]


def test_names_are_unique_even_where_case_does_not_count() -> None:
    for population in populations():
        for kind in KINDS:
            layout = distorted_layout(population, kind)
            for names in NAMES:
                naming = named(layout, kind, names, population.seed)
                assert len({name.casefold() for name in naming.tables.values()}) == len(layout.tables)
                for table in layout.tables.values():
                    columns = [naming.columns[table.id, column.id] for column in table.columns]
                    assert len({column.casefold() for column in columns}) == len(columns)
                    assert all(len(column.encode()) <= 63 for column in columns)


def test_ways_of_naming_are_ever_further_from_the_ontology() -> None:
    population = populated(read_domain("university"), 300, 1)
    layout = distorted_layout(population, "plain")
    own = {word for prop in population.domain.properties for word in words_of(prop.name)}
    shared: dict[str, float] = {}
    for names in NAMES:
        columns = set(named(layout, "plain", names, 1).columns.values())
        words = [word for column in columns for word in words_of(column)]
        shared[names] = sum(word in own for word in words) / len(words)
        if names == "abbreviated":
            assert all(len(word) <= 3 for word in words)
        if names == "opaque":
            assert all(re.fullmatch(r"c\d+", column) for column in columns)
    assert shared["same"] > 0.8 > 0.4 > shared["synonym"] > shared["abbreviated"] >= shared["opaque"]


def test_nearly_all_true_rules_have_the_shape_of_a_template() -> None:
    """The rest are restructured: links narrowed to a class told by a code."""
    templates = read_templates()
    assert any(slot.restriction is Restriction.KEY for template in templates for slot in template.slots())
    others: list[tuple[str, Rule]] = []
    count = 0
    for population in populations():
        for kind in KINDS:
            layout = distorted_layout(population, kind)
            keys: Keys = {table.id: {table.key, *table.unique} for table in layout.tables.values()}
            for rule in true_rules(population.domain, layout):
                count += 1
                if not any(is_instance(rule, template, keys) for template in templates):
                    others.append((kind, rule))
    assert len(others) < count / 50
    assert {kind for kind, _ in others} <= {"restructuring", "denormalising", "mixed"}
