"""The options that give values to a chart."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import rich_click as click

from tinkwell.cli import failure
from tinkwell.cli.document import files
from tinkwell.core import errors
from tinkwell.core.release.chart.value import flag

if TYPE_CHECKING:
    from tinkwell.core.release.chart.value.user_values import Given, UserValues

_MAX_FILE_BYTES = 1024 * 1024


def options(command: Callable[..., object]) -> Callable[..., object]:
    """Add the options to a command, which is given their texts as `given`."""

    @functools.wraps(command)
    def with_given(*args: Any, **kwargs: Any) -> object:
        given = {each.key: kwargs.pop(each.key) for each in flag.FLAGS}
        return command(*args, given=given, **kwargs)

    result: Callable[..., object] = with_given
    for each in reversed(flag.FLAGS):
        add = click.option(
            *each.options, each.key, multiple=True, metavar=each.metavar, help=f"{each.help} Repeatable."
        )
        result = add(result)
    return result


def read(given: "Given") -> "UserValues":
    """Merge the values of all options. Raises `Failure`."""
    from tinkwell.core.release.chart.value import user_values

    try:
        return user_values.unite(given, lambda path: files.read(path, max_bytes=_MAX_FILE_BYTES).text)
    except errors.InvalidField as error:
        raise failure.Failure(*(f"{each.field}: {each.description}" for each in error.violations)) from error
