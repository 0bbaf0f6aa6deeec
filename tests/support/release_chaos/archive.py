"""What the database holds of releases in the end, and all that is known written down for people."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import asyncpg

from support.history.record import Watcher
from support.release_history.record import Emission, Event, History, Hold, Node, Step
from tinkwell.core.event.kinds import EventType, ResourceType, State
from tinkwell.core.release.kinds import NodeState, NodeTask, OperationKind, PlanKind, StepKind
from tinkwell.core.release.lifecycle_event.run import Outcome
from tinkwell.core.release.plan import Plan

_EVENTS = """
    SELECT revision, resource_type, resource_id::text, coalesce(parent_id, resource_id)::text AS release_id, event_type,
           version, CAST(extract(epoch FROM created_at) AS double precision) AS at, data::text AS data
      FROM events WHERE resource_type IN ('RELEASE', 'OPERATION', 'NODE', 'STEP') ORDER BY revision
"""
_NODES = "SELECT id, operation_id::text, path, task, state, message FROM node ORDER BY operation_id, ordinal"
_STEPS = "SELECT id::text, node_id, ordinal, kind, state, message FROM step ORDER BY node_id, ordinal"
_PLANS = "SELECT id::text, plan::text FROM operation WHERE plan IS NOT NULL"
# Who has an operation is known only as long as that one has it.
_NOTE_HOLDS = """
    CREATE TABLE chaos_hold (
        id bigint GENERATED ALWAYS AS IDENTITY, operation_id uuid, instance text, at timestamptz
    );
    CREATE FUNCTION note_hold() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
        IF TG_OP = 'INSERT' OR NEW.lease_id IS DISTINCT FROM OLD.lease_id THEN
            INSERT INTO chaos_hold (operation_id, instance, at)
            SELECT NEW.id, split_part(engine, ':', 1), clock_timestamp() FROM lease WHERE id = NEW.lease_id;
        END IF;
        RETURN NULL;
    END $$;
    CREATE TRIGGER note_hold AFTER INSERT OR UPDATE ON operation FOR EACH ROW EXECUTE FUNCTION note_hold();
"""
_HOLDS = """
    SELECT operation_id::text, instance, CAST(extract(epoch FROM at) AS double precision) FROM chaos_hold ORDER BY id
"""
_EMISSIONS = """
    SELECT revision, version, data->>'operation_id' AS operation_id, data->>'event' AS event, data->>'chart' AS chart,
           data->>'outcome' AS outcome, data->>'message' AS message
      FROM events WHERE resource_type = 'LIFECYCLE' ORDER BY revision
"""
_KINDS = "SELECT id::text, kind FROM operation"
_UNSETTLED = """
    SELECT format('operation %s is held', id) FROM operation
     WHERE state NOT IN ('PENDING', 'RUNNING') AND lease_id IS NOT NULL
     UNION ALL
    SELECT format('release %s is %s, and its operation has ended', r.name, r.state)
      FROM release r JOIN operation o ON o.id = r.operation_id
     WHERE o.state NOT IN ('PENDING', 'RUNNING') AND r.state NOT IN ('DEPLOYED', 'FAILED', 'UNINSTALLED')
     UNION ALL
    SELECT format('step %s of %s is %s, and its operation has ended', s.ordinal, s.path, s.state)
      FROM step s JOIN operation o ON o.id = s.operation_id
     WHERE o.state NOT IN ('PENDING', 'RUNNING') AND s.state IN ('PENDING', 'RUNNING')
"""


async def read_events(connection: asyncpg.Connection) -> list[Event]:
    """Read the events about releases, in the order of the log."""
    return [_event(row, json.loads(row["data"])) for row in await connection.fetch(_EVENTS)]


async def read_nodes(connection: asyncpg.Connection) -> list[Node]:
    """Read the nodes of all operations with their steps, in the order of the plans."""
    steps: dict[object, list[Step]] = {}
    for id_, node_id, ordinal, kind, state, message in await connection.fetch(_STEPS):
        step = Step(id=id_, ordinal=ordinal, kind=StepKind(kind), state=State(state), message=message)
        steps.setdefault(node_id, []).append(step)
    after: dict[tuple[str, str], tuple[str, ...]] = {}
    for operation_id, text in await connection.fetch(_PLANS):
        plan = Plan.load(text)
        real = {node.path for node in plan.real}
        # Gates and barriers have no state, and charts come after what is in them only in the end.
        for node in plan.real:
            named = () if node.kind is PlanKind.CHART else node.after
            after[operation_id, node.path] = tuple(path for path in named if path in real)
    return [
        Node(
            id=str(id_),
            operation_id=operation_id,
            path=path,
            task=NodeTask(task),
            state=NodeState(state),
            message=message,
            after=after[operation_id, path],
            steps=tuple(steps.get(id_, ())),
        )
        for id_, operation_id, path, task, state, message in await connection.fetch(_NODES)
    ]


async def note_holds(connection: asyncpg.Connection) -> None:
    """Have it written down from now on who takes operations."""
    await connection.execute(_NOTE_HOLDS)


async def read_holds(connection: asyncpg.Connection, engines: Mapping[str, str]) -> list[Hold]:
    """Read who has taken operations; `engines` has the names of engines by the ids of their state directories."""
    return [Hold(operation_id, engines[instance], at) for operation_id, instance, at in await connection.fetch(_HOLDS)]


async def read_emissions(connection: asyncpg.Connection) -> list[Emission]:
    """Read what was emitted in the life of charts, in the order of the log."""
    return [Emission(**dict(row) | {"outcome": Outcome(row["outcome"])}) for row in await connection.fetch(_EMISSIONS)]


async def read_kinds(connection: asyncpg.Connection) -> dict[str, OperationKind]:
    """Read what operations do."""
    return {id_: OperationKind(kind) for id_, kind in await connection.fetch(_KINDS)}


async def read_unsettled(connection: asyncpg.Connection) -> list[str]:
    """Tell what operations that have ended have left as it should not be."""
    return [str(text) for (text,) in await connection.fetch(_UNSETTLED)]


async def count_unfinished(connection: asyncpg.Connection) -> int:
    """Count the operations that have not ended."""
    return int(await connection.fetchval("SELECT count(*) FROM operation WHERE state IN ('PENDING', 'RUNNING')"))


def _event(row: asyncpg.Record, data: dict[str, Any]) -> Event:
    """Make an event of a row; what its data lacks is as in the record's defaults."""
    cause = data.get("cause") or {}
    said: dict[str, Any] = {
        "operation_id": data.get("operation_id"),
        "path": data.get("path"),
        "task": NodeTask(data["task"]) if "task" in data else None,
        "kind": StepKind(data["kind"]) if row["resource_type"] == ResourceType.STEP else None,
        "attempt": data.get("attempt"),
        "exit_code": data.get("exit_code"),
        "message": data.get("message"),
        "reason": cause.get("reason"),
        "culprit": cause.get("path"),
    }
    return Event(
        revision=row["revision"],
        at=row["at"],
        resource_type=ResourceType(row["resource_type"]),
        resource_id=row["resource_id"],
        release_id=row["release_id"],
        event_type=EventType(row["event_type"]),
        version=row["version"],
        state=data["state"],
        **{name: value for name, value in said.items() if value is not None},
    )


def write(history: History, watchers: list[Watcher], path: Path) -> None:
    """Write the records as lines of JSON, and how the watchers' streams went."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        known = (history.plans, history.events, history.nodes, history.effects, history.holds, history.emissions)
        for records in known:
            for record in records:
                fields = {type(record).__name__: dataclasses.asdict(record)}
                file.write(json.dumps(fields, default=_plain) + "\n")
        rest = {
            "accepting": sorted(history.accepting),
            "wanted": history.wanted,
            "found": history.found,
            "leftovers": history.leftovers,
        }
        file.write(json.dumps(rest) + "\n")
        for watcher in watchers:
            for stream in watcher.streams:
                fields = {"Stream": {"watcher": watcher.name, "start": str(stream.start), "end": stream.end}}
                file.write(json.dumps(fields) + "\n")


def _plain(value: object) -> object:
    return sorted(value) if isinstance(value, frozenset) else str(value)
