"""The data of applications in the fake server: the core's world of each namespace, and data that a world lacks.

A world is pure. This module keeps the ids that callers chose, times, leases, log lines and packages of charms, and
records each change in the log.
"""

import dataclasses
import uuid
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Protocol

from tinkwell.client.testing.clock import Clock
from tinkwell.client.unit.event import UnitEvent
from tinkwell.client.unit.model import Charm, Namespace, UnitLogLine, UnitStatus
from tinkwell.client.watch.event import Event
from tinkwell.core import errors
from tinkwell.core.charm.record import Manifest
from tinkwell.core.event.kinds import EventType, ResourceType
from tinkwell.core.unit.effect import Notice
from tinkwell.core.unit.kinds import CharmKind, EventState, Leaving, Reason, TaskState
from tinkwell.core.unit.world import LogEntry, Running, World
from tinkwell.core.unit.world import Unit as WorldUnit

DEFAULT_NAMESPACE = "default"
_IDS = uuid.UUID("6b1f1c0e-4f83-4f0e-9d0c-2b4f8a5f7a31")


class Log(Protocol):
    """The log that records changes."""

    clock: Clock

    def emit(
        self,
        event_type: EventType,
        resource_type: ResourceType = ...,
        *,
        resource_id: str = "",
        parent_id: str = "",
        version: int = 0,
        data: dict[str, object] | None = None,
        actor: str = "test",
    ) -> Event:
        """Record an event."""


@dataclasses.dataclass(frozen=True, slots=True)
class StoredCharm:
    """A charm with its package."""

    charm: Charm
    manifest: Manifest
    data: bytes


@dataclasses.dataclass(frozen=True, slots=True)
class Serves:
    """The units that the agent of a lease serves."""

    kinds: frozenset[CharmKind]
    machines: frozenset[str]
    is_anywhere: bool
    charm: str
    namespace: str
    application: str


@dataclasses.dataclass(frozen=True, slots=True)
class Stamp:
    """The version and the times of a resource."""

    version: int
    created_at: datetime
    updated_at: datetime


@dataclasses.dataclass(slots=True)
class Waiting:
    """A deferred notice: the number of attempts of its handler, and the time since it waits."""

    attempts: int
    created_at: datetime


class Room:
    """A namespace: its world, and further data by the names of units and the ids of events."""

    def __init__(self, namespace: str, log: Log, stamps: dict[str, Stamp]) -> None:
        self.namespace = namespace
        # Ids that callers chose, by the kind and name of their resource, such as "unit web/0".
        self.chosen: dict[str, str] = {}
        self.world = World(namespace=namespace, make_id=self._make_id, clock=self.now)
        self.next_task = 1
        # The log lines of tasks, by the ids of tasks and the numbers of lines.
        self.task_lines: dict[str, dict[int, str]] = {}
        self.anywhere: set[str] = set()
        self.holders: dict[str, str] = {}
        self.tokens: dict[str, int] = {}
        self.answers: dict[tuple[str, int], object] = {}
        self.retry_at: dict[str, datetime | None] = {}
        self.tick_at: dict[str, datetime] = {}
        # The times at which units and applications that are being removed are removed by force.
        self.force_at: dict[str, datetime] = {}
        self.lines: list[UnitLogLine] = []
        self.statuses: dict[str, UnitStatus] = {}
        self.notices: dict[tuple[str, Notice], Waiting] = {}
        # All known events of each unit, by the unit's name and the event's ordinal.
        self.events: dict[str, dict[int, Running]] = {}
        self.started: dict[str, datetime] = {}
        self.finished: dict[str, datetime] = {}
        self._log = log
        self._stamps = stamps
        self._told = 0

    def stamp(self, id_: str) -> Stamp:
        """Return the version and the times of a resource."""
        return self._stamps[id_]

    def tell(self, actor: str = "test") -> None:
        """Record in the log all changes since the last call."""
        entries = self.world.records()[self._told :]
        self._told += len(entries)
        for entry in entries:
            self._tell(entry, actor)

    def end_due(self) -> None:
        """Remove by force all units and applications whose time for the teardown is over."""
        for name in [each for each, at in self.force_at.items() if at <= self.now()]:
            del self.force_at[name]
            if name in self.world.applications:
                self.world.remove_application(name, is_forced=True, actor="test")
            elif name in self.world.living():
                self.world.remove_unit(name, is_forced=True, actor="test")
        self.tell()

    def retry_now(self, unit: str) -> None:
        """Let the failed event of a unit be retried at once."""
        running, now = self.unit(unit).running, self.now()
        assert running is not None
        self.retry_at[unit] = now
        stamp = self._stamps[running.id]
        self._stamps[running.id] = dataclasses.replace(stamp, version=stamp.version + 1, updated_at=now)

    def unit_of(self, unit_id: str) -> WorldUnit | None:
        """Return a unit by its id; None if it is gone."""
        return next((unit for unit in self.world.units.values() if unit.id == unit_id and unit.life != "DEAD"), None)

    def unit(self, name: str) -> WorldUnit:
        """Return a unit by its name. Raises `errors.NotFound`."""
        found = self.world.units.get(name)
        if found is None or found.life == "DEAD":
            raise errors.NotFound(ResourceType.UNIT, name)
        return found

    def now(self) -> datetime:
        """Return the server's time."""
        return self._log.clock.now()

    def _tell(self, entry: LogEntry, actor: str) -> None:
        now = self.now()
        former = self._stamps.get(entry.resource_id)
        stamp = Stamp(former.version + 1 if former else 1, former.created_at if former else now, now)
        self._stamps[entry.resource_id] = stamp
        data: dict[str, object] = {"version": stamp.version, **entry.data}
        data |= {"created_at": _time(stamp.created_at), "updated_at": _time(now)}
        if entry.resource_type == "TASK":
            data |= self._times(entry, now)
        if entry.resource_type == "UNIT_EVENT":
            data |= self._times(entry, now)
            event = UnitEvent.from_json(data)
            self.events.setdefault(event.unit, {})[event.ordinal] = _running(event)
        self._log.emit(
            EventType(entry.event_type),
            ResourceType(entry.resource_type),
            resource_id=entry.resource_id,
            parent_id=entry.parent_id,
            version=stamp.version,
            data=data,
            actor=actor,
        )

    def _times(self, entry: LogEntry, now: datetime) -> Mapping[str, object]:
        if entry.data["state"] == TaskState.PENDING:
            return {}
        if entry.data["state"] == EventState.RUNNING:
            self.started[entry.resource_id] = now
            return {"started_at": _time(now)}
        self.finished[entry.resource_id] = now
        return {"started_at": _time(self.started.get(entry.resource_id, now)), "finished_at": _time(now)}

    def _make_id(self, what: str) -> str:
        chosen = self.chosen.pop(what.partition("#")[0], "")
        return chosen or str(uuid.uuid5(_IDS, f"{self.namespace} {what}"))


class UnitBook:
    """All namespaces, all charms, and the units that agents serve."""

    def __init__(self) -> None:
        self.charms: dict[str, StoredCharm] = {}
        self.namespaces: dict[str, Namespace] = {}
        self.rooms: dict[str, Room] = {}
        self.agents: dict[str, Serves] = {}
        self.stamps: dict[str, Stamp] = {}

    def room(self, namespace: str) -> Room:
        """Return a namespace. Raises `errors.NotFound`."""
        found = self.rooms.get(namespace or DEFAULT_NAMESPACE)
        if found is None:
            raise errors.NotFound(ResourceType.NAMESPACE, namespace or DEFAULT_NAMESPACE)
        found.end_due()
        return found

    def all_rooms(self, namespace: str = "") -> list[Room]:
        """Return all namespaces by name, or only the named one."""
        return [self.room(name) for name in sorted(self.rooms) if namespace in ("", name)]

    def find(self, matches: Callable[[WorldUnit], bool]) -> tuple[Room, WorldUnit] | None:
        """Return the first matching unit that is not DEAD, with its namespace; None if there is none."""
        for room in self.all_rooms():
            for unit in room.world.units.values():
                if unit.life != "DEAD" and matches(unit):
                    return room, unit
        return None

    def check_free(self, machines: Iterable[str], *, advice: str) -> None:
        """Raise `errors.MachineHasUnits` if units are on one of the machines."""
        for machine in sorted(machines):
            units = [
                unit.name
                for room in self.rooms.values()
                for unit in room.world.units.values()
                if unit.machine == machine and unit.life != "DEAD"
            ]
            if units:
                raise errors.MachineHasUnits(machine, units=units, advice=advice)

    def charm(self, digest: str) -> StoredCharm:
        """Return a charm. Raises `errors.NotFound`."""
        if digest not in self.charms:
            raise errors.NotFound(ResourceType.CHARM, digest)
        return self.charms[digest]


def _running(source: UnitEvent) -> Running:
    return Running(
        id=source.id,
        unit=source.unit,
        event=source.told,
        ordinal=source.ordinal,
        phase=source.phase,
        attempt=source.attempt,
        state=source.state,
        message=source.message,
        reason=Reason(source.reason) if source.reason else None,
        leaving=Leaving(source.leaving) if source.leaving else None,
        actor=source.actor,
        deferred=source.deferred,
        consumed=source.consumed,
    )


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
