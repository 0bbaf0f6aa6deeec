"""Positions in a file, and the paths by which errors name them."""

import json
import re
from typing import NamedTuple, TypeAlias

Path: TypeAlias = "tuple[str | int, ...]"

_PATH_PART = re.compile(r'\[(?P<index>\d+)\]|\[(?P<quoted>"(?:[^"\\]|\\.)*")\]|\.?(?P<name>[\w-]+)')


class Position(NamedTuple):
    """A line and a column, both from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


class Malformed(Exception):
    """A text that cannot be read, and the position of the mistake."""

    def __init__(self, position: Position, description: str) -> None:
        super().__init__(f"{position}: {description}")
        self.position = position
        self.description = description


def of_offset(text: str, offset: int) -> Position:
    """Return the position of a character."""
    line_start = text.rfind("\n", 0, offset) + 1
    return Position(text.count("\n", 0, offset) + 1, offset - line_start + 1)


def parse_path(path: str) -> Path:
    """Split a path such as `network.interfaces[0]["a b"]`; a part that is not understood ends the result."""
    parts: list[str | int] = []
    at = 0
    while found := _PATH_PART.match(path, at):
        if found["index"] is not None:
            parts.append(int(found["index"]))
        else:
            parts.append(json.loads(found["quoted"]) if found["quoted"] else found["name"])
        at = found.end()
    return tuple(parts)
