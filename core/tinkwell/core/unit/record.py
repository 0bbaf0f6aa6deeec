"""Namespaces, applications and their parts, in the form in which layers pass them on."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field

from tinkwell.core.unit.kinds import CharmKind, EventState, Life, Phase, Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """A namespace with its settings."""

    id: str
    version: int
    name: str
    update_status_seconds: int
    event_timeout_seconds: int
    is_retrying: bool
    created_at: datetime.datetime
    updated_at: datetime.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The status that a charm sets for its unit, or a leader for its application."""

    name: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """An application. `charm` is a digest, `config` JSON text of the values that were set.

    `leader` is the name of a unit, or "". The status is the one that the leader has set for the application; if it has
    set none, the most urgent status of the units.
    """

    id: str
    version: int
    namespace: str
    name: str
    life: Life
    charm: str
    profile: Profile
    config: str
    config_version: int
    leader: str
    term: int
    announced_term: int
    charm_name: str
    kind: CharmKind
    status: Status
    units: int
    created_at: datetime.datetime
    updated_at: datetime.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRelation:
    """The relation that an event is about."""

    number: int
    endpoint: str
    is_peer: bool
    application: str
    unit: str
    departing_unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A stored event of a unit. `cause` is what made it due: type, id, owner, version and actor."""

    id: str
    namespace: str
    application_id: str
    unit_id: str
    unit: str
    kind: str
    ordinal: int
    attempt: int
    state: EventState
    phase: Phase
    relation: EventRelation | None
    storage: str
    secret: str = ""
    revision: int = 0
    is_mirrored: bool
    is_echo: bool
    seen_config: int
    seen_charm: str
    seen_term: int
    seen_bag: int
    reason: str
    leaving: str
    actor: str
    cause: Mapping[str, str | int]
    message: str
    deferred: int
    consumed: int
    started_at: datetime.datetime | None
    finished_at: datetime.datetime | None
    retry_at: datetime.datetime | None
    version: int
    created_at: datetime.datetime
    updated_at: datetime.datetime

    @property
    def name(self) -> str:
        """The name that charms know, such as `db-relation-joined`."""
        before = self.relation.endpoint if self.relation else self.storage.partition("/")[0]
        return f"{before}-{self.kind}" if before else self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """A port that a unit has opened."""

    protocol: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A unit. `charm` is the digest of the code that it runs, "" before its first event; `event` is the one in flight.

    `is_settled`: no event or task runs, has failed or is due; None if this was not computed.
    """

    id: str
    version: int
    application_id: str
    namespace: str
    name: str
    number: int
    life: Life
    phase: Phase
    machine: str
    is_anywhere: bool
    is_leader: bool
    status: Status
    workload_version: str
    event: Event | None
    charm: str
    storages: tuple[str, ...]
    ports: tuple[Port, ...]
    is_agent_alive: bool
    last_ordinal: int
    is_settled: bool | None = None
    created_at: datetime.datetime
    updated_at: datetime.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """An end of a relation, as names of application and endpoint."""

    application: str
    endpoint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bag:
    """The bag of a unit or an application in a relation."""

    owner: str
    data: Mapping[str, str]
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A relation; `bags` is filled only if the query asked for them."""

    id: str
    version: int
    namespace: str
    number: int
    interface: str
    is_peer: bool
    life: Life
    ends: tuple[End, ...]
    created_at: datetime.datetime
    updated_at: datetime.datetime
    bags: tuple[Bag, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """A storage instance; `unit` and `machine` are "" if it has none."""

    id: str
    version: int
    application_id: str
    namespace: str
    name: str
    life: Life
    unit: str
    is_attached: bool
    machine: str
    created_at: datetime.datetime
    updated_at: datetime.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """An event that a handler has deferred: `event` is JSON text of the event without its ordinal."""

    handler: str
    ordinal: int
    event: str
    attempts: int
    created_at: datetime.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """A line of a unit's log; `id` grows with each line."""

    id: int
    unit_id: str
    unit: str
    event_name: str
    ordinal: int
    attempt: int
    number: int
    level: str
    text: str
    created_at: datetime.datetime
