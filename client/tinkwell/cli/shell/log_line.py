"""Lines of output with prefixes, and streams of lines that reconnect."""

import shutil
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable, Iterable
from typing import Protocol, TypeVar

import rich_click as click

from tinkwell.cli.shell import output

RETRY_SECONDS = 1.0

# Moves the cursor to the beginning of the row, and clears the row.
_CLEARED = "\r\x1b[K"

_COLOURS = ("cyan", "yellow", "green", "magenta", "blue", "bright_cyan", "bright_yellow", "bright_green")


class Line(Protocol):
    """An output line of any kind."""

    @property
    def attempt(self) -> int:
        """The attempt that printed the line, from 1."""

    @property
    def number(self) -> int:
        """The place of the line within the attempt, from 1."""

    @property
    def text(self) -> str:
        """The printed text."""

    @property
    def is_open(self) -> bool:
        """Whether the line is not complete, and comes again with the same number."""


L = TypeVar("L", bound=Line)


class Prefix:
    """Makes the prefixes of lines, which name their printers; they have the same width and different colours."""

    def __init__(self, names: Iterable[str]) -> None:
        cleaned = list(dict.fromkeys(map(output.clean, names)))
        self._colours = {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(cleaned)}
        self._width = max(map(len, cleaned), default=0)
        self._has_colour = output.has_colour()

    def of(self, name: str, attempt: int) -> str:
        """Return the prefix of a line by the printer of this name; attempts after the first are numbered."""
        name = output.clean(name)
        numbered = f"{name}#{attempt}" if attempt > 1 else name
        text = f"{numbered:<{self._width}} | "
        return click.style(text, fg=self._colours.get(name)) if self._has_colour else text


class Tail:
    """The last lines of one attempt, each in its latest form."""

    def __init__(self, count: int) -> None:
        self._lines: deque[Line] = deque(maxlen=count)

    def add(self, line: Line) -> None:
        """Take a line. It may replace the line before it, with the same number."""
        if self._lines and self._lines[-1].number == line.number:
            self._lines.pop()
        self._lines.append(line)

    def texts(self) -> list[str]:
        """Return the texts of the lines."""
        return [line.text for line in self._lines]


class Paper:
    """Writes lines to standard output. On a terminal, an open line is shown until its next form is written over it.

    Elsewhere an open line is written only if it does not come again. If lines come in the order in which they were
    printed, that is known as soon as another line follows; if lines are mixed, only at the end.
    """

    def __init__(self, *, is_mixed: bool, is_raw: bool = False) -> None:
        """Begin without open lines. With `is_raw`, a terminal also gets lines as they were printed."""
        self._is_mixed = is_mixed
        self._is_raw = is_raw
        self._is_terminal = sys.stdout.isatty()
        # The open lines by their places; a terminal shows the last one of them.
        self._open: dict[Hashable, str] = {}

    def write(self, content: str, *, place: Hashable, is_open: bool, prefix: str = "") -> None:
        """Write a line of a program behind a prefix of ours, in place of its open form.

        `place` identifies the line, by its printer and its number.
        """
        if place not in self._open and not self._is_mixed:
            self.end()
        text = prefix + output.shown(content, is_raw=self._is_raw)
        if not is_open:
            self._close(place, text)
            return
        self._open.pop(place, None)
        self._open[place] = text
        if self._is_terminal:
            # The line must fit into one row, because the next form would not overwrite a second row.
            output.part(f"{_CLEARED}{output.cut(text, shutil.get_terminal_size().columns - 1)}")

    def end(self) -> None:
        """Finish the open lines: they do not change any more."""
        for place, text in list(self._open.items()):
            self._close(place, text)

    def _close(self, place: Hashable, text: str) -> None:
        output.part(f"{_CLEARED if self._open and self._is_terminal else ''}{text}\n")
        self._open.pop(place, None)


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
    """Iterate over the lines of a stream. With `follow`, a lost connection is resumed, and each line comes once.

    An open line comes again after each change.

    `printer` returns the printer of a line; each attempt of a printer numbers its own lines. `on_lost` is called once
    each time the connection is lost.
    """
    import asyncio  # it costs start-up time, see main

    from tinkwell.client import errors

    last: dict[tuple[Hashable, int], tuple[int, bool]] = {}
    is_lost = False
    while True:
        try:
            async for line in open_stream():
                is_lost = False
                attempt = (printer(line), line.attempt)
                number, was_open = last.get(attempt, (0, False))
                if line.number > number or (line.number == number and was_open):
                    last[attempt] = line.number, line.is_open
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
