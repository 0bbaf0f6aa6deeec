"""The resources of the fake server. Each change of one is an event."""

import dataclasses
import fnmatch
from collections.abc import Iterator
from typing import Any, TypeVar

from tinkwell.client.event.model import Position
from tinkwell.client.hardware.model import Hardware
from tinkwell.client.release.model import Chart, LifecycleRun, Node, Operation, Release, Step
from tinkwell.client.template.model import Template
from tinkwell.client.testing.lease import Ledger
from tinkwell.client.testing.log import EventLog
from tinkwell.client.testing.release.book import ReleaseBook
from tinkwell.client.testing.unit.book import UnitBook
from tinkwell.client.unit import model as unit_model
from tinkwell.client.unit.event import UnitEvent
from tinkwell.client.value import shaped
from tinkwell.client.watch.event import Event
from tinkwell.client.workflow.model import Action, ActionStatus, LogLine, Workflow
from tinkwell.core import errors
from tinkwell.core.event.kinds import EventType, ResourceType, State
from tinkwell.core.release.kinds import NodeState, ReleaseState
from tinkwell.core.value import parse

_Unit = (
    unit_model.Namespace
    | unit_model.Charm
    | unit_model.Application
    | unit_model.Unit
    | UnitEvent
    | unit_model.Relation
    | unit_model.Storage
)
Resource = Hardware | Template | Workflow | Action | Chart | Release | Operation | Node | Step | LifecycleRun | _Unit
R = TypeVar("R", bound=Resource)

_STATE_WORD = {State.RUNNING: "STARTED", State.PENDING: "RETRYING"}
_STATE_WORD_OF_NODE = {NodeState.INSTALLING: "STARTED", NodeState.REMOVING: "STARTED"}
_TOLD_OF_RELEASE = (ReleaseState.DEPLOYED, ReleaseState.FAILED, ReleaseState.UNINSTALLED)
_STATELESS = Hardware | Template | Chart | LifecycleRun | _Unit
# Resources of these kinds are removed when they are deleted, and not only marked.
_PARTS = Action | Chart | Operation | Node | Step | LifecycleRun | _Unit
# The fields that events do not have.
_UNTOLD: dict[type, tuple[str, ...]] = {
    Chart: ("metadata", "warnings"),
    Operation: ("options",),
    Node: ("after", "steps"),
    Step: ("args",),
    unit_model.Charm: ("profile", "endpoints", "storages", "options", "warnings"),
}


class World:
    """All data of the fake server. `put` and `remove` change resources like the API; `emit` only records an event."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.clock = log.clock
        self.resources: dict[ResourceType, dict[str, Any]] = {kind: {} for kind in ResourceType}
        self.journal: list[ActionStatus] = []
        self.lines: dict[str, list[LogLine]] = {}
        self.documents: dict[str, list[tuple[bytes, bytes]]] = {}
        self.positions: dict[str, Position] = {}
        self.ledger = Ledger()
        self.releases = ReleaseBook()
        self.units = UnitBook()
        self.lease_seconds = 30.0
        # Also of deleted resources: a resource that is created again continues the count.
        self._versions: dict[str, int] = {}

    def put(self, resource: R, *, actor: str = "test", event_type: EventType | None = None) -> R:
        """Create or replace a resource. Returns it with its new version and times.

        Without `event_type`, the type of the event follows from the change.
        """
        old: R | None = self.resources[shaped.type_of(type(resource))].get(resource.id)
        new = self.keep(resource)
        self._record(new, event_type or _change_type(old, new), actor)
        return new

    def keep(self, resource: R) -> R:
        """Do the same as `put`, without an event."""
        known = self.resources[shaped.type_of(type(resource))]
        old: R | None = known.get(resource.id)
        now = self.clock.now()
        version = self._versions[resource.id] = self._versions.get(resource.id, 0) + 1
        created_at = old.created_at if old is not None else resource.created_at or now
        new = dataclasses.replace(resource, version=version, created_at=created_at, updated_at=now)
        known[resource.id] = new
        return new

    def remove(self, resource: R, *, actor: str = "test") -> Event:
        """Delete a resource."""
        old = self.find(type(resource), resource.id)
        del self.resources[shaped.type_of(type(resource))][resource.id]
        now = self.clock.now()
        version = self._versions[old.id] = self._versions[old.id] + 1
        changes: dict[str, Any] = {"version": version, "updated_at": now}
        if not isinstance(old, _PARTS):
            changes["deleted_at"] = now
        return self._record(dataclasses.replace(old, **changes), EventType.DELETED, actor)

    def forget(self, id_: str) -> None:
        """Forget a deleted resource, as a DELETE by hand does. A new one with its id begins again at version 1."""
        self._versions.pop(id_, None)

    def emit(
        self,
        event_type: EventType,
        resource_type: ResourceType = ResourceType.CUSTOM,
        *,
        name: str = "",
        resource_id: str = "",
        parent_id: str = "",
        version: int = 0,
        data: dict[str, Any] | None = None,
        actor: str = "test",
    ) -> Event:
        """Record an event that changes no resource here."""
        event = Event(
            id=f"00000000-0000-4000-8000-{self.log.tail + 1:012d}",
            revision=0,
            resource_type=resource_type,
            event_type=event_type,
            name=name or _event_name(resource_type, event_type),
            resource_id=resource_id,
            parent_id=parent_id,
            version=version,
            actor=actor,
            data=data or {},
        )
        return self.log.append(event)

    def find(self, kind: type[R], id_: str) -> R:
        """Return a resource. Raises `NotFound`."""
        found: R | None = self.resources[shaped.type_of(kind)].get(id_)
        if found is None:
            raise errors.NotFound(shaped.type_of(kind), id_)
        return found

    def all(self, kind: type[R]) -> list[R]:
        """Return all resources of a kind, oldest first."""
        return list(self.resources[shaped.type_of(kind)].values())

    def hardware_with(self, key: str, value: str) -> Hardware:
        """Find a machine by `mac` or `ip`; raises `NotFound`."""
        for machine in self.all(Hardware):
            if _normal(key, value) in _addresses(machine, key):
                return machine
        raise errors.NotFound("HARDWARE", value)

    def machine_id(self, worker: str) -> str:
        """Return the id of the machine that a template names as worker, by its id or one of its addresses."""
        for machine in self.all(Hardware):
            if worker.lower() == machine.id or any(
                _normal(key, worker) in _addresses(machine, key) for key in ("mac", "ip")
            ):
                return machine.id
        return worker

    def check_addresses(self, machine: Hardware) -> None:
        """Raise `AlreadyExists` if another machine has one of this machine's addresses."""
        for key in ("mac", "ip"):
            for address in _addresses(machine, key):
                for other in self.all(Hardware):
                    if other.id != machine.id and address in _addresses(other, key):
                        raise errors.AlreadyExists(key, address, taken_by=other.id)

    def template(self, id_or_name: str) -> Template:
        """Find a template by its id or name; raises `NotFound`."""
        for template in self.all(Template):
            if id_or_name in (template.id, template.name):
                return template
        raise errors.NotFound("TEMPLATE", id_or_name)

    def templates_like(self, pattern: str) -> list[Template]:
        """Return the templates whose names match a pattern; an empty one matches all."""
        wanted = pattern.lower() or "*"
        return [item for item in self.all(Template) if fnmatch.fnmatchcase(item.name.lower(), wanted)]

    def actions_of(self, workflow_id: str) -> list[Action]:
        """Return the actions of a workflow in order."""
        return sorted((a for a in self.all(Action) if a.workflow_id == workflow_id), key=lambda action: action.index)

    def holder(self, workflow: Workflow) -> Action | None:
        """Return another workflow's action that runs, or has left something, on a machine of this one; None if none."""
        running = {w.id for w in self.all(Workflow) if w.state is State.RUNNING} - {workflow.id}
        machines = {action.worker_id for action in self.actions_of(workflow.id)}
        holders = {machine: (running | self.ledger.busy(machine)) - {workflow.id} for machine in machines}
        found = (a for a in self.all(Action) if a.workflow_id in holders.get(a.worker_id, ()))
        return min(found, key=lambda action: action.worker_id, default=None)

    def _record(self, resource: Resource, event_type: EventType, actor: str) -> Event:
        data = resource.to_json()
        if isinstance(resource, Workflow) and event_type is not EventType.CREATED:
            data.pop("data", None)
        for name in _UNTOLD.get(type(resource), ()):
            data.pop(name, None)
        return self.emit(
            event_type,
            shaped.type_of(type(resource)),
            resource_id=resource.id,
            parent_id=_parent(resource),
            version=resource.version,
            data=data,
            actor=actor,
        )


def _change_type(old: Resource | None, new: Resource) -> EventType:
    if old is None:
        return EventType.CREATED
    if isinstance(new, LifecycleRun):
        return EventType.LIFECYCLE_EMITTED
    if isinstance(new, _STATELESS) or isinstance(old, _STATELESS):
        return EventType.UPDATED
    if old.state != new.state and (not isinstance(new, Release) or new.state in _TOLD_OF_RELEASE):
        return EventType(f"{shaped.type_of(type(new))}_{_word(new)}")
    if isinstance(old, Workflow) and isinstance(new, Workflow) and new.completed_actions > old.completed_actions:
        return EventType.WORKFLOW_INPROGRESS
    return EventType.UPDATED


def _word(resource: Workflow | Action | Release | Operation | Node | Step) -> str:
    match resource:
        case Node():
            return _STATE_WORD_OF_NODE.get(resource.state, resource.state)
        case Release():
            return resource.state
        case _:
            return _STATE_WORD.get(resource.state, resource.state)


def _parent(resource: Resource) -> str:
    match resource:
        case Action():
            return resource.workflow_id
        case Operation() | Node() | Step() | LifecycleRun():
            return resource.release_id
        case _:
            return ""


def _event_name(resource_type: ResourceType, event_type: EventType) -> str:
    return f"{resource_type}.{event_type.removeprefix(f'{resource_type}_')}".lower()


def _addresses(machine: Hardware, key: str) -> Iterator[str]:
    for interface in machine.network.get("interfaces", []):
        dhcp = interface.get("dhcp", {})
        address = dhcp.get("mac", "") if key == "mac" else dhcp.get("ip", {}).get("address", "")
        if address:
            yield _normal(key, address)


def _normal(key: str, address: str) -> str:
    """Return an address in the form in which a server keeps it; a text that is no address stays as it is."""
    try:
        return parse.parse_mac(key, address) if key == "mac" else parse.parse_ip(key, address)
    except errors.InvalidField:
        return address
