"""What calls answer that change something."""

from dataclasses import dataclass

from tinkwell.client.value.shaped import Shaped


@dataclass(frozen=True, slots=True)
class Change(Shaped):
    """A change: the revision of its event (0: nothing had to change), and the resource's version where it is known."""

    revision: int
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Created(Shaped):
    """A resource that was created, and the revision of that event; 0 when a repeated call found it there."""

    id: str
    revision: int
