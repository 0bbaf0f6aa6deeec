"""`config`: the options of an application."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from tinkwell.juju.shell import command, failure, setting
from tinkwell.juju.shell.context import Context
from tinkwell.juju.shell.output import Format

if TYPE_CHECKING:
    from tinkwell.client import Application, Charm, CharmOption

# An option that Juju has beside those of the charm; its value is fixed here.
_TRUST = {
    "default": False,
    "description": "Does this application have access to trusted credentials",
    "source": "default",
    "type": "bool",
    "value": False,
}


@command.command("config", formats=command.YAML_FIRST)
@click.argument("name", metavar="APPLICATION")
@click.argument("given", nargs=-1, metavar="[OPTION|OPTION=VALUE...]")
@click.option("--reset", "resets", multiple=True, metavar="OPTION[,OPTION...]", help="Give options their defaults.")
@click.option("--file", "file", metavar="FILE", help="Options as YAML.")
async def config(ctx: Context, name: str, given: tuple[str, ...], resets: tuple[str, ...], file: str | None) -> None:
    """Show the options of an application, or one of them, or set options; if one is refused, none is set."""
    keys = [each for each in given if "=" not in each]
    edits: dict[str, Any] = setting.of_file(file, name) if file is not None else {}
    edits |= setting.pairs(each for each in given if "=" in each)
    reset = [key for each in resets for key in each.split(",") if key]
    if len(keys) > 1:
        raise failure.Usage(f"can only retrieve a single value, got {len(keys)}")
    if keys and (edits or reset):
        raise failure.Usage("cannot set and retrieve values simultaneously")
    if both := sorted(set(reset) & set(edits)):
        raise failure.Usage(f"cannot set and reset key {both[0]!r} simultaneously")
    if edits or reset:
        await ctx.client.applications.set_config(name, edits | dict.fromkeys(reset), namespace=ctx.namespace)
        return
    found = await ctx.client.applications.get(name, namespace=ctx.namespace)
    shown = _settings(found, await ctx.client.applications.charm(found.charm))
    if keys:
        _show_one(ctx, found, keys[0], shown)
        return
    ctx.show(
        {
            "application": found.name,
            "application-config": {"trust": _TRUST},
            "charm": found.charm_name,
            "settings": shown,
        }
    )


def _show_one(ctx: Context, found: "Application", key: str, settings: Mapping[str, Mapping[str, Any]]) -> None:
    if key not in settings:
        raise failure.Failure(f'key "{key}" not found in "{found.name}" application config or charm settings.')
    value = settings[key].get("value")
    if ctx.format is Format.JSON:
        ctx.show(value)
    else:
        ctx.line(_text(value))


def _settings(found: "Application", charm: "Charm") -> dict[str, dict[str, Any]]:
    return {each.name: dict(_setting(each, found.config or {})) for each in sorted(charm.options, key=lambda o: o.name)}


def _setting(option: "CharmOption", given: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    if option.default is not None:
        yield "default", option.default
    yield "description", option.description
    is_set = option.name in given
    yield "source", "user" if is_set else "unset" if option.default is None else "default"
    yield "type", option.type
    value = given.get(option.name, option.default)
    if value is not None:
        yield "value", value


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case _:
            return str(value)
