"""What is wrong with an expression."""

import difflib
from collections.abc import Iterable

_COMPARED_NAMES = 1000
_COMPARED_CHARACTERS = 100


class Fault(Exception):
    """An expression cannot be evaluated; `reason` says why, in words that can follow the expression."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class Unknown(Fault):
    """An expression names something that there is not."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"{name} is not known here")


def nearest(name: str, known: Iterable[object]) -> str:
    """Return the end of a message that names the nearest of the known names, or nothing if none is near."""
    names = [str(each)[:_COMPARED_CHARACTERS] for each, _ in zip(known, range(_COMPARED_NAMES), strict=False)]
    near = difflib.get_close_matches(name[:_COMPARED_CHARACTERS], names, n=1)
    return f"; did you mean {near[0]}?" if near else ""
