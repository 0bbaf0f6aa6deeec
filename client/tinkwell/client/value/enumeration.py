"""The members of an enum and their numbers in protobuf."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Generic, TypeVar

from tinkwell.client import errors

E = TypeVar("E", bound=StrEnum)


class Enumeration(Generic[E]):
    """An enum of the core and its twin in protobuf, whose members have the same names below a prefix."""

    def __init__(self, kind: type[E], twin: Any, prefix: str) -> None:
        self._name = prefix.lower().replace("_", " ")
        self._numbers: Mapping[E, Any] = {member: twin.Value(f"{prefix}_{member.name}") for member in kind}
        self._members: Mapping[int, E] = {number: member for member, number in self._numbers.items()}

    def number(self, member: E) -> Any:
        """Give the number of a member."""
        return self._numbers[member]

    def member(self, number: int) -> E:
        """Give the member of a number that the server sent; raises `errors.Error` for one that is unknown here."""
        try:
            return self._members[number]
        except KeyError:
            text = f"the server sent {self._name} {number}, which this release does not know; upgrade it"
            raise errors.Error(text) from None
