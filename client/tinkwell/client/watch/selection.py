"""Which events a watch wants, and from where."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, TypeVar

from tinkwell.api.v1 import event_service_pb2
from tinkwell.client import errors
from tinkwell.client.value import field as value_field
from tinkwell.client.watch import message
from tinkwell.core.event.kinds import EventType, ResourceType

E = TypeVar("E", bound=StrEnum)

# How far back the server begins if a request has no start.
DEFAULT_SINCE_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Selection:
    """The conditions and the start of a watch, as its caller gave them. Raises `InvalidField` for wrong ones."""

    event_types: Iterable[EventType | str] = ()
    names: Iterable[str] = ()
    resource_types: Iterable[ResourceType | str] = ()
    resource_id: str = ""
    since: timedelta | float | None = None
    from_revision: int | None = None
    now: bool = False
    history_id: str = ""

    def __post_init__(self) -> None:
        starts = [name for name in ("since", "from_revision") if getattr(self, name) is not None]
        starts += ["now"] if self.now else []
        if len(starts) > 1:
            raise errors.InvalidField.of(starts[1], f"a watch has one start, and {starts[0]} is given too")
        for name in ("event_types", "names", "resource_types"):
            object.__setattr__(self, name, _several(name, getattr(self, name)))
        self.request()

    def request(self, *, elapsed_seconds: float = 0.0) -> event_service_pb2.WatchRequest:
        """Build the first request. `elapsed_seconds`, the time that connecting took so far, are added to `since`."""
        start: dict[str, Any] = {}
        if self.from_revision is not None:
            start["from_revision"] = self.from_revision
        elif self.now:
            start["now"] = True
        elif self.since is not None or elapsed_seconds:
            start["since"] = _duration(DEFAULT_SINCE_SECONDS if self.since is None else self.since, elapsed_seconds)
        return self._build(**start, history_id=self.history_id)

    def resume(self, position: int, history_id: str) -> event_service_pb2.WatchRequest:
        """Build the request that goes on after a position."""
        return self._build(from_revision=position + 1, history_id=history_id)

    def _build(self, **start: object) -> event_service_pb2.WatchRequest:
        return value_field.build(
            event_service_pb2.WatchRequest,
            event_types=[message.EVENT_TYPES[kind] for kind in self._members(EventType, "event_types")],
            names=self.names,
            resource_types=[message.RESOURCE_TYPES[kind] for kind in self._members(ResourceType, "resource_types")],
            resource_id=self.resource_id,
            **start,
        )

    def _members(self, kind: type[E], field: str) -> list[E]:
        return [value_field.member(kind, value, f"{field}[{i}]") for i, value in enumerate(getattr(self, field))]


def _duration(since: timedelta | float, elapsed_seconds: float) -> timedelta:
    try:
        duration = since if isinstance(since, timedelta) else timedelta(seconds=since)
        return duration + timedelta(seconds=elapsed_seconds)
    except (TypeError, ValueError, OverflowError) as error:
        raise errors.InvalidField.of("since", f"must be seconds or a timedelta: {error}") from error


def _several(name: str, values: Iterable[str]) -> tuple[str, ...]:
    # A single string would be taken as a list of characters.
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise errors.InvalidField.of(name, f"must be a list, such as [{values!r}]")
    return tuple(values)
