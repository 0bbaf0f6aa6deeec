"""Workflows that are being created, and the one statement that inserts them."""

import dataclasses
import json
from collections.abc import Collection, Sequence

from tinkwell.core.workflow import devices
from tinkwell.server.database import offload
from tinkwell.server.database.database import Fetch

# All or nothing: only while the template is what was rendered, and where each worker is a live machine, without units
# unless that is wanted. Nobody changes the one or deletes the others until the end. PostgreSQL compares the addresses,
# so that it does not matter how either side writes them. Actions are made from the row of their workflow, so that its
# event goes before theirs.
_INSERT = """
    WITH held AS MATERIALIZED (
        SELECT id, name FROM template WHERE id = $2::text::uuid AND version = $3 AND deleted_at IS NULL FOR SHARE
    ), found AS MATERIALIZED (
        SELECT given.place,
               CASE given.kind
                    WHEN 'MAC' THEN (SELECT a.hardware_id FROM hardware_address a WHERE a.mac = given.value::macaddr)
                    WHEN 'IP' THEN (SELECT a.hardware_id FROM hardware_address a WHERE a.ip = given.value::inet)
                    ELSE given.value::uuid
               END AS hardware_id
          FROM unnest($4::text[], $5::text[]) WITH ORDINALITY AS given (kind, value, place)
    ), kept AS MATERIALIZED (
        SELECT id FROM hardware
         WHERE id = ANY (ARRAY(SELECT hardware_id FROM found)) AND deleted_at IS NULL AND EXISTS (SELECT FROM held)
         ORDER BY id FOR SHARE
    ), worker AS MATERIALIZED (
        SELECT found.place, kept.id FROM found JOIN kept ON kept.id = found.hardware_id
    ), settled AS MATERIALIZED (
        SELECT u.machine_id, u.name FROM unit u
         WHERE NOT $15::boolean AND u.machine_id = ANY (ARRAY(SELECT id FROM worker)) AND u.life <> 'DEAD'
         ORDER BY u.machine_id, u.name
    ), made AS (
        INSERT INTO workflow (id, template_id, template_name, devices, data, total_actions, global_timeout_seconds,
                              on_timeout, on_failure, recovers)
        SELECT $1::text::uuid, held.id, held.name, $6::text::jsonb, $7, $8, $9, $10, $11, $12::text::uuid
          FROM held
         WHERE cardinality($4::text[]) = (SELECT count(*) FROM worker) AND NOT EXISTS (SELECT FROM settled)
            ON CONFLICT (id) DO NOTHING
        RETURNING id
    ), added AS (
        INSERT INTO action (id, workflow_id, action_index, task_name, name, image, timeout_seconds, command, on_timeout,
                            on_failure, worker_id, volumes, environment, pid, retries, retry_delay_seconds, reboots)
        SELECT gen_random_uuid(), made.id, a.action_index, a.task_name, a.name, a.image, a.timeout_seconds, a.command,
               a.on_timeout, a.on_failure, worker.id, a.volumes, a.environment, a.pid, a.retries,
               a.retry_delay_seconds, a.reboots
          FROM made
         CROSS JOIN json_to_recordset($13::text::json) AS a (
               action_index integer, task_name text, name text, image text, timeout_seconds bigint, command text[],
               on_timeout text[], on_failure text[], worker_place integer, volumes text[], environment text[], pid text,
               retries integer, retry_delay_seconds integer, reboots boolean
               )
          JOIN worker ON worker.place = a.worker_place
         ORDER BY a.action_index
    )
    SELECT EXISTS (SELECT FROM held) AS is_held, EXISTS (SELECT FROM made) AS is_made,
           ARRAY(SELECT place FROM worker) AS places,
           (SELECT CAST(machine_id AS text) FROM settled LIMIT 1) AS machine,
           ARRAY(SELECT name FROM settled WHERE machine_id = (SELECT machine_id FROM settled LIMIT 1)) AS units,
           set_config('tinkwell.actor', coalesce($14, current_setting('tinkwell.actor', true)), true)
"""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NewAction:
    """An action of a workflow that is being created; `worker_place` counts the workflow's workers from 1."""

    action_index: int
    task_name: str
    name: str
    image: str
    timeout_seconds: int
    command: tuple[str, ...]
    on_timeout: tuple[str, ...]
    on_failure: tuple[str, ...]
    worker_place: int
    volumes: tuple[str, ...]
    environment: tuple[str, ...]
    pid: str
    retries: int
    retry_delay_seconds: int
    reboots: bool


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NewWorkflow:
    """A workflow that is being created from this version of a template.

    `devices` is JSON text, `data` the rendered template, and `recovers` the id of a workflow, or empty. With
    `with_units` the workflow may run on machines that have units.
    """

    id: str
    template_id: str
    template_version: int
    workers: Sequence[devices.Worker]
    devices: str
    data: str
    global_timeout_seconds: int
    on_timeout: str
    on_failure: str
    recovers: str
    with_units: bool
    actions: Sequence[NewAction]


@dataclasses.dataclass(frozen=True, slots=True)
class Inserted:
    """The result of an insert.

    If nothing was inserted, the template has changed, the id is taken, or the named workers do not exist. `units` are
    the units on one of the machines, which prevented the insert.
    """

    is_made: bool
    missing: Collection[devices.Worker]
    machine: str
    units: Sequence[str]


async def insert(fetch: Fetch, new: NewWorkflow, *, actor: str | None) -> Inserted:
    """Insert a workflow and then its actions in order, or nothing.

    The events name `actor`, or the transaction's actor if it is None.
    """
    # Dumping all actions of the largest workflows at once would block the loop.
    actions = await offload.each(_dump, new.actions)
    [row] = await fetch(
        _INSERT,
        new.id,
        new.template_id,
        new.template_version,
        [worker.kind.value for worker in new.workers],
        [worker.value for worker in new.workers],
        new.devices,
        new.data,
        len(new.actions),
        new.global_timeout_seconds,
        new.on_timeout,
        new.on_failure,
        new.recovers or None,
        f"[{','.join(actions)}]",
        actor,
        new.with_units,
    )
    there = set(row["places"])
    missing = {worker for place, worker in enumerate(new.workers, 1) if row["is_held"] and place not in there}
    return Inserted(row["is_made"], missing, row["machine"] or "", row["units"])


def _dump(action: NewAction) -> str:
    return json.dumps({name: getattr(action, name) for name in _FIELDS}, ensure_ascii=False)


_FIELDS = tuple(field.name for field in dataclasses.fields(NewAction))
