"""The input of an attempt at an event, and the calls that it makes.

The agent makes these objects from the server's grant, `testing` from its model. This module knows neither.
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
    """A relation of the unit. `units` are the remote units in it; `own` and `own_application` are bags."""

    number: int
    endpoint: str
    application: str
    is_peer: bool
    units: tuple[str, ...] = ()
    own: Mapping[str, str] = field(default_factory=dict)
    own_application: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretGiven:
    """A secret as a unit sees it, by its id, without its content.

    `owner` is a unit or an application, empty for a user; `is_owned`: the unit may change it. `label` is the owner's
    label if the unit owns the secret, otherwise this unit's own. `tracked` is the revision that the unit reads, 0 for
    none.
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
    """A revision of a secret with its content, which `repr` and `str` leave out."""

    id: str
    revision: int
    content: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskGiven:
    """A task for the unit: the name of an action, with all of its parameters."""

    id: str
    action: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt at one event of one unit, or with `task` at that task; `event` has no meaning then.

    `storages` has the folder of each storage by its name, such as `data/0`. `term` is that of the application's leader,
    who writes the application's bags and secrets under it.
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
    """The calls of an attempt: reads, and the statuses and lines that users see at once, even if the attempt fails."""

    @property
    def is_leader(self) -> bool:
        """Whether the unit leads its application, and will lead for a while."""

    async def read_bag(self, relation: int, owner: str) -> Mapping[str, str]:
        """Return the bag of a unit, such as `pg/0`, or of an application."""

    async def read_secret(self, secret: str, revision: int) -> SecretRead:
        """Return a revision of a secret by its id, 0 for the newest. Raises `SecretMissing`."""

    def log_task(self, text: str) -> None:
        """Add a line to the log of the running task."""

    def now(self) -> datetime:
        """Return the time by which expiries are computed."""

    def set_status(self, status: Status) -> None:
        """Show people a status."""

    def set_application_status(self, status: Status) -> None:
        """Show people a status of the application; only called for a leader."""

    def set_workload_version(self, version: str) -> None:
        """Show people the version of the workload."""
