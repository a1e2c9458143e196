"""What the documentation shows, works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ruleminer.rules.parser import parse_rules, parse_templates

PROJECT = Path(__file__).resolve().parent.parent
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]


def blocks(language: str) -> list[tuple[str, str]]:
    return [
        (page.name, code)
        for page in PAGES
        for code in re.findall(rf"```{language}\n(.*?)\n```", page.read_text("utf-8"), re.DOTALL)
    ]


@pytest.mark.parametrize(("page", "code"), blocks("rules"))
def test_rules_in_the_docs_parse(page: str, code: str) -> None:
    assert list(parse_rules(code, page))


@pytest.mark.parametrize(("page", "code"), blocks("templates"))
def test_templates_in_the_docs_parse(page: str, code: str) -> None:
    assert list(parse_templates(code, page))


@pytest.mark.parametrize(("page", "code"), blocks("python"))
def test_python_in_the_docs_runs(page: str, code: str) -> None:
    exec(compile(code, page, "exec"), {})


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(((?!https?:)[^)#]+)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
