"""The names of applications, units and storages: syntax, parts and order."""

import functools
import re

from tinkwell.core import errors
from tinkwell.core.value import parse

MAX_CHARACTERS = 53

# The last part must not be a number: a unit's name, or a file name made of it, would be ambiguous.
_APPLICATION = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]*[a-z][a-z0-9]*)*")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")


def parse_application(field: str, text: str) -> str:
    """Parse the name of an application, such as `web`; raises `errors.InvalidField`."""
    if len(text) > MAX_CHARACTERS or not _APPLICATION.fullmatch(text):
        raise errors.InvalidField.of(
            field,
            f"{parse.show(text)} is not the name of an application; begin with a letter, use a-z, 0-9 and -, at most "
            f"{MAX_CHARACTERS} of them, and have a letter in each part between dashes",
        )
    return text


def parse_unit(field: str, text: str) -> str:
    """Parse the name of a unit, such as `web/0`; raises `errors.InvalidField`."""
    application, _, number = text.rpartition("/")
    if len(application) > MAX_CHARACTERS or not _APPLICATION.fullmatch(application) or not _NUMBER.fullmatch(number):
        raise errors.InvalidField.of(
            field, f"{parse.show(text)} is not the name of a unit; write application/number, such as web/0"
        )
    return text


def unit_name(application: str, number: int) -> str:
    """Return the name of a unit."""
    return f"{application}/{number}"


@functools.lru_cache(maxsize=65536)
def order(name: str) -> tuple[str, int]:
    """Return the sort key of a unit's or a storage's name: the application or the storage's kind, then the number."""
    before, _, number = name.rpartition("/")
    return before, int(number)


def application_of(unit: str) -> str:
    """Return the name of a unit's application."""
    return unit.rpartition("/")[0]


def number_of(unit: str) -> int:
    """Return the number of a unit within its application."""
    return order(unit)[1]
