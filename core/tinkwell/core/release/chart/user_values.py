"""The values that a user gives to a chart on a command line: files, and flags of several kinds.

Kinds are put over each other in a fixed order, wherever they stand on the line; those of one kind in the order given.
Objects are merged, everything else is replaced whole, and null removes what the chart has there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tinkwell.core import errors
from tinkwell.core.release.chart import flag as flags
from tinkwell.core.release.chart import set_value
from tinkwell.core.release.manifest import name
from tinkwell.core.value import parse, position, yaml_node
from tinkwell.core.value.document import JsonObject, JsonValue

# Gives the text of a file by its path; raises where there is none.
Read: TypeAlias = Callable[[str], str]
Given: TypeAlias = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class UserValues:
    """What a user gave: the values, and the JSON pointers to those that are secret."""

    values: JsonObject
    secrets: tuple[str, ...] = ()


def unite(given: Given, read: Read) -> UserValues:
    """Unite the texts of all flags, by the flags' keys. Raises `errors.InvalidField`, whose fields are flags or places.

    A secret file's last line break is no part of the value.
    """
    if list(given.get(flags.FILES.key, ())).count("-") > 1:
        raise errors.InvalidField.of(flags.FILES.options[1], "standard input is given twice")
    values: JsonObject = {}
    for path in given.get(flags.FILES.key, ()):
        values = merge(values, read_values("standard input" if path == "-" else path, read(path)))
    for flag, mode in ((flags.JSON, "json"), (flags.TYPED, "typed"), (flags.STRING, "string")):
        for text in given.get(flag.key, ()):
            values = _put(flag, values, text, mode)
    for text in given.get(flags.FILE_TEXT.key, ()):
        key, path = _pair(flags.FILE_TEXT, text)
        values = _put(flags.FILE_TEXT, values, f"{key}={read(path)}", "literal")
    for text in given.get(flags.LITERAL.key, ()):
        values = _put(flags.LITERAL, values, text, "literal")
    return _with_secrets(values, given, read)


def merge(under: JsonObject, over: JsonObject) -> JsonObject:
    """Put values over others, and change neither."""
    merged = dict(under)
    for key, value in over.items():
        former = merged.get(key)
        merged[key] = merge(former, value) if isinstance(former, dict) and isinstance(value, dict) else value
    return merged


def read_values(file_name: str, text: str) -> JsonObject:
    """Read a file of values, in YAML or JSON. Raises `errors.InvalidField`, whose field is the place in the file."""
    try:
        nodes = list(yaml_node.documents(text))
        value = yaml_node.value_of(nodes[0]) if nodes else None
    except position.Malformed as error:
        raise errors.InvalidField.of(f"{file_name}:{error.position}", error.description) from error
    if len(nodes) > 1:
        raise errors.InvalidField.of(file_name, f"holds {len(nodes)} documents; a file of values has one")
    if value is None:
        return {}
    if not isinstance(value, dict):
        place = f"{file_name}:{yaml_node.locate(nodes[0], ())}"
        raise errors.InvalidField.of(place, "a file of values is one object, such as `replicas: 2`")
    return value


def _with_secrets(values: JsonObject, given: Given, read: Read) -> UserValues:
    secrets = [(flags.SECRET, text) for text in given.get(flags.SECRET.key, ())]
    for text in given.get(flags.SECRET_FILE.key, ()):
        key, path = _pair(flags.SECRET_FILE, text)
        secrets.append((flags.SECRET_FILE, f"{key}={read(path).removesuffix(chr(10)).removesuffix(chr(13))}"))
    pointers: dict[str, None] = {}
    for flag, text in secrets:
        pointers[_leaf(_put(flag, {}, text, "literal"))] = None
        values = _put(flag, values, text, "literal")
    return UserValues(values, tuple(pointers))


def _put(flag: flags.Flag, values: JsonObject, text: str, mode: set_value.Mode) -> JsonObject:
    try:
        return set_value.apply_set(values, text, mode=mode)
    except errors.InvalidField as error:
        # What the value is may be a secret, or as long as a file.
        shown = text.partition("=")[0] if flag in (flags.FILE_TEXT, flags.SECRET, flags.SECRET_FILE) else text
        field = f"{flag.options[-1]} {parse.excerpt(shown)}"
        raise errors.InvalidField(errors.Violation(field, each.description) for each in error.violations) from error


def _pair(flag: flags.Flag, text: str) -> tuple[str, str]:
    key, equals, path = text.partition("=")
    if not equals or not path:
        raise errors.InvalidField.of(flag.options[-1], f"{parse.show(text)} is not {flag.metavar}")
    return key, path


def _leaf(value: JsonValue, pointer: str = "") -> str:
    """Return the JSON pointer to the only text of a value; lists have null where nothing was given."""
    match value:
        case dict():
            ((key, item),) = value.items()
            return _leaf(item, name.pointer_child(pointer, key))
        case list():
            index = next(index for index, item in enumerate(value) if item is not None)
            return _leaf(value[index], name.pointer_child(pointer, index))
        case _:
            return pointer
