"""Machines from files of Tinkerbell's (`kind: Hardware`), beside those in our own form."""

from collections.abc import Iterator

from tinkwell.cli.document import files
from tinkwell.core import errors
from tinkwell.core.hardware import tinkerbell
from tinkwell.core.value import kubernetes


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
            yield item
