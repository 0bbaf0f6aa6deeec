"""Describes units as `status` shows them: the statuses of charms, and what agents do, in Juju's words."""

from typing import TYPE_CHECKING, Any

from tinkwell.core.unit.kinds import CharmKind, EventState, Life, Phase
from tinkwell.core.unit.resolver import explanation
from tinkwell.juju.shell import controller, machine, moment
from tinkwell.juju.status.snapshot import Snapshot

if TYPE_CHECKING:
    from tinkwell.client import OpenPort, Unit, UnitEvent

Status = dict[str, Any]

# The statuses of a unit whose charm has set none.
_UNSAID = ("unknown", "waiting")


def describe(unit: "Unit", kind: CharmKind, snapshot: Snapshot) -> Status:
    """Describe a unit as `status` does; `kind` is the kind of its charm."""
    place = snapshot.machine_of(unit.machine) if unit.machine else ""
    found: Status = {"workload-status": workload(unit, kind, place), "juju-status": agent(unit)}
    if unit.leads:
        found["leader"] = True
    if place:
        found["machine"] = place
        addresses = machine.addresses(snapshot.machines[place]) if place in snapshot.machines else []
        found |= {"public-address": addresses[0]} if addresses else {}
    if unit.ports:
        found["open-ports"] = [port(each) for each in unit.ports]
    return found


def workload(unit: "Unit", kind: CharmKind, place: str) -> Status:
    """Describe the status that the charm of a unit has set, or what keeps the unit from its events."""
    name, message = _workload(unit, kind, place)
    return status(name, message, since=moment.juju(unit.updated_at))


def agent(unit: "Unit") -> Status:
    """Describe what the agent of a unit does: it is idle if no event runs and none is due."""
    name, message = _agent(unit)
    found = status(name, message, since=moment.juju(unit.updated_at)) | {"version": controller.VERSION}
    return found | ({"life": unit.life.lower()} if unit.life is not Life.ALIVE else {})


def status(name: str, message: str, *, since: str) -> Status:
    """Build a status, which has no member `message` if the message is empty."""
    return {"current": name} | ({"message": message} if message else {}) | ({"since": since} if since else {})


def port(found: "OpenPort") -> str:
    """Write an open port."""
    return f"{found.number}/{found.protocol}" if found.number else found.protocol


def _workload(unit: "Unit", kind: CharmKind, place: str) -> tuple[str, str]:
    event = unit.event
    if event is not None and event.state is EventState.ERROR:
        return "error", _failed(event)
    if unit.phase is Phase.WAITING:
        return "waiting", _hindrance(unit, kind, place) or "installing agent"
    if not unit.has_agent:
        return "unknown", f"agent lost, see 'tinkwell unit explain {unit.name}'"
    if unit.phase is Phase.SETUP and unit.status.name in _UNSAID and not unit.status.message:
        return "maintenance", "installing charm software"
    return unit.status.name, unit.status.message


def _agent(unit: "Unit") -> tuple[str, str]:
    event = unit.event
    if unit.phase is Phase.WAITING:
        return "allocating", ""
    if not unit.has_agent:
        return "lost", "agent is not communicating with the server"
    if event is not None and event.state is EventState.RUNNING:
        return "executing", f"running {event.name} hook{_subject(event)}"
    if event is not None or unit.settled:
        return "idle", ""
    return "executing", ""


def _failed(event: "UnitEvent") -> str:
    relation = event.relation
    other = f" for {relation.application}:{relation.endpoint}" if relation is not None and relation.application else ""
    return f'hook failed: "{event.name}"{other}'


def _subject(event: "UnitEvent") -> str:
    relation = event.relation
    subject = (relation.unit or relation.application) if relation is not None else event.storage
    return f" for {subject}" if subject else ""


def _hindrance(unit: "Unit", kind: CharmKind, place: str) -> str:
    found = explanation.hindrance(
        unit.name,
        kind,
        phase=unit.phase,
        machine=place,
        is_anywhere=unit.anywhere,
        is_agent_alive=unit.has_agent,
    )
    return found.text if found is not None else ""
