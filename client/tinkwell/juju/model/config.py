"""`model-config`: the settings of a namespace, under Juju's names."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from tinkwell.juju.shell import command, controller, duration, failure, output, setting
from tinkwell.juju.shell.context import Context

if TYPE_CHECKING:
    from tinkwell.client import Namespace

Edits = dict[str, Any]

_TRUE = ("true", "1", "yes", "on")
_FALSE = ("false", "0", "no", "off")


@dataclass(frozen=True, slots=True)
class _Setting:
    """One setting: the client's name for it, how it is read and shown, and its default as the client takes it."""

    argument: str
    read: Callable[[str], Any]
    shown: Callable[[Any], Any]
    default: Any


def _seconds(text: str) -> int:
    found = duration.seconds(text)
    if found != int(found):
        raise ValueError(f"{text!r} is not a whole number of seconds")
    return int(found)


def _flag(text: str) -> bool:
    if text.lower() not in _TRUE + _FALSE:
        raise ValueError(f"expected bool, got {text!r}")
    return text.lower() in _TRUE


_SETTINGS: Mapping[str, _Setting] = {
    "automatically-retry-hooks": _Setting("retrying", _flag, bool, True),
    "update-status-hook-interval": _Setting("update_status_seconds", _seconds, duration.show, 300),
}
# Settings that have the same value in every namespace, and cannot be changed.
_FIXED: Mapping[str, Any] = {"agent-version": controller.VERSION, "type": controller.CLOUD}
# Settings that are accepted without effect: every log line of a unit is kept anyway.
_WITHOUT_EFFECT = ("logging-config",)
DEFAULTS: Edits = {each.argument: each.default for each in _SETTINGS.values()}


@command.command("model-config", formats=command.TABULAR_FIRST)
@click.argument("given", nargs=-1, metavar="[NAME|NAME=VALUE...]")
@click.option("--reset", "resets", multiple=True, metavar="NAME[,NAME...]", help="Give settings their defaults.")
@click.option("--file", "file", metavar="FILE", help="Settings as YAML.")
async def model_config(ctx: Context, given: tuple[str, ...], resets: tuple[str, ...], file: str | None) -> None:
    """Show or change the settings of a model."""
    names = [each for each in given if "=" not in each]
    assignments = setting.pairs(each for each in given if "=" in each)
    if file is not None:
        assignments = {key: str(value) for key, value in setting.mapping(file).items()} | assignments
    reset = [name for each in resets for name in each.split(",")]
    if (names and (assignments or reset)) or len(names) > 1:
        raise failure.Usage("give either one name to show, or values to set")
    if assignments or reset:
        edits = {_known(name).argument: _known(name).default for name in reset}
        await change(ctx, ctx.namespace, edits | check(ctx, assignments))
        return
    found = _values(await ctx.client.namespaces.get(ctx.namespace))
    if not names:
        ctx.show(found, lambda: _rows(found))
    elif names[0] in found:
        value = found[names[0]]["Value"]
        ctx.show(value, lambda: [_text(value)])
    else:
        raise failure.Failure(f'key "{names[0]}" not found in "{ctx.namespace}" model')


def check(ctx: Context, given: Mapping[str, str]) -> Edits:
    """Return settings as the client takes them. Raises `Failure` for an unknown setting, and for a wrong value."""
    edits: Edits = {}
    for name, text in given.items():
        if name in _WITHOUT_EFFECT:
            ctx.note(f"{name} has no effect: Tinkwell keeps all that units log")
            continue
        known = _known(name)
        try:
            edits[known.argument] = known.read(text)
        except ValueError as error:
            raise failure.Failure(f"{name}: {error}") from error
    return edits


async def change(ctx: Context, namespace: str, edits: Edits) -> None:
    """Change the settings of a namespace, which is created if it does not exist."""
    await ctx.client.namespaces.set(namespace, **edits)


def _known(name: str) -> _Setting:
    if name in _SETTINGS:
        return _SETTINGS[name]
    if name in _FIXED:
        raise failure.Failure(f'"{name}" cannot be changed')
    raise failure.Failure(f"{name}: Tinkwell has no such setting; it has {' and '.join(_SETTINGS)}")


def _values(found: "Namespace") -> dict[str, dict[str, Any]]:
    values = {
        name: {
            "Value": each.shown(getattr(found, each.argument)),
            "Source": "default" if getattr(found, each.argument) == each.default else "model",
        }
        for name, each in _SETTINGS.items()
    }
    fixed = {name: {"Value": value, "Source": "model"} for name, value in _FIXED.items()}
    own = {"name": {"Value": found.name, "Source": "model"}, "uuid": {"Value": found.id, "Source": "model"}}
    return dict(sorted((values | fixed | own).items()))


def _rows(found: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    return output.table(
        ("Attribute", "From", "Value"), ((name, each["Source"], _text(each["Value"])) for name, each in found.items())
    )


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
