"""The tables of docs/reference/settings.md, made of the class of a server's settings and the options of commands."""

import ast
import inspect
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import annotated_types
import pydantic
import rich_click as click
from pydantic.fields import FieldInfo

from support.reference import command, table
from tinkwell.server.settings import Settings

_MEBIBYTE = 1 << 20
# What a unit of time is called, the largest one first.
_SPANS: Mapping[int, str] = {86_400: "days", 3_600: "hours", 60: "minutes"}
_FEW_SECONDS = 120


@dataclass(slots=True)
class Variable:
    """A variable that options are read from: one of these options, and the commands that have it."""

    option: click.Option
    context: click.Context
    names: list[str] = field(default_factory=list)
    readers: list[str] = field(default_factory=list)


def blocks() -> dict[str, str]:
    """Return the tables by their names."""
    server = list(table.lines(("setting", "options", "value", "default", "meaning"), _of_server()))
    head = ("variable", "option", "value", "default", "read by", "meaning")
    return {
        "readers": "\n".join(_readers()),
        "server": "\n".join(server),
        "variables": "\n".join(table.lines(head, _of_commands())),
    }


def _readers() -> Iterator[str]:
    """Name the commands that read the server's settings."""
    yield f"They are read by {', '.join(table.code(each.path) for each in _servers())}."


def _servers() -> list[command.Shown]:
    return [each for each in command.every() if _option(each, "config") and _option(each, "database_url")]


def _option(shown: command.Shown, name: str) -> click.Option | None:
    return next((each for each in shown.options if each.name == name), None)


def _of_server() -> Iterator[tuple[str, ...]]:
    told = _docstrings()
    readers = _servers()
    for name, found in Settings.model_fields.items():
        options = {option.opts[-1] for each in readers if (option := _option(each, name))}
        yield (
            table.code(name),
            ", ".join(table.code(each) for each in sorted(options)),
            _bounds(found, _kind(found.annotation, found)),
            _default(name, found),
            told[name],
        )


def _docstrings() -> dict[str, str]:
    """Return what stands below each setting in the class."""
    path = Path(inspect.getfile(Settings))
    tree = ast.parse(path.read_text(encoding="utf-8"))
    (settings,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Settings")
    found = {}
    for node, after in zip(settings.body, settings.body[1:], strict=False):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and isinstance(after, ast.Expr):
            assert isinstance(after.value, ast.Constant)
            found[node.target.id] = inspect.cleandoc(str(after.value.value))
    return found


def _kind(annotation: Any, found: FieldInfo) -> str:
    """Return what a setting takes, in words."""
    inner = [each for each in typing.get_args(annotation) if each is not types.NoneType]
    origin = typing.get_origin(annotation)
    if origin in (types.UnionType, typing.Union):
        return _kind(inner[0], found)
    if origin is typing.Annotated:
        return "file" if pydantic.FilePath == annotation else _kind(inner[0], found)
    if origin is typing.Literal:
        return ", ".join(inner)
    if origin is dict:
        return f"table of {'roles' if found.annotation is Settings.model_fields['roles'].annotation else 'texts'}"
    if annotation is pydantic.SecretStr:
        return "text, secret"
    words: Mapping[Any, str] = {str: "text", int: "number", float: "number", bool: "true, false", Path: "file"}
    return words[annotation]


def _bounds(found: FieldInfo, kind: str) -> str:
    least = [each.ge for each in _constraints(found) if isinstance(each, annotated_types.Ge)]
    most = [each.le for each in _constraints(found) if isinstance(each, annotated_types.Le)]
    if least and most:
        return f"{_number(least[0])} to {_number(most[0])}"
    return f"{_number(least[0])} or more" if least else kind


def _constraints(found: FieldInfo) -> Iterator[Any]:
    for each in (*found.metadata, *_nested(found.annotation)):
        yield from each.metadata if isinstance(each, FieldInfo) else (each,)


def _nested(annotation: Any) -> Iterator[Any]:
    """Yield what is said of the type within `X | None`."""
    for each in typing.get_args(annotation):
        if typing.get_origin(each) is typing.Annotated:
            yield from typing.get_args(each)[1:]


def _number(value: Any) -> str:
    return f"{value:,.10g}" if isinstance(value, float) else f"{value:,}"


def _default(name: str, found: FieldInfo) -> str:
    if found.is_required():
        return "required"
    value = found.get_default(call_default_factory=True)
    if isinstance(value, bool):
        return str(value).lower()
    if not value and not isinstance(value, int | float):
        return ""
    if isinstance(value, int | float):
        return f"{value:.10g}" + _in_words(name, value)
    return table.code(str(value))


def _in_words(name: str, value: float) -> str:
    if name.endswith("_bytes") and value >= _MEBIBYTE:
        return f" ({value / _MEBIBYTE:g} MiB)"
    if name.endswith("_seconds") and value > _FEW_SECONDS:
        span, word = next((span, word) for span, word in _SPANS.items() if value >= span)
        return f" ({value / span:g} {word[:-1] if value == span else word})"
    return ""


def _of_commands() -> Iterator[tuple[str, ...]]:
    for name, variable in sorted(_variables().items()):
        option = variable.option
        yield (
            table.code(name),
            ", ".join(table.code(each) for each in dict.fromkeys(variable.names)),
            command.kind(option, variable.context) or "1, 0",
            command.default(option),
            "every command" if command.ROOT in variable.readers else ", ".join(map(table.code, variable.readers)),
            command.meaning(option),
        )


def _variables() -> dict[str, Variable]:
    found: dict[str, Variable] = {}
    for shown in command.every():
        for option in shown.options:
            for name in command.variables(option):
                variable = found.setdefault(name, Variable(option, shown.context))
                variable.names += option.opts
                variable.readers.append(shown.path)
    return found
