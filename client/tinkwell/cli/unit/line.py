"""Describes units and their events in words."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tinkwell.cli.shell import duration
from tinkwell.cli.unit import machine, option
from tinkwell.core.unit.kinds import CharmKind, EventState, Life
from tinkwell.core.unit.resolver import explanation

if TYPE_CHECKING:
    from tinkwell.client import Application, Client, Relation, Unit, UnitEvent

UNIT_HEADER = ("UNIT", "MACHINE", "PHASE", "EVENT", "STATUS", "MESSAGE")


async def unit_rows(
    client: "Client", units: "list[Unit]", applications: "Iterable[Application]"
) -> list[tuple[str, ...]]:
    """Return a table row for each unit; `applications` are those of the units."""
    machines = await machine.names(client, units)
    kinds = {each.id: each.kind for each in applications}
    return [_unit_row(each, machines, kinds.get(each.application_id)) for each in units]


def about(event: "UnitEvent") -> str:
    """Return an event's name with the unit, application or storage that it is about: `db-relation-joined (pg/0)`."""
    relation = event.relation
    subject = (relation.unit or relation.application) if relation is not None else event.storage
    return f"{event.name} ({subject})" if subject else event.name


def running(event: "UnitEvent | None") -> str:
    """Return the name of the event that runs or has failed, with its attempt from the second on; empty for None."""
    if event is None:
        return ""
    return event.name if event.attempt <= 1 else f"{event.name} (attempt {event.attempt})"


def status(unit: "Unit", kind: CharmKind | None, place: str) -> tuple[str, str]:
    """Return a unit's status and message. If its event has failed, the status is "error", whatever the charm says.

    `kind` is the kind of its charm, None if the application is gone; `place` is the name of its machine.
    """
    event = unit.event
    if event is None or event.state is not EventState.ERROR:
        return unit.status.name, unit.status.message or _hindrance(unit, kind, place)
    why = [event.message or "failed", again(event.retry_at)]
    told = ", ".join(filter(None, why))
    return "error", f"{told}; see tinkwell unit explain {unit.name}"


def _unit_row(unit: "Unit", machines: Mapping[str, str], kind: CharmKind | None) -> tuple[str, ...]:
    place = option.ANYWHERE if unit.anywhere else machines.get(unit.machine, unit.machine)
    name, message = status(unit, kind, place)
    return unit.name, place, unit.phase.lower(), running(unit.event), name, message


def _hindrance(unit: "Unit", kind: CharmKind | None, place: str) -> str:
    """Say what keeps a unit from its events; empty if nothing does."""
    if unit.life is Life.DEAD or kind is None:
        return ""
    found = explanation.hindrance(
        unit.name,
        kind,
        phase=unit.phase,
        machine="" if unit.anywhere else place,
        is_anywhere=unit.anywhere,
        is_agent_alive=unit.has_agent,
        event=f"#{unit.event.ordinal} {about(unit.event)}" if unit.event is not None else "",
    )
    return found.text if found is not None else ""


def again(moment: datetime | None) -> str:
    """Say when a failed event is retried; empty if it is not retried without a user's request."""
    if moment is None:
        return ""
    seconds = (moment - datetime.now(UTC)).total_seconds()
    return f"again in {duration.show(seconds)}" if seconds > 0 else "again soon"


def ago(moment: datetime | None) -> str:
    """Say how long ago a moment was; empty for none."""
    return "" if moment is None else duration.show((datetime.now(UTC) - moment).total_seconds())


def ends(relation: "Relation") -> str:
    """Return both ends of a relation, or the one end of a peer relation."""
    return " ".join(str(end) for end in relation.ends)
