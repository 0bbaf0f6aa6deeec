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
    """Where names of applications and numbers of relations are unique, and the settings of what is in it.

    `update_status_seconds` is the interval of update-status, `event_timeout_seconds` how long an attempt at a unit's
    event may take. `retrying` says that failed events are tried again by themselves.
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
    """A place where relations begin; `role` is PROVIDES, REQUIRES or PEER, `limit` 0 for any number of relations."""

    name: str
    role: str = ""
    interface: str = ""
    limit: int = 0


@dataclass(frozen=True, slots=True)
class CharmStorage(Shaped):
    """A storage of which each unit has so many instances; a `maximum` of 0 stands for any number."""

    name: str
    description: str = ""
    minimum: int = 0
    maximum: int = 0


@dataclass(frozen=True, slots=True)
class CharmOption(Shaped):
    """An option of the configuration; `type` is string, int, float or boolean, `default` None where there is none."""

    name: str
    type: str = ""
    description: str = ""
    default: Any = None
    minimum: Any = None
    maximum: Any = None


@dataclass(frozen=True, slots=True)
class CharmAction(Shaped):
    """What a unit can be asked to do; `parameters` is a JSON schema of type object, empty where there is none."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)


@shaped.resource(ResourceType.CHARM)
@dataclass(frozen=True, slots=True)
class Charm(Shaped):
    """What units run, as it was uploaded. `digest` is that of its package, which has `size` bytes.

    `profile` is the one that it asks for. Events leave out what it declares. `warnings` are what of its manifest is not
    used.
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
    """What a charm says about itself: unknown, maintenance, waiting, blocked or active; the server says error."""

    name: str = "unknown"
    message: str = ""


@shaped.resource(ResourceType.APPLICATION)
@dataclass(frozen=True, slots=True)
class Application(Shaped):
    """A charm and a configuration, with units. `charm` is the digest of what these have to run.

    `config` is what is set, and None in lists and events. `leader` is the name of the unit that leads, empty for none;
    `term` grows with each election. `status` and `units`, how many there are, are None and 0 in events.
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
    """A port that a unit says it has opened; `number` is 0 for the protocol icmp."""

    protocol: str
    number: int = 0


@shaped.resource(ResourceType.UNIT)
@dataclass(frozen=True, slots=True)
class Unit(Shaped):
    """One unit of an application, such as web/0. `machine` is the id of the hardware that it is on, empty for none.

    `anywhere` says that it belongs to no machine; `forced`, that it was removed by force. `storage` has the names of
    its storage instances. Events leave out the `charm` that it runs, its `ports`, and `event`, the one that runs or has
    failed.

    `leads`, `has_agent`, `last_ordinal` and `settled` are a moment's answers and no part of the JSON shape: whether it
    leads its application, whether an agent that is alive serves it, the ordinal of its newest event, and whether
    nothing runs, has failed or is due, which is False where it was not asked for.
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
    """What a unit, or an application, has written for the others of a relation; `version` counts its changes."""

    owner: str
    data: dict[str, str] = field(default_factory=dict)
    version: int = 0


@shaped.resource(ResourceType.RELATION)
@dataclass(frozen=True, slots=True)
class Relation(Shaped):
    """What joins two endpoints, the provider's before the requirer's; a `peer` relation has one end.

    `bags` are there where they were asked for. In the event RELATION_CHANGED `owner` is whose bag has changed, `keys`
    are those that did, and `version` is that of the bag.
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
    """An instance of a storage, such as data/0: a folder of the machine. `unit` is empty where it was detached."""

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
    """One line that a unit has logged or written; `number` counts within the attempt, from 1.

    `level` is DEBUG, INFO, WARNING or ERROR, and STDOUT or STDERR for what a script has written. The server fills in
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
