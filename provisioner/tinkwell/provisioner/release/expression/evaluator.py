"""Evaluates all texts of a JSON value, and collects what is wrong with them. It runs in the child alone."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from tinkwell.core.value import parse
from tinkwell.provisioner.release.expression import language
from tinkwell.provisioner.release.expression.fault import Fault, Unknown
from tinkwell.provisioner.release.expression.plain import Json

Begin: TypeAlias = Callable[[str], None]
JsonObject: TypeAlias = dict[str, Json]

MAX_PROBLEMS = 20


class TooMany(Exception):
    """So much is wrong that the rest need not be told."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands: its path for messages, its JSON pointer, and how many lists and objects it stands in."""

    field: str
    depth: int
    pointer: str = ""

    def child(self, part: str | int) -> "Place":
        """Return the place of an item."""
        escaped = str(part).replace("~", "~0").replace("/", "~1")
        return Place(parse.child(self.field, part), self.depth + 1, f"{self.pointer}/{escaped}")


@dataclass(slots=True)
class Noted:
    """What is late: the pointers of texts, the late names in them, and whether one of them names `each`."""

    pointers: list[str] = field(default_factory=list)
    roots: set[str] = field(default_factory=set)
    needs_each: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """What expressions of a place may name: values that are known now, and `late` names, whose values are known later.

    A text with a late name is left as it is, and noted. `explain` says of any other name why it is unknown.
    """

    now: Mapping[str, Json]
    explain: Callable[[str], str]
    late: Collection[str] = ()
    noted: Noted = field(default_factory=Noted)


class Evaluator:
    """Evaluates, and goes on after what is wrong, so that its author hears of all of it. Raises `TooMany`."""

    def __init__(self, begin: Begin) -> None:
        self._begin = begin
        self.problems: list[tuple[str, str]] = []

    def refuse(self, field: str, reason: str) -> None:
        """Note that something is wrong."""
        self.problems.append((field, reason))
        if len(self.problems) >= MAX_PROBLEMS:
            raise TooMany

    def value(self, value: Json, place: Place, scope: Scope) -> Json:
        """Evaluate every text of a value, keys aside. What is wrong becomes null."""
        match value:
            case str():
                return value if language.is_plain(value) else self._text(value, place, scope)
            case dict():
                return {key: self.value(item, place.child(key), scope) for key, item in value.items()}
            case list():
                return [self.value(item, place.child(index), scope) for index, item in enumerate(value)]
            case _:
                return value

    def _text(self, text: str, place: Place, scope: Scope) -> Json:
        # If this is the end of the process, the parent tells both.
        self._begin(f"{place.field}\n{parse.excerpt(text)}")
        try:
            return self._value(text, language.compile_text(text), place, scope)
        except Unknown as fault:
            reason = scope.explain(fault.name)
        except Fault as fault:
            reason = fault.reason
        self.refuse(place.field, f"`{parse.excerpt(text)}`: {reason}")
        return None

    def _value(self, text: str, compiled: language.Text, place: Place, scope: Scope) -> Json:
        late = compiled.roots.intersection(scope.late)
        if not late:
            return compiled.evaluate(scope.now, depth=place.depth)
        # What is misspelt must not come to light when half of the release has been changed.
        if unknown := compiled.roots - late - compiled.optional - scope.now.keys() - language.GLOBALS.keys():
            raise Unknown(min(unknown))
        scope.noted.pointers.append(place.pointer)
        scope.noted.roots |= late
        scope.noted.needs_each |= "each" in compiled.roots - late
        return text
