"""Runs an async command with a connected client, and ends it properly.

Ctrl-C interrupts a command that answers once, like any other program. A stream has no end of its own: users stop it by
Ctrl-C, by SIGTERM, or by ending its reader, so these ends are a success.
"""

import functools
import os
import signal
import stat
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

import rich_click as click

from tinkwell.cli.shell import connection

if TYPE_CHECKING:
    from tinkwell.client import Client

P = ParamSpec("P")
Work = Callable[Concatenate["Client", P], Awaitable[None]]

_OPTION_OF_FIELD = {
    "address": "--server",
    "token": "--token",
    "tls": "--tls-cert",
    "tls.ca": "--tls-ca",
    "tls.cert": "--tls-cert",
    "tls.key": "--tls-key",
}


def connected(work: "Work[P]") -> Callable[P, None]:
    """Make a command from an async function whose first argument is a connected client."""

    @functools.wraps(work)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        _run(_connected(lambda client: work(client, *args, **kwargs)))

    return run


def streaming(work: "Work[P]") -> Callable[P, None]:
    """Make a command as `connected` does, for a stream that ends with success when it is stopped."""

    @functools.wraps(work)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        _run(until_stopped(_connected(lambda client: work(client, *args, **kwargs))))

    return run


def _run(work: Coroutine[Any, Any, object]) -> None:
    import asyncio  # it costs start-up time, see main

    asyncio.run(work)


async def _connected(work: "Callable[[Client], Awaitable[None]]") -> None:
    from tinkwell import client as client_library  # gRPC costs start-up time, see main

    chosen = connection.current()
    _set_up_logging(is_wanted=chosen.debug)
    tls = client_library.TLS(chosen.tls_ca, chosen.tls_cert, chosen.tls_key, chosen.tls_server_name)
    try:
        opened = client_library.connect(
            chosen.server,
            token=chosen.token,
            tls=tls if chosen.wants_tls else None,
            actor=_actor(),
            timeout_seconds=chosen.timeout,
        )
    except client_library.errors.InvalidField as error:
        violation = error.violations[0]
        name = _OPTION_OF_FIELD.get(violation.field, violation.field)
        raise click.UsageError(f"{name}: {violation.description}") from error
    async with opened as client:
        await work(client)


async def until_stopped(work: Awaitable[None], *, ends_with_reader: bool = True) -> signal.Signals | None:
    """Wait for some work, and end it at Ctrl-C, SIGTERM, or the end of its reader. Returns the signal, if one came.

    SIGPIPE stands for the end of standard output's reader, which is noticed only with `ends_with_reader`.
    """
    import asyncio  # it costs start-up time, see main

    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None
    stopped: signal.Signals | None = None

    def stop(number: signal.Signals) -> None:
        nonlocal stopped
        stopped = stopped or number
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    pipe = _pipe() if ends_with_reader else None
    if pipe is not None:
        # A pipe's writing end becomes readable when its last reader is gone.
        loop.add_reader(pipe, stop, signal.SIGPIPE)
    try:
        await work
    except asyncio.CancelledError:
        if stopped is None:
            raise
        task.uncancel()
    finally:
        if pipe is not None:
            loop.remove_reader(pipe)
    return stopped


def _set_up_logging(*, is_wanted: bool) -> None:
    """With --debug, show the log of the library; otherwise users get only the sentences of commands."""
    import logging  # it costs start-up time, see main

    if is_wanted:
        from tinkwell.core.process_log import setup

        setup.set_up("debug")
    else:
        logging.getLogger("tinkwell").addHandler(logging.NullHandler())


def _pipe() -> int | None:
    """Return standard output's descriptor if it is a pipe, else None."""
    try:
        descriptor = sys.stdout.fileno()
        return descriptor if stat.S_ISFIFO(os.fstat(descriptor).st_mode) else None
    except (AttributeError, OSError, ValueError):
        return None


def _actor() -> str | None:
    """Return the user's name for the event log; None if a header cannot carry the name."""
    import getpass  # it costs start-up time, see main

    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        return None
    return name if name and name.isascii() and name.isprintable() else None
