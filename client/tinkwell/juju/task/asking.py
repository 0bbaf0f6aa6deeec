"""Waits for tasks, and reports those that failed."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tinkwell.juju.shell import failure
from tinkwell.juju.shell.context import Context
from tinkwell.juju.task import shape

if TYPE_CHECKING:
    from tinkwell.client import Task


async def follow(context: Context, asked: "Sequence[Task]", wait_seconds: float | None) -> "list[Task]":
    """Wait for the ends of tasks, for ever with None.

    Raises `Failure`, in words that jubilant looks for, if not all have ended in time. The tasks go on then.
    """
    loop = asyncio.get_running_loop()
    deadline = None if wait_seconds is None else loop.time() + wait_seconds
    ended: list[Task] = []
    for each in asked:
        try:
            async with asyncio.timeout_at(deadline):
                ended.append(await context.client.applications.finished(each.id))
        except TimeoutError:
            ended.append(await context.client.applications.task(each.id))
    if late := [each.unit for each in ended if not each.state.is_final]:
        names = "\n".join(f" - unit {name}" for name in late)
        raise failure.Failure(f"timed out waiting for results from:\n{names}")
    return ended


def check(tasks: "Sequence[Task]") -> None:
    """Raise `Failure` with the tasks that have not succeeded, in words that jubilant looks for."""
    failed = [each for each in tasks if not shape.has_succeeded(each)]
    if not failed:
        return
    plural = "s" if len(failed) > 1 else ""
    told = "\n".join(f' - id "{each.id}" with return code {shape.return_code(each)}' for each in failed)
    raise failure.Failure(
        f"the following task{plural} failed:\n{told}\n\nuse 'juju show-task' to inspect the failure{plural}"
    )
