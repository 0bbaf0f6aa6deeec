"""Values of a given size that carry the moment at which they were sent, by the machine's clock."""

import time

_MARK = '"sent": "'
_END = '"'


def write(size: int) -> str:
    """Return a JSON object of so many bytes with the present moment in it, as PostgreSQL prints jsonb."""
    text = f'{{"pad": "", {_MARK}{time.time_ns()}"}}'
    return text.replace('""', f'"{"x" * (size - len(text))}"', 1)


def read(text: str) -> int:
    """Return the moment, in nanoseconds, that a text with such a value in it was sent. Raises `ValueError`."""
    begin = text.index(_MARK) + len(_MARK)
    return int(text[begin : text.index(_END, begin)])
