"""What each of this component's processes does around its work: ends on a signal, collects garbage seldom, and may
open as many files as it is allowed to."""

import asyncio
import contextlib
import gc
import resource
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Objects made before the youngest are looked at, and how often they are before the older ones.
_COLLECT_AFTER = (50_000, 20, 20)


def run(work: Coroutine[Any, Any, T]) -> T | None:
    """Run the work to its end, or until SIGINT or SIGTERM asks to stop; None then. A second signal kills at once.

    Of several errors that came together, the first is raised.
    """
    _collect_seldom()
    _open_many_files()
    try:
        with asyncio.Runner() as runner:
            return runner.run(_until_signalled(work))
    except BaseExceptionGroup as group:
        raise first(group) from group


def _collect_seldom() -> None:
    """Let the garbage collector pass over what was imported, and look at the rest less often.

    A server makes little that refers to itself, but thousands of objects a second, which would have it look all the
    time: an eighth of what delivering to hundreds of watchers costs.
    """
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)


def _open_many_files() -> None:
    """Raise the limit of open files to the one that nobody but root may raise.

    Each client takes a file. The lower limit is there for programs that use select(), which this one does not.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The kernel has a limit for all, too, which may have been lowered below this one.
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
    """Return the first of several errors that came together."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
