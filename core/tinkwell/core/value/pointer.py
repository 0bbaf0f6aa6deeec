"""JSON pointers (RFC 6901): texts for a place in a document, such as `/users/0/password`; "" is the whole document.

Within the program a place is a tuple of parts. A part is a key of an object, or an index of a list in digits.
"""

import re
from collections.abc import Iterable

from tinkwell.core import errors
from tinkwell.core.value import parse

_WRONG_ESCAPE = re.compile("~(?![01])")


def parse_pointer(field: str, text: str) -> tuple[str, ...]:
    """Parse a pointer. Raises `errors.InvalidField`."""
    if (text and not text.startswith("/")) or _WRONG_ESCAPE.search(text):
        raise errors.InvalidField.of(
            field,
            f"{parse.show(text)} is not a JSON pointer; write it as /users/0/password, with ~1 for / and ~0 for ~",
        )
    if not text:
        return ()
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/"))


def write_pointer(parts: Iterable[str]) -> str:
    """Return the text of a place."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)
