"""The page in a real browser: questions by keyboard, undo, the editor, two tabs, a killed server, hostile names."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver

from ruleminer import demo
from ruleminer.extraction.request import ExtractRequest, extract_datasets
from ruleminer.problem.decisions import NAMED, Said, read_decisions
from ruleminer.proposals.request import ProposeRequest
from ruleminer.review.questions import Question
from ruleminer.review.session import ReviewSession, open_review
from ruleminer.run import Run
from ruleminer.scenarios.generate import generate_scenario
from tests.review.browser import browsing, one, press, ready, requested, screenshot, served, text, until

_COMMAND = (sys.executable, "-c", "from ruleminer.cli import main; main()")
_PICTURES = os.environ.get("RULEMINER_PICTURES")  # a folder, to look at what the page looks like


@pytest.fixture
def doubtful(tmp_path: Path) -> Path:
    """A run with one example, of a database whose names say nothing: nearly all is in question."""
    generate_scenario(tmp_path / "scenario", domain=str(demo.DOMAIN), names="opaque", size=150)
    (tmp_path / "e.csv").write_text("predicate,arg1\nPaper,1\n")
    extract_datasets(
        ExtractRequest(out=tmp_path / "run", scenario=tmp_path / "scenario", examples=(tmp_path / "e.csv",))
    )
    return tmp_path / "run"


@pytest.fixture
def in_doubt(doubtful: Path) -> Iterator[ReviewSession]:
    with open_review(ProposeRequest(run=doubtful)) as opened:
        yield opened


@pytest.fixture
def browser() -> Iterator[WebDriver]:
    with browsing() as opened:
        yield opened


def asked(browser: WebDriver) -> str:
    return text(browser, "#question")


def test_questions_by_keyboard_undo_and_reload(in_doubt: ReviewSession, browser: WebDriver) -> None:
    with served(in_doubt) as server:
        browser.get(server.address)
        ready(browser)
        assert browser.current_url == f"http://127.0.0.1:{server.port}/", "the token is gone from the address"
        seen: list[str] = []
        for _ in range(10):
            before = len(in_doubt.said.lines)
            if "hold" not in asked(browser):  # nothing is left that is worth asking
                break
            seen.append(asked(browser))
            press(browser, "2")
            until(lambda before=before: len(in_doubt.said.lines) > before, "the answer on disk")
            ready(browser)
        assert len(set(seen)) == len(seen) >= 5, "no question comes twice"
        assert read_decisions(in_doubt.run.decisions).lines == in_doubt.said.lines
        standing = len(in_doubt.said.standing)
        press(browser, "u")
        until(lambda: len(in_doubt.said.standing) == standing - 1, "the undo")
        ready(browser)
        after = asked(browser), text(browser, "#progress")
        browser.refresh()
        ready(browser)
        assert (asked(browser), text(browser, "#progress")) == after, "a reload shows the same"
        assert browser.get_log("browser") == []
        sites = {url.split("/")[2] for url in requested(browser) if url.startswith(("http", "ws"))}
        assert sites == {f"127.0.0.1:{server.port}"}, "nothing is asked of anybody else"


def test_a_fact_is_named_by_keyboard_and_asked_back_which_thing_is_meant(
    in_doubt: ReviewSession, browser: WebDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = in_doubt.hypotheses("Author")
    open_ = Question("Author", (), 2.0, some, ())
    monkeypatch.setattr(in_doubt, "question", lambda focus=None: open_)
    with served(in_doubt) as server:
        browser.get(server.address)
        ready(browser)
        assert "Can you name one Author?" in asked(browser)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 1280
        press(browser, "=")
        one(browser, ".naming input").send_keys("no such thing", Keys.ENTER)
        until(lambda: "no such thing" in text(browser, "#toasts"), "why not")
        ready(browser)
        assert not in_doubt.said.lines
        one(browser, ".naming input").clear()
        one(browser, ".naming input").send_keys("1", Keys.ENTER)
        until(lambda: "Which of these do you mean?" in asked(browser), "which thing of that key")
        assert not in_doubt.said.lines
        ready(browser)
        press(browser, "1")
        until(lambda: in_doubt.said.lines, "the fact on disk")
        ready(browser)
        (line,) = in_doubt.said.lines
        assert (line.term, line.said, line.about) == ("Author", Said.HOLDS, NAMED)
        press(browser, "1")
        until(lambda: in_doubt.said.unnamed == {"Author"}, "that no other is known")
        assert [one for one in browser.get_log("browser") if "400" not in one["message"]] == []


def test_a_term_is_accepted_rejected_and_said_to_have_no_rule(in_doubt: ReviewSession, browser: WebDriver) -> None:
    with served(in_doubt) as server:
        browser.get(server.address)
        ready(browser)
        one(browser, "#find").send_keys("Paper", Keys.ENTER)
        until(lambda: text(browser, "#term h2").startswith("Paper"))
        ready(browser)
        rule = in_doubt.rules["Paper"]
        one(browser, "#find").send_keys(Keys.ESCAPE)
        press(browser, "a")
        until(lambda: "Paper" in in_doubt.said.kept)
        ready(browser)
        assert "accepted" in text(browser, "#term h2")
        assert in_doubt.said.kept["Paper"].said is Said.ACCEPTED
        press(browser, "r")
        until(lambda: "Paper" not in in_doubt.said.kept)
        ready(browser)
        assert in_doubt.rules.get("Paper") != rule
        one(browser, "#no-rule").click()
        until(lambda: in_doubt.said.kept.get("Paper"))
        ready(browser)
        assert "no rule" in text(browser, "#term h2")
        press(browser, "u")
        press(browser, "u")
        until(lambda: "Paper" not in in_doubt.said.kept)


def test_j_and_k_go_through_the_terms_and_facets_narrow_them(in_doubt: ReviewSession, browser: WebDriver) -> None:
    with served(in_doubt) as server:
        browser.get(server.address)
        ready(browser)
        names = [item.text for item in browser.find_elements("css selector", "#list .name")]
        assert len(names) == len(in_doubt.ontology.terms)
        one(browser, "#list button").click()
        until(lambda: text(browser, "#term h2").startswith(names[0]))
        ready(browser)
        press(browser, "j")
        until(lambda: text(browser, "#term h2").startswith(names[1]))
        ready(browser)
        press(browser, "k")
        until(lambda: text(browser, "#term h2").startswith(names[0]))
        ready(browser)
        next(b for b in browser.find_elements("css selector", ".facet button") if b.text == "classes").click()
        classes = {term.name for term in in_doubt.ontology.classes}
        assert {item.text for item in browser.find_elements("css selector", "#list .name")} == classes
        press(browser, "?")
        until(lambda: one(browser, "#keys").is_displayed())
        one(browser, "#keys").send_keys(Keys.ESCAPE)
        until(lambda: not one(browser, "#keys").is_displayed())


def test_a_rule_is_edited_wrongly_then_rightly_with_completion_and_exported(
    session: ReviewSession, browser: WebDriver
) -> None:
    rule = session.rules["Author"][0]
    table = session.decisions["Person"].rules[0].body[0].table
    key = session.decisions["Person"].rules[0].body[0].columns[0][0]
    with served(session) as server:
        browser.get(server.address)
        ready(browser)
        one(browser, "#find").send_keys("Author", Keys.ENTER)
        until(lambda: text(browser, "#term h2").startswith("Author"))
        ready(browser)
        one(browser, "#find").send_keys(Keys.ESCAPE)
        press(browser, "e")
        area = one(browser, "#rule-text")
        until(lambda: "derives" in text(browser, "#rule-verdict"), "the rule as it is, checked")
        assert area.get_attribute("value") == rule
        area.send_keys(Keys.CONTROL, "a")
        area.send_keys("Author(x) <- nowhere(id: x)")
        until(lambda: "no table nowhere" in text(browser, "#rule-verdict"), "what is wrong")
        assert not one(browser, "#keep").is_enabled()
        area.send_keys(Keys.CONTROL, Keys.ENTER)
        assert not session.said.lines, "what is wrong is not kept"
        area.send_keys(Keys.CONTROL, "a")
        area.send_keys("Author(x) <- " + table[:3])
        until(lambda: one(browser, ".offers").is_displayed(), "tables to choose from")
        offers = [item.text for item in browser.find_elements("css selector", ".offers li")]
        assert table in offers
        for _ in range(offers.index(table)):
            area.send_keys(Keys.ARROW_DOWN)
        area.send_keys(Keys.TAB)
        until(lambda: (area.get_attribute("value") or "").endswith(f"{table}("))
        until(lambda: one(browser, ".offers").is_displayed(), "columns to choose from")
        columns = [item.text for item in browser.find_elements("css selector", ".offers li")]
        assert key in columns
        area.send_keys(f"{key}: x)")
        until(lambda: "derives" in text(browser, "#rule-verdict"), "a right rule, run")
        area.send_keys(Keys.CONTROL, Keys.ENTER)
        until(lambda: session.said.lines)
        ready(browser)
        assert session.rules["Author"] == (f"Author(x) <- {table}({key}: x)",)
        assert "edited" in text(browser, "#term h2")
        one(browser, "#export").click()
        until(lambda: "Written to" in text(browser, "#toasts"))
        assert f"Author(x) <- {table}({key}: x)" in (session.run.proposals / "mapping.rules").read_text()


def test_two_tabs_say_what_they_say_once_and_see_each_other(in_doubt: ReviewSession, browser: WebDriver) -> None:
    with served(in_doubt) as server:
        browser.get(server.address)
        ready(browser)
        first = browser.current_window_handle
        browser.switch_to.new_window("tab")
        browser.get(f"http://127.0.0.1:{server.port}/")
        ready(browser)
        question = asked(browser)
        press(browser, "1")
        until(lambda: len(in_doubt.said.lines) == 1)
        browser.switch_to.window(first)
        assert asked(browser) == question, "this tab has not heard of it yet"
        press(browser, "1")
        until(lambda: len(in_doubt.said.lines) == 2)
        ready(browser)
        lines = in_doubt.said.lines
        assert lines[0].fact == lines[1].fact, "both answered the same question"
        assert len(in_doubt.said.facts[lines[0].term]) == 1, "which counts as one fact"


def test_a_killed_server_loses_nothing(doubtful: Path, browser: WebDriver) -> None:
    def start() -> tuple[subprocess.Popen[str], str]:
        child = subprocess.Popen(
            [*_COMMAND, "review", str(doubtful), "--no-open", "-q"],
            stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"},
        )  # fmt: skip
        assert child.stderr is not None
        for line in child.stderr:
            if found := re.search(r"http://\S+", line):
                return child, found[0]
        raise AssertionError("the server says no address")

    child, address = start()
    try:
        browser.get(address)
        ready(browser)
        for count in range(1, 4):
            press(browser, "2")
            until(lambda count=count: len(read_decisions(Run(doubtful).decisions).lines) >= count)
            ready(browser)
        lines = read_decisions(Run(doubtful).decisions).lines
        refused = subprocess.run([*_COMMAND, "review", str(doubtful), "--terminal"], capture_output=True, text=True)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert f"in use by `ruleminer review`, process {child.pid}" in refused.stderr
        child.kill()
        child.wait()
        press(browser, "1")
        until(lambda: "does not answer" in text(browser, "#toasts"), "that the server is gone")
        child, address = start()
        browser.get(address)
        ready(browser)
        assert read_decisions(Run(doubtful).decisions).lines == lines
        assert f"{len(lines)} decisions" in text(browser, "#progress")
    finally:
        child.kill()
        child.wait()


HOSTILE = (
    '"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>\'`${window.hacked=1}</textarea>\u202ex'
)


def test_hostile_names_and_values_change_no_element_and_run_no_script(tmp_path: Path, browser: WebDriver) -> None:
    quoted = '"' + HOSTILE.replace('"', '""') + '"'
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute(f"CREATE TABLE {quoted} (id INTEGER PRIMARY KEY, {quoted} VARCHAR, kind VARCHAR)")
        connection.execute(f"INSERT INTO {quoted} SELECT i, ? || i, CASE WHEN i % 2 = 0 THEN ? ELSE 'plain' END "
                           "FROM range(1, 40) t(i)", [HOSTILE, HOSTILE])  # fmt: skip
        connection.execute("CREATE TABLE other (id INTEGER PRIMARY KEY, note VARCHAR)")
        connection.execute("INSERT INTO other SELECT i, ? || i FROM range(1, 60) t(i)", [HOSTILE])
    escaped = HOSTILE.replace("\\", "\\\\").replace('"', '\\"')
    (tmp_path / "o.ttl").write_text(
        "@prefix : <http://e/#> . @prefix owl: <http://www.w3.org/2002/07/owl#> . "
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        f':Thing a owl:Class ; rdfs:label "{escaped}" ; rdfs:comment "{escaped}" .\n'
        f':says a owl:DatatypeProperty ; rdfs:domain :Thing ; rdfs:label "{escaped}" .\n'
    )
    (tmp_path / "e.csv").write_text("predicate,arg1\nThing,2\nThing,4\n")
    run = tmp_path / "run"
    extract_datasets(
        ExtractRequest(out=run, db=str(tmp_path / "d.duckdb"), ontology=tmp_path / "o.ttl",
                       examples=(tmp_path / "e.csv",), negatives="none")
    )  # fmt: skip
    with open_review(ProposeRequest(run=run)) as session, served(session) as server:
        browser.get(server.address)
        ready(browser)
        for term in ("Thing", "says"):
            one(browser, "#find").clear()
            one(browser, "#find").send_keys(term, Keys.ENTER)
            until(lambda term=term: text(browser, "#term h2").startswith(term))
            ready(browser)
            one(browser, "#find").send_keys(Keys.ESCAPE)
            for tab in browser.find_elements("css selector", "[role=tab]"):
                tab.click()
            one(browser, "#edit").click()
            until(lambda: browser.find_elements("css selector", "#rule-text"))
            one(browser, "#rule-text").send_keys(Keys.END, ', "')
            one(browser, "#rule-text").send_keys(Keys.ESCAPE, Keys.ESCAPE)
            session.say()
        press(browser, "1")
        ready(browser)
        page = browser.page_source
        assert "onerror" in page, "the names are shown"
        assert browser.execute_script("return window.hacked") is None
        assert browser.execute_script("return document.images.length") == 0
        assert browser.execute_script("return document.scripts.length") == 2
        assert browser.execute_script("return document.querySelectorAll('[onerror]').length") == 0
        assert "U+202E" in page, "what turns the direction of text is made visible"
        assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_its_width(in_doubt: ReviewSession, width: int, dark: bool) -> None:
    with browsing(width, 900, dark) as browser, served(in_doubt) as server:
        browser.get(server.address)
        ready(browser)
        press(browser, "1")
        ready(browser)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        wide = "return [...document.querySelectorAll('#main *')].filter(e => !e.closest('.box, .panel, .behind, pre') "
        assert browser.execute_script(f"{wide} && e.getBoundingClientRect().right > innerWidth + 1).length") == 0
        dark_paper = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert (dark_paper == "rgb(21, 24, 27)") is dark
        if width < 500:
            assert not one(browser, "#terms").is_displayed()
            one(browser, "#show-terms").click()
            assert one(browser, "#terms").is_displayed()
            one(browser, "#list button").click()
            until(lambda: one(browser, "#term").is_displayed())
            ready(browser)
        if _PICTURES:
            name = f"review-{width}-{'dark' if dark else 'light'}"
            screenshot(browser, Path(_PICTURES), name)
            browser.execute_script("document.querySelector('#main').scrollTop = 760")
            screenshot(browser, Path(_PICTURES), f"{name}-term")
