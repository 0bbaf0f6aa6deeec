"""What the child process does with expressions: compiles them, and evaluates them over an event. It runs there alone.

A request is `{"check": [TEXT, …]}` or `{"event": EVENT, "texts": [TEXT, …]}`. The answer is a list with `[VALUE, ""]`
or `[null, WHY]` for each text.
"""

import functools
import importlib.machinery
import importlib.util
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, cast

if TYPE_CHECKING:
    import cel

Begin: TypeAlias = Callable[[str], None]
Answer: TypeAlias = list[tuple[object, str]]

_FAILURES = (ValueError, RuntimeError, TypeError, LookupError, ArithmeticError)
_UNKNOWN = "Undefined variable or function"
# So many compiled expressions are kept.
_PROGRAMS = 1_000
# Error texts quote what does not fit.
_MAX_WHY = 1_000


def _library() -> Any:
    """Load what is compiled of the library, and not the package around it, which loads a command line of its own."""
    package = importlib.util.find_spec("cel")
    assert package is not None
    spec = importlib.machinery.PathFinder.find_spec("cel", package.submodule_search_locations)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # It imports more when it first sees a value, for which this process can open no file any more.
    module.compile("event").execute({"event": [{"a": 1}, 1.5, "", None, True]})
    return module


_cel = _library()
# What cannot be encoded is found out here, where the text is known that gave it.
_encode = json.JSONEncoder(allow_nan=False, ensure_ascii=False, check_circular=False).encode


def handle(request: object, begin: Begin) -> object:
    """Answer a request. Each text that is checked is a piece of the work; so is all that is evaluated for one event."""
    given = cast("dict[str, Any]", request)
    if "check" in given:
        answer: Answer = []
        for index, text in enumerate(given["check"]):
            begin(str(index))
            answer.append((None, _complaint(text)))
        return answer
    try:
        context = _cel.Context(variables={"event": given["event"]})
    except _FAILURES as error:
        return [(None, f"cannot be evaluated: {error}"[:_MAX_WHY])] * len(given["texts"])
    return [_value(text, context) for text in given["texts"]]


def _complaint(text: str) -> str:
    """Say what is wrong with an expression, or nothing.

    The library tells a name that it does not know only when it comes upon it. An event that holds nothing leads it to
    the first.
    """
    try:
        program = _program(text)
    except _FAILURES as error:
        # The rest is a drawing of the place.
        return f"is no CEL expression: {str(error).splitlines()[0]}"[:_MAX_WHY]
    try:
        program.execute({"event": {}})
    except _FAILURES as error:
        if str(error).startswith(_UNKNOWN):
            return f": {error}"[:_MAX_WHY]
    return ""


def _value(text: str, context: "cel.Context") -> tuple[object, str]:
    try:
        value = _program(text).execute(context)
    except _FAILURES as error:
        return None, f"cannot be evaluated: {error}"[:_MAX_WHY]
    try:
        _encode(value)
    except (TypeError, ValueError) as error:
        return None, f"gives what JSON cannot hold: {error}"[:_MAX_WHY]
    return value, ""


@functools.lru_cache(maxsize=_PROGRAMS)
def _program(text: str) -> "cel.Program":
    program: cel.Program = _cel.compile(text)
    return program
