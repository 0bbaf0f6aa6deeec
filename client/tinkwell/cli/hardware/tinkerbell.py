"""Machines from files of Tinkerbell's (`kind: Hardware`), beside those in our own form."""

from collections.abc import Iterator

from tinkwell.cli.document import files
from tinkwell.core import errors
from tinkwell.core.hardware import tinkerbell
from tinkwell.core.value import document, kubernetes, parse


def machines(part: files.Part) -> Iterator[files.Part]:
    """Iterate over the machines of one value of a file: itself, or the items of a list as kubectl prints it.

    Raises `Failure` with the places of what is wrong with an object, or of one that is no machine.
    """
    for item in files.objects(part):
        if isinstance(item.value, dict) and kubernetes.is_object(item.value):
            try:
                machine = tinkerbell.read(item.value)
            except errors.InvalidField as error:
                raise item.explain(error.violations) from error
            yield files.Part(item.source, machine, item.locate, tinkerbell.path_of)
        else:
            _refuse_placeholders(item)
            yield item


def _refuse_placeholders(part: files.Part) -> None:
    """Refuse a machine in our form that is still to be filled in, as a template for other programs to read."""
    if isinstance(part.value, dict):
        what_is_sent = {name: part.value.get(name) for name in ("id", "network")}
        if found := list(_placeholders("", what_is_sent)):
            raise part.explain(found)


def _placeholders(path: str, value: document.JsonValue) -> Iterator[errors.Violation]:
    match value:
        case str() if told := kubernetes.placeholder(value):
            yield errors.Violation(path, told)
        case dict():
            for name, item in value.items():
                yield from _placeholders(parse.child(path, name), item)
        case list():
            for index, item in enumerate(value):
                yield from _placeholders(parse.child(path, index), item)
