"""The state of a world: applications, units, relations and storages as the server keeps them, and the log.

The code that changes a resource also writes the entry that Watch shows, through `Log`.
"""

import copy
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from tinkwell.core import errors
from tinkwell.core.unit import name
from tinkwell.core.unit.effect import Notice, Port
from tinkwell.core.unit.kinds import (
    EventState,
    Leaving,
    Life,
    Membership,
    Phase,
    Profile,
    Reason,
    Rotation,
    TaskKind,
    TaskState,
)
from tinkwell.core.unit.ledger import NO_REQUESTS, Ledger, Requests
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.world.charm import Charm
from tinkwell.core.value.document import JsonObject, JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A unit event as the server keeps it, in flight or ended. `version` counts its states."""

    id: str
    unit: str
    event: UnitEvent
    ordinal: int
    phase: Phase
    attempt: int = 1
    state: EventState = EventState.RUNNING
    message: str = ""
    reason: Reason | None = None
    leaving: Leaving | None = None
    actor: str = ""
    is_lost: bool = False
    deferred: int = 0
    consumed: int = 0


@dataclass(frozen=True, slots=True)
class LogEntry:
    """An entry of the log, with data as Watch shows them."""

    revision: int
    resource_type: str
    event_type: str
    resource_id: str
    parent_id: str
    data: JsonObject


@dataclass(slots=True)
class Application:
    """An application. `charms` has each charm that it ever had, by digest; `config` the values that were set."""

    id: str
    name: str
    charm: Charm
    profile: Profile
    charms: dict[str, Charm] = field(default_factory=dict)
    life: Life = Life.ALIVE
    config: dict[str, JsonValue] = field(default_factory=dict)
    config_version: int = 1
    leader: str = ""
    term: int = 0
    announced_term: int = 0
    next_number: int = 0


@dataclass(slots=True)
class Unit:
    """A unit. `is_heard`: its agent is alive. `losses` counts attempts of its event that were lost in a row.

    `labels` maps names of secrets that it reads to the labels that it gave them.
    """

    id: str
    name: str
    machine: str = ""
    life: Life = Life.ALIVE
    phase: Phase = Phase.WAITING
    code: str = ""
    ledger: Ledger = field(default_factory=Ledger)
    asked: Requests = NO_REQUESTS
    is_held: bool = False
    is_tick_due: bool = False
    is_heard: bool = True
    is_forced: bool = False
    running: Running | None = None
    next_ordinal: int = 1
    losses: int = 0
    actor: str = ""
    status: tuple[str, str] = ("unknown", "")
    workload_version: str = ""
    state: dict[str, str] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)
    ports: set[Port] = field(default_factory=set)
    labels: dict[str, str] = field(default_factory=dict)

    @property
    def application(self) -> str:
        return name.application_of(self.name)


@dataclass(slots=True)
class Member:
    """A unit in a relation; `entered` orders the members that are IN."""

    membership: Membership
    entered: int = 0


@dataclass(slots=True)
class Bag:
    """The bag of a unit or an application in a relation."""

    data: dict[str, str] = field(default_factory=dict)
    version: int = 0


@dataclass(slots=True)
class Relation:
    """A relation; `ends` maps applications to endpoints. Members are by unit, bags by unit or application."""

    id: str
    number: int
    interface: str
    ends: dict[str, str]
    is_peer: bool = False
    life: Life = Life.ALIVE
    actor: str = ""
    members: dict[str, Member] = field(default_factory=dict)
    bags: dict[str, Bag] = field(default_factory=dict)

    def other(self, application: str) -> str:
        """Return the application on the other side; in a peer relation, the same one."""
        return next((end for end in self.ends if end != application), application)

    def version(self, owner: str) -> int:
        """Return the version of a bag, 0 if it was never written."""
        bag = self.bags.get(owner)
        return bag.version if bag else 0


@dataclass(slots=True)
class Storage:
    """A storage. DYING means that it leaves its unit: if it `is_kept` it stays, and may be attached again."""

    id: str
    name: str
    application: str
    unit: str = ""
    machine: str = ""
    life: Life = Life.ALIVE
    is_attached: bool = False
    is_kept: bool = False

    @property
    def kind(self) -> str:
        return self.name.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Granted:
    """An application's units, or one unit, may read a secret while a relation lives; relation 0 means for ever."""

    relation: int
    application: str
    unit: str = ""


@dataclass(slots=True)
class Revision:
    """The content of a secret's revision, with its expiry."""

    content: dict[str, str] = field(repr=False)
    expires_at: datetime | None = None


@dataclass(slots=True, kw_only=True)
class Secret:
    """A secret of a unit, of an application, or of users, then with an empty `owner`. Charms know it by `name`.

    `latest` is its newest revision, `newest` the highest number that was ever given.
    """

    id: str
    name: str
    owner: str
    label: str = ""
    description: str = ""
    rotation: Rotation = Rotation.NEVER
    rotates_at: datetime | None = None
    latest: int = 1
    newest: int = 1
    revisions: dict[int, Revision] = field(default_factory=dict)
    grants: set[Granted] = field(default_factory=set)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a unit was asked to run; a unit's tasks run in the order of `number`. `is_cancelled`: it is to end."""

    id: str
    number: int
    unit: str
    kind: TaskKind
    name: str = ""
    parameters: JsonObject = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    timeout_seconds: int = 0
    actor: str = ""
    state: TaskState = TaskState.PENDING
    result: str = ""
    message: str = ""
    is_cancelled: bool = False


@dataclass(slots=True)
class State:
    """The whole state of a namespace.

    `streams` are the events of each unit that were committed or skipped, also of units that are gone. `secrets` are by
    name; `tasks` are by id and include ended ones. `clock` says when rotations and expiries are due.
    """

    namespace: str
    make_id: Callable[[str], str]
    clock: Callable[[], datetime]
    applications: dict[str, Application] = field(default_factory=dict)
    units: dict[str, Unit] = field(default_factory=dict)
    relations: dict[int, Relation] = field(default_factory=dict)
    storages: dict[str, Storage] = field(default_factory=dict)
    secrets: dict[str, Secret] = field(default_factory=dict)
    tasks: dict[str, Task] = field(default_factory=dict)
    streams: dict[str, list[Running]] = field(default_factory=dict)
    log: list[LogEntry] = field(default_factory=list)
    next_relation: int = 1
    next_storage: int = 0
    next_entered: int = 1
    next_task: int = 1
    next_id: int = 1

    def new_id(self, what: str) -> str:
        """Return an id that no other resource has."""
        self.next_id += 1
        return self.make_id(f"{what}#{self.next_id - 1}")

    def application(self, wanted: str) -> Application:
        """Return an application; raises NotFound."""
        if wanted not in self.applications:
            raise errors.NotFound("application", wanted)
        return self.applications[wanted]

    def unit(self, wanted: str) -> Unit:
        """Return a unit that is not DEAD; raises NotFound."""
        unit = self.units.get(wanted)
        if unit is None or unit.life is Life.DEAD:
            raise errors.NotFound("unit", wanted)
        return unit

    def relation(self, number: int) -> Relation:
        """Return a relation; raises NotFound."""
        if number not in self.relations:
            raise errors.NotFound("relation", str(number))
        return self.relations[number]

    def storage(self, wanted: str) -> Storage:
        """Return a storage; raises NotFound."""
        if wanted not in self.storages:
            raise errors.NotFound("storage", wanted)
        return self.storages[wanted]

    def secret(self, wanted: str) -> Secret:
        """Return a secret by its name; raises NotFound."""
        if wanted not in self.secrets:
            raise errors.NotFound("SECRET", wanted)
        return self.secrets[wanted]

    def task(self, wanted: str) -> Task:
        """Return a task; raises NotFound."""
        if wanted not in self.tasks:
            raise errors.NotFound("TASK", wanted)
        return self.tasks[wanted]

    def running_task(self, unit: str) -> Task | None:
        """Return the task that a unit runs."""
        return next((task for task in self.tasks_of(unit) if task.state is TaskState.RUNNING), None)

    def tasks_of(self, unit: str) -> Iterator[Task]:
        """Yield the tasks of a unit in their order."""
        return (task for task in self.tasks.values() if task.unit == unit)

    def units_of(self, application: str) -> Iterator[Unit]:
        """Yield the units of an application, also those that are DEAD and not yet deleted."""
        return (unit for unit in self.units.values() if unit.application == application)

    def relations_of(self, application: str) -> list[Relation]:
        """Return the relations of an application."""
        return [relation for relation in self.relations.values() if application in relation.ends]

    def storages_of(self, unit: str) -> Iterator[Storage]:
        """Yield the storages that belong to a unit."""
        return (storage for storage in self.storages.values() if storage.unit == unit)

    def copied(self) -> "State":
        """Return an independent copy. Frozen parts are shared."""
        return replace(
            self,
            applications={key: replace(each, config=dict(each.config)) for key, each in self.applications.items()},
            units={key: _copied_unit(each) for key, each in self.units.items()},
            relations={key: _copied_relation(each) for key, each in self.relations.items()},
            storages={key: copy.copy(each) for key, each in self.storages.items()},
            secrets={key: _copied_secret(each) for key, each in self.secrets.items()},
            tasks=dict(self.tasks),
            streams={key: list(each) for key, each in self.streams.items()},
            log=list(self.log),
        )

    def key(self) -> Hashable:
        """Return a key that is equal for equal states, including what units were told, whatever the log's order."""
        return (
            tuple(_application_key(each) for each in self.applications.values()),
            tuple(_unit_key(each) for each in self.units.values()),
            tuple(_relation_key(each) for each in self.relations.values()),
            tuple((each.name, each.unit, each.life, each.is_attached) for each in self.storages.values()),
            tuple(_secret_key(each) for each in self.secrets.values()),
            tuple((each.id, each.state, each.is_cancelled) for each in self.tasks.values()),
            tuple((unit, tuple((told.event, told.state) for told in stream)) for unit, stream in self.streams.items()),
        )


def _application_key(each: Application) -> Hashable:
    version = each.charm.digest, each.config_version
    return each.name, each.life, version, each.leader, each.term, each.announced_term


def _unit_key(each: Unit) -> Hashable:
    flags = each.is_held, each.is_tick_due, each.is_heard, each.losses
    return each.name, each.life, each.phase, each.code, flags, each.asked, each.running, each.next_ordinal


def _relation_key(each: Relation) -> Hashable:
    return each.number, each.life, _members_key(each), tuple((owner, bag.version) for owner, bag in each.bags.items())


def _members_key(relation: Relation) -> Hashable:
    order = sorted(relation.members, key=lambda unit: relation.members[unit].entered)
    return tuple((unit, relation.members[unit].membership) for unit in order)


def _copied_unit(unit: Unit) -> Unit:
    return replace(
        unit, state=dict(unit.state), notices=list(unit.notices), ports=set(unit.ports), labels=dict(unit.labels)
    )


def _copied_secret(secret: Secret) -> Secret:
    return replace(
        secret,
        revisions={key: copy.copy(each) for key, each in secret.revisions.items()},
        grants=set(secret.grants),
    )


def _secret_key(each: Secret) -> Hashable:
    return each.name, each.owner, each.rotates_at, each.latest, frozenset(each.revisions), frozenset(each.grants)


def _copied_relation(relation: Relation) -> Relation:
    return replace(
        relation,
        members={key: copy.copy(each) for key, each in relation.members.items()},
        bags={key: Bag(dict(each.data), each.version) for key, each in relation.bags.items()},
    )
