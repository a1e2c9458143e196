"""Commands with a configuration: values that the command line does not give come from `ruleminer.toml`.

`--config FILE` may stand anywhere. `--help` shows what would be taken from the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from typer._click.exceptions import UsageError
from typer.core import TyperGroup

_OF_THEIR_OWN = ("init", "demo", "scenario", "bench")  # these bring their own source
_BRINGS_ALL = {"extract": ("scenario", "recipe"), "validate": ("scenario",)}
"""Options that name source, ontology and examples at once."""
_OTHER_NAMES = {"inspect": {"url": "db"}, "extract": {"out": "run"}, "draft": {"out": "run"}}
"""Parameters that are called otherwise in a command than in the configuration."""


class ConfiguredGroup(TyperGroup):
    """The root of all commands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _config_first(args))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and command is not None and name not in _OF_THEIR_OWN:
            ctx.default_map = {name: _defaults(ctx, name, command, rest)}
        return name, command, rest


def _defaults(ctx: Any, name: str, command: Any, args: list[str]) -> dict[str, Any]:
    """What the configuration says of a command's options, by their names; of a group, of all its commands."""
    from ruleminer.configuration import find_configuration

    said = find_configuration(ctx.params.get("config"))
    if said is None:
        return {}
    if isinstance(command, TyperGroup):
        return {each: _fitting(said.defaults(()), each, command.commands[each]) for each in command.commands}
    parser = command.make_parser(command.context_class(command, info_name=name, parent=ctx))
    parser.ignore_unknown_options = True  # told by the command itself, later
    try:
        typed = parser.parse_args(args=list(args))[0]
    except UsageError:
        return {}
    given = {option for option, value in typed.items() if value not in (None, ())}
    values = said.defaults(given)
    if set(_BRINGS_ALL.get(name, ())) & given:
        values = {key: value for key, value in values.items() if key in ("run", "iri", "base", "datatypes")}
    if name == "validate" and "run" in values:
        mapping = Path(values["run"]) / "proposals" / "mapping.ttl"
        values |= {"mapping": str(mapping)} if mapping.is_file() else {}
    values = _fitting(values, name, command)
    for parameter in command.params:
        if parameter.name in values and parameter.name not in given:
            told = (
                said.db if parameter.name in ("db", "url") else values[parameter.name]
            )  # no secret of the environment
            parameter.show_default = f"{', '.join(told) if isinstance(told, list) else told}, from {said.shown}"
    return values


def _fitting(values: dict[str, Any], name: str, command: Any) -> dict[str, Any]:
    """The values that a command has a parameter for, by what it calls them."""
    names = {parameter.name for parameter in command.params}
    renamed = {own: values[key] for own, key in _OTHER_NAMES.get(name, {}).items() if key in values}
    return {key: value for key, value in {**values, **renamed}.items() if key in names}


def _config_first(args: list[str]) -> list[str]:
    """The arguments with `--config FILE`, wherever it stands, before the command."""
    for at, argument in enumerate(args):
        if argument == "--":
            break
        if argument == "--config" and at + 1 < len(args):
            return [*args[at : at + 2], *args[:at], *args[at + 2 :]]
        if argument.startswith("--config="):
            return [argument, *args[:at], *args[at + 1 :]]
    return args
