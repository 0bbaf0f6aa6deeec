"""The arguments and results of functions: checks of types, and limits of sizes."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tinkwell.core.template.gotemplate.fault import BadArgument
from tinkwell.core.template.gotemplate.syntax import node
from tinkwell.core.value import document

Value = node.Value

# Any number of arguments.
ANY = 1_000_000
MAX_RESULT_CHARACTERS = 256 * 1024
MAX_RESULT_ITEMS = 10_000
_MAX_INTEGER = 2**63 - 1


class Function(NamedTuple):
    """A function, and the number of its arguments."""

    call: Callable[[list[Value]], Value]
    least: int
    most: int


def text(name: str, item: Value) -> str:
    """Return an argument that must be text."""
    if not isinstance(item, str):
        raise BadArgument(f"{name} needs text in place of {document.describe(item)}", is_value=True)
    return item


def integer(name: str, item: Value) -> int:
    """Return an argument that must be a whole number of 64 bits."""
    if not isinstance(item, int) or isinstance(item, bool):
        hint = "; atoi makes a number of a text" if isinstance(item, str) else ""
        raise BadArgument(f"{name} needs a whole number in place of {document.describe(item)}{hint}", is_value=True)
    return check_integer(name, item)


def items(name: str, item: Value) -> list[Value]:
    """Return an argument that must be a list."""
    if not isinstance(item, list):
        raise BadArgument(f"{name} needs a list in place of {document.describe(item)}", is_value=True)
    return item


def mapping(name: str, item: Value) -> dict[str, Value]:
    """Return an argument that must be an object."""
    if not isinstance(item, dict):
        raise BadArgument(f"{name} needs an object in place of {document.describe(item)}", is_value=True)
    return item


def check_integer(name: str, number: int) -> int:
    """Refuse a number that does not fit in 64 bits; Go would change it silently."""
    if not -_MAX_INTEGER - 1 <= number <= _MAX_INTEGER:
        raise BadArgument(f"{name} has a number of more than 64 bits", is_value=True)
    return number


def check_length(name: str, characters: int) -> None:
    """Refuse a result that would be too long, before it is made."""
    if characters > MAX_RESULT_CHARACTERS:
        raise BadArgument(f"{name} makes more than {MAX_RESULT_CHARACTERS:,} characters", is_value=True)


def check_items(name: str, made: Sequence[str] | list[Value]) -> list[Value]:
    """Refuse a list that is too long."""
    if len(made) > MAX_RESULT_ITEMS:
        raise BadArgument(f"{name} makes more than {MAX_RESULT_ITEMS:,} items", is_value=True)
    return [*made]
