"""What the documentation shows, works."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

import ruleminer
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


@pytest.mark.parametrize(("page", "code"), [block for block in blocks("python") if block[0] != "api.md"])
def test_python_in_the_docs_runs(page: str, code: str) -> None:
    exec(compile(code, page, "exec"), {})


def test_the_page_on_the_api_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for page, code in blocks("python"):
        if page == "api.md":
            exec(compile(code, page, "exec"), names)
    assert names["score"].f1 > 0.5
    told = (PROJECT / "docs" / "api.md").read_text("utf-8")
    assert [name for name in ruleminer.__all__ if name not in told] == ["__version__"]


def test_the_notebook_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((PROJECT / "docs" / "walkthrough.ipynb").read_text("utf-8"))
    names: dict[str, Any] = {}
    shown = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
            shown.append(_run_cell("".join(cell["source"]), cell["id"], names))
    tables = [result._repr_html_() for result in shown if hasattr(result, "_repr_html_")]
    assert len(tables) == 4
    assert all(text.startswith("<table>") for text in tables)
    names["database"].close()


def _run_cell(source: str, name: str, names: dict[str, Any]) -> Any:
    """Run a cell; the value of its last line, if that is an expression."""
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), name, "exec"), names)
    return eval(compile(ast.Expression(last.value), name, "eval"), names) if isinstance(last, ast.Expr) else None


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(((?!https?:)[^)#]+)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
