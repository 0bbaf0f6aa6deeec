"""Deferred events, as calls and grants carry them."""

from dataclasses import dataclass
from datetime import datetime

from tinkwell.client import errors
from tinkwell.client.value.shaped import Shaped
from tinkwell.core.unit import notice
from tinkwell.core.unit.unit_event import UnitEvent


@dataclass(frozen=True, slots=True)
class DeferredNotice(Shaped):
    """A handler that gets a deferred event again; `ordinal` is the event's, and `attempts` counts its tries."""

    ordinal: int
    handler: str
    event: str
    attempts: int = 1
    created_at: datetime | None = None

    @property
    def told(self) -> UnitEvent:
        """The event that the handler gets. Raises `errors.Error` for an event that this release does not know."""
        try:
            return notice.read(self.event)
        except ValueError as error:
            raise errors.Error(f"a deferred event cannot be read: {error}; is it of a newer release?") from error
