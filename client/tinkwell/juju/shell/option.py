"""The options that all commands share, and the object that keeps their values while a command line is read."""

from dataclasses import dataclass
from typing import Any

import click

from tinkwell.juju.shell.output import Format


@dataclass(slots=True)
class Chosen:
    """The values of the options."""

    model: str = ""
    output_format: Format | None = None
    quiet: bool = False
    debug: bool = False


def chosen() -> Chosen:
    """Return the values of the options of the running command."""
    context = click.get_current_context()
    assert context is not None  # it would have raised
    return context.ensure_object(Chosen)


def shared(formats: tuple[Format, ...] = (), *, has_model: bool = False) -> list[click.Option]:
    """Build the options of a command; `formats` are those of its output, the default one first."""
    found = [
        _option("--quiet", "-q", is_flag=True, default=None, help="Show no informational output."),
        _option(
            "--debug", is_flag=True, default=None, help="Show the traceback of an error, and the log of the client."
        ),
        # These change what Juju's client writes about its own work. This command writes nothing of that kind.
        _option("--verbose", "-v", is_flag=True, hidden=True),
        _option("--show-log", is_flag=True, hidden=True),
        _option("--logging-config", hidden=True),
    ]
    if formats:
        names = click.Choice([each.value for each in formats])
        found.append(
            _option("--format", "output_format", type=names, help=f"How it is written. [default: {formats[0]}]")
        )
    if has_model:
        found.append(_option("--model", "-m", metavar="MODEL", help="Model to operate in: [controller:][user/]model."))
    return found


def _option(*names: str, **settings: Any) -> click.Option:
    return click.Option(names, expose_value=False, callback=_keep, **settings)


def _keep(ctx: click.Context, param: click.Parameter, value: object) -> None:
    kept = ctx.ensure_object(Chosen)
    match param.name:
        case "output_format" if isinstance(value, str):
            kept.output_format = Format(value)
        case "model" if isinstance(value, str):
            kept.model = value
        case "quiet" | "debug" if value is not None:
            setattr(kept, param.name, bool(value))
        case _:
            return
