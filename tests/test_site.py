"""The documentation as a site: it builds without a network, all links lead somewhere, nothing comes from outside."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

PROJECT = Path(__file__).resolve().parent.parent


class Page(HTMLParser):
    """What a page links to, what it loads, and the places in it that can be linked to."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = {""}
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.places.add(value)
            elif name in ("href", "src", "data", "poster", "action") and value is not None:
                (self.links if tag in ("a", "form") else self.loaded).append(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="pip install -e '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def pages(site: Path) -> dict[Path, Page]:
    # The page for missing pages is for servers: it names everything from their root.
    return {path: Page(path.read_text("utf-8")) for path in site.rglob("*.html") if path.name != "404.html"}


def test_every_page_of_the_docs_is_in_the_site(site: Path) -> None:
    names = {path.stem for path in pages(site)}
    assert names >= {page.stem for page in (PROJECT / "docs").glob("*.md")} | {"index", "contributing", "changelog"}


def test_every_link_of_the_site_leads_to_a_place_that_is_there(site: Path) -> None:
    read = pages(site)
    for path, page in read.items():
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.exists(), f"{path.name} links to {link}"
            if target in read:
                assert unquote(parts.fragment) in read[target].places, f"{path.name} links to {link}"


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    for path, page in pages(site).items():
        for loaded in page.loaded:
            assert not urlsplit(loaded).netloc, f"{path.name} loads {loaded}"
    for style in site.rglob("*.css"):
        text = style.read_text("utf-8")
        assert "url(http" not in text, style.name
        assert "url(//" not in text, style.name
        assert "@import" not in text, style.name
