"""Events that handlers have deferred, as they travel."""

from dataclasses import dataclass
from datetime import datetime

from tinkwell.client import errors
from tinkwell.client.value.shaped import Shaped
from tinkwell.core.unit import notice
from tinkwell.core.unit.unit_event import UnitEvent


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
        """The event that the handler is to hear. Raises `errors.Error` for one that this release does not know."""
        try:
            return notice.read(self.event)
        except ValueError as error:
            raise errors.Error(f"a deferred event cannot be read: {error}; is it of a newer release?") from error
