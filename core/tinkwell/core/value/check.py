"""Collects everything that is wrong with a request, so that its author mends it in one go."""

from collections.abc import Callable
from typing import TypeVar

from tinkwell.core import errors

T = TypeVar("T")


class Checks:
    """Runs `parse_*` functions one after the other, and raises for all of them at the end."""

    def __init__(self) -> None:
        self._violations: list[errors.Violation] = []

    def take(self, parse: Callable[..., T], field: str, given: T, **limits: object) -> T:
        """Return the parsed value; the value as it was given if it is wrong, until `finish` says so."""
        try:
            return parse(field, given, **limits)
        except errors.InvalidField as error:
            self._violations.extend(error.violations)
            return given

    def refuse(self, field: str, description: str) -> None:
        """Note that a field is wrong."""
        self._violations.append(errors.Violation(field, description))

    def finish(self) -> None:
        """Raise `errors.InvalidField` if anything was wrong."""
        if self._violations:
            raise errors.InvalidField(self._violations)
