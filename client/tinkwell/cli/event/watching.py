"""The options of all watches: which events, from where, until when, and how to write them."""

import dataclasses
import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import rich_click as click

from tinkwell.cli.event import line as event_line
from tinkwell.cli.shell import connection, duration, option, output
from tinkwell.core.event.kinds import EventType, ResourceType

if TYPE_CHECKING:
    from tinkwell.client import Event, Watch, errors

_OPTIONS = (
    click.option("--since", type=duration.Duration(), help="Begin this long ago, such as 30s, 5m or 2d. [default: 5m]"),
    click.option(
        "--from-revision", type=click.IntRange(min=0), metavar="N", help="Begin with the event of this revision."
    ),
    click.option("--now", is_flag=True, help="Begin with the next event."),
    click.option(
        "--event-type",
        "event_types",
        type=option.Member(EventType),
        multiple=True,
        help="Only events of this type. Repeatable.",
    ),
    click.option(
        "--name", "names", multiple=True, help="Only events of this name, such as rack.door_opened. Repeatable."
    ),
    click.option("--count", type=click.IntRange(min=1), metavar="N", help="End after this many events."),
    click.option(
        "--until", type=option.Member(EventType), multiple=True, help="End after an event of this type. Repeatable."
    ),
    option.stream_format,
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The values of the options, and which resource they are about."""

    since: float | None
    from_revision: int | None
    now: bool
    event_types: tuple[EventType, ...]
    names: tuple[str, ...]
    count: int | None
    until: tuple[EventType, ...]
    output_format: output.Format

    def __post_init__(self) -> None:
        starts = {
            "--since": self.since is not None,
            "--from-revision": self.from_revision is not None,
            "--now": self.now,
        }
        given = [name for name, is_given in starts.items() if is_given]
        if len(given) > 1:
            raise click.UsageError(f"{' and '.join(given)} are different places to begin; give one of them")
        if self.event_types and (never := [item for item in self.until if item not in self.event_types]):
            raise click.UsageError(f"--until {never[0]} cannot happen, because --event-type leaves it out")

    @property
    def is_default(self) -> bool:
        """Whether no option was given."""
        chosen = (self.since, self.from_revision, self.now, self.event_types, self.names, self.count, self.until)
        return self.output_format is output.Format.TABLE and chosen == (None, None, False, (), (), None, ())

    def selection(self) -> dict[str, Any]:
        """Return the arguments for the client's `watch`."""
        return {
            "since": self.since,
            "from_revision": self.from_revision,
            "now": self.now,
            "event_types": self.event_types,
            "names": self.names,
        }

    def ends_after(self, event: "Event", seen: int) -> bool:
        """Whether the event, number `seen`, is the last wanted one."""
        return seen == self.count or event.event_type in self.until


def options(command: Callable[..., object]) -> Callable[..., object]:
    """Add the options of a watch to a command, which gets their values as `wanted`."""

    @functools.wraps(command)
    def with_wanted(*args: Any, **kwargs: Any) -> object:
        values = {field.name: kwargs.pop(field.name) for field in dataclasses.fields(Wanted)}
        return command(*args, wanted=Wanted(**values), **kwargs)

    result: Callable[..., object] = with_wanted
    for add in reversed(_OPTIONS):
        result = add(result)
    return result


async def follow(
    open_watch: "Callable[..., Watch]",
    wanted: Wanted,
    *,
    resource_id: str | None,
    resource_types: Sequence[ResourceType] = (),
) -> None:
    """Open a service's watch, and write its events until the last wanted one."""
    line = _Line()
    watch = open_watch(
        **wanted.selection(),
        resource_id=resource_id or "",
        resource_types=resource_types,
        on_created=line.is_up,
        on_disconnect=line.is_down,
        connect_timeout_seconds=connection.current().timeout,
    )
    seen = 0
    try:
        async for event in watch:
            write(event, wanted.output_format)
            seen += 1
            if wanted.ends_after(event, seen):
                return
    finally:
        await watch.aclose()


def write(event: "Event", chosen: output.Format) -> None:
    """Write one event."""
    if chosen is output.Format.TABLE:
        output.line(event_line.format_event(event))
    else:
        output.item(event.to_json(), chosen)


class _Line:
    """Tells the user once when the connection is made, lost, or made again."""

    def __init__(self) -> None:
        self._is_lost = False

    def is_up(self, watch: "Watch") -> None:
        if self._is_lost:
            output.note("The connection is back.")
        elif sys.stderr.isatty() and sys.stdout.isatty():
            # Without a note, silence could mean that nothing happens, or that nothing works.
            output.note("Watching; Ctrl-C ends it.", is_dim=True)
        self._is_lost = False

    def is_down(self, watch: "Watch", error: "errors.Error", delay_seconds: float) -> None:
        """Give up if there never was a connection; a watch that was live goes on."""
        if not watch.history_id:
            raise error
        if not self._is_lost:
            output.note(f"The connection is lost; events after revision {watch.revision} come once it is back.")
        self._is_lost = True
