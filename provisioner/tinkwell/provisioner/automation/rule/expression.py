"""CEL expressions over an event, and texts and JSON values with such expressions in them.

An expression sees one variable, `event`: the event in the shape that `-o json` prints. In a text, `{{ … }}` holds an
expression; a text that is nothing but one expression becomes its value, a number or an object too. What comes out is
encoded afterwards, so nothing in an event can break out of its place in a body.

Whoever writes rules is trusted, whoever makes events is not. The library copies a list with each item that `map` and
`filter` add to it, and nothing stops it; so only what is plainly quick is evaluated in this process, and everything
else in a limited child (`evaluation`), where every expression is compiled first (`checking`).
"""

import functools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import cel

Context: TypeAlias = cel.Context
Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
View: TypeAlias = Mapping[str, Any]

MAX_BYTES = 10_000
_HOLE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_BRACES = re.compile(r"\{\{|\}\}")
# What the library raises for an expression that does not fit the event.
FAILURES = (ValueError, RuntimeError, TypeError, LookupError, ArithmeticError)
# The library quotes the values that do not fit, however long these are.
_SHOWN_CHARACTERS = 300

# Each of these takes no longer than reading what it is given, and gives no more than that.
_QUICK_FUNCTIONS = frozenset({"size", "contains", "startsWith", "endsWith", "string", "int", "uint", "double", "bool"})
_OPERATORS = frozenset(
    {
        *("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_", "@in"),
        *("_&&_", "_||_", "!_", "_?_:_", "@not_strictly_false"),
        *("_+_", "_-_", "_*_", "_/_", "_%_", "-_", "_[_]"),
    }
)
# These look at each item, and `map` at all that it has so far with each of these; for both are copied, however deep.
# All that follow each other or stand in each other are taken to multiply.
_MACROS = {"all": 1, "exists": 1, "exists_one": 1, "filter": 1, "map": 2}
# Every name before a bracket, also where the two stand in a text; between them may be space and comments.
_CALLED = re.compile(r"\b(?=([A-Za-z_]\w*)(?:\s|//[^\n]*\n)*\()")
# So long an expression cannot nest deeply, nor name the event often.
_QUICK_BYTES = 1_000
# How much of an event quick expressions may look at: its values, and 32 characters of its texts count as one, too.
MAX_QUICK_WEIGHT = 10_000
_CHARACTERS_OF_ONE = 32
# How much an expression may look at in all, each time that it does. It is some milliseconds.
_QUICK_STEPS = 100_000


class ExpressionError(Exception):
    """An expression is wrong, or does not fit the event; the text says why."""


class Expression:
    """One expression, which is compiled when it is first used; `checking` has done so before."""

    def __init__(self, text: str) -> None:
        """Take the text; raises `ExpressionError` for one that is empty or too long."""
        if not text.strip() or len(text.encode()) > MAX_BYTES:
            raise ExpressionError(f"an expression has 1 to {MAX_BYTES:,} bytes")
        self.text = text.strip()

    @functools.cached_property
    def quick_weight(self) -> int:
        """How much an event may weigh at most to be looked at in this process; 0 is none."""
        length = len(self.text.encode())
        called = _CALLED.findall(self.text)
        if length > _QUICK_BYTES or not {*_QUICK_FUNCTIONS, *_MACROS, "has"}.issuperset(called):
            return 0
        if not (_QUICK_FUNCTIONS | _OPERATORS).issuperset(self._program.functions()):
            return 0
        # Each sum is a copy of all before it.
        steps = _QUICK_STEPS // max(self.text.count("event"), 1) // (self.text.count("+") + 1)
        if power := sum(_MACROS.get(name, 0) for name in called):
            # Lists may be written out, too.
            steps = int(steps ** (1 / (power + 1))) - length // 2
        return max(min(steps, MAX_QUICK_WEIGHT), 0)

    @functools.cached_property
    def _program(self) -> cel.Program:
        return cel.compile(self.text)

    def value(self, context: Context) -> Json:
        """Evaluate in this process, whatever time that takes; raises `ExpressionError`."""
        try:
            return self.as_json(self._program.execute(context))
        except FAILURES as error:
            raise self.failure(str(error)) from error

    def as_json(self, value: object) -> Json:
        """Return a value that JSON has; CEL knows times, bytes and infinite numbers besides."""
        if value is None or isinstance(value, bool | str):
            return value
        try:
            result: Json = json.loads(encode(value))
        except (TypeError, ValueError) as error:
            raise ExpressionError(f"{self.text!r} gives what JSON cannot hold: {error}") from error
        return result

    def failure(self, reason: str) -> ExpressionError:
        """Return the error that tells why it cannot be evaluated."""
        return ExpressionError(f"{self.text!r} cannot be evaluated: {shortened(reason)}")

    def truth(self, value: Json) -> bool:
        """Return its value as that of a condition; raises `ExpressionError` where it is none."""
        if not isinstance(value, bool):
            raise ExpressionError(f"{self.text!r} is neither true nor false but {type(value).__name__}")
        return value


def context_of(view: View) -> Context:
    """Return what expressions are evaluated in; raises `ExpressionError`."""
    try:
        return cel.Context(variables={"event": view})
    except FAILURES as error:
        raise ExpressionError(f"the event cannot be looked at: {shortened(str(error))}") from error


class Text:
    """A text with expressions in it."""

    def __init__(self, text: str) -> None:
        """Read it; raises `ExpressionError`."""
        self.text = text
        # A pattern with one group splits into texts and, between them, what was in the holes.
        parts = _HOLE.split(text)
        self._parts = [Expression(part) if index % 2 else part for index, part in enumerate(parts)]
        if any(has_hole(part) for part in parts[::2]):
            raise ExpressionError(f"{text!r} has a {{{{ or }}}} without its partner")

    @classmethod
    def literal(cls, text: str) -> "Text":
        """Return a text that stands for itself, whatever is in it."""
        made = cls("")
        made.text, made._parts = text, [text]
        return made

    @property
    def expressions(self) -> list[Expression]:
        """Its expressions, in their order."""
        return [part for part in self._parts if isinstance(part, Expression)]

    def filled(self, values: Iterator[Json]) -> Json:
        """Put the next values in, one for each of its expressions."""
        match self._parts:
            case ["", Expression(), ""]:
                return next(values)
        return "".join(part if isinstance(part, str) else as_text(next(values)) for part in self._parts)


Node: TypeAlias = bool | int | float | Text | Sequence["Node"] | Mapping[str, "Node"] | None


def read_json(value: Json) -> Node:
    """Read every text in a JSON value; raises `ExpressionError`."""
    match value:
        case str():
            return Text(value)
        case list():
            return [read_json(item) for item in value]
        case dict():
            for name in value:
                if has_hole(name):
                    raise ExpressionError(f"{name!r} is a key, and keys are not filled in; let one {{{{ }}}} give all")
            return {name: read_json(item) for name, item in value.items()}
        case _:
            return value


def expressions_of(node: Node) -> Iterator[Expression]:
    """Iterate over the expressions of a JSON value, in the order in which they are filled in."""
    match node:
        case Text():
            yield from node.expressions
        case Mapping():
            for item in node.values():
                yield from expressions_of(item)
        case Sequence():
            for item in node:
                yield from expressions_of(item)


def filled(node: Node, values: Iterator[Json]) -> Json:
    """Put the next values into every text of a JSON value, one for each expression."""
    match node:
        case Text():
            return node.filled(values)
        case Mapping():
            return {name: filled(item, values) for name, item in node.items()}
        case Sequence():
            return [filled(item, values) for item in node]
        case _:
            return node


def has_hole(text: str) -> bool:
    """Whether a text looks as if it was to be filled in."""
    return _BRACES.search(text) is not None


def as_text(value: Json) -> str:
    """Return a value as it stands in a text."""
    return value if isinstance(value, str) else encode(value)


def shortened(text: str) -> str:
    """Return the beginning of what the library says."""
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


def weight(view: object, limit: int) -> int:
    """Return how much of a JSON value there is to look at, or something above `limit` as soon as it is more."""
    total = 0
    waiting: list[Iterable[object]] = [(view,)]
    while waiting and total <= limit:
        for item in waiting.pop():
            total += 1
            if type(item) is str:
                total += len(item) // _CHARACTERS_OF_ONE
            elif type(item) is dict:
                waiting += (item, item.values())
            elif type(item) is list:
                waiting.append(item)
            if total > limit:
                break
    return total


encode: Callable[[object], str] = json.JSONEncoder(allow_nan=False, ensure_ascii=False).encode
