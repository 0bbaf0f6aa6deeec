"""The output of actions, line by line."""

from collections.abc import AsyncIterator, Callable, Iterable
from typing import TYPE_CHECKING

import rich_click as click

from tinkwell.cli.shell import output

if TYPE_CHECKING:
    from tinkwell.client import Action, Client, LogLine

RETRY_SECONDS = 1.0

_COLOURS = ("cyan", "yellow", "green", "magenta", "blue", "bright_cyan", "bright_yellow", "bright_green")


class Prefix:
    """Says in front of each line which action printed it, all equally wide, each action in its own colour."""

    def __init__(self, actions: "Iterable[Action]") -> None:
        self._names = {action.id: output.clean(f"{action.task_name}/{action.name}") for action in actions}
        self._colours = {action_id: _COLOURS[i % len(_COLOURS)] for i, action_id in enumerate(self._names)}
        self._width = max(map(len, self._names.values()), default=0)
        self._has_colour = output.has_colour()

    def of(self, line: "LogLine") -> str:
        """Give the prefix of a line; attempts after the first are numbered."""
        name = self._names.get(line.action_id) or output.clean(f"{line.task_name}/{line.action_name}")
        numbered = f"{name}#{line.attempt}" if line.attempt > 1 else name
        text = f"{numbered:<{self._width}} | "
        return click.style(text, fg=self._colours.get(line.action_id)) if self._has_colour else text


def say_lost() -> None:
    """Tell the user that the connection is lost."""
    output.note("The connection is lost; the output goes on once the server is back.")


async def lines(
    client: "Client", workflow_id: str, *, follow: bool, on_lost: Callable[[], None] = say_lost
) -> "AsyncIterator[LogLine]":
    """Iterate over the lines; a followed stream goes on after a lost connection, each line once.

    `on_lost` is called once each time the connection is lost.
    """
    import asyncio  # it costs start-up time, see main

    from tinkwell.client import errors

    last_numbers: dict[tuple[str, int], int] = {}
    is_lost = False
    while True:
        try:
            async for line in client.workflows.logs(workflow_id, follow=follow):
                is_lost = False
                attempt = (line.action_id, line.attempt)
                if line.number > last_numbers.get(attempt, 0):
                    last_numbers[attempt] = line.number
                    yield line
        except errors.Unavailable:
            if not follow:
                raise
        else:
            return
        if not is_lost:
            on_lost()
        is_lost = True
        await asyncio.sleep(RETRY_SECONDS)
