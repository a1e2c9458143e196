"""A hook of mkdocs: pages that lie elsewhere in the project, where people look for them, are part of the site."""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

PROJECT = Path(__file__).resolve().parent.parent
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "tests/issues/README.md": "issues.md",
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for source, page in PAGES.items():
        text = (PROJECT / source).read_text("utf-8").replace("](docs/", "](")
        for linked, name in PAGES.items():
            text = text.replace(f"]({linked}", f"]({name}")
        files.append(File.generated(config, page, content=text))
    return files
