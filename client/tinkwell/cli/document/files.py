"""Reads JSON, JSON lines and YAML of users, from files or standard input, and finds the places of mistakes.

An error of the server names a field, such as `network.interfaces[0].dhcp.mac`. `Part.explain` adds the place in the
user's file: `machines.yaml:12:9: network.interfaces[0].dhcp.mac: …`.
"""

import functools
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tinkwell.cli import failure
from tinkwell.cli.document import json_text
from tinkwell.core import errors
from tinkwell.core.value import document, kubernetes
from tinkwell.core.value.yaml import position

MAX_FILE_BYTES = 64 * 1024 * 1024

_JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
_YAML_SUFFIXES = (".yaml", ".yml")
_PLACE_IN_TEXT = re.compile(r"line (\d+), column (\d+): ")


@dataclass(frozen=True, slots=True)
class Source:
    """A text and the name under which errors speak of it."""

    name: str
    text: str

    def explain(self, violations: Iterable[errors.Violation]) -> failure.Failure:
        """Name the place of each violation in this text, if its description has one."""
        return failure.Failure(*(self._sentence(violation) for violation in violations))

    def _sentence(self, violation: errors.Violation) -> str:
        found = _PLACE_IN_TEXT.match(violation.description)
        place = f"{self.name}:{found[1]}:{found[2]}" if found else self.name
        description = violation.description[found.end() if found else 0 :]
        field = violation.field.removeprefix("data").removeprefix(".")
        return f"{place}: {field}: {description}" if field else f"{place}: {description}"


@dataclass(frozen=True, slots=True)
class Part:
    """One value of a source."""

    source: Source
    value: document.JsonValue
    locate: Callable[[position.Path], position.Position]
    # Returns the file's name for a field; the file may use other names than the value that was made from it.
    written: Callable[[str], str] = str

    @property
    def place(self) -> str:
        """The place at which the value begins, such as `machines.yaml:12:3`."""
        return f"{self.source.name}:{self.locate(())}"

    def explain(self, violations: Iterable[errors.Violation]) -> failure.Failure:
        """Name the place of each violation in the file."""
        return failure.Failure(*(self._sentence(violation) for violation in violations))

    def _sentence(self, violation: errors.Violation) -> str:
        field = self.written(violation.field.removeprefix("data."))
        place = f"{self.source.name}:{self.locate(position.parse_path(field))}"
        return f"{place}: {field}: {violation.description}" if field else f"{place}: {violation.description}"


def expand(path: str) -> list[str]:
    """Return the files of a path: the path itself, or the JSON and YAML files in a folder, by name."""
    if path == "-" or not Path(path).is_dir():
        return [path]
    try:
        names = sorted(entry.name for entry in Path(path).iterdir() if entry.is_file())
    except OSError as error:
        raise failure.Failure(f"{path}: {error.strerror or error}") from error
    suffixes = _JSON_SUFFIXES + _YAML_SUFFIXES
    found = [str(Path(path, name)) for name in names if name.lower().endswith(suffixes) and not name.startswith(".")]
    if not found:
        raise failure.Failure(f"{path} holds no file whose name ends in {', '.join(suffixes)}")
    return found


def read(path: str, *, max_bytes: int = MAX_FILE_BYTES) -> Source:
    """Read a file, or standard input for `-`; raises `Failure` if it cannot be read, is too big or not UTF-8."""
    name = "standard input" if path == "-" else path
    try:
        content = _read_bytes(path, max_bytes + 1)
    except OSError as error:
        raise failure.Failure(f"{name}: {error.strerror or error}") from error
    if len(content) > max_bytes:
        raise failure.Failure(f"{name} is larger than {max_bytes // 1024**2} MiB, which is the most allowed here")
    try:
        return Source(name, content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8", errors="replace")
        place = position.of_offset(before, len(before))
        raise failure.Failure(f"{name}:{place}: the byte 0x{content[error.start]:02x} is not UTF-8") from error


def parts(source: Source) -> Iterator[Part]:
    """Iterate over the values of a source; a list counts as its items. Raises `Failure` with the place of a mistake."""
    try:
        for part in _json_parts(source) if _is_json(source) else _yaml_parts(source):
            yield from _items(part)
    except position.Malformed as error:
        raise failure.Failure(f"{source.name}:{error.position}: {error.description}") from error


def objects(part: Part) -> Iterator[Part]:
    """Iterate over the items of a list as kubectl prints it; any other value is returned as it is."""
    items = kubernetes.items(part.value)
    if items is None:
        yield part
        return
    for index, item in enumerate(items):
        yield from objects(Part(part.source, item, functools.partial(_locate_below, part, ("items", index))))


def _read_bytes(path: str, most: int) -> bytes:
    if path == "-":
        if sys.stdin is None:  # it was closed before the program began
            raise OSError("is closed")
        return sys.stdin.buffer.read(most)
    with Path(path).open("rb") as file:
        return file.read(most)


def _is_json(source: Source) -> bool:
    suffix = Path(source.name).suffix.lower()
    if suffix in _JSON_SUFFIXES + _YAML_SUFFIXES:
        return suffix in _JSON_SUFFIXES
    return source.text.lstrip()[:1] in ("{", "[")


def _json_parts(source: Source) -> Iterator[Part]:
    for begin, end in json_text.split(source.text):
        part = Part(source, None, functools.partial(json_text.locate, source.text, begin))
        try:
            value = document.parse_json("", source.text[begin:end], max_bytes=MAX_FILE_BYTES)
        except errors.InvalidField as error:
            raise part.explain(error.violations) from error
        yield Part(source, value, part.locate)


def _yaml_parts(source: Source) -> Iterator[Part]:
    from tinkwell.core.value.yaml import node as yaml_node

    for node in yaml_node.documents(source.text):
        value = yaml_node.value_of(node)
        # Programs may write the separator of documents also after the last one, which leaves an empty document.
        if value is not None:
            yield Part(source, value, functools.partial(yaml_node.locate, node))


def _items(part: Part) -> Iterator[Part]:
    if not isinstance(part.value, list):
        yield part
        return
    for index, item in enumerate(part.value):
        yield Part(part.source, item, functools.partial(_locate_below, part, (index,)))


def _locate_below(part: Part, place: position.Path, path: position.Path) -> position.Position:
    return part.locate((*place, *path))
