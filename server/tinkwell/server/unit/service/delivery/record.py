"""The answers to agents: an event to run with all that its unit may know, or the reason why there is none."""

import dataclasses
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TypeAlias

from tinkwell.core.unit.kinds import Life, Phase, Profile
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.server.unit.store.agent.own import Bag, StoredNotice
from tinkwell.server.unit.store.agent.told import NewLine
from tinkwell.server.unit.store.secret.own import Granted, OwnSecret
from tinkwell.server.unit.store.task.row import Task

__all__ = [
    "Bag",
    "Grant",
    "Granted",
    "GrantedEvent",
    "NewLine",
    "Next",
    "NoEvent",
    "OwnRelation",
    "OwnSecret",
    "StoredNotice",
    "Task",
    "Why",
]


class Why(StrEnum):
    """The reason why a unit is granted nothing."""

    NOTHING_DUE = "NOTHING_DUE"
    IN_ERROR = "IN_ERROR"
    MACHINE_HELD = "MACHINE_HELD"
    OTHER_CHARM = "OTHER_CHARM"
    GONE = "GONE"


@dataclasses.dataclass(frozen=True, slots=True)
class NoEvent:
    """No event is granted. `due_in_seconds` is the latest time to ask again; None means to wait for a wake."""

    why: Why
    due_in_seconds: float | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GrantedEvent:
    """An event to run, and its ordinal among the events of its unit.

    `remote` is the bag that the event is about; it is None if there is none, or if it was not sent with the grant.
    """

    id: str
    event: UnitEvent
    ordinal: int
    attempt: int
    phase: Phase
    reason: str
    leaving: str
    actor: str
    remote: Bag | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class OwnRelation:
    """A relation that a unit is in. `own_application` is None if the unit may not read it."""

    number: int
    endpoint: str
    interface: str
    is_peer: bool
    life: Life
    application: str
    members: Sequence[str]
    own: Bag
    own_application: Bag | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """An event to run within `timeout_seconds`, or a task, with all that its unit may know without further calls.

    `charm` is the digest of the charm to run, and `config` a JSON object as text. `leads_seconds` is the time for which
    the unit leads at least, 0 if it does not lead.
    """

    granted: GrantedEvent | None
    task: Task | None
    is_peer: bool
    timeout_seconds: float
    unit_id: str
    unit: str
    application: str
    namespace: str
    profile: Profile
    kind: str
    charm: str
    config: str
    config_version: int
    leader: str
    term: int
    leads_seconds: float
    relations: Sequence[OwnRelation]
    storages: Sequence[tuple[str, bool]]
    """Names of instances, each with whether it is attached."""
    state: Mapping[str, str]
    notices: Sequence[StoredNotice]
    ports: Sequence[tuple[str, int]]
    status_name: str
    status_message: str
    application_status_name: str
    application_status_message: str
    machine: str
    addresses: Sequence[str]
    secrets: Sequence[OwnSecret]
    committed_ordinal: int


Next: TypeAlias = Grant | NoEvent
