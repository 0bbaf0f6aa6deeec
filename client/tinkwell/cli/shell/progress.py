"""How far a command is, shown while it works: a bar on standard error where that is a terminal, else nothing."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def bar(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a bar until the block ends; what it gives is called with how many of `total` are done."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda done: None
        return
    from rich import console, progress  # they cost start-up time, see main

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeRemainingColumn(),
    )
    # It leaves nothing behind: what came of it is told on standard output.
    with progress.Progress(*columns, console=console.Console(stderr=True), transient=True) as shown:
        task = shown.add_task(title, total=total)
        yield lambda done: shown.update(task, completed=done)
