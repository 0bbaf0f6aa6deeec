"""Tables in Markdown."""

from collections.abc import Iterable, Iterator, Sequence


def lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield _row(head)
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield _row([cell.replace("|", r"\|") for cell in row])


def code(text: str) -> str:
    """Return a text as code."""
    return f"`{text}`" if text else ""


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(' '.join(cell.split()) for cell in cells)} |"
