"""What each process of this component sets up around its work: signals, garbage collection, open files."""

import asyncio
import contextlib
import gc
import resource
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# The number of new objects before a collection of the youngest generation, and the factors for the older ones.
_COLLECT_AFTER = (50_000, 20, 20)


def run(work: Coroutine[Any, Any, T]) -> T | None:
    """Run the work to its end, or until SIGINT or SIGTERM asks to stop; return None then.

    A second signal kills the process at once. Of several errors that are raised together, the first is raised.
    """
    _collect_seldom()
    _open_many_files()
    try:
        with asyncio.Runner() as runner:
            return runner.run(_until_signalled(work))
    except BaseExceptionGroup as group:
        raise first(group) from group


def _collect_seldom() -> None:
    """Exclude imported objects from garbage collection, and collect the others less often.

    A server makes few reference cycles, but thousands of objects a second, which would start collections all the time
    and slow down the delivery to hundreds of watchers.
    """
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)


def _open_many_files() -> None:
    """Raise the limit of open files as far as this account may.

    Each client takes a file. The lower limit exists for programs that use select(), which this one does not.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The kernel also has a limit for all accounts, which may be lower than this one.
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def _until_signalled(work: Coroutine[Any, Any, T]) -> T | None:
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None
    is_stopping = False

    def stop() -> None:
        nonlocal is_stopping
        is_stopping = True
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
        task.cancel()

    for number in _SIGNALS:
        loop.add_signal_handler(number, stop)
    try:
        return await work
    except asyncio.CancelledError:
        if not is_stopping:
            raise
        return None


def first(error: BaseException) -> BaseException:
    """Return the first of several errors that were raised together."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
