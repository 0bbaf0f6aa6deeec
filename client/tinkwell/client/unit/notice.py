"""Events that handlers have deferred: how they travel, and how they are read again."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tinkwell.client import errors
from tinkwell.client.value.shaped import Shaped
from tinkwell.core.unit.kinds import EventKind
from tinkwell.core.unit.unit_event import UnitEvent

_TEXTS = ("endpoint", "application", "unit", "departing_unit", "storage")
_FLAGS = ("is_mirrored", "is_echo")


@dataclass(frozen=True, slots=True)
class DeferredNotice(Shaped):
    """A handler that is to hear an event once more; `ordinal` is the event's, and `attempts` counts all that it had."""

    ordinal: int
    handler: str
    event: str
    attempts: int = 1
    created_at: datetime | None = None

    @property
    def told(self) -> UnitEvent:
        """The event that the handler is to hear."""
        return read(self.event)


def write(event: UnitEvent) -> str:
    """Write what an event says, as it stands in a notice: the same text for the same event, whatever it has seen."""
    said: dict[str, Any] = {"kind": event.kind.value}
    if event.relation:
        said["relation"] = event.relation
    said |= {name: text for name in _TEXTS if (text := getattr(event, name))}
    said |= dict.fromkeys((name for name in _FLAGS if getattr(event, name)), True)
    return json.dumps(said, separators=(",", ":"), sort_keys=True)


def read(text: str) -> UnitEvent:
    """Read what `write` has written. Raises `errors.Error` for anything else."""
    try:
        said = json.loads(text)
        return UnitEvent(
            kind=EventKind(said["kind"]),
            relation=int(said.get("relation", 0)),
            endpoint=str(said.get("endpoint", "")),
            application=str(said.get("application", "")),
            unit=str(said.get("unit", "")),
            departing_unit=str(said.get("departing_unit", "")),
            storage=str(said.get("storage", "")),
            is_mirrored=bool(said.get("is_mirrored")),
            is_echo=bool(said.get("is_echo")),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise errors.Error(f"a deferred event cannot be read: {error}; is it of a newer release?") from error
