"""A tree on a terminal, drawn again and again in the same place.

It is drawn in the event loop that also changes it, so no lock is needed: soon after each change, and twice a second
because it shows times that pass. Texts are given to rich in a form in which rich looks for no markup.
"""

import asyncio
import contextlib
import os
from collections.abc import Callable
from typing import TextIO

from rich import cells, console, live, style, text
from rich import tree as rich_tree

from tinkwell.cli.shell import outline, output

_PASSING_SECONDS = 0.5
_PAUSE_SECONDS = 0.1


class Display:
    """Shows a tree until it is cancelled, and leaves its last state on the terminal.

    `look` returns the present tree, with a note below it if that is not empty.
    """

    def __init__(self, look: Callable[[str], outline.Node], *, file: TextIO) -> None:
        self._look = look
        self._changed = asyncio.Event()
        self._note = ""
        # The caller knows that the file is a terminal. Without `force_terminal`, rich might decide otherwise.
        has_colour = not os.environ.get("NO_COLOR")
        self._console = console.Console(
            file=file, force_terminal=True, color_system="auto" if has_colour else None, highlight=False
        )

    def change(self) -> None:
        """Draw soon."""
        self._changed.set()

    def note(self, sentence: str) -> None:
        """Show a sentence below the tree, instead of the one before; an empty one takes it away."""
        self._note = sentence
        self.change()

    async def run(self) -> None:
        """Draw until cancelled; in the end in full, however long it is."""
        shown = live.Live(console=self._console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
        with shown:
            try:
                while True:
                    # The last row is the cursor's.
                    shown.update(self._drawing(self._console.size.height - 1), refresh=True)
                    await self._wait()
            finally:
                shown.update(self._drawing(None))

    def _drawing(self, rows: int | None) -> rich_tree.Tree:
        root = self._look(self._note)
        return draw(root if rows is None else outline.fit(root, rows))

    async def _wait(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PASSING_SECONDS):
                await self._changed.wait()
        self._changed.clear()
        # This limits the number of pictures in a second, however fast the tree changes.
        await asyncio.sleep(_PAUSE_SECONDS)


def draw(node: outline.Node) -> rich_tree.Tree:
    """Return the tree for rich: one row for each node, cut at the terminal's edge, with the states in one column."""
    drawn = rich_tree.Tree(_row(node, width=0), guide_style="dim")
    _add(drawn, node)
    return drawn


def _add(drawn: rich_tree.Tree, node: outline.Node) -> None:
    width = max((cells.cell_len(child.title) for child in node.children if child.state is not None), default=0)
    for child in node.children:
        _add(drawn.add(_row(child, width=width)), child)


def _row(node: outline.Node, *, width: int) -> text.Text:
    row = text.Text(no_wrap=True, overflow="ellipsis", end="")
    if node.state is None and not node.children and not node.details:
        return row.append(output.clean(node.title), style.Style(dim=True))
    row.append(output.clean(node.title), style.Style(bold=node.has_focus))
    if node.state is not None:
        row.append(" " * max(width - cells.cell_len(node.title), 0) + "  ")
        padding = " " * (max(map(len, type(node.state))) - len(node.state)) if node.details else ""
        row.append(node.state, style.Style(color=output.colour(node.state))).append(padding)
    for detail in node.details:
        row.append("  ").append(output.clean(detail), style.Style(dim=node.state in (None, "PENDING")))
    return row
