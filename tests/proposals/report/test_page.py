"""The report: one file, nothing from outside, every link at home, whatever things are called."""

from __future__ import annotations

import base64
import hashlib
import re
import time
from collections import Counter
from dataclasses import replace
from importlib.resources import files

import pytest

from ruleminer.proposals.proposal import Status
from ruleminer.proposals.report import formats, report_html
from tests.proposals.report.made_up import bare, everything, evidence, proposal, proposals, with_texts
from tests.proposals.report.markup import Markup

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "</style></title><svg onload=alert(1)>",
    '" onmouseover="alert(1)" x="',
    "' autofocus onfocus='alert(1)",
    "javascript:alert(1)",
    "https://evil.example/x.js",
    "&lt;b&gt; &amp; &#x3c;i&#x3e;",
    "{{ 7 * 7 }}{% raw %}{# #}",
    "\u202eevil\u202c \u2066right\u2069 to left",
    "nul \x00 bell \x07 next \x85 line \u2028",
    "half a pair \ud800",
)


@pytest.fixture(scope="module")
def full_page() -> str:
    made, ontology, curve, validation = everything()
    return report_html(made, title="cmt", ontology=ontology, curve=curve, validation=validation)


def test_elements_nest_and_ids_are_unique(full_page: str) -> None:
    markup = Markup(full_page)
    assert markup.problems == []
    assert [name for name, many in Counter(markup.ids).items() if many > 1] == []


def test_every_link_leads_to_a_place_of_the_page(full_page: str) -> None:
    markup = Markup(full_page)
    links = [str(attributes["href"]) for tag, attributes in markup.elements if tag == "a"]
    assert len(links) > 20
    assert {link for link in links if not link.startswith("#") or link[1:] not in markup.ids} == set()


def test_nothing_is_loaded_from_elsewhere(full_page: str) -> None:
    markup = Markup(full_page)
    assert markup.values("src") == []
    assert [link for link in markup.values("href") if not link.startswith("#")] == ["data:,"]
    style = "".join(re.findall(r"<style>(.*?)</style>", full_page, re.DOTALL))
    assert style
    assert "url(" not in style
    assert "@import" not in style


def test_policy_admits_our_own_style_and_script_only(full_page: str) -> None:
    (policy,) = (
        str(attributes["content"])
        for tag, attributes in Markup(full_page).elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for element in ("style", "script"):
        (text,) = re.findall(rf"<{element}>(.*?)</{element}>", full_page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}'" in policy
    markup = Markup(full_page)
    assert markup.values("style") == []
    assert not [name for _, attributes in markup.elements for name in attributes if name.startswith("on")]


def shape(page: str) -> list[tuple[str, tuple[str, ...]]]:
    """The elements and the names of their attributes, but for those that only dress text."""
    return [(tag, tuple(sorted(names))) for tag, names in Markup(page).elements if tag not in ("span", "bdi")]


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_no_name_becomes_markup(hostile: str) -> None:
    numbers = iter(range(100_000))

    def pages(text: str) -> str:
        made, ontology, curve, validation = (
            with_texts(value, lambda old: f"{text}{next(numbers)}" if old else old) for value in everything()
        )
        return report_html(made, title=text, ontology=ontology, curve=curve, validation=validation)

    page = pages(hostile)
    assert shape(page) == shape(pages("tame"))
    markup = Markup(page)
    assert markup.problems == []
    allowed = {"class", "data-code", "title"}
    assert {name for tag, names in markup.elements if tag in ("span", "bdi") for name in names} <= allowed
    assert all(link.startswith("#") or link == "data:," for link in markup.values("href"))
    if "\ud800" not in hostile and hostile.isprintable():
        assert hostile in markup.text


def test_characters_that_hide_or_turn_text_are_shown_and_kept_apart() -> None:
    page = report_html(proposals(proposal("Au\u202ethor")))
    assert '<bdi class="unseen" data-code="U+202E">\u202e</bdi>' in page


def test_two_predicates_with_nearly_one_name_have_their_own_pages() -> None:
    markup = Markup(report_html(proposals(*(proposal(name) for name in ("a b", "a/b", "a-b")))))
    assert {"p-a-b", "p-a-b-2", "p-a-b-3"} <= set(markup.ids)


def test_no_proposal_at_all_makes_a_page() -> None:
    page = report_html(
        proposals(calibration=None, identity=(), notes=(), seconds={}, versions={}, examples={}, source={})
    )
    markup = Markup(page)
    assert markup.problems == []
    assert "There is no class and no property to show." in page
    assert all(link[1:] in markup.ids for link in markup.values("href") if link.startswith("#"))


def test_least_certain_comes_first_then_guesses_then_what_has_no_rule() -> None:
    made = proposals(
        bare("Nothing", Status.NOTHING, "no examples"),
        proposal("Sure", 0.99),
        bare("Guess", Status.GUESSED, "no examples"),
        proposal("Doubtful", 0.4),
    )
    rows = re.findall(r'<th scope="row"><a href="#p-(\w+)">', report_html(made).partition('id="coverage"')[0])
    assert rows == ["Doubtful", "Sure", "Guess", "Nothing"]


def test_guesses_and_gaps_are_told_as_such() -> None:
    reason = "no rule of the templates derives any of its 3 examples"
    page = report_html(proposals(bare("Guess", Status.GUESSED, "no examples"), bare("Gap", Status.NOTHING, reason)))
    text = Markup(page).text
    assert "Guessed from names and structure: no examples. Not part of the mapping." in text
    assert f"Nothing proposed: {reason}." in text
    assert "0 of 2" in text


def test_many_terms_of_which_there_is_nothing_to_show_are_one_line_and_a_list() -> None:
    silent = [bare(f"Silent{i}", Status.NOTHING, "no examples") for i in range(60)]
    wanted = replace(bare("Wanted", Status.NOTHING, "no rule derives its 3 examples"), positives=3)
    page = report_html(proposals(proposal("Author"), wanted, *silent))
    text = Markup(page).text
    assert "60 terms without examples have no rule" in text
    assert "Silent0, Silent1, Silent10" in text
    assert page.count("Silent7") == 1
    assert "Nothing proposed: no rule derives its 3 examples." in text
    assert "1 of 62" in text
    few = report_html(proposals(proposal("Author"), *silent[:5]))
    assert "terms without examples have no rule" not in few
    assert few.count("Silent3") > 1


def test_a_reviewer_sees_the_evidence(full_page: str) -> None:
    text = Markup(full_page).text
    for shown in (
        "Author(x) <- Person(ID: x, is_Author: true)",  # the rule
        "97.0\N{NO-BREAK SPACE}%",  # its confidence
        "−4.25",  # its prior
        'FROM "Person" AS t1',  # its SQL
        "derives 774 facts where 564 explain the examples",  # why another lost
        "they differ",  # the rankers
        "Positives it misses",
        "Negatives it hits",
        "A union of 2 rules",
        "postgresql://reader:***@db/cmt",
        "Person and the 14 classes of its hierarchy",  # identity
        "permission denied",  # what did not fit
        "its SQL failed: no table x",  # validation
        "Unheard",  # a term without a proposal
        "0.1.0",  # versions
    ):
        assert shown in text


def test_numbers_that_are_none_or_infinite_do_not_break_the_page() -> None:
    odd = evidence(
        "A(x) <- T(c: x)", derives=None, shared=None, model_log_p=None, log_prior=float("-inf"), names=float("nan")
    )
    one = proposal("A", None, rules=(odd,), alternatives=(odd,), derives=None)
    page = report_html(proposals(one, calibration=None))
    assert Markup(page).problems == []
    assert "−∞" in page
    assert "not calibrated" in page


def test_long_values_are_cut() -> None:
    assert len(report_html(proposals(proposal("A", sample=(("long " * 10_000,),))))) < 100_000


def test_four_hundred_predicates_take_seconds_and_little_space() -> None:
    rule = 'Wellbore(x) <- licence_licensee_hst(prlnpdidlicence: a, cmpnpdidcompany: b), x = "http://npd/" ++ a ++ b'
    lost = tuple(
        evidence(rule, "misses 12 positives that the proposal derives", sql="SELECT a, b FROM t " * 20)
        for _ in range(6)
    )
    made = proposals(
        *(
            proposal(
                f"Predicate{i}", i / 400, alternatives=lost, sample=(("http://npd/data/wellbore/1234", "value"),) * 5
            )
            for i in range(400)
        )
    )
    started = time.perf_counter()
    page = report_html(made)
    assert time.perf_counter() - started < 15
    assert len(page) < 8_000_000


def test_escaping_is_never_switched_off() -> None:
    for file in files("ruleminer.proposals.report").joinpath("templates").iterdir():
        assert not re.search(r"\|\s*safe|autoescape", file.read_text("utf-8")), file.name


def test_rankers_that_are_in_agreement_are_said_to_be() -> None:
    one = proposal("Author")
    one = replace(one, choices=tuple(replace(choice, rules=one.proposed_rules) for choice in one.choices))
    assert "all agree" in report_html(proposals(one))


def test_what_was_drafted_into_the_mapping_is_counted_and_says_how_sure_it_is() -> None:
    drafted = replace(proposal("A", positives=0), status=Status.GUESSED, confidence=0.83)
    left = replace(proposal("B", positives=0), status=Status.GUESSED, confidence=0.2)
    page = report_html(proposals(drafted, left), mapped={"A"})
    assert "<b>1<small> of 2</small></b>classes and properties mapped" in page
    assert "Mapping rules drafted without examples" in page
    assert formats.share(0.83) in page
