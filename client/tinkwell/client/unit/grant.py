"""What an agent is granted to run, or told in its place."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tinkwell.client.unit.event import UnitEvent
from tinkwell.client.unit.model import Bag, OpenPort, UnitStatus
from tinkwell.client.unit.notice import DeferredNotice
from tinkwell.core.unit.kinds import CharmKind, Life, Profile


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
class Grant:
    """An event to run, with all that its unit may know without asking.

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
    remote: Bag | None = None
