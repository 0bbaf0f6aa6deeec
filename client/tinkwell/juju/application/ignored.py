"""Options of `deploy` and `refresh` for features of Juju that Tinkwell lacks: refused, or accepted with a note.

An option is refused if a test would otherwise believe that it had an effect.
"""

import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import click

from tinkwell.juju.shell import failure
from tinkwell.juju.shell.context import Context


@dataclass(frozen=True, slots=True)
class _Ignored:
    """An option; `sentence` tells the user what is done instead, and is empty if that need not be told."""

    name: str
    sentence: str = ""
    is_flag: bool = False
    is_refused: bool = False

    @property
    def key(self) -> str:
        return f"ignored{self.name.replace('-', '_')}"


_OPTIONS = (
    _Ignored("--attach-storage", "attach the storage to the existing unit with juju attach-storage", is_refused=True),
    _Ignored("--bind", "Tinkwell has no spaces; all endpoints have the machine's own address", is_refused=True),
    _Ignored("--constraints", "Tinkwell makes no machines; name one that fits with --to", is_refused=True),
    _Ignored("--device", "Tinkwell gives units no devices", is_refused=True),
    _Ignored("--overlay", "Tinkwell deploys no bundles; deploy each charm by itself", is_refused=True),
    _Ignored("--revision", "it is for charms of Charmhub; a local charm is its own revision", is_refused=True),
    _Ignored("--base", "units use the system of their machines"),
    _Ignored("--series", "units use the system of their machines"),
    _Ignored("--channel", "it is for charms of Charmhub"),
    _Ignored("--trust", "there are no credentials of a cloud that a charm might be trusted with", is_flag=True),
    # The actions that they would force are allowed anyway, or refused for good reasons.
    *(_Ignored(name, is_flag=True) for name in ("--force", "--force-base", "--force-series", "--force-units")),
)


def options(work: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """Add the options to a command. The command does not get their values."""

    @functools.wraps(work)
    async def checked(ctx: Context, *args: Any, **kwargs: Any) -> None:
        for each in _OPTIONS:
            if kwargs.pop(each.key):
                _say(ctx, each)
        await work(ctx, *args, **kwargs)

    result: Callable[..., Awaitable[None]] = checked
    for each in _OPTIONS:
        kind: dict[str, Any] = {"is_flag": True} if each.is_flag else {"multiple": True}
        result = click.option(each.name, each.key, hidden=True, **kind)(result)
    return result


def _say(ctx: Context, option: _Ignored) -> None:
    if option.is_refused:
        raise failure.Failure(f"{option.name} is not supported: {option.sentence}")
    if option.sentence:
        ctx.note(f"{option.name} has no effect: {option.sentence}")
