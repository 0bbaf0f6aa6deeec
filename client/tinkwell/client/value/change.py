"""The answers of calls that change something."""

from dataclasses import dataclass

from tinkwell.client.value.shaped import Shaped


@dataclass(frozen=True, slots=True)
class Change(Shaped):
    """A change: the revision of its event, 0 if nothing changed, and the resource's version, None if not known."""

    revision: int
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Created(Shaped):
    """The id of a created resource, and the revision of the event; 0 if an earlier try of the call had created it."""

    id: str
    revision: int
