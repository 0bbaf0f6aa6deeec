"""The records of one namespace, sorted by resource: the input of each invariant.

The *stream* of a unit is its COMMITTED and SKIPPED events in order. A revision says what was known when: a change with
a lower revision was written before.
"""

import bisect
import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from tinkwell.core.unit.invariant.record import (
    ApplicationRecord,
    BagRecord,
    EventRecord,
    Place,
    Record,
    RelationRecord,
    SecretRecord,
    StorageRecord,
    TaskRecord,
    UnitRecord,
)
from tinkwell.core.unit.kinds import EventKind, EventState, Life, Profile, TaskState

# A revision that is later than everything in the log.
NEVER = 2**63

R = TypeVar("R", bound=Place)
_REVISION = operator.attrgetter("revision")


def at(records: Sequence[R], revision: int) -> R | None:
    """Return the last record whose revision is at most `revision`."""
    index = bisect.bisect_right(records, revision, key=_REVISION)
    return records[index - 1] if index else None


def first_dying(records: Iterable[UnitRecord | ApplicationRecord | RelationRecord | StorageRecord]) -> int:
    """Return the revision at which a resource became DYING, or NEVER."""
    return next((record.revision for record in records if record.life is not Life.ALIVE or record.is_deleted), NEVER)


def deleted(records: Sequence[Place]) -> int:
    """Return the revision at which a resource was deleted, or NEVER."""
    return records[-1].revision if records and records[-1].is_deleted else NEVER


@dataclass(frozen=True, slots=True)
class Told:
    """An event that a unit was told, or that was skipped; `granted` is the revision at which its last attempt began.

    `first_granted` is the revision at which its first attempt began. Both are the revision of the skip if no attempt
    began. `is_forced`: it is the second of a pair or a chain, so it comes at once, before everything else.
    """

    record: EventRecord
    first_granted: int
    granted: int
    is_forced: bool = False

    @property
    def kind(self) -> EventKind:
        return self.record.kind

    @property
    def relation(self) -> int:
        return self.record.relation

    @property
    def remote(self) -> str:
        return self.record.remote

    @property
    def revision(self) -> int:
        return self.record.revision


@dataclass(frozen=True, slots=True)
class Ran:
    """A task that a unit began; `ended` is the revision of its end, or NEVER while it runs.

    Its effects count only if it `has_succeeded`.
    """

    record: TaskRecord
    ended: int = NEVER
    has_succeeded: bool = False

    @property
    def started(self) -> int:
        return self.record.revision


@dataclass(slots=True)
class UnitHistory:
    """A unit's life; a later unit of the same name has another one.

    Each revision is NEVER until it happens: `dying`, its removal was asked for; `forced`, it was removed by force;
    `gone`, it gets no more events; `started`, its setup ended; `entered` and `broke`, it became a member of a relation,
    and left it.
    """

    name: str
    application: "ApplicationHistory"
    records: list[UnitRecord] = field(default_factory=list)
    events: list[EventRecord] = field(default_factory=list)
    stream: list[Told] = field(default_factory=list)
    tasks: list[Ran] = field(default_factory=list)
    dying: int = NEVER
    forced: int = NEVER
    gone: int = NEVER
    started: int = NEVER
    _entered: dict[int, int] = field(default_factory=dict)
    _broke: dict[int, int] = field(default_factory=dict)

    def take(self, record: UnitRecord) -> None:
        """Add a record of the unit."""
        self.records.append(record)
        if record.life is not Life.ALIVE or record.is_deleted:
            self.dying = min(self.dying, record.revision)
        if record.life is Life.DEAD or record.is_deleted:
            self.gone = min(self.gone, record.revision)
        if record.is_forced:
            self.forced = min(self.forced, record.revision)

    def tell(self, told: Told) -> None:
        """Add an event that the unit was told."""
        self.stream.append(told)
        if told.kind is EventKind.START:
            self.started = min(self.started, told.revision)
        elif told.kind is EventKind.RELATION_CREATED:
            self._entered.setdefault(told.relation, told.revision)
        elif told.kind is EventKind.RELATION_BROKEN:
            self._broke.setdefault(told.relation, told.revision)

    def take_task(self, record: TaskRecord) -> None:
        """Add a record of a task; a task that ended before it began is left out."""
        if record.state is TaskState.RUNNING and record.change == "TASK_STARTED":
            self.tasks.append(Ran(record))
        elif record.state.is_final:
            for index, ran in enumerate(self.tasks):
                if ran.record.resource_id == record.resource_id and ran.ended == NEVER:
                    is_done = record.state is TaskState.SUCCEEDED
                    self.tasks[index] = replace(ran, ended=record.revision, has_succeeded=is_done)

    def entered(self, number: int) -> int:
        """Return the revision at which the unit became a member of a relation, or NEVER."""
        return self._entered.get(number, NEVER)

    def broke(self, number: int) -> int:
        """Return the revision at which the unit had broken a relation, or NEVER."""
        return self._broke.get(number, NEVER)

    def relations(self) -> list[int]:
        """Return the numbers of the relations that the unit was a member of."""
        return sorted(self._entered)

    def first(self, kind: EventKind) -> Told | None:
        """Return the first event of a kind that the unit was told."""
        return next((told for told in self.stream if told.kind is kind), None)

    def horizon(self, revision: int) -> int:
        """Return a revision such that a grant at `revision` certainly saw everything up to it.

        The grant may be in one transaction with the end of the event before it. So it certainly saw what came before
        the last record of that earlier event.
        """
        index = bisect.bisect_left(self.events, revision, key=_REVISION)
        while index and self.events[index - 1].state.is_final:
            index -= 1
        return self.events[index - 1].revision if index else self.records[0].revision


@dataclass(slots=True)
class ApplicationHistory:
    """An application's life."""

    name: str
    records: list[ApplicationRecord] = field(default_factory=list)
    units: dict[str, UnitHistory] = field(default_factory=dict)

    @property
    def profile(self) -> Profile:
        return self.records[0].profile

    @property
    def is_literal(self) -> bool:
        return self.profile is Profile.LITERAL

    def at(self, revision: int) -> ApplicationRecord:
        """Return the application as it was at a revision."""
        return at(self.records, revision) or self.records[0]


@dataclass(slots=True)
class RelationHistory:
    """A relation's life, with the versions of its bags by their owners."""

    number: int
    records: list[RelationRecord] = field(default_factory=list)
    bags: dict[str, list[BagRecord]] = field(default_factory=dict)

    @property
    def is_peer(self) -> bool:
        return self.records[0].is_peer

    @property
    def created(self) -> int:
        return self.records[0].revision

    @property
    def dying(self) -> int:
        return first_dying(self.records)

    @property
    def deleted(self) -> int:
        return deleted(self.records)

    def endpoint(self, application: str) -> str:
        """Return the endpoint of an application, or "" if the application is not in the relation."""
        return next((endpoint for name, endpoint in self.records[0].ends if name == application), "")

    def version(self, owner: str) -> int:
        """Return the last version of an owner's bag."""
        bag = self.bags.get(owner)
        return bag[-1].version if bag else 0


@dataclass(slots=True)
class History:
    """The whole history of a namespace. `is_at_rest`: at its end no event was due, and every agent was alive."""

    is_at_rest: bool = False
    units: list[UnitHistory] = field(default_factory=list)
    applications: list[ApplicationHistory] = field(default_factory=list)
    relations: dict[int, RelationHistory] = field(default_factory=dict)
    storage: dict[str, list[StorageRecord]] = field(default_factory=dict)
    secrets: dict[str, list[SecretRecord]] = field(default_factory=dict)

    def members(self, number: int) -> Iterator[UnitHistory]:
        """Yield the units that were ever members of a relation."""
        return (unit for unit in self.units if unit.entered(number) < NEVER)

    def unit(self, name: str, number: int) -> UnitHistory | None:
        """Return the unit of this name that was told of the relation, or None."""
        found = [unit for unit in self.units if unit.name == name]
        return next((unit for unit in found if unit.entered(number) < NEVER), found[-1] if found else None)


class Gatherer:
    """Collects the records of one namespace. Resources that were created before the first record are left out."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._applications: dict[str, ApplicationHistory] = {}
        self._units: dict[tuple[str, str], UnitHistory] = {}
        self._relations: dict[str, RelationHistory] = {}
        self._first_granted: dict[str, int] = {}
        self._granted: dict[str, int] = {}
        self._history = History()

    def gather(self, records: Iterable[Record], *, is_at_rest: bool = False) -> History:
        """Return the history of records, which are in the order of the log."""
        for record in records:
            self._take(record)
        self._history.is_at_rest = is_at_rest
        return self._history

    def _take(self, record: Record) -> None:
        match record:
            case ApplicationRecord():
                self._take_application(record)
            case UnitRecord():
                self._take_unit(record)
            case RelationRecord():
                self._take_relation(record)
            case EventRecord() | TaskRecord():
                self._take_work(record)
            case BagRecord():
                if relation := self._relations.get(record.resource_id):
                    relation.bags.setdefault(record.owner, []).append(record)
            case StorageRecord() | SecretRecord():
                self._take_thing(record)

    def _take_work(self, record: EventRecord | TaskRecord) -> None:
        unit = self._units.get((record.parent_id, record.unit))
        if unit is None:
            return
        if isinstance(record, EventRecord):
            self._take_event(unit, record)
        else:
            unit.take_task(record)

    def _take_thing(self, record: StorageRecord | SecretRecord) -> None:
        if record.namespace != self._namespace:
            return
        if isinstance(record, StorageRecord):
            self._history.storage.setdefault(record.name, []).append(record)
        elif record.change == "CREATED" or record.name in self._history.secrets:
            self._history.secrets.setdefault(record.name, []).append(record)

    def _take_application(self, record: ApplicationRecord) -> None:
        if record.namespace != self._namespace:
            return
        if record.change == "CREATED":
            application = ApplicationHistory(record.name)
            self._applications[record.resource_id] = application
            self._history.applications.append(application)
        if known := self._applications.get(record.resource_id):
            known.records.append(record)

    def _take_unit(self, record: UnitRecord) -> None:
        application = self._applications.get(record.parent_id)
        if application is None:
            return
        key = (record.parent_id, record.name)
        if record.change == "CREATED":
            self._units[key] = application.units[record.name] = UnitHistory(record.name, application)
            self._history.units.append(self._units[key])
        if unit := self._units.get(key):
            unit.take(record)

    def _take_relation(self, record: RelationRecord) -> None:
        if record.namespace != self._namespace:
            return
        if record.change == "CREATED":
            relation = RelationHistory(record.number)
            self._relations[record.resource_id] = self._history.relations[record.number] = relation
        if known := self._relations.get(record.resource_id):
            known.records.append(record)

    def _take_event(self, unit: UnitHistory, record: EventRecord) -> None:
        unit.events.append(record)
        id_ = record.resource_id
        if record.state is EventState.RUNNING:
            self._first_granted.setdefault(id_, record.revision)
            self._granted[id_] = record.revision
        elif record.state in (EventState.COMMITTED, EventState.SKIPPED):
            first = self._first_granted.get(id_, record.revision)
            is_forced = _is_forced(unit.stream[-2:], record)
            unit.tell(Told(record, first, self._granted.get(id_, record.revision), is_forced))


def _is_forced(before: Sequence[Told], record: EventRecord) -> bool:
    """Return whether an event is the second of a pair or a chain, given the events `before` it."""
    if not before:
        return False
    last = before[-1]
    match record.kind:
        case EventKind.RELATION_CHANGED if last.kind is EventKind.RELATION_JOINED:
            return (last.relation, last.remote) == (record.relation, record.remote)
        case EventKind.CONFIG_CHANGED:
            return last.kind is EventKind.UPGRADE_CHARM
        case EventKind.START:
            return last.kind is EventKind.CONFIG_CHANGED and last.is_forced
        case _:
            return False
