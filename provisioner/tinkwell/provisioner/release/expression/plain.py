"""Converts the value of an expression to the JSON value that is stored and sent."""

import math
import re
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import TypeAlias

from jinja2.runtime import Undefined

from tinkwell.core.value import document
from tinkwell.provisioner.release.expression.fault import Fault

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None

MAX_BYTES = 1024 * 1024
_LISTS = (list, tuple, range, Iterator, KeysView, ValuesView, ItemsView)
_HARMFUL = re.compile("[\x00\ud800-\udfff]")
_MAX_INTEGER = 10 ** (document.MAX_NUMBER_CHARACTERS - 1)


def copy(value: object, *, depth: int = 0) -> Json:
    """Copy a value as JSON; raises `Fault` if JSON has no form for it, or if it is larger than 1 MiB.

    An iterator, as filters return it, becomes a list. `depth` is the number of lists and objects that will contain the
    value.
    """
    return _Copy().copy(value, depth)


class _Copy:
    def __init__(self) -> None:
        self._left = MAX_BYTES

    def copy(self, value: object, depth: int) -> Json:
        match value:
            case None | bool():
                self._take(5)
                return value
            case int() | float():
                self._take(8)
                return _number(value)
            case str():
                return self._text(value)
            case Mapping():
                return self._object(value, depth + 1)
            case Undefined():
                # `str` raises an error that names the undefined value.
                return str(value)
            case _ if isinstance(value, _LISTS):
                return self._list(value, depth + 1)
        if callable(value):
            raise Fault("gives a function; call it with (), or write x['name'] for what is called like it")
        raise Fault(f"gives {type(value).__name__}, for which JSON has no form")

    def _object(self, value: Mapping[object, object], depth: int) -> dict[str, Json]:
        self._enter(depth)
        copied: dict[str, Json] = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise Fault(f"gives an object with a key that is {document.describe(key)}; keys are texts")
            copied[self._text(key)] = self.copy(item, depth)
        return copied

    def _list(self, value: Iterable[object], depth: int) -> list[Json]:
        self._enter(depth)
        return [self.copy(item, depth) for item in value]

    def _text(self, value: str) -> str:
        if found := _HARMFUL.search(value):
            kind = "the NUL character" if found[0] == "\0" else "a lone surrogate"
            raise Fault(f"gives a text with {kind}, which cannot be stored")
        # Escaped text of markupsafe is a subclass of `str`.
        plain = str(value)
        self._take(len(plain.encode()) + 3)
        return plain

    def _enter(self, depth: int) -> None:
        self._take(2)
        if depth > document.MAX_DEPTH:
            raise Fault(f"gives a value that is nested deeper than {document.MAX_DEPTH} levels")

    def _take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise Fault(f"gives more than {MAX_BYTES // 1024:,} KiB")


def _number(value: float) -> int | float:
    if isinstance(value, int):
        if abs(value) >= _MAX_INTEGER:
            raise Fault(f"gives a number of more than {document.MAX_NUMBER_CHARACTERS - 1} digits")
        return int(value)
    if not math.isfinite(value):
        raise Fault(f"gives {value}, which is beyond what a number can hold")
    return float(value)
