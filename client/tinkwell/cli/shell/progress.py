"""Shows the progress of a command as a bar on standard error, if that is a terminal."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def bar(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a bar until the block ends. The block calls the yielded function with the number of items that are done."""
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
    # The bar disappears at the end, because the result is written to standard output.
    with progress.Progress(*columns, console=console.Console(stderr=True), transient=True) as shown:
        task = shown.add_task(title, total=total)
        yield lambda done: shown.update(task, completed=done)
