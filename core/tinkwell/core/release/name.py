"""The syntax of the names of releases and their namespaces."""

import re

from tinkwell.core import errors
from tinkwell.core.value import parse

DEFAULT_NAMESPACE = "default"
MAX_CHARACTERS = 53

_LABEL = re.compile(rf"[a-z0-9](?:[a-z0-9-]{{0,{MAX_CHARACTERS - 2}}}[a-z0-9])?")


def parse_name(field: str, text: str) -> str:
    """Parse the name of a release, which may be part of a host name; raises `errors.InvalidField`."""
    if not _LABEL.fullmatch(text):
        raise errors.InvalidField.of(
            field,
            f"{parse.show(text)} is not a name; use a-z, 0-9 and -, at most {MAX_CHARACTERS} of them, and no - at "
            "either end",
        )
    return text


def parse_namespace(field: str, text: str) -> str:
    """Parse a namespace as `parse_name` does; "" is the default namespace."""
    return parse_name(field, text) if text else DEFAULT_NAMESPACE
