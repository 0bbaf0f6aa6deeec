"""The two kinds of commands: those that talk to the server, and those that only write."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from typing import Concatenate, ParamSpec

import click

from tinkwell.juju.shell import connection, model_name, option
from tinkwell.juju.shell.context import Context, Desk
from tinkwell.juju.shell.output import SMART_FIRST, TABULAR_FIRST, YAML_FIRST, Format

__all__ = ["SMART_FIRST", "TABULAR_FIRST", "YAML_FIRST", "command", "offline"]

P = ParamSpec("P")
Work = Callable[Concatenate[Context, P], Awaitable[None]]
Writing = Callable[Concatenate[Desk, P], None]


def command(
    name: str,
    *,
    formats: tuple[Format, ...] = (),
    has_model: bool = True,
    checks_model: bool = True,
    is_interspersed: bool = True,
) -> Callable[[Work[P]], click.Command]:
    """Make a command from an async function, which gets a `Context` and the values of its options and arguments.

    `formats` are those of its result, the default one first; none for a command without `--format`. Without `has_model`
    it has no `--model`. With `checks_model` a model that is not there is refused first: to the server it is an empty
    one, which is made where something is put into it. Without `is_interspersed` all that follows its first argument is
    an argument, too.
    """

    def make(work: Work[P]) -> click.Command:
        def run(*args: P.args, **kwargs: P.kwargs) -> None:
            chosen = option.chosen()
            namespace = model_name.parse(chosen.model) if chosen.model else model_name.current()
            desk = _desk(chosen, formats)

            async def checked(context: Context) -> None:
                if has_model and checks_model:
                    await context.check_model()
                await work(context, *args, **kwargs)

            asyncio.run(_connected(chosen, desk, namespace, checked))

        return _command(name, work, run, option.shared(formats, has_model=has_model), is_interspersed=is_interspersed)

    return make


def offline(
    name: str, *, formats: tuple[Format, ...] = (), has_model: bool = False
) -> Callable[[Writing[P]], click.Command]:
    """Make a command from a function that needs no server; the parameters are those of `command`."""

    def make(work: Writing[P]) -> click.Command:
        def run(*args: P.args, **kwargs: P.kwargs) -> None:
            work(_desk(option.chosen(), formats), *args, **kwargs)

        return _command(name, work, run, option.shared(formats, has_model=has_model))

    return make


def _command(
    name: str,
    work: Callable[..., object],
    run: Callable[..., None],
    options: list[click.Option],
    *,
    is_interspersed: bool = True,
) -> click.Command:
    # Decorators of click store the parameters on the function, the last one first.
    own: list[click.Parameter] = list(reversed(getattr(work, "__click_params__", [])))
    taken = {each for param in own for each in param.opts}
    return click.Command(
        name=name,
        callback=run,
        params=[*own, *(each for each in options if taken.isdisjoint(each.opts))],
        help=work.__doc__,
        context_settings={"allow_interspersed_args": is_interspersed, "help_option_names": ["-h", "--help"]},
    )


def _desk(chosen: option.Chosen, formats: tuple[Format, ...]) -> Desk:
    default = formats[0] if formats else Format.TABULAR
    return Desk(chosen.output_format or default, is_quiet=chosen.quiet)


async def _connected(
    chosen: option.Chosen, desk: Desk, namespace: str, work: Callable[[Context], Awaitable[None]]
) -> None:
    _set_up_logging(is_wanted=chosen.debug)
    async with connection.open_client(os.environ) as client:
        await work(Context(desk.format, desk.is_quiet, client=client, namespace=namespace))


def _set_up_logging(*, is_wanted: bool) -> None:
    """With --debug, show the log of the library; otherwise users get only the sentences of commands."""
    if is_wanted:
        from tinkwell.core.process_log import setup  # it costs start-up time, see main

        setup.set_up("debug")
    else:
        logging.getLogger("tinkwell").addHandler(logging.NullHandler())
