"""The handlers that the scripts of charts have registered, and places in the files of charts."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from tinkwell.core import errors
from tinkwell.core.release.lifecycle_event import name as event_names
from tinkwell.core.release.lifecycle_event.name import Event, Heard
from tinkwell.core.value import check, document
from tinkwell.core.value.document import JsonObject
from tinkwell.sandbox import errors as sandbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """A function of a script that hears an event.

    `ordinal` is the number of the registration, from 1. `chart` is the path of the chart whose event the function
    hears, and `origin` the path of the chart whose script registered it. `file` and `line` say where in that chart the
    function begins.
    """

    ordinal: int
    event: Event
    chart: str
    origin: str
    file: str
    line: int
    weight: float


def read(told: Sequence[JsonObject]) -> tuple[Handler, ...]:
    """Read the calls of `events`, in order; raises `errors.InvalidField` with every violation.

    A handler that was switched off is left out.
    """
    checks = check.Checks(most=document.MAX_VIOLATIONS)
    found: list[Handler] = []
    for entry in told:
        file, line = cast(str, entry["called_file"]), cast(int, entry["called_line"])
        called = place(cast(str, entry["called_chart"]), file, line)
        try:
            heard = _heard(called, cast(str, entry["event"]))
            if entry["kind"] == "on":
                found.append(_handler(entry, heard))
            else:
                found = _without(found, heard, cast(str, entry["origin"]), cast(str, entry["subchart"]), called)
        except errors.InvalidField as error:
            checks.note(error)
    checks.finish()
    return tuple(found)


def place(chart: str, file: str, line: int) -> str:
    """Return the path of a file within the root chart, with the line if it is known."""
    path = file_of(chart, file)
    return f"{path}:{line}" if line else path


def place_of(fault: JsonObject) -> str:
    """Return the place of a fault from the child's answer."""
    return place(cast(str, fault["chart"]), cast(str, fault["file"]), cast(int, fault["line"])) or "ext/lua"


def file_of(chart: str, file: str) -> str:
    """Return the path of a file of a chart within the root chart."""
    return "".join(f"charts/{name}/" for name in chart.split(".")[1:]) + file


@contextlib.contextmanager
def distrusted() -> Iterator[None]:
    """Raise `sandbox.Failed` for a malformed answer, in case a script has taken over the child."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, AssertionError) as error:
        raise sandbox.Failed("the child process gives what is no answer") from error


def _heard(field: str, text: str) -> Heard:
    heard = event_names.parse_event(field, text)
    if heard.event in event_names.PYTHON_ONLY:
        raise errors.InvalidField.of(field, f"{heard.event} belongs to no chart; only handlers in Python hear it")
    return heard


def _handler(entry: JsonObject, heard: Heard) -> Handler:
    origin = cast(str, entry["origin"])
    return Handler(
        ordinal=cast(int, entry["ordinal"]),
        event=heard.event,
        chart=f"{origin}.{heard.subchart}" if heard.subchart else origin,
        origin=origin,
        file=cast(str, entry["file"]),
        line=cast(int, entry["line"]),
        weight=float(cast(float, entry["weight"])),
    )


def _without(handlers: list[Handler], heard: Heard, origin: str, subchart: str, field: str) -> list[Handler]:
    """Return the handlers without those of a subchart and the charts below it, or without a name of all subcharts."""
    if heard.subchart:
        said = f'write events.off("{heard.event}", "{heard.subchart}")'
        raise errors.InvalidField.of(field, f"the subchart is the second argument: {said}")
    begin = f"{origin}.{subchart}." if subchart else f"{origin}."
    return [
        handler
        for handler in handlers
        if handler.event != heard.event or handler.origin == origin or not f"{handler.origin}.".startswith(begin)
    ]
