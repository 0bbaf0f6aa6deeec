"""Converts the members of an enum to their numbers in protobuf, and back."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Generic, TypeVar

from tinkwell.client import errors

E = TypeVar("E", bound=StrEnum)


class Enumeration(Generic[E]):
    """An enum of the core and its counterpart in protobuf, whose members have the same names after a prefix."""

    def __init__(self, kind: type[E], twin: Any, prefix: str) -> None:
        self._name = prefix.lower().replace("_", " ")
        self._numbers: Mapping[E, Any] = {member: twin.Value(f"{prefix}_{member.name}") for member in kind}
        self._members: Mapping[int, E] = {number: member for member, number in self._numbers.items()}

    def number(self, member: E) -> Any:
        """Return the number of a member."""
        return self._numbers[member]

    def member(self, number: int) -> E:
        """Return the member of a number that the server sent; raises `errors.Error` for an unknown number."""
        try:
            return self._members[number]
        except KeyError:
            text = f"the server sent {self._name} {number}, which this release does not know; upgrade it"
            raise errors.Error(text) from None
