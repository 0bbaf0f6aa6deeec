"""Collects all faults of a request, so that its author sees them at once."""

import sys
from collections.abc import Callable
from typing import TypeVar

from tinkwell.core import errors

T = TypeVar("T")


class Checks:
    """Runs `parse_*` functions one after the other, and raises all their errors at the end.

    At most the first `most` violations are kept.
    """

    def __init__(self, *, most: int = sys.maxsize) -> None:
        self._violations: list[errors.Violation] = []
        self._most = most

    @property
    def is_full(self) -> bool:
        """Whether further violations are dropped."""
        return len(self._violations) >= self._most

    def take(self, parse: Callable[..., T], field: str, given: T, **limits: object) -> T:
        """Return the parsed value; a wrong value is returned as given, and `finish` raises its error."""
        try:
            return parse(field, given, **limits)
        except errors.InvalidField as error:
            self.note(error)
            return given

    def refuse(self, field: str, description: str) -> None:
        """Note that a field is wrong."""
        self.note(errors.InvalidField.of(field, description))

    def note(self, error: errors.InvalidField) -> None:
        """Note the violations of an error."""
        self._violations.extend(error.violations[: self._most - len(self._violations)])

    def finish(self) -> None:
        """Raise `errors.InvalidField` if there are violations."""
        if self._violations:
            raise errors.InvalidField(self._violations)
