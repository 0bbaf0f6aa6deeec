"""Whether a charm of ops has lost an event, or heard one twice: its file, its unit's state and the log must agree.

The charm counts each dispatch in what ops stores for it, and says so in its unit's state. Both land with the event. So
a unit that is at rest has counted as many as the log says that it has committed, tasks that have succeeded among them.
"""

import asyncio
import contextlib
import pickle
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from support.chaos.worker import Site
from support.history.record import Violation
from tinkwell.client import Event
from tinkwell.core.event.kinds import EventType
from tinkwell.provisioner.unit.state import state_file

_UNITS = """
SELECT
    unit.id::text,
    unit.application_id::text AS application,
    unit.name,
    (unit_state.data ->> 'count')::bigint AS count
FROM unit
JOIN application ON application.id = unit.application_id
JOIN charm ON charm.digest = application.charm
LEFT JOIN unit_state ON unit_state.unit_id = unit.id
WHERE charm.kind = 'OPS' AND application.namespace = $1
"""
_STORED = "SELECT data FROM snapshot WHERE handle LIKE '%/StoredStateData[_stored]'"


@dataclass(frozen=True, slots=True)
class Counted:
    """How many units of charms of ops were looked at, how many dispatches those have counted, and what disagrees."""

    units: int
    dispatches: int
    violations: Sequence[Violation]


async def judge(url: str, sites: Sequence[Site], events: Sequence[Event], namespace: str) -> Counted:
    """Judge the units of charms of ops that are there, all of which are at rest."""
    connection = await asyncpg.connect(url, timeout=10, command_timeout=60)
    try:
        units = await connection.fetch(_UNITS, namespace or "default")
    finally:
        await connection.close(timeout=10)
    told, found = Counter(filter(None, map(_unit, events))), []
    dispatches = 0
    for unit_id, application, name, count in units:
        said = told[application, name]
        stored = await asyncio.to_thread(_stored, sites, unit_id)
        dispatches += said
        if not stored == (count or 0) == said:
            text = f"the log has {said} that were committed, its unit's state {count}, and its file {stored}"
            found.append(Violation("counted", name, text))
    return Counted(len(units), dispatches, found)


def _unit(event: Event) -> tuple[str, str] | None:
    """Return the application's id and the unit's name of what a charm was dispatched for, and was committed."""
    is_event = event.event_type is EventType.UNIT_EVENT_COMMITTED
    # A command has no name, and is not the charm's.
    is_action = event.event_type is EventType.TASK_SUCCEEDED and bool(event.data.get("name"))
    return (event.parent_id, str(event.data["unit"])) if is_event or is_action else None


def _stored(sites: Sequence[Site], unit_id: str) -> int:
    """Return what the file of a unit has; 0 where there is none."""
    for path in _files(sites, unit_id):
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            for (data,) in database.execute(_STORED):
                return int(pickle.loads(data)["count"])
    return 0


def _files(sites: Sequence[Site], unit_id: str) -> Iterator[Path]:
    for site in sites:
        path = site.state_dir / "units/units" / unit_id / "charm" / state_file.NAME
        if path.is_file():
            yield path
