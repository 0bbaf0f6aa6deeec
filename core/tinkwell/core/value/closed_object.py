"""Reads a JSON object with a fixed set of members, and notes all faults.

A missing or wrong member has its default, so that reading goes on and the author sees all faults at once.
"""

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TypeAlias, TypeVar

from tinkwell.core import errors
from tinkwell.core.value import check, parse
from tinkwell.core.value.document import JsonObject, JsonValue, describe

Parse: TypeAlias = Callable[[str, str], str]

E = TypeVar("E", bound=StrEnum)

_NEAR_CHARACTERS = 100
_NEAR_NAMES = 1_000
_LISTED_NAMES = 15


def nearest(name: str, known: Sequence[str]) -> str:
    """Return a question with the most similar known name, or the list of known names."""
    longer = [other for other in known if name and other.startswith(name)]
    if near := longer[:1] or difflib.get_close_matches(name[:_NEAR_CHARACTERS], known[:_NEAR_NAMES], n=1):
        return f"did you mean {near[0]}?"
    names = sorted(set(known))
    listed = ", ".join(names[:_LISTED_NAMES])
    return f"known are {listed}{' and more' if len(names) > _LISTED_NAMES else ''}" if names else "there are none"


class ClosedObject:
    """An object whose members all have known names. A member that is null counts as wrong, not as missing.

    `hints` say what to do about wrong names that people often write.
    """

    def __init__(
        self,
        checks: check.Checks,
        field: str,
        value: JsonValue,
        known: Sequence[str],
        *,
        hints: Mapping[str, str] | None = None,
    ) -> None:
        self.checks = checks
        self.field = field
        self.is_object = isinstance(value, dict)
        self._members: JsonObject = value if isinstance(value, dict) else {}
        if not self.is_object:
            self.refuse(field, f"an object with {', '.join(known)}", value)
        for name in self._members:
            if name not in known and not checks.is_full:
                hint = (hints or {}).get(name) or nearest(name, known)
                checks.refuse(parse.child(field, name), f"there is no such field; {hint}")

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def path(self, name: str) -> str:
        """Return the path of a member."""
        return parse.child(self.field, name)

    def refuse(self, path: str, needed: str, given: JsonValue, *, if_text: str = "", if_scalar: str = "") -> None:
        """Note that a value of another type was needed, with advice for the usual mistakes."""
        match given:
            case None:
                hint = "leave it out where there is none"
            case str():
                hint = if_text
            case dict() | list():
                hint = ""
            case _:
                hint = if_scalar
        what = f"the text {parse.show(given)}" if isinstance(given, str) else describe(given)
        found = f"must be {needed}, and not {what}"
        self.checks.refuse(path, f"{found}; {hint}" if hint else found)

    def demand(self, name: str) -> None:
        """Note if a member is missing."""
        if self.is_object and name not in self._members:
            self.checks.refuse(self.path(name), "must be given")

    def value(self, name: str, default: JsonValue = None) -> JsonValue:
        """Return a member without checks."""
        return self._members.get(name, default)

    def text(self, name: str, parse_text: Parse, *, default: str = "", is_required: bool = False) -> str:
        """Return a text, as its parser returns it."""
        if is_required:
            self.demand(name)
        if name not in self._members:
            return default
        return self._text(self.path(name), self._members[name], parse_text) or default

    def texts(self, name: str, parse_text: Parse, *, most: int) -> tuple[str, ...]:
        """Return a list of at most `most` texts; empty if the member is missing."""
        return tuple(self._text(path, item, parse_text) for path, item in self.items(name, most=most))

    def choice(self, name: str, choices: type[E], *, default: E) -> E:
        """Return a text that is one of the choices."""
        given = self._members.get(name, str(default))
        if isinstance(given, str) and given in set(choices):
            return choices(given)
        self.refuse(self.path(name), f"one of {', '.join(choices)}", given)
        return default

    def boolean(self, name: str, *, default: bool = False) -> bool:
        """Return true or false."""
        given = self._members.get(name, default)
        if isinstance(given, bool):
            return given
        self.refuse(self.path(name), "true or false", given, if_text="write true or false, without quotes")
        return default

    def integer(self, name: str, *, low: int, high: int) -> int | None:
        """Return a whole number from `low` to `high`; None if it is missing."""
        if name not in self._members:
            return None
        return self.integer_at(self.path(name), self._members[name], low=low, high=high)

    def integer_at(self, path: str, given: JsonValue, *, low: int, high: int) -> int | None:
        """Return a whole number within a member; None if it is wrong."""
        if isinstance(given, bool) or not isinstance(given, int):
            self.refuse(path, f"a whole number from {low:,} to {high:,}", given, if_text="write it without quotes")
            return None
        if not low <= given <= high:
            self.checks.refuse(path, f"is {given:,}; it must be from {low:,} to {high:,}")
            return None
        return given

    def object(self, name: str) -> JsonObject:
        """Return an object with any members; an empty one if it is missing."""
        given = self._members.get(name, {})
        if isinstance(given, dict):
            return given
        self.refuse(self.path(name), "an object", given)
        return {}

    def items(self, name: str, *, most: int) -> Iterator[tuple[str, JsonValue]]:
        """Yield the items of a list with their paths; nothing if the list is missing or too long."""
        given = self._members.get(name, [])
        if not isinstance(given, list):
            self.refuse(self.path(name), "a list", given)
        elif len(given) > most:
            self.checks.refuse(self.path(name), f"has {len(given):,} entries; at most {most:,} are allowed")
        else:
            yield from ((parse.child(self.path(name), index), item) for index, item in enumerate(given))

    def inner(self, name: str, known: Sequence[str]) -> "ClosedObject":
        """Return a member that is a closed object itself; one without members if it is missing."""
        return ClosedObject(self.checks, self.path(name), self._members.get(name, {}), known)

    def members(self, name: str, parse_key: Parse) -> Iterator[tuple[str, str, JsonValue]]:
        """Yield the path, the key and the value of each member of an object with keys of the author's choice.

        A key that its parser refuses is noted, and its member left out.
        """
        for key, value in self.object(name).items():
            path = parse.child(self.path(name), key)
            try:
                parse_key(path, key)
            except errors.InvalidField as error:
                self.checks.note(error)
            else:
                yield path, key, value

    def texts_by_key(self, name: str, parse_key: Parse, parse_text: Parse) -> dict[str, str]:
        """Return an object of texts, with keys of the author's choice."""
        return {key: self._text(path, value, parse_text) for path, key, value in self.members(name, parse_key)}

    def _text(self, path: str, given: JsonValue, parse_text: Parse) -> str:
        if isinstance(given, str):
            return self.checks.take(parse_text, path, given)
        self.refuse(path, "text", given, if_scalar="put quotes around it")
        return ""
