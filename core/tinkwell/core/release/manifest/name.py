"""The syntax of a manifest's small texts: names and paths of resources, expressions, pointers into documents."""

import re

from tinkwell.core import errors
from tinkwell.core.value import parse
from tinkwell.core.value import pointer as pointers
from tinkwell.core.value.document import JsonValue

MAX_NAME_CHARACTERS = 128
MAX_KEY_CHARACTERS = 64
MAX_CHART_NAME_CHARACTERS = 63
MAX_POINTER_BYTES = 1_024

# The names that every expression may use; no alias or variable may have one of them.
RESERVED = frozenset({"vars", "release", "each", "values", "chart", "files", "inputs", "subcharts"})

_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]*")
_KEY = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9_.-]*")
_CHART_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]*")
_CHART_PATH = re.compile(rf"{_CHART_NAME.pattern}(?:\.{_CHART_NAME.pattern})*")
_PATH = re.compile(rf"({_NAME.pattern})(?:\[({_KEY.pattern})\])?")
_EXPRESSION = re.compile(r"\{[{%#]")


def parse_name(field: str, text: str) -> str:
    """Check the name of a resource, a plug, an alias or an output."""
    if not _NAME.fullmatch(text) or len(text) > MAX_NAME_CHARACTERS:
        raise errors.InvalidField.of(
            field,
            f"{parse.show(text)} is not a name; begin with a letter, go on with letters, digits, _ and -, "
            f"at most {MAX_NAME_CHARACTERS} in all",
        )
    return text


def parse_alias(field: str, text: str) -> str:
    """Check the alias of a dependency, by which expressions name it."""
    if text in RESERVED:
        raise errors.InvalidField.of(field, f"{text} means something else in expressions; choose another alias")
    return parse_name(field, text)


def parse_each_key(field: str, text: str) -> str:
    """Check the key of one of the resources that `for_each` makes."""
    if not _KEY.fullmatch(text) or len(text) > MAX_KEY_CHARACTERS:
        raise errors.InvalidField.of(
            field,
            f"{parse.show(text)} is not a key; use letters, digits, _, . and -, the first none of the last two, "
            f"at most {MAX_KEY_CHARACTERS} in all",
        )
    return text


def join_path(name: str, key: str | None) -> str:
    """Return the path of a resource: its name, with its key in brackets if `for_each` made it."""
    return name if key is None else f"{name}[{key}]"


def parse_path(field: str, text: str) -> str:
    """Check the path of a resource, with or without the path of its chart in front."""
    chart, colon, own = text.rpartition(":")
    found = _PATH.fullmatch(own)
    is_own = found and len(found[1]) <= MAX_NAME_CHARACTERS and len(found[2] or "") <= MAX_KEY_CHARACTERS
    if not is_own or (colon and not _is_chart_path(chart)):
        raise errors.InvalidField.of(
            field,
            f"{parse.show(text)} is not the path of a resource; "
            "write it as disk, as disk[a] after for_each, or as shop.store:disk in a chart",
        )
    return text


def parse_chart_name(field: str, text: str) -> str:
    """Check the name of a chart in a release: its own name, or the alias that its parent gives it."""
    if not _CHART_NAME.fullmatch(text) or len(text) > MAX_CHART_NAME_CHARACTERS:
        raise errors.InvalidField.of(
            field,
            f"{parse.show(text)} is not a name that a chart can have in a release; give it an alias of letters, "
            f"digits, _ and -, the first none of the last two, at most {MAX_CHART_NAME_CHARACTERS} in all",
        )
    return text


def parse_chart_path(field: str, text: str) -> str:
    """Check the path of a chart: the names of its parents from the root on, and its own, such as shop.store."""
    if not _is_chart_path(text):
        raise errors.InvalidField.of(field, f"{parse.show(text)} is not the path of a chart; write it as shop.store")
    return text


def join_chart(chart: str, path: str) -> str:
    """Return the path of a resource in a release: with the path of its chart, if any, in front."""
    return f"{chart}:{path}" if chart else path


def split_chart(path: str) -> tuple[str, str]:
    """Split the path of a resource in a release into the path of its chart, "" for none, and its own."""
    chart, _, own = path.rpartition(":")
    return chart, own


def parent_chart(path: str) -> str:
    """Return the path of the chart that a node is in; "" for a root and without charts.

    A node is a resource, a hook or an event of a chart, or a chart.
    """
    if "/" in path:
        return path.rpartition("/")[0]
    return path.rpartition(":")[0] if ":" in path else path.rpartition(".")[0]


def split_path(path: str) -> tuple[str, str | None]:
    """Split the path of a resource into its name, with the chart's path if it has one, and its key or None."""
    name, bracket, key = path.partition("[")
    return name, key.removesuffix("]") if bracket else None


def has_expression(text: str) -> bool:
    """Return whether a text has an expression, a statement or a comment that is to be evaluated."""
    return _EXPRESSION.search(text) is not None


def parse_pointer(field: str, text: str) -> str:
    """Check a JSON pointer (RFC 6901), such as `/users/0/password`; "" means the whole document."""
    if has_expression(text):
        raise errors.InvalidField.of(field, "has an expression; write a pointer without one")
    pointers.parse_pointer(field, text)
    parse.check_size(field, text, max_bytes=MAX_POINTER_BYTES)
    return text


def locate(field: str, document: JsonValue, pointer: str) -> tuple[str, JsonValue]:
    """Follow a JSON pointer into a document; return the path of the field there, and its value.

    Raises `errors.InvalidField` if there is no value.
    """
    found = document
    for key in pointers.parse_pointer(field, pointer):
        match found:
            case dict() if key in found:
                field, found = parse.child(field, key), found[key]
            case list() if key.isdecimal() and key.isascii() and int(key[:9]) < len(found):
                field, found = parse.child(field, int(key)), found[int(key)]
            case _:
                raise errors.InvalidField.of(field, f"has nothing at the JSON pointer {parse.show(pointer)}")
    return field, found


def pointer_child(pointer: str, part: str | int) -> str:
    """Extend a JSON pointer by a key or an index."""
    return pointer + pointers.write_pointer((str(part),))


def _is_chart_path(text: str) -> bool:
    return bool(_CHART_PATH.fullmatch(text)) and all(len(name) <= MAX_CHART_NAME_CHARACTERS for name in text.split("."))
