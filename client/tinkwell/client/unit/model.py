"""Namespaces, charms, applications, units, relations and storages, as calls return and events carry them."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tinkwell.client.unit.event import UnitEvent
from tinkwell.client.value import shape, shaped
from tinkwell.client.value.shaped import Shaped
from tinkwell.core.event.kinds import ResourceType
from tinkwell.core.unit.kinds import CharmKind, Life, Phase, Profile


@shaped.resource(ResourceType.NAMESPACE)
@dataclass(frozen=True, slots=True)
class Namespace(Shaped):
    """A namespace, within which names of applications and numbers of relations are unique, and its settings.

    `update_status_seconds` is the interval of update-status, `event_timeout_seconds` the longest time of an attempt at
    a unit's event. `retrying` says that the server retries failed events by itself.
    """

    id: str
    name: str = ""
    update_status_seconds: int = 0
    event_timeout_seconds: int = 0
    retrying: bool = True
    version: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class CharmEndpoint(Shaped):
    """An endpoint of a charm; `role` is PROVIDES, REQUIRES or PEER, `limit` 0 for any number of relations."""

    name: str
    role: str = ""
    interface: str = ""
    limit: int = 0


@dataclass(frozen=True, slots=True)
class CharmStorage(Shaped):
    """A storage of a charm; each unit has `minimum` to `maximum` instances. A `maximum` of 0 means any number."""

    name: str
    description: str = ""
    minimum: int = 0
    maximum: int = 0


@dataclass(frozen=True, slots=True)
class CharmOption(Shaped):
    """An option of the configuration; `type` is string, int, float or boolean, `default` None if it has none."""

    name: str
    type: str = ""
    description: str = ""
    default: Any = None
    minimum: Any = None
    maximum: Any = None


@dataclass(frozen=True, slots=True)
class CharmAction(Shaped):
    """An action that units can run; `parameters` is a JSON schema of type object, empty if there is none."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)


@shaped.resource(ResourceType.CHARM)
@dataclass(frozen=True, slots=True)
class Charm(Shaped):
    """A charm, as it was uploaded.

    `digest` is that of its package, which has `size` bytes. `profile` is the one that it asks for. Events leave out its
    declarations. `warnings` name the parts of its manifest that are not used.
    """

    id: str
    digest: str = ""
    name: str = ""
    summary: str = ""
    kind: CharmKind = CharmKind.SCRIPTS
    profile: Profile | None = None
    endpoints: tuple[CharmEndpoint, ...] = field(default=(), metadata=shape.OPTIONAL)
    storages: tuple[CharmStorage, ...] = field(default=(), metadata=shape.OPTIONAL)
    options: tuple[CharmOption, ...] = field(default=(), metadata=shape.OPTIONAL)
    size: int = 0
    version: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    warnings: tuple[str, ...] = field(default=(), metadata=shape.OPTIONAL)
    actions: tuple[CharmAction, ...] = field(default=(), metadata=shape.OPTIONAL)


@dataclass(frozen=True, slots=True)
class UnitStatus(Shaped):
    """A status that a charm sets: unknown, maintenance, waiting, blocked or active. The server sets error."""

    name: str = "unknown"
    message: str = ""


@shaped.resource(ResourceType.APPLICATION)
@dataclass(frozen=True, slots=True)
class Application(Shaped):
    """An application: a charm and a configuration, with units.

    `charm` is the digest of the charm that the units must run. `config` has the options that are set; it is None in
    lists and events. `leader` is the name of the unit that leads, empty for none; `term` grows with each election.
    `units` is the number of units. In events `status` is None and `units` is 0.
    """

    id: str
    namespace: str = ""
    name: str = ""
    life: Life = Life.ALIVE
    charm: str = ""
    charm_name: str = ""
    kind: CharmKind = CharmKind.SCRIPTS
    profile: Profile = Profile.LITERAL
    config: dict[str, Any] | None = None
    config_version: int = 0
    leader: str = ""
    term: int = 0
    announced_term: int = 0
    status: UnitStatus | None = None
    units: int = field(default=0, metadata=shape.OPTIONAL)
    version: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class OpenPort(Shaped):
    """A port that a unit has declared open; `number` is 0 for the protocol icmp."""

    protocol: str
    number: int = 0


@shaped.resource(ResourceType.UNIT)
@dataclass(frozen=True, slots=True)
class Unit(Shaped):
    """One unit of an application, such as web/0.

    `machine` is the id of the hardware that it is on, empty for none. `anywhere` says that it belongs to no machine;
    `forced`, that it was removed by force. `storage` has the names of its storage instances. `event` is the event that
    runs or has failed.

    Events of the log leave out `charm`, `ports` and `event`. Four fields hold for the moment of the answer and are no
    part of the JSON shape. `leads`: the unit leads its application. `has_agent`: a live agent serves it.
    `last_ordinal`: the ordinal of its newest event. `settled`: no event runs, has failed or is due; False if it was not
    asked for.
    """

    id: str
    application_id: str = ""
    namespace: str = ""
    name: str = ""
    number: int = 0
    life: Life = Life.ALIVE
    phase: Phase = Phase.WAITING
    machine: str = ""
    anywhere: bool = False
    storage: tuple[str, ...] = ()
    status: UnitStatus = field(default_factory=UnitStatus)
    workload_version: str = ""
    forced: bool = False
    charm: str = field(default="", metadata=shape.OPTIONAL)
    ports: tuple[OpenPort, ...] = field(default=(), metadata=shape.OPTIONAL)
    event: UnitEvent | None = None
    version: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    leads: bool = field(default=False, metadata=shape.HIDDEN)
    has_agent: bool = field(default=False, metadata=shape.HIDDEN)
    last_ordinal: int = field(default=0, metadata=shape.HIDDEN)
    settled: bool = field(default=False, metadata=shape.HIDDEN)

    @property
    def application(self) -> str:
        """The name of its application."""
        return self.name.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class RelationEnd(Shaped):
    """One side of a relation."""

    application: str
    endpoint: str = ""

    def __str__(self) -> str:
        return f"{self.application}:{self.endpoint}"


@dataclass(frozen=True, slots=True)
class Bag(Shaped):
    """The bag of a unit or an application in a relation, which the other side reads; `version` counts its changes."""

    owner: str
    data: dict[str, str] = field(default_factory=dict)
    version: int = 0


@shaped.resource(ResourceType.RELATION)
@dataclass(frozen=True, slots=True)
class Relation(Shaped):
    """A relation of two endpoints, the provider's before the requirer's; a `peer` relation has one end.

    `bags` are set if they were asked for. In the event RELATION_CHANGED, `owner` is the owner of the changed bag,
    `keys` are its changed keys, and `version` is that of the bag.
    """

    id: str
    number: int = 0
    namespace: str = ""
    interface: str = ""
    peer: bool = False
    life: Life = Life.ALIVE
    ends: tuple[RelationEnd, ...] = ()
    bags: tuple[Bag, ...] = field(default=(), metadata=shape.OPTIONAL)
    owner: str = field(default="", metadata=shape.OPTIONAL)
    keys: tuple[str, ...] = field(default=(), metadata=shape.OPTIONAL)
    version: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None


@shaped.resource(ResourceType.STORAGE)
@dataclass(frozen=True, slots=True)
class Storage(Shaped):
    """An instance of a storage, such as data/0: a folder of the machine. `unit` is empty if it is detached."""

    id: str
    namespace: str = ""
    name: str = ""
    kind: str = ""
    unit: str = ""
    machine: str = ""
    life: Life = Life.ALIVE
    attached: bool = False
    version: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class UnitLogLine(Shaped):
    """A line of a unit's log or output; `number` counts within the attempt, from 1.

    `level` is DEBUG, INFO, WARNING or ERROR, and STDOUT or STDERR for the output of a script. The server fills in
    the names of the unit and of the event.
    """

    ordinal: int
    attempt: int
    number: int
    text: str
    level: str = "INFO"
    created_at: datetime | None = None
    unit: str = ""
    event_name: str = ""
