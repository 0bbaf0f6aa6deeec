"""Which of many cases are tried by default; `make test-thorough` tries the others."""

from collections.abc import Iterable
from typing import TypeVar

import pytest
from _pytest.mark import ParameterSet

_Case = TypeVar("_Case")


def few(cases: Iterable[_Case], count: int) -> list[_Case | ParameterSet]:
    """Return cases to parametrize a test by. All after the first `count` are marked `thorough`."""
    return [
        case if number < count else pytest.param(case, marks=pytest.mark.thorough) for number, case in enumerate(cases)
    ]
