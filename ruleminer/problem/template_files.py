"""Templates from files: the ones that ship with ruleminer, or a folder of the user's own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ruleminer.errors import InputError
from ruleminer.rules.parser import parse_templates
from ruleminer.rules.templates import Template

SUFFIX = ".rules"


def shipped_folder() -> Path:
    """The folder of templates that came with the package, or beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "templates"
    return inside if inside.is_dir() else package.parent / "templates"


def read_templates(path: Path | None = None, files: Iterable[str] | None = None) -> tuple[Template, ...]:
    """All templates of a folder of `.rules` files, or of one file; of the shipped folder if None.

    `files` picks files by name without the suffix (`classes`, `paper/classes`). Files are read in order of name, but
    templates of fewer atoms come first and those that refine others last, since that is the order in which candidates
    are kept when there are too many.
    """
    place = path or shipped_folder()
    if not place.exists():
        raise InputError(f"no such templates: {place}")
    found = sorted(place.glob(f"*{SUFFIX}")) if place.is_dir() else [place]
    if files is not None:
        chosen = [place / f"{name}{SUFFIX}" for name in files]
        missing = [file for file in chosen if not file.is_file()]
        if missing:
            there = ", ".join(file.stem for file in found)
            raise InputError(f"no template file {missing[0].name} in {missing[0].parent}; there are {there}")
        found = chosen
    if not found:
        raise InputError(f"no {SUFFIX} files in {place}")
    templates: dict[str, Template] = {}
    for file in found:
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot read templates from {file}: {error}") from None
        for template in parse_templates(text, str(file)):
            if template.name in templates:
                raise InputError(f"{file}: a second template called {template.name}")
            templates[template.name] = template
    if not templates:
        raise InputError(f"no templates in {place}: each is `name: rule with slots`, see docs/rules.md")
    return tuple(sorted(templates.values(), key=lambda template: (template.refines, len(template.body))))
