"""Published events and named positions."""

from dataclasses import dataclass
from datetime import datetime

from tinkwell.client.value.shaped import Shaped


@dataclass(frozen=True, slots=True)
class Published(Shaped):
    """A custom event that was recorded."""

    id: str
    revision: int


@dataclass(frozen=True, slots=True)
class Position(Shaped):
    """How far a named consumer has come; `revision` is the last event handled, 0 before the first."""

    name: str
    revision: int = 0
    history_id: str = ""
    token: int = 0
    updated_at: datetime | None = None
