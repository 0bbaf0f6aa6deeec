"""What an attempt at an event is given, and whom it asks for more.

The agent makes these of what the server grants, `testing` of its model. Nothing here knows either.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tinkwell.charm.status import Status
from tinkwell.core.unit.effect import Notice, Port
from tinkwell.core.unit.unit_event import UnitEvent

Value = str | int | float | bool


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
    """One attempt at one event of one unit. `storages` gives the folder of each by its name, such as `data/0`.

    `term` is the application's; under it the leader writes the application's bags.
    """

    unit: str
    ordinal: int
    attempt: int
    event: UnitEvent
    reason: str = ""
    term: int = 0
    config: Mapping[str, Value] = field(default_factory=dict)
    relations: tuple[RelationGiven, ...] = ()
    storages: Mapping[str, Path] = field(default_factory=dict)
    state: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    ports: frozenset[Port] = frozenset()


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
