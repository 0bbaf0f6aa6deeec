"""Reads templates: a file that is a template, or Tinkerbell's objects (`kind: Template`) with one template each."""

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from tinkwell.cli import failure
from tinkwell.cli.document import files
from tinkwell.core import errors
from tinkwell.core.template import tinkerbell
from tinkwell.core.value import document, kubernetes
from tinkwell.core.value.yaml import position

# A template need not be YAML before it is rendered, so only a text with such a top-level key is read as an object.
_KEY_OF_OBJECT = re.compile(r"""^(?:-[ \t]+)?["']?(?:apiVersion|kind)["']?[ \t]*:""", re.MULTILINE)
_BLOCK = re.compile(r"\|[+-]?[1-9]?[+-]?[ \t]*(?:#.*)?$")
_PLACE = re.compile(r"line (\d+), column (\d+): ")


@dataclass(frozen=True, slots=True)
class Written:
    """A template's text, the name of its object, if it has one, and a function that names the places of mistakes."""

    text: str
    name: str | None
    explain: Callable[[Iterable[errors.Violation]], failure.Failure]


def read(file: str) -> list[Written]:
    """Read the templates of a file, or of standard input for `-`. Raises `Failure`."""
    source = files.read(file, max_bytes=document.MAX_DOCUMENT_BYTES)
    if not source.text.strip():
        raise failure.Failure(f"{source.name} is empty")
    if not _is_of_objects(source.text):
        return [Written(source.text, None, source.explain)]
    found = list(_objects(source))
    if not found:
        raise failure.Failure(f"{source.name}: the list holds no template; put one into it")
    return found


def read_one(file: str, *, is_named: bool = True) -> Written:
    """Read the one template of a file. Raises `Failure` if there are several.

    `is_named`: the template gets another name. Otherwise the name of an object must be allowed for templates, too.
    """
    found = read(file)
    if len(found) > 1:
        name = "standard input" if file == "-" else file
        raise failure.Failure(
            f"{name} holds {len(found)} templates, but only one is allowed here; write a file for each"
        )
    [written] = found
    if written.name is not None and not is_named:
        try:
            tinkerbell.check_name(written.name)
        except errors.InvalidField as error:
            raise written.explain(error.violations) from error
    return written


def _is_of_objects(text: str) -> bool:
    if not text.lstrip().startswith("{"):
        return _KEY_OF_OBJECT.search(text) is not None
    try:
        return kubernetes.is_object(document.parse_json("", text))
    except errors.InvalidField:
        return False


def _objects(source: files.Source) -> Iterator[Written]:
    for part in files.parts(source):
        for item in files.objects(part):
            if not isinstance(item.value, dict):
                kind = document.describe(item.value)
                raise failure.Failure(f"{item.place}: a template is an object of kind: Template here, and not {kind}")
            try:
                name, text = tinkerbell.read(item.value)
            except errors.InvalidField as error:
                raise item.explain(error.violations) from error
            yield Written(text, name, functools.partial(_explain, item, text))


def _explain(part: files.Part, text: str, violations: Iterable[errors.Violation]) -> failure.Failure:
    """Name the place of each violation in the file of an object."""
    return failure.Failure(*(_sentence(part, text, violation) for violation in violations))


def _sentence(part: files.Part, text: str, violation: errors.Violation) -> str:
    described = _PLACE.match(violation.description)
    if described is None:
        return next(iter(part.explain([violation]).sentences))
    description = violation.description[described.end() :]
    line, column = int(described[1]), int(described[2])
    place = _within_block(part, text, line, column)
    if place is None:
        place = part.locate(("spec", "data"))
        description = f"{description} (line {line}, column {column} of it)"
    field = violation.field.removeprefix("data").removeprefix(".")
    return f"{part.source.name}:{place}: {f'{field}: ' if field else ''}{description}"


def _within_block(part: files.Part, text: str, line: int, column: int) -> position.Position | None:
    """Find a place of a template in its file, if the template is a block there (`data: |`); otherwise return None."""
    key = part.locate(("spec", "data"))
    lines = [each.removesuffix("\r") for each in part.source.text.split("\n")]
    block = text.split("\n")
    if not _BLOCK.search(lines[key.line - 1]) or key.line + line > len(lines) or line > len(block):
        return None
    written, meant = lines[key.line + line - 1], block[line - 1]
    if not written.endswith(meant):
        return None
    return position.Position(key.line + line, column + len(written) - len(meant))
