"""Collects everything that is wrong with a request, so that its author mends it in one go."""

import sys
from collections.abc import Callable
from typing import TypeVar

from tinkwell.core import errors

T = TypeVar("T")


class Checks:
    """Runs `parse_*` functions one after the other, and raises for all of them at the end.

    Of a document in which everything may be wrong, only the first violations are kept: `most` of them.
    """

    def __init__(self, *, most: int = sys.maxsize) -> None:
        self._violations: list[errors.Violation] = []
        self._most = most

    @property
    def is_full(self) -> bool:
        """Whether no more violations are kept."""
        return len(self._violations) >= self._most

    def take(self, parse: Callable[..., T], field: str, given: T, **limits: object) -> T:
        """Return the parsed value; the value as it was given if it is wrong, until `finish` says so."""
        try:
            return parse(field, given, **limits)
        except errors.InvalidField as error:
            self.note(error)
            return given

    def refuse(self, field: str, description: str) -> None:
        """Note that a field is wrong."""
        self.note(errors.InvalidField.of(field, description))

    def note(self, error: errors.InvalidField) -> None:
        """Note what an error says."""
        self._violations.extend(error.violations[: self._most - len(self._violations)])

    def finish(self) -> None:
        """Raise `errors.InvalidField` if anything was wrong."""
        if self._violations:
            raise errors.InvalidField(self._violations)
