"""Output, line by line: who printed each line, and streams of lines that outlive their connections."""

from collections.abc import AsyncIterator, Callable, Hashable, Iterable
from typing import Protocol, TypeVar

import rich_click as click

from tinkwell.cli.shell import output

RETRY_SECONDS = 1.0

_COLOURS = ("cyan", "yellow", "green", "magenta", "blue", "bright_cyan", "bright_yellow", "bright_green")


class Line(Protocol):
    """What is to be known of a line."""

    @property
    def attempt(self) -> int:
        """The attempt that printed it, from 1."""

    @property
    def number(self) -> int:
        """Its place within the attempt, from 1."""


L = TypeVar("L", bound=Line)


class Prefix:
    """Says in front of each line who printed it, all equally wide, each in its own colour."""

    def __init__(self, names: Iterable[str]) -> None:
        cleaned = list(dict.fromkeys(map(output.clean, names)))
        self._colours = {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(cleaned)}
        self._width = max(map(len, cleaned), default=0)
        self._has_colour = output.has_colour()

    def of(self, name: str, attempt: int) -> str:
        """Give the prefix of a line that somebody of this name printed; attempts after the first are numbered."""
        name = output.clean(name)
        numbered = f"{name}#{attempt}" if attempt > 1 else name
        text = f"{numbered:<{self._width}} | "
        return click.style(text, fg=self._colours.get(name)) if self._has_colour else text


def say_lost() -> None:
    """Tell the user that the connection is lost."""
    output.note("The connection is lost; the output goes on once the server is back.")


async def lines(
    open_stream: Callable[[], AsyncIterator[L]],
    *,
    printer: Callable[[L], Hashable],
    follow: bool,
    on_lost: Callable[[], None] = say_lost,
) -> AsyncIterator[L]:
    """Iterate over the lines of a stream; a followed one goes on after a lost connection, each line once.

    `printer` tells what printed a line, where the numbers of an attempt count. `on_lost` is called once each time the
    connection is lost.
    """
    import asyncio  # it costs start-up time, see main

    from tinkwell.client import errors

    last_numbers: dict[tuple[Hashable, int], int] = {}
    is_lost = False
    while True:
        try:
            async for line in open_stream():
                is_lost = False
                attempt = (printer(line), line.attempt)
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
