"""What the database holds of workflows in the end, and all that is known written down for people."""

import dataclasses
import json
from pathlib import Path

import asyncpg

from support.history.record import Watcher
from support.workflow_history.record import Event, History, Status
from tinkwell.core.event.kinds import EventType, ResourceType, State

_EVENTS = """
    SELECT revision, resource_type, resource_id::text, coalesce(parent_id::text, '') AS parent_id, event_type, version,
           data::text AS data
      FROM events WHERE resource_type IN ('WORKFLOW', 'ACTION') ORDER BY revision
"""
_STATUSES = """
    SELECT workflow_id::text, action_id::text, worker_id::text, state, attempt, exit_code,
           CAST(extract(epoch FROM created_at) AS double precision) AS at
      FROM (TABLE action_status UNION ALL TABLE kept_status) every ORDER BY id
"""
# What is forgotten of the journal is still to be judged.
_KEEP_STATUSES = """
    CREATE TABLE kept_status (LIKE action_status);
    CREATE FUNCTION keep_status() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$
    BEGIN
        INSERT INTO kept_status VALUES (OLD.*);
        RETURN OLD;
    END $$;
    CREATE TRIGGER keep_status BEFORE DELETE ON action_status FOR EACH ROW EXECUTE FUNCTION keep_status();
"""
_REMAINS = ("workflow", "action", "action_status", "log_line", "workflow_data", "machine_hold")
_HOLDS = "SELECT worker_id::text, workflow_id::text, coalesce(action_id::text, 'nothing') FROM machine_hold"


async def keep_statuses(database_url: str) -> None:
    """Have the journal kept from now on, whatever is forgotten."""
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(_KEEP_STATUSES)
    finally:
        await connection.close(timeout=10)


async def read_remains(connection: asyncpg.Connection) -> list[str]:
    """Tell what is there of workflows, all of which were to be forgotten."""
    counts = {name: await connection.fetchval(f"SELECT count(*) FROM {name}") for name in _REMAINS}
    return [f"{count} rows of {name} were not forgotten" for name, count in counts.items() if count]


async def read_events(connection: asyncpg.Connection) -> list[Event]:
    """Read the events about workflows and actions, in the order of the log."""
    return [_event(row, json.loads(row["data"])) for row in await connection.fetch(_EVENTS)]


async def read_statuses(connection: asyncpg.Connection) -> list[Status]:
    """Read the journal of all workflows; within each it is in order."""
    return [
        Status(workflow_id, action_id, worker_id, State(state), attempt, exit_code, at)
        for workflow_id, action_id, worker_id, state, attempt, exit_code, at in await connection.fetch(_STATUSES)
    ]


async def read_holds(connection: asyncpg.Connection) -> list[str]:
    """Tell which machines are held."""
    return [
        f"machine {worker} is held for workflow {workflow}, {action} runs"
        for worker, workflow, action in await connection.fetch(_HOLDS)
    ]


async def count_unfinished(connection: asyncpg.Connection) -> int:
    """Count the workflows that have not ended."""
    return int(await connection.fetchval("SELECT count(*) FROM workflow WHERE state IN ('PENDING', 'RUNNING')"))


def _event(row: asyncpg.Record, data: dict[str, object]) -> Event:
    """Make an event of a row; what its data lacks is as in the record's defaults."""
    said = {
        "index": data.get("index"),
        "worker_id": data.get("worker_id"),
        "attempt": data.get("attempt"),
        "completed": data.get("completed_actions"),
        "total": data.get("total_actions"),
        "blamed": _blamed(data.get("cause")),
    }
    return Event(
        revision=row["revision"],
        resource_type=ResourceType(row["resource_type"]),
        resource_id=row["resource_id"],
        parent_id=row["parent_id"],
        event_type=EventType(row["event_type"]),
        version=row["version"],
        state=State(str(data["state"])),
        **{name: value for name, value in said.items() if value is not None},  # type: ignore[arg-type]  # as SQL has them
    )


def _blamed(cause: object) -> object:
    return cause.get("action_id") if isinstance(cause, dict) else None


def write(history: History, watchers: list[Watcher], path: Path) -> None:
    """Write the records as lines of JSON, and how the watchers' streams went."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        for records in (history.plans, history.events, history.statuses, history.effects):
            for record in records:
                fields = {type(record).__name__: dataclasses.asdict(record)}
                file.write(json.dumps(fields, default=_plain) + "\n")
        for watcher in watchers:
            for stream in watcher.streams:
                fields = {"Stream": {"watcher": watcher.name, "start": str(stream.start), "end": stream.end}}
                file.write(json.dumps(fields) + "\n")


def _plain(value: object) -> object:
    return sorted(value) if isinstance(value, frozenset) else str(value)
