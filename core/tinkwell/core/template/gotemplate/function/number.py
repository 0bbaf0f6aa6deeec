"""Functions of the template language for whole numbers of 64 bits.

sprig takes a text that is not a number for 0, and wraps around at 64 bits; these functions refuse both.
"""

import decimal
import re
from collections.abc import Callable, Mapping

from tinkwell.core.template.gotemplate.fault import BadArgument
from tinkwell.core.template.gotemplate.function import argument
from tinkwell.core.template.gotemplate.function.argument import ANY, Function, Value
from tinkwell.core.value import document, parse

_DECIMAL = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,18})")
_DIGITS = re.compile(r"[+-]?[0-9]{1,64}")
_BASED = re.compile(r"[+-]?0(?:[xX][0-9a-fA-F]{1,16}|[oO]?[0-7]{1,22}|[bB][01]{1,64})")


def _integer(name: str, item: Value) -> int:
    """Return an argument as a number: without its fraction, 1 for true, or read from a text as Go reads numbers."""
    match item:
        case bool() | int():
            return argument.check_integer(name, int(item))
        case decimal.Decimal() if abs(item) < 2**64:
            return argument.check_integer(name, int(item))
        case str() if _BASED.fullmatch(item):
            is_octal = item.lstrip("+-0")[:1] not in (*"xXoObB",)
            return argument.check_integer(name, int(item, 8 if is_octal else 0))
        case str() if _DECIMAL.fullmatch(item):
            return argument.check_integer(name, int(item))
    shown = parse.show(item) if isinstance(item, str) else document.describe(item)
    raise BadArgument(f"{name} needs a whole number in place of {shown}", is_value=True)


def _atoi(arguments: list[Value]) -> int:
    text = argument.text("atoi", arguments[0])
    if not _DIGITS.fullmatch(text):
        raise BadArgument(f"atoi needs a whole number in place of {parse.show(text)}", is_value=True)
    return argument.check_integer("atoi", int(text))


def _folded(name: str, reckon: Callable[[int, int], int]) -> Function:
    def fold(arguments: list[Value]) -> int:
        result, *others = (_integer(name, item) for item in arguments)
        for other in others:
            result = argument.check_integer(name, reckon(result, other))
        return result

    return Function(fold, 1, ANY)


def _pair(name: str, reckon: Callable[[int, int], int]) -> Function:
    def call(arguments: list[Value]) -> int:
        first, second = (_integer(name, item) for item in arguments)
        return argument.check_integer(name, reckon(first, second))

    return Function(call, 2, 2)


def _divide(first: int, second: int) -> int:
    if not second:
        raise BadArgument("div cannot divide by 0", is_value=True)
    # Go rounds quotients towards zero, Python downwards.
    quotient = abs(first) // abs(second)
    return quotient if (first < 0) == (second < 0) else -quotient


def _remainder(first: int, second: int) -> int:
    if not second:
        raise BadArgument("mod cannot divide by 0", is_value=True)
    rest = abs(first) % abs(second)
    return -rest if first < 0 else rest


FUNCTIONS: Mapping[str, Function] = {
    "add": _folded("add", lambda first, second: first + second),
    "add1": Function(lambda arguments: argument.check_integer("add1", _integer("add1", arguments[0]) + 1), 1, 1),
    "atoi": Function(_atoi, 1, 1),
    "div": _pair("div", _divide),
    "int": Function(lambda arguments: _integer("int", arguments[0]), 1, 1),
    "max": _folded("max", max),
    "min": _folded("min", min),
    "mod": _pair("mod", _remainder),
    "mul": _folded("mul", lambda first, second: first * second),
    "sub": _pair("sub", lambda first, second: first - second),
}
