"""Shows the changes of a followed resource: as lines, or as a tree that is drawn again."""

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Generic, Protocol, TextIO, TypeVar

import rich_click as click

from tinkwell.cli.shell import connection, output
from tinkwell.core.process_log import terminal

if TYPE_CHECKING:
    from datetime import datetime

    from tinkwell.cli.shell.display import Display

T_contra = TypeVar("T_contra", contravariant=True)

_LOST = "The connection is lost; what happens meanwhile is told once it is back."
_BACK = "The connection is back."


class View(Protocol[T_contra]):
    """Shows changes to the user."""

    def show(self, changed: T_contra, at: "datetime | None") -> None:
        """Show a changed resource, and the time of the change."""

    def note(self, sentence: str) -> None:
        """Show a sentence in place of the one before; an empty one removes it, where that is possible."""

    def is_lost(self) -> None:
        """Tell that the connection is lost; called at each attempt to connect."""

    def is_back(self) -> None:
        """Tell that the connection is back, if it was lost."""


def can_be_drawn_on(file: TextIO) -> bool:
    """Whether a tree can be drawn on a file. With --debug it is not, because it would overwrite the log."""
    return file.isatty() and os.environ.get("TERM") != "dumb" and not connection.current().debug


class Plain(Generic[T_contra]):
    """Writes the lines that tell of each change, and sentences to standard error."""

    def __init__(self, lines: "Callable[[T_contra, datetime | None], Iterable[str]]", file: TextIO) -> None:
        self._lines = lines
        self._file = file
        self._is_lost = False
        self._note = ""

    def show(self, changed: T_contra, at: "datetime | None") -> None:
        """Write the lines of a change."""
        for line in self._lines(changed, at):
            click.echo(terminal.coloured(line), file=self._file, color=True)

    def note(self, sentence: str) -> None:
        """Write a sentence, unless it is the same as the one before."""
        if sentence and sentence != self._note:
            output.note(sentence)
        self._note = sentence

    def is_lost(self) -> None:
        """Write once that the connection is lost."""
        if not self._is_lost:
            output.note(_LOST)
        self._is_lost = True

    def is_back(self) -> None:
        """Write that the connection is back."""
        if self._is_lost:
            output.note(_BACK)
        self._is_lost = False


class Drawn:
    """Lets a display draw the tree after each change."""

    def __init__(self, display: "Display") -> None:
        self._display = display
        self._is_lost = False

    def show(self, changed: object, at: "datetime | None") -> None:
        """Draw soon."""
        self._display.change()

    def note(self, sentence: str) -> None:
        """Show a sentence below the tree."""
        if not self._is_lost:
            self._display.note(sentence)

    def is_lost(self) -> None:
        """Show that the connection is lost."""
        self._is_lost = True
        self._display.note(_LOST)

    def is_back(self) -> None:
        """Remove the sentence about the lost connection."""
        if self._is_lost:
            self._display.note("")
        self._is_lost = False
