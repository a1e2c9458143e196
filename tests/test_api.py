"""The library as a program meets it: `import ruleminer`, one function per stage, results that show themselves."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import ruleminer
from ruleminer.demo import DOMAIN
from ruleminer.errors import InputError, RuleminerError
from ruleminer.extraction.sampling import Negatives
from ruleminer.proposals.proposal import Proposals
from ruleminer.proposals.stage import Delivery
from ruleminer.structure.files import read_structure
from tests.command_line import Run as CommandLine

FACTS = [("Customer", 101), ("Customer", 102), ("name", 101, "Ann <b>Lee</b>"), ("name", 102, "Bob Ray")]
GIVEN = ruleminer.ExtractOptions(negatives=Negatives.NONE)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    with duckdb.connect(tmp_path / "shop.duckdb") as connection:
        connection.execute("CREATE TABLE customer (id INTEGER PRIMARY KEY, name VARCHAR)")
        connection.execute("INSERT INTO customer VALUES (101, 'Ann <b>Lee</b>'), (102, 'Bob Ray'), (103, 'Cy Fox')")
    (tmp_path / "shop.ttl").write_text(
        "@prefix : <http://shop#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        ":Customer a owl:Class . :name a owl:DatatypeProperty ."
    )
    return tmp_path


class Tags(HTMLParser):
    """The tags of a page; markup that came in with a text would be among them."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)


def tags(result: object) -> set[str]:
    reader = Tags()
    reader.feed(result._repr_html_())  # type: ignore[attr-defined]
    return reader.found


def test_the_stages_follow_each_other(shop: Path) -> None:
    with ruleminer.open_database(shop / "shop.duckdb") as database:
        ontology = ruleminer.read_ontology(str(shop / "shop.ttl"))
        extracted = ruleminer.extract(database, ontology, FACTS, shop / "run", GIVEN)
        assert extracted.dataset.facts.num_rows == extracted.summary.facts == 4
        trained = ruleminer.train(extracted, ruleminer.TrainOptions(size="tiny", updates=3, threads=1))
        assert trained.updates == 3
        proposed = ruleminer.propose(extracted.run, database=database, ontology=ontology)
        assert {one.predicate: one.texts for one in proposed.proposals.proposed} == {
            "Customer": ("Customer(x) <- customer(id: x)",),
            "name": ("name(x, y) <- customer(id: x, name: y)",),
        }
        triples = set(ruleminer.materialise(proposed.mapping, database))
        assert len(triples) == 6
        assert list(database.rows("SELECT count(*) FROM customer")) == [(3,)], "it stays open"
    assert triples == set(ruleminer.materialise(str(proposed.mapping), str(shop / "shop.duckdb")))
    assert any(value == '"Ann <b>Lee</b>"' for _, _, value in triples)
    assert proposed.report.is_file()
    for result in (extracted, extracted.summary, trained, proposed, proposed.proposals):
        assert "table" in tags(result)
        assert "b" not in tags(result)
    assert "img" in tags(trained)


@pytest.mark.parametrize("form", ["csv", "arrow", "frame", "files"])
def test_examples_come_in_any_form_and_give_the_same_dataset(shop: Path, form: str) -> None:
    rows = [tuple(map(str, (*fact, "")[:3])) for fact in FACTS]
    table = pa.table(dict(zip(("predicate", "arg1", "arg2"), zip(*rows, strict=True), strict=True)))
    file = shop / "facts.csv"
    file.write_text("predicate,arg1,arg2\n" + "".join(",".join(row) + "\n" for row in rows))

    class Frame:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return table.__arrow_c_stream__(requested_schema)

    given = {"csv": str(file), "arrow": table, "frame": Frame(), "files": [file, file]}[form]
    told, expected = (
        ruleminer.extract(shop / "shop.duckdb", shop / "shop.ttl", examples, shop / out, GIVEN).dataset
        for examples, out in ((given, "told"), (FACTS, "expected"))
    )
    assert told.facts.equals(expected.facts)
    assert told.rules.equals(expected.rules)
    assert told.candidates.equals(expected.candidates)


def test_the_word_of_the_user_on_links_reaches_the_structure(shop: Path) -> None:
    with duckdb.connect(shop / "shop.duckdb") as connection:
        connection.execute("CREATE TABLE sale (who INTEGER)")
        connection.execute("INSERT INTO sale VALUES (101), (101)")
    (shop / "links").write_text("sale.who -> customer.id\n")
    given = shop / "shop.duckdb", shop / "shop.ttl", FACTS
    extracted = ruleminer.extract(*given, shop / "run", GIVEN, links=shop / "links")
    learnt = read_structure(extracted.run.structure)
    assert learnt is not None
    assert [link.evidence for link in learnt.links] == [("the user says so",)]
    (shop / "links").write_text("sale.whom -> customer.id\n")
    with pytest.raises(InputError, match=r"no column sale\.whom"):
        ruleminer.extract(*given, shop / "other", GIVEN, links=shop / "links")


def test_nothing_is_replaced_without_force(shop: Path) -> None:
    def extract(facts: object, **options: bool) -> ruleminer.ExtractResult:
        return ruleminer.extract(shop / "shop.duckdb", shop / "shop.ttl", facts, shop / "run", GIVEN, **options)

    extract(FACTS)
    extract(FACTS)
    with pytest.raises(InputError, match="force=True replaces it"):
        extract(FACTS[:2])
    assert extract(FACTS[:2], force=True).summary.facts == 2
    tiny = ruleminer.TrainOptions(size="tiny", updates=1, threads=1)
    ruleminer.train(shop / "run", tiny)
    with pytest.raises(InputError, match="resume=True goes on with it, force=True trains anew"):
        ruleminer.train(shop / "run", tiny)
    assert ruleminer.train(shop / "run", tiny, resume=True).updates == 1
    assert ruleminer.train(shop / "run", tiny, force=True).updates == 1


def test_a_mapping_is_validated_by_query_pairs(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario"
    ruleminer.generate_scenario(scenario, domain=str(DOMAIN), size=100)
    run = tmp_path / "run"
    options = ruleminer.ExtractOptions(positives=5)
    ruleminer.extract(scenario / "database.duckdb", scenario / "ontology.ttl", scenario / "queries", run, options)
    proposed = ruleminer.propose(run, scenario=scenario)
    assert isinstance(proposed, Delivery)
    assert isinstance(proposed.proposals, Proposals)
    assert proposed.validation is not None
    with ruleminer.open_database(scenario / "database.duckdb") as database:
        result = ruleminer.validate(str(proposed.mapping), str(scenario), database=database)
    assert result.f1 == proposed.validation.f1 > 0.5
    assert tags(result) == {"table", "caption", "thead", "tbody", "tr", "th", "td"} | (tags(result) & {"ul", "li"})


def test_options_are_named_as_each_reader_writes_them(shop: Path, run: CommandLine) -> None:
    for options, told, typed in (
        ({"positives": 0}, "positives must be at least 1, not 0", ("--positives", "-1")),
        ({"memory": "much"}, "memory must be a size such as 2GB", ("--memory", "much")),
    ):
        with pytest.raises(InputError, match=f"^{told}"):
            ruleminer.ExtractOptions(**options)  # type: ignore[arg-type]
        result = run(
            *("extract", "--db", "shop.duckdb", "--ontology", "shop.ttl", "--examples", "none.csv"),
            *("--out", "run", *typed),
        )
        assert result.code == 2
        assert result.err.startswith(f"error: --{told.split()[0]} must be")
    error = RuleminerError("use ‹force=True›, ‹device=cpu› or ‹max_candidates› in a/force")
    assert str(error) == "use force=True, device=cpu or max_candidates in a/force"
    assert error.told(lambda name, value: f"<{name} {value}>") == (
        "use <force True>, <device cpu> or <max_candidates None> in a/force"
    )


def test_an_open_database_has_its_schema_already(shop: Path) -> None:
    from ruleminer.sources.database import using

    with (
        ruleminer.open_database(shop / "shop.duckdb") as database,
        pytest.raises(InputError, match="when a database is opened"),
        using(database, schema="main"),
    ):
        pass


def test_the_package_is_light_until_it_is_used() -> None:
    code = (
        "import ruleminer, sys\n"
        "assert set(ruleminer.__all__) == set(dir(ruleminer))\n"
        "heavy = {'torch', 'duckdb', 'rdflib', 'pyarrow', 'matplotlib'}\n"
        "assert not heavy & set(sys.modules)\n"
        "ruleminer.open_database\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    for name in ruleminer.__all__:
        assert getattr(ruleminer, name) is not None
    assert ruleminer.losses.libra is sys.modules["ruleminer.learn.losses"].libra
    with pytest.raises(AttributeError, match="has no attribute 'extrat'"):
        _ = ruleminer.extrat  # type: ignore[attr-defined]


LIBRARY = Path(ruleminer.__file__).parent
OTHERS_OPTIONS = ("pg_dump --format=plain", "give it to Ontop as --db-password")


def test_the_library_never_speaks_of_dashes() -> None:
    for path in LIBRARY.rglob("*.py"):
        if {"cli", "bench", "errors.py"} & {*path.relative_to(LIBRARY).parts}:
            continue
        nodes = ast.walk(ast.parse(path.read_text("utf-8")))
        for text in [node.value for node in nodes if isinstance(node, ast.Constant)]:
            if isinstance(text, str) and re.search(r"(?<!-)--[a-z]", text):
                assert any(known in text for known in OTHERS_OPTIONS), f"{path}: {text}"
