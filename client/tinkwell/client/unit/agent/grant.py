"""The server's answers to an agent that asks for an event."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from tinkwell.client.unit.event import UnitEvent
from tinkwell.client.unit.model import Bag, OpenPort, UnitStatus
from tinkwell.client.unit.notice import DeferredNotice
from tinkwell.client.unit.task import Task
from tinkwell.core.unit.kinds import CharmKind, Life, Profile, Rotation


class NoEventReason(StrEnum):
    """Why a unit is granted no event."""

    NOTHING_DUE = "NOTHING_DUE"
    IN_ERROR = "IN_ERROR"
    MACHINE_HELD = "MACHINE_HELD"
    OTHER_CHARM = "OTHER_CHARM"
    # The unit is removed: its agent ends what it runs for the unit, and clears the unit's folder.
    GONE = "GONE"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoEvent:
    """No event to run. The agent asks again after `due_in_seconds` at the latest; with None only after a wake."""

    reason: NoEventReason
    due_in_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Leadership:
    """Whether the unit leads its application, in which term, and for how many seconds at least.

    The seconds count from before the agent's request. `leader` names the unit that leads, empty for none.
    """

    leads: bool = False
    term: int = 0
    remaining_seconds: float = 0.0
    leader: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantedRelation:
    """A relation of the unit.

    `members` are the units that this unit sees in it, in order. `application` is the one on the other side; in a peer
    relation the unit's own. `own` is the unit's bag, and `own_application` that of its application, None if the unit
    may not read it.
    """

    number: int
    endpoint: str
    interface: str = ""
    peer: bool = False
    life: Life = Life.ALIVE
    application: str = ""
    members: tuple[str, ...] = ()
    own: Bag = field(default_factory=lambda: Bag(""))
    own_application: Bag | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretReader:
    """Who may read a secret: the units of an application, or one of them, for as long as a relation lives.

    A user's secret is granted without a relation, which then is 0.
    """

    relation: int
    application: str
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantedSecret:
    """A secret as a unit sees it, without its content. `owner` is a unit or an application, empty for a user.

    `owned` says that the unit may change it. `label` is the owner's label if the unit owns the secret, otherwise this
    unit's own. `latest` is the newest revision, which expires at `expires_at`. `tracked` is the revision that the unit
    reads, 0 if it has read none. Only owners see `revisions` and `readers`.
    """

    id: str
    owner: str = ""
    owned: bool = False
    label: str = ""
    description: str = ""
    latest: int = 0
    tracked: int = 0
    rotation: Rotation = Rotation.NEVER
    rotates_at: datetime | None = None
    expires_at: datetime | None = None
    revisions: tuple[int, ...] = ()
    readers: tuple[SecretReader, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretContent:
    """A revision of a secret with its content, which `repr` and `str` leave out."""

    id: str
    revision: int
    content: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """An event or a task to run, with the data that its unit may read.

    If `task` is set, `event` is no event: it only has the task's id and attempt, with which the task is committed.
    `committed_ordinal` is that of the unit's newest COMMITTED event, 0 for none. The attempt must end within
    `timeout_seconds` from now. `charm` is the digest of the charm that must run it. `config` has the value or the
    default of each option. `storages` are names, each with whether the unit has been told of it. `machine` is the id of
    the unit's hardware, and `addresses` are those of this machine. `remote` is the bag that the event is about, if the
    grant has it; otherwise read it with `read_bag`.
    """

    event: UnitEvent
    timeout_seconds: float
    unit_id: str
    unit: str
    application: str
    namespace: str
    profile: Profile
    kind: CharmKind
    charm: str
    config: Mapping[str, Any] = field(default_factory=dict)
    config_version: int = 0
    leadership: Leadership = field(default_factory=Leadership)
    relations: tuple[GrantedRelation, ...] = ()
    storages: Mapping[str, bool] = field(default_factory=dict)
    state: Mapping[str, str] = field(default_factory=dict)
    deferred: tuple[DeferredNotice, ...] = ()
    ports: tuple[OpenPort, ...] = ()
    status: UnitStatus = field(default_factory=UnitStatus)
    application_status: UnitStatus = field(default_factory=UnitStatus)
    machine: str = ""
    addresses: tuple[str, ...] = ()
    task: Task | None = None
    secrets: tuple[GrantedSecret, ...] = ()
    committed_ordinal: int = 0
    remote: Bag | None = None
