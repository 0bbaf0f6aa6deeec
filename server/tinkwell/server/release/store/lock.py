"""Locks operations and releases, and reads the state that the rules decide on.

Every transaction that moves an operation locks its row first, and then the row of its release if that changes, too. A
transaction that begins an operation locks only the release, and reads the release's unfinished operation without a
lock. So two transactions never deadlock. The locks leave the rows' keys alone, so that output, which refers to them,
need not wait. Times are the database's.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import asyncpg

from tinkwell.core.event.kinds import State
from tinkwell.core.lease import lease
from tinkwell.core.release.kinds import (
    NodeKind,
    NodeState,
    NodeTask,
    OperationKind,
    Phase,
    ReleaseState,
    RevisionState,
    StepKind,
)
from tinkwell.core.release.transition.ending import Leftover
from tinkwell.core.release.transition.row import NodeRow, OperationRow, PlannedRow, ReleaseRow, RevisionRow, StepRow
from tinkwell.server.database.database import Fetch, Transaction
from tinkwell.server.release.store import document, row

LOCK = "SELECT id FROM operation WHERE id = $1::text::uuid FOR NO KEY UPDATE"
_COLUMNS = """
    CAST(o.id AS text) AS id, CAST(o.release_id AS text) AS release_id, o.kind, o.state, o.phase,
    CAST(o.options AS text) AS options, o.former_state, o.revision, o.rollback_of,
    coalesce(CAST(o.cause AS text), '') AS cause, coalesce(CAST(o.follows AS text), '') AS follows,
    coalesce(CAST(o.plan_of AS text), '') AS plan_of, o.total_nodes, o.changed_nodes, o.failed_nodes, o.skipped_nodes,
    o.cancel_requested_at IS NOT NULL AS is_cancel_requested,
    o.cancel_grace_seconds,
    CAST(extract(epoch FROM o.deadline_at - clock_timestamp()) AS double precision) AS remaining_seconds
"""
# A second statement, because it must see what was committed while the first one waited for the lock.
STATE = f"""
    SELECT {_COLUMNS}, o.cancel_reason, r.engine AS release_engine, r.revision AS deployed, r.latest_revision AS newest,
           o.source IS NOT NULL AS has_source,
           {document.HAS_SECRETS} AS has_secrets,
           CAST(o.lease_id AS text) AS lease_id, CAST(l.id AS text) AS held_id, l.engine,
           l.expires_at > clock_timestamp() AS is_live, CAST(mine.id AS text) AS own_id, mine.engine AS own_engine,
           mine.expires_at > clock_timestamp() AS is_own_live
      FROM operation o JOIN release r ON r.id = o.release_id
      LEFT JOIN lease l ON l.id = o.lease_id
      LEFT JOIN lease mine ON mine.token = $2
     WHERE o.id = $1::text::uuid
"""  # noqa: S608
_RELEASE = """
    SELECT CAST(id AS text) AS id, name, state, revision, latest_revision, CAST(operation_id AS text) AS operation_id,
           engine, deleted_at IS NOT NULL AS is_deleted, drift
      FROM release
"""
RELEASE = f"{_RELEASE} WHERE id = $1::text::uuid FOR NO KEY UPDATE"
FIND_BY_NAME = f"{_RELEASE} WHERE namespace = $1 AND name = $2 AND deleted_at IS NULL"
RELEASE_BY_NAME = f"{FIND_BY_NAME} FOR NO KEY UPDATE"
# A second statement as well: a test or a plan begins under the lock of its release, but does not change its row.
ACTIVE = """
    SELECT CAST(id AS text) AS id FROM operation WHERE release_id = $1::text::uuid AND state IN ('PENDING', 'RUNNING')
"""
REVISION = "SELECT revision, state FROM release_revision WHERE release_id = $1::text::uuid AND revision = $2"
# The revision that was installed before the newest attempt.
FORMER_REVISION = """
    SELECT v.revision, v.state FROM release r JOIN release_revision v ON v.release_id = r.id
     WHERE r.id = $1::text::uuid AND v.revision < r.latest_revision AND v.state IN ('DEPLOYED', 'SUPERSEDED')
     ORDER BY v.revision DESC LIMIT 1
"""
PLANNED = f"""
    SELECT {_COLUMNS} FROM operation o
     WHERE o.release_id = $1::text::uuid AND o.plan IS NOT NULL AND o.kind NOT IN ('TEST', 'PLAN')
     ORDER BY o.created_at DESC, o.id DESC LIMIT 1
"""  # noqa: S608
# A release has one operation at a time, so every operation that changed it after the plan is newer than the plan.
PLAN = f"""
    SELECT {_COLUMNS},
           (SELECT CAST(n.id AS text) FROM operation n
             WHERE n.release_id = o.release_id AND n.plan IS NOT NULL AND n.kind NOT IN ('TEST', 'PLAN')
               AND (n.created_at, n.id) > (o.created_at, o.id)
             ORDER BY n.created_at DESC, n.id DESC LIMIT 1) AS changed_by
      FROM operation o WHERE o.id = $1::text::uuid
"""  # noqa: S608
NODES = """
    SELECT n.path, n.kind, n.task, n.state, s.ordinal, s.kind AS step_kind, s.state AS step_state, s.attempt
      FROM node n LEFT JOIN step s ON s.node_id = n.id
     WHERE n.operation_id = $1::text::uuid AND n.path = ANY ($2::text[])
     ORDER BY n.path, s.ordinal
"""
UNFINISHED_NODES = """
    SELECT path, kind, task, state FROM node
     WHERE operation_id = $1::text::uuid AND state IN ('PENDING', 'INSTALLING', 'REMOVING')
     ORDER BY ordinal
"""
UNFINISHED_STEPS = """
    SELECT s.path, s.ordinal, s.kind AS step_kind, s.state AS step_state, s.attempt
      FROM node n JOIN step s ON s.node_id = n.id
     WHERE n.operation_id = $1::text::uuid AND s.state IN ('PENDING', 'RUNNING')
     ORDER BY n.ordinal, s.ordinal
"""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Locked:
    """An operation, locked until the transaction ends if it exists.

    `own` is the lease of the caller's token, None if there is no such lease. `deployed` is the release's last DEPLOYED
    revision, and `newest` its newest one, 0 for none. `has_source`: the operation has a source of its own. `plan_of` is
    the plan that it applies, empty for none. `has_secrets`: anything is sealed of the operation, that plan, its
    release, these revisions, or the operation's revision.
    """

    operation: OperationRow
    release_id: str
    release_engine: str
    cancel_reason: str
    hold: lease.Hold
    own: lease.Lease | None
    deployed: int
    newest: int
    has_source: bool
    plan_of: str
    has_secrets: bool


async def lock(transaction: Transaction, operation_id: str, *, lease_token: int = 0) -> Locked | None:
    """Lock an operation and return its state, or None if there is none."""
    await transaction.fetch(LOCK, operation_id)
    return await state(transaction.fetch, operation_id, lease_token=lease_token)


async def state(fetch: Fetch, operation_id: str, *, lease_token: int) -> Locked | None:
    """Return the same state without a lock."""
    found = await fetch(STATE, operation_id, lease_token)
    return _locked(found[0]) if found else None


async def lock_release(transaction: Transaction, release_id: str) -> ReleaseRow:
    """Lock the release of a locked operation."""
    return _release((await transaction.fetch(RELEASE, release_id))[0])


async def lock_named(transaction: Transaction, namespace: str, name: str) -> ReleaseRow | None:
    """Lock the release with a name, or return None if there is none."""
    return await _named(transaction.fetch, RELEASE_BY_NAME, namespace, name)


async def find_named(fetch: Fetch, namespace: str, name: str) -> ReleaseRow | None:
    """Return the same release without a lock."""
    return await _named(fetch, FIND_BY_NAME, namespace, name)


async def revision(transaction: Transaction, release_id: str, number: int) -> RevisionRow | None:
    """Return a revision of a release, or None if there is none, as for the number 0."""
    found = await transaction.fetch(REVISION, release_id, number)
    return RevisionRow(revision=number, state=RevisionState(found[0]["state"])) if found else None


async def former_revision(transaction: Transaction, release_id: str) -> RevisionRow | None:
    """Return the newest revision below the latest one that was ever deployed."""
    found = await transaction.fetch(FORMER_REVISION, release_id)
    return RevisionRow(revision=found[0]["revision"], state=RevisionState(found[0]["state"])) if found else None


async def planned(transaction: Transaction, release_id: str) -> OperationRow | None:
    """Return the newest operation of a release that changes it and had a plan."""
    found = await transaction.fetch(PLANNED, release_id)
    return _operation(found[0]) if found else None


async def plan(transaction: Transaction, operation_id: str) -> PlannedRow | None:
    """Return a plan that is to be applied, or None if there is no such operation."""
    found = await transaction.fetch(PLAN, operation_id)
    if not found:
        return None
    changed_by = found[0]["changed_by"] or ""
    return PlannedRow(operation=_operation(found[0]), release_id=found[0]["release_id"], changed_by=changed_by)


async def nodes(
    transaction: Transaction, operation_id: str, paths: Sequence[str]
) -> tuple[Mapping[str, NodeRow], Mapping[str, Sequence[StepRow]]]:
    """Return the nodes with these paths, and the steps of each in order."""
    found: dict[str, NodeRow] = {}
    steps: dict[str, list[StepRow]] = {}
    for each in await transaction.fetch(NODES, operation_id, list(paths)):
        found[each["path"]] = _node(each)
        steps.setdefault(each["path"], [])
        if each["ordinal"] is not None:
            steps[each["path"]].append(_step(each))
    return found, steps


async def leftover(transaction: Transaction, locked: Locked) -> Leftover:
    """Lock the release of an operation, and return the other rows that the end of the operation changes."""
    operation = locked.operation
    return Leftover(
        release=await lock_release(transaction, locked.release_id),
        revision=await revision(transaction, locked.release_id, operation.revision),
        nodes=[_node(each) for each in await transaction.fetch(UNFINISHED_NODES, operation.id)],
        steps=[_step(each) for each in await transaction.fetch(UNFINISHED_STEPS, operation.id)],
    )


async def _named(fetch: Fetch, statement: str, namespace: str, name: str) -> ReleaseRow | None:
    found = await fetch(statement, namespace, name)
    if not found:
        return None
    active = await fetch(ACTIVE, found[0]["id"])
    return dataclasses.replace(_release(found[0]), active_operation_id=active[0]["id"] if active else "")


def _locked(found: asyncpg.Record) -> Locked:
    held = None
    if found["held_id"] is not None:
        held = lease.Lease(id=found["held_id"], engine=found["engine"], is_live=found["is_live"])
    own = None
    if found["own_id"] is not None:
        own = lease.Lease(id=found["own_id"], engine=found["own_engine"], is_live=found["is_own_live"])
    return Locked(
        operation=_operation(found),
        release_id=found["release_id"],
        release_engine=found["release_engine"],
        cancel_reason=found["cancel_reason"],
        hold=lease.Hold(kind="operation", id=found["id"], lease_id=found["lease_id"] or "", lease=held),
        own=own,
        deployed=found["deployed"],
        newest=found["newest"],
        has_source=found["has_source"],
        plan_of=found["plan_of"],
        has_secrets=found["has_secrets"],
    )


_OPERATION_FIELDS = tuple(field.name for field in dataclasses.fields(OperationRow))


def _operation(found: asyncpg.Record) -> OperationRow:
    typed: dict[str, Any] = {
        "kind": OperationKind(found["kind"]),
        "state": State(found["state"]),
        "phase": Phase(found["phase"]),
        "options": row.options(found["options"]),
        "former_state": ReleaseState(found["former_state"]),
    }
    return OperationRow(**{name: found[name] for name in _OPERATION_FIELDS} | typed)


def _release(found: asyncpg.Record) -> ReleaseRow:
    return ReleaseRow(**dict(found) | {"state": ReleaseState(found["state"])})


def _node(found: asyncpg.Record) -> NodeRow:
    return NodeRow(
        path=found["path"],
        kind=NodeKind(found["kind"]),
        task=NodeTask(found["task"]),
        state=NodeState(found["state"]),
    )


def _step(found: asyncpg.Record) -> StepRow:
    return StepRow(
        path=found["path"],
        ordinal=found["ordinal"],
        kind=StepKind(found["step_kind"]),
        state=State(found["step_state"]),
        attempt=found["attempt"],
    )
