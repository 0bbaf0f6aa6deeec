"""The entries that Watch shows of a world: one for each change, with the server's data shapes.

Entries never contain bags, configurations, states, contents of secrets, or parameters and results of tasks.
"""

from collections.abc import Iterable

from tinkwell.core.unit import name
from tinkwell.core.unit.kinds import EventState, TaskState
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.world.state import Application, LogEntry, Relation, Running, Secret, State, Storage, Task, Unit
from tinkwell.core.value.document import JsonObject

CREATED, UPDATED, DELETED = "CREATED", "UPDATED", "DELETED"
_STATES = {EventState.RUNNING: "STARTED", EventState.ERROR: "FAILED"}


def write_application(state: State, application: Application, change: str = UPDATED) -> None:
    """Write an entry about an application."""
    data: JsonObject = {
        "id": application.id,
        "namespace": state.namespace,
        "name": application.name,
        "life": application.life,
        "charm": application.charm.digest,
        "charm_name": application.charm.name,
        "kind": application.charm.kind,
        "profile": application.profile,
        "config_version": application.config_version,
        "leader": application.leader,
        "term": application.term,
        "announced_term": application.announced_term,
    }
    _write(state, "APPLICATION", change, application.id, "", data)


def write_unit(state: State, unit: Unit, change: str = UPDATED) -> None:
    """Write an entry about a unit; if only its status changed, the type is UNIT_STATUS_CHANGED."""
    application = state.applications[unit.application]
    data: JsonObject = {
        "id": unit.id,
        "application_id": application.id,
        "namespace": state.namespace,
        "name": unit.name,
        "number": int(unit.name.rpartition("/")[2]),
        "life": unit.life,
        "phase": unit.phase,
        "machine": unit.machine,
        "storage": [storage.name for storage in state.storages_of(unit.name)],
        "status": {"name": unit.status[0], "message": unit.status[1]},
        "workload_version": unit.workload_version,
        "forced": unit.is_forced,
    }
    _write(state, "UNIT", change, unit.id, application.id, data)


def write_relation(state: State, relation: Relation, change: str = UPDATED) -> None:
    """Write an entry about a relation."""
    _write(state, "RELATION", change, relation.id, "", _relation(state, relation))


def write_bag(state: State, relation: Relation, owner: str, keys: Iterable[str]) -> None:
    """Write an entry about a bag, with the keys that have changed."""
    data = _relation(state, relation)
    data |= {"owner": owner, "version": relation.version(owner), "keys": [*sorted(keys)]}
    _write(state, "RELATION", "RELATION_CHANGED", relation.id, "", data)


def write_storage(state: State, storage: Storage, change: str = UPDATED) -> None:
    """Write an entry about a storage."""
    data: JsonObject = {
        "id": storage.id,
        "namespace": state.namespace,
        "name": storage.name,
        "kind": storage.kind,
        "unit": storage.unit,
        "machine": storage.machine,
        "life": storage.life,
        "attached": storage.is_attached,
    }
    application = state.applications.get(storage.application)
    _write(state, "STORAGE", change, storage.id, application.id if application else "", data)


def write_secret(state: State, secret: Secret, change: str = UPDATED) -> None:
    """Write an entry about a secret, without its content."""
    application = state.applications.get(name.application_of(secret.owner) or secret.owner)
    grants = sorted(secret.grants, key=lambda each: (each.relation, each.application, each.unit))
    data: JsonObject = {
        "id": secret.id,
        "application_id": application.id if application else "",
        "namespace": state.namespace,
        "name": secret.name,
        "owner": secret.owner,
        "label": secret.label,
        "description": secret.description,
        "rotation": secret.rotation,
        "latest": secret.latest,
        "grants": [{"relation": each.relation, "application": each.application, "unit": each.unit} for each in grants],
    }
    _write(state, "SECRET", change, secret.id, application.id if application else "", data)


def write_task(state: State, task: Task, change: str = "") -> None:
    """Write an entry about a task in its current state, without its parameters and result."""
    unit = state.units[task.unit]
    application = state.applications[unit.application]
    data: JsonObject = {
        "id": task.id,
        "application_id": application.id,
        "unit_id": unit.id,
        "namespace": state.namespace,
        "unit": task.unit,
        "kind": task.kind,
        "name": task.name,
        "state": task.state,
        "message": task.message,
        "timeout_seconds": task.timeout_seconds,
        "actor": task.actor,
        "cancelled": task.is_cancelled,
    }
    what = "STARTED" if task.state is TaskState.RUNNING else task.state
    _write(state, "TASK", change or f"TASK_{what}", task.id, application.id, data)


def write_event(state: State, unit: Unit, running: Running) -> None:
    """Write an entry about a unit event in its current state."""
    application = state.applications[unit.application]
    event = running.event
    data: JsonObject = {
        "id": running.id,
        "application_id": application.id,
        "unit_id": unit.id,
        "namespace": state.namespace,
        "unit": unit.name,
        "kind": event.kind,
        "ordinal": running.ordinal,
        "attempt": running.attempt,
        "state": running.state,
        "phase": running.phase,
        "relation": _event_relation(state, event) if event.relation else None,
        "storage": event.storage,
        "secret": {"id": event.secret, "revision": event.revision} if event.secret else None,
        "mirrored": event.is_mirrored,
        "echo": event.is_echo,
        "seen": {
            "config": event.seen.config,
            "charm": event.seen.charm,
            "term": event.seen.term,
            "bag": event.seen.bag,
        },
        "reason": running.reason or "",
        "leaving": running.leaving or "",
        "actor": running.actor,
        "message": running.message,
        "deferred": running.deferred,
        "consumed": running.consumed,
    }
    what = _STATES.get(running.state, running.state)
    _write(state, "UNIT_EVENT", f"UNIT_EVENT_{what}", running.id, application.id, data)


def _event_relation(state: State, event: UnitEvent) -> JsonObject:
    relation = state.relations.get(event.relation)
    return {
        "number": event.relation,
        "endpoint": event.endpoint,
        "peer": relation is not None and relation.is_peer,
        "application": event.application,
        "unit": event.unit,
        "departing_unit": event.departing_unit,
    }


def _relation(state: State, relation: Relation) -> JsonObject:
    return {
        "id": relation.id,
        "number": relation.number,
        "namespace": state.namespace,
        "interface": relation.interface,
        "peer": relation.is_peer,
        "life": relation.life,
        "ends": [{"application": one, "endpoint": endpoint} for one, endpoint in relation.ends.items()],
    }


def _write(state: State, resource: str, change: str, id_: str, parent: str, data: JsonObject) -> None:
    state.log.append(LogEntry(len(state.log) + 1, resource, change, id_, parent, data))
