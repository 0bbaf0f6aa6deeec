"""Rows of the tables of releases as records, and the columns that make them. Documents are JSON text.

A select gives the columns under their own names: those of a release come from `r`, of a revision from `v`, of an
operation from `o` with its release as `r` and the lease that it is held under as `l`, of a node from `n`, of a step
from `s`, and of a resource from `e`.
"""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from tinkwell.core.event.kinds import State
from tinkwell.core.release import record
from tinkwell.core.release.kinds import (
    NodeKind,
    NodeState,
    NodeTask,
    OnFailure,
    OperationKind,
    Phase,
    ReleaseState,
    ResourceStatus,
    RevisionState,
    StepKind,
    Wait,
)
from tinkwell.core.secret.mask import MASK

_DEFAULTS = dataclasses.asdict(record.Options())
# Options that a former release of Tinkwell does not know. They are left out at their defaults, so that it can read the
# rest.
_CHART_OPTIONS = ("wait", "strict")

RELEASE = """
    CAST(r.id AS text) AS id, r.version, r.namespace, r.name, r.state, r.revision, r.latest_revision,
    CAST(r.operation_id AS text) AS operation_id, r.engine, r.description, r.chart_name, r.chart_version,
    r.drift <> '' AS is_drifted, r.created_at, r.updated_at, r.deleted_at
"""
REVISION = """
    CAST(v.release_id AS text) AS release_id, v.revision, v.state, v.rollback_of,
    CAST(v.operation_id AS text) AS operation_id, v.description, v.created_at, v.updated_at
"""
DOCUMENTS = """
    CAST(v.source AS text) AS source, CAST(v.manifest AS text) AS manifest, CAST(v.late AS text) AS late,
    CAST(v.plan AS text) AS plan
"""
OPERATION = """
    CAST(o.id AS text) AS id, o.version, CAST(o.release_id AS text) AS release_id, r.name AS release_name, r.namespace,
    o.revision, o.kind, o.state, o.phase, CAST(o.options AS text) AS options,
    coalesce(CAST(o.cause AS text), '') AS cause, o.actor, o.reason, coalesce(CAST(o.follows AS text), '') AS follows,
    o.total_nodes, o.changed_nodes, o.failed_nodes, o.skipped_nodes, coalesce(l.token, 0) AS lease_token,
    o.cancel_requested_at IS NOT NULL AS is_cancel_requested, o.cancel_grace_seconds, o.cancel_reason,
    CASE WHEN o.state IN ('PENDING', 'RUNNING')
         THEN CAST(extract(epoch FROM o.deadline_at - clock_timestamp()) AS double precision) END AS remaining_seconds,
    o.created_at, o.updated_at, o.started_at, o.finished_at, coalesce(CAST(o.plan_of AS text), '') AS plan_of
"""
FROM_OPERATION = "FROM operation o JOIN release r ON r.id = o.release_id LEFT JOIN lease l ON l.id = o.lease_id"
NODE = """
    CAST(n.id AS text) AS id, n.version, CAST(n.operation_id AS text) AS operation_id,
    CAST(n.release_id AS text) AS release_id, n.path, n.kind, n.task, n.ordinal, n.batch, n.state, n.changed, n.message,
    n.created_at, n.updated_at, n.started_at, n.finished_at
"""
STEP = """
    CAST(s.id AS text) AS id, s.version, CAST(s.node_id AS text) AS node_id,
    CAST(s.operation_id AS text) AS operation_id, CAST(s.release_id AS text) AS release_id, s.path, s.ordinal, s.kind,
    s.name, s.description, s.image, s.entrypoint, s.args, s.state, s.attempt, s.exit_code, s.message, s.created_at,
    s.updated_at, s.started_at, s.finished_at
"""
RESOURCE = """
    CAST(e.release_id AS text) AS release_id, e.path, e.type, e.revision, e.image_id,
    coalesce(CAST(e.init AS text), '') AS init, coalesce(CAST(e.config AS text), '') AS config,
    coalesce(CAST(e.state AS text), '') AS state, e.status, e.owned, e.observed_at
"""


def release(row: Mapping[Any, Any]) -> record.Release:
    """Read a release from `RELEASE`."""
    return record.Release(**dict(row) | {"state": ReleaseState(row["state"])})


def revision(row: Mapping[Any, Any]) -> record.Revision:
    """Read a revision from `REVISION`, and its documents where there are `DOCUMENTS`."""
    documents = {name: row.get(name, "") for name in ("source", "manifest", "late", "plan")}
    return record.Revision(**dict(row) | documents | {"state": RevisionState(row["state"])})


def operation(row: Mapping[Any, Any]) -> record.Operation:
    """Read an operation from `OPERATION`."""
    typed = {
        "kind": OperationKind(row["kind"]),
        "state": State(row["state"]),
        "phase": Phase(row["phase"]),
        "options": options(row["options"]),
    }
    return record.Operation(**dict(row) | typed)


def node(row: Mapping[Any, Any]) -> record.Node:
    """Read a node from `NODE`."""
    typed = {"kind": NodeKind(row["kind"]), "task": NodeTask(row["task"]), "state": NodeState(row["state"])}
    return record.Node(**dict(row) | typed)


def step(row: Mapping[Any, Any]) -> record.Step:
    """Read a step from `STEP`. A sealed argument is masked."""
    args = None if row["args"] is None else tuple(MASK if arg is None else arg for arg in row["args"])
    return record.Step(**dict(row) | {"kind": StepKind(row["kind"]), "state": State(row["state"]), "args": args})


def resource(row: Mapping[Any, Any]) -> record.Resource:
    """Read a resource from `RESOURCE`."""
    return record.Resource(**dict(row) | {"status": ResourceStatus(row["status"])})


def unfinished(row: Mapping[Any, Any]) -> record.UnfinishedOperation:
    """Read an unfinished operation. The row may have further columns."""
    fields = dataclasses.fields(record.UnfinishedOperation)
    return record.UnfinishedOperation(
        **{field.name: row[field.name] for field in fields} | {"state": State(row["state"])}
    )


def options(text: str) -> record.Options:
    """Read options from the JSON text that `dump_options` wrote."""
    parsed = _DEFAULTS | json.loads(text)
    kinds = {"on_failure": OnFailure(parsed["on_failure"]), "wait": Wait(parsed["wait"])}
    return record.Options(**parsed | kinds)


def dump_options(given: record.Options) -> str:
    """Write options as JSON text. Equal options give equal texts."""
    stored = dataclasses.asdict(given).items()
    return json.dumps({name: each for name, each in stored if name not in _CHART_OPTIONS or each != _DEFAULTS[name]})
