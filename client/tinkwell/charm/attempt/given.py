"""What an attempt at an event is given, and whom it asks for more.

The agent makes these of what the server grants, `testing` of its model. Nothing here knows either.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from tinkwell.charm.status import Status
from tinkwell.core.unit.effect import Notice, Port
from tinkwell.core.unit.kinds import Rotation
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
class SecretGiven:
    """What a unit knows of a secret, by its id, without its content.

    `owner` is a unit or an application, empty for a user; `is_owned`: the unit may change it. `label` is the owner's
    for an owner, else the one that the unit has given it. `tracked` is the revision that it reads, 0 for none.
    """

    id: str
    owner: str = ""
    is_owned: bool = False
    label: str = ""
    description: str = ""
    latest: int = 1
    tracked: int = 0
    rotation: Rotation = Rotation.NEVER
    rotates_at: datetime | None = None
    expires_at: datetime | None = None
    revisions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRead:
    """A revision of a secret with what it holds, which no text shows that is made of this."""

    id: str
    revision: int
    content: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskGiven:
    """A task that the unit is to run: an action by its name, with all of its parameters."""

    id: str
    action: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt at one event of one unit, or with `task` at that task, where `event` tells nothing.

    `storages` gives the folder of each by its name, such as `data/0`.
    `term` is the application's; under it the leader writes the application's bags and secrets.
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
    secrets: tuple[SecretGiven, ...] = ()
    task: TaskGiven | None = None


class Surroundings(Protocol):
    """Whom an attempt asks, and whom it tells what is to be known at once, even if it fails."""

    @property
    def is_leader(self) -> bool:
        """Whether the unit leads its application, and will for a while."""

    async def read_bag(self, relation: int, owner: str) -> Mapping[str, str]:
        """Return the bag of a unit, such as `pg/0`, or of an application."""

    async def read_secret(self, secret: str, revision: int) -> SecretRead:
        """Return a revision of a secret by its id, 0 for the newest. Raises `SecretMissing`."""

    def log_task(self, text: str) -> None:
        """Tell a line of the task that runs."""

    def now(self) -> datetime:
        """Return the time, as expiries are counted."""

    def set_status(self, status: Status) -> None:
        """Show people a status."""

    def set_application_status(self, status: Status) -> None:
        """Show people a status of the application; only asked for a leader."""

    def set_workload_version(self, version: str) -> None:
        """Show people the version of what the charm runs."""
