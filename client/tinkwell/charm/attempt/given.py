"""What an attempt at an event is given, and whom it asks for more.

The agent makes these of what the server grants, `testing` of its model. Nothing here knows either.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tinkwell.charm.status import Status
from tinkwell.core.unit.effect import Port
from tinkwell.core.unit.unit_event import UnitEvent

Value = str | int | float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """An event that a handler has put off. `number`: its place among the unit's notices, `handler`: a method's name."""

    number: int
    handler: str
    ordinal: int
    event: UnitEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationGiven:
    """A relation of the unit. `units` are those that it has with the unit; `own` and `own_application` are bags."""

    number: int
    endpoint: str
    application: str
    is_peer: bool
    units: tuple[str, ...] = ()
    own: Mapping[str, str] = field(default_factory=dict)
    own_application: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt at one event of one unit. `storages` gives the folder of each by its name, such as `data/0`."""

    unit: str
    ordinal: int
    attempt: int
    event: UnitEvent
    reason: str = ""
    config: Mapping[str, Value] = field(default_factory=dict)
    relations: tuple[RelationGiven, ...] = ()
    storages: Mapping[str, Path] = field(default_factory=dict)
    state: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    ports: frozenset[Port] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What the handlers of an attempt have done; it lands whole or not at all.

    `bags` has edits by relation and whether they are of the application's bag: the new text of a key, None for one that
    is gone. `storages` counts those asked for by their declared name. `deferred` are the handlers that put the event
    off; `consumed` and `retried` are the notices that are done, and those that were tried and stay.
    """

    bags: Mapping[tuple[int, bool], Mapping[str, str | None]] = field(default_factory=dict)
    state: Mapping[str, str | None] = field(default_factory=dict)
    opened: frozenset[Port] = frozenset()
    closed: frozenset[Port] = frozenset()
    storages: Mapping[str, int] = field(default_factory=dict)
    deferred: tuple[str, ...] = ()
    consumed: tuple[Notice, ...] = ()
    retried: tuple[Notice, ...] = ()


class Surroundings(Protocol):
    """Whom an attempt asks, and whom it tells what is to be known at once, even if it fails."""

    @property
    def is_leader(self) -> bool:
        """Whether the unit leads its application, and will for a while."""

    async def read_bag(self, relation: int, owner: str) -> Mapping[str, str]:
        """Return the bag of a unit, such as `pg/0`, or of an application."""

    def set_status(self, status: Status) -> None:
        """Show people a status."""

    def set_application_status(self, status: Status) -> None:
        """Show people a status of the application; only asked for a leader."""

    def set_workload_version(self, version: str) -> None:
        """Show people the version of what the charm runs."""
