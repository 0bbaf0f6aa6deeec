"""What an agent is granted to run, or told in its place."""

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
    """Why a unit is granted nothing."""

    NOTHING_DUE = "NOTHING_DUE"
    IN_ERROR = "IN_ERROR"
    MACHINE_HELD = "MACHINE_HELD"
    OTHER_CHARM = "OTHER_CHARM"
    # The unit is no more: its agent ends what it runs of it, and clears its folder.
    GONE = "GONE"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoEvent:
    """Nothing to run. `due_in_seconds` is when to ask again at the latest; None waits for a wake alone."""

    reason: NoEventReason
    due_in_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Leadership:
    """Whether the unit leads its application, in which term, and for how many seconds at least.

    They are counted from before the request that has brought this. `leader` names the unit that leads, empty for none.
    """

    leads: bool = False
    term: int = 0
    remaining_seconds: float = 0.0
    leader: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantedRelation:
    """A relation of the unit. `members` are the units that are visible in it, in order.

    `application` is the other side's; of a peer relation the unit's own. `own` is the unit's bag, and `own_application`
    that of its application, None where the unit may not read it.
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
    """What a unit knows of a secret without its content. `owner` is a unit or an application, empty for a user.

    `owned` says that the unit may change it. `label` is the owner's for an owner, and else the one that this unit has
    given. `latest` is the newest revision, which `expires_at`, and `tracked` the one that the unit reads, 0 where
    it has read none. `revisions` and `readers` are for an owner.
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
    """A revision of a secret with what it holds, which no text shows that is made of this."""

    id: str
    revision: int
    content: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """An event to run, or a task, with all that its unit may know without asking.

    Where `task` is set, `event` tells nothing: it has the task's id and attempt, by which that is committed.
    `committed_ordinal` is that of the unit's newest event that is COMMITTED, 0 for none.
    `timeout_seconds` from now on the attempt has to have ended. `charm` is the digest of what has to run it. `config`
    has each option with what is set or its default. `storages` are names, each with whether the unit was told of it.
    `machine` is the id of its hardware, and `addresses` are those of that. `remote` is the bag that the event tells of,
    if it came with the grant; else `read_bag` has it.
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
