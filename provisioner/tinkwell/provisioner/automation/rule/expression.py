"""CEL expressions over an event, and texts and JSON values with such expressions in them.

An expression sees one variable, `event`: the event in the shape that `-o json` prints. In a text, `{{ … }}` holds an
expression; a text that is nothing but one expression becomes its value, a number or an object too. What comes out is
encoded afterwards, so nothing in an event can break out of its place in a body.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import cel

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
View: TypeAlias = Mapping[str, Any]

MAX_BYTES = 10_000
_HOLE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
# What the library raises for an expression that does not fit the event.
_FAILURES = (ValueError, RuntimeError, TypeError, LookupError, ArithmeticError)
_UNKNOWN = "Undefined variable or function"


class ExpressionError(Exception):
    """An expression is wrong, or does not fit the event; the text says why."""


class Expression:
    """One compiled expression."""

    def __init__(self, text: str) -> None:
        """Compile; raises `ExpressionError`."""
        if not text.strip() or len(text.encode()) > MAX_BYTES:
            raise ExpressionError(f"an expression has 1 to {MAX_BYTES:,} bytes")
        self.text = text.strip()
        try:
            self._program = cel.compile(self.text)
        except _FAILURES as error:
            # The rest is a drawing of the place.
            raise ExpressionError(f"{self.text!r} is no CEL expression: {str(error).splitlines()[0]}") from error
        self._check_names()

    def _check_names(self) -> None:
        # The library tells a name that it does not know only when it comes upon it. An event that holds nothing leads
        # it to the first.
        try:
            self._program.execute({"event": {}})
        except _FAILURES as error:
            if str(error).startswith(_UNKNOWN):
                raise ExpressionError(f"{self.text!r}: {error}") from error

    def value(self, view: View) -> Any:
        """Evaluate over an event; raises `ExpressionError`."""
        try:
            return self._program.execute({"event": view})
        except _FAILURES as error:
            raise ExpressionError(f"{self.text!r} cannot be evaluated: {error}") from error

    def holds(self, view: View) -> bool:
        """Whether the condition is true of an event; raises `ExpressionError`, also where it is not a condition."""
        value = self.value(view)
        if not isinstance(value, bool):
            raise ExpressionError(f"{self.text!r} is neither true nor false but {type(value).__name__}")
        return value


class Text:
    """A text with expressions in it."""

    def __init__(self, text: str) -> None:
        """Compile; raises `ExpressionError`."""
        self.text = text
        # A pattern with one group splits into texts and, between them, what was in the holes.
        parts = _HOLE.split(text)
        self._parts = [Expression(part) if index % 2 else part for index, part in enumerate(parts)]
        if any("{{" in part or "}}" in part for part in parts[::2]):
            raise ExpressionError(f"{text!r} has a {{{{ or }}}} without its partner")

    def value(self, view: View) -> Json:
        """Fill in an event; raises `ExpressionError`."""
        match self._parts:
            case ["", Expression() as only, ""]:
                return _json(only, only.value(view))
        return "".join(part if isinstance(part, str) else _string(part, view) for part in self._parts)

    def string(self, view: View) -> str:
        """Fill in an event, as text in any case; raises `ExpressionError`."""
        value = self.value(view)
        return value if isinstance(value, str) else _encode(value)


Node: TypeAlias = bool | int | float | Text | Sequence["Node"] | Mapping[str, "Node"] | None


def compile_json(value: Json) -> Node:
    """Compile every text in a JSON value; raises `ExpressionError`."""
    match value:
        case str():
            return Text(value)
        case list():
            return [compile_json(item) for item in value]
        case dict():
            return {name: compile_json(item) for name, item in value.items()}
        case _:
            return value


def fill_in(node: Node, view: View) -> Json:
    """Fill an event into every text of a JSON value; raises `ExpressionError`."""
    match node:
        case Text():
            return node.value(view)
        case Mapping():
            return {name: fill_in(item, view) for name, item in node.items()}
        case Sequence():
            return [fill_in(item, view) for item in node]
        case _:
            return node


def _string(expression: Expression, view: View) -> str:
    value = _json(expression, expression.value(view))
    return value if isinstance(value, str) else _encode(value)


def _json(expression: Expression, value: Any) -> Json:
    """Return a value that JSON has; CEL knows times, bytes and infinite numbers besides."""
    try:
        result: Json = json.loads(_encode(value))
    except (TypeError, ValueError) as error:
        raise ExpressionError(f"{expression.text!r} gives what JSON cannot hold: {error}") from error
    return result


_encode: Callable[[object], str] = json.JSONEncoder(allow_nan=False, ensure_ascii=False).encode
