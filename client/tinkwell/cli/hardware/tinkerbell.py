"""Reads machines from Tinkerbell's files (`kind: Hardware`), and from files in our own form."""

from collections.abc import Iterator

from tinkwell.cli.document import files
from tinkwell.core import errors
from tinkwell.core.hardware import tinkerbell
from tinkwell.core.value import kubernetes


def machines(part: files.Part) -> Iterator[files.Part]:
    """Iterate over the machines in one value of a file: the value itself, or the items of a list from kubectl.

    Raises `Failure` with the places of mistakes in an object, or with the place of an object that is no machine.
    """
    for item in files.objects(part):
        if isinstance(item.value, dict) and kubernetes.is_object(item.value):
            try:
                machine = tinkerbell.read(item.value)
            except errors.InvalidField as error:
                raise item.explain(error.violations) from error
            yield files.Part(item.source, machine, item.locate, tinkerbell.path_of)
        else:
            yield item
