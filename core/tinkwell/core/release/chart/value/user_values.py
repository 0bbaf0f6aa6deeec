"""The values that a user gives to a chart on a command line: files, and flags of several kinds.

Kinds are merged in a fixed order, wherever they are on the line; flags of one kind in the order given. Objects are
merged, every other value is replaced as a whole, and null removes the chart's value.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tinkwell.core import errors
from tinkwell.core.release.chart.value import flag as flags
from tinkwell.core.release.chart.value import given as givens
from tinkwell.core.release.chart.value import set_value
from tinkwell.core.release.chart.value.set_value import Mode
from tinkwell.core.release.manifest import variables
from tinkwell.core.value import parse, pointer
from tinkwell.core.value.document import JsonObject
from tinkwell.core.value.yaml import node as yaml_node
from tinkwell.core.value.yaml import position

# Returns the text of a file by its path; raises if the file is missing.
Read: TypeAlias = Callable[[str], str]
Given: TypeAlias = Mapping[str, Sequence[str]]

_MODES = (
    (flags.JSON, Mode.JSON),
    (flags.TYPED, Mode.TYPED),
    (flags.STRING, Mode.STRING),
    (flags.FILE_TEXT, Mode.FILE),
    (flags.LITERAL, Mode.LITERAL),
    (flags.SECRET, Mode.LITERAL),
    (flags.SECRET_FILE, Mode.FILE),
)
_SECRETS = (flags.SECRET, flags.SECRET_FILE)


@dataclass(frozen=True, slots=True)
class UserValues:
    """The values that a user gave, the JSON pointers to the secret ones, and the parts in their order."""

    values: JsonObject
    secrets: tuple[str, ...] = ()
    parts: tuple[givens.Given, ...] = field(default=(), compare=False)


def unite(given: Given, read: Read) -> UserValues:
    """Merge the texts of all flags, by the flags' keys. Raises `errors.InvalidField`; its fields are flags or places.

    The last line break of a secret's file is not part of the value.
    """
    paths = list(given.get(flags.FILES.key, ()))
    if paths.count("-") > 1:
        raise errors.InvalidField.of(flags.FILES.options[-1], "standard input is given twice")
    values: JsonObject = {}
    parts: list[givens.Given] = []
    for path in paths:
        file_name, text = "standard input" if path == "-" else path, read(path)
        parts.append(givens.Given(name=file_name, values=read_values(file_name, text), text=text))
        values = variables.merge(values, parts[-1].values)
    secrets: dict[str, None] = {}
    for flag, mode in _MODES:
        for text in given.get(flag.key, ()):
            own: JsonObject = {}
            for assignment in _assignments(flag, text, mode, read):
                try:
                    own = set_value.assign(own, assignment, field=mode.value)
                    values = set_value.assign(values, assignment, field=mode.value)
                except errors.InvalidField as error:
                    raise _in_flag(error, flag, text) from error
                if flag in _SECRETS:
                    secrets[pointer.write_pointer(map(str, assignment.path))] = None
            parts.append(givens.Given(name=flag.options[-1], values=own, is_secret=flag in _SECRETS))
    return UserValues(values, tuple(secrets), tuple(parts))


def read_values(file_name: str, text: str) -> JsonObject:
    """Read a file of values, in YAML or JSON. Raises `errors.InvalidField`; its field is the place in the file."""
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


def _assignments(flag: flags.Flag, text: str, mode: Mode, read: Read) -> tuple[set_value.Assignment, ...]:
    def read_secret(path: str) -> str:
        return read(path).removesuffix("\n").removesuffix("\r")

    try:
        return set_value.parse_set(text, mode=mode, read_file=read_secret if flag in _SECRETS else read)
    except errors.InvalidField as error:
        raise _in_flag(error, flag, text) from error


def _in_flag(error: errors.InvalidField, flag: flags.Flag, text: str) -> errors.InvalidField:
    """Return an error that names the flag, without text that may be a secret."""
    shown = f"{text.partition('=')[0]}=…" if flag in _SECRETS and "=" in text else text
    field = f"{flag.options[-1]} {parse.excerpt(shown)}"
    return errors.InvalidField(errors.Violation(field, each.description) for each in error.violations)
