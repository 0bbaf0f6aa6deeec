"""Writes what the rules have decided about an operation, in their order, which is the order of the events.

Times are the database's at the moment a change is written.
"""

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any, TypeAlias, assert_never

from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeState
from tinkwell.core.release.report import step_id
from tinkwell.core.release.transition import change
from tinkwell.server.database.database import Transaction
from tinkwell.server.release.store import lifecycle, row

_WRITE_RELEASE = """
    UPDATE release r
       SET state = $2::text, revision = $3, latest_revision = $4, operation_id = $5::text::uuid, engine = $6,
           drift = $7,
           (chart_name, chart_version) = (
               SELECT CASE WHEN v.revision IS NULL THEN r.chart_name ELSE coalesce(c.name, '') END,
                      CASE WHEN v.revision IS NULL THEN r.chart_version ELSE coalesce(c.chart_version, '') END
                 FROM (SELECT) one
                 LEFT JOIN release_revision v ON v.release_id = r.id AND v.revision = coalesce(nullif($3, 0), $4)
                 LEFT JOIN chart c ON c.id = v.chart_id)
     WHERE id = $1::text::uuid
"""
# A statement of its own, so that the end of a release and its deletion are two events.
_DELETE_RELEASE = "UPDATE release SET deleted_at = clock_timestamp() WHERE id = $1::text::uuid"
# Takes the documents of the submission, or else those of the revision that is restored.
_ADD_REVISION = """
    INSERT INTO release_revision (release_id, revision, source, manifest, late, plan, rollback_of, operation_id,
                                  description, chart_id)
    SELECT o.release_id, $2, coalesce($7::text::json, o.source, former.source),
           coalesce($4::text::json, former.manifest),
           coalesce($5::text::json, former.late), $6::text::json, $3, o.id, coalesce(o.request ->> 'description', ''),
           coalesce(o.chart_id, former.chart_id)
      FROM operation o
      LEFT JOIN release_revision former ON former.release_id = o.release_id AND former.revision = $3
     WHERE o.id = $1::text::uuid
"""
_MOVE_REVISION = """
    UPDATE release_revision v SET state = $3::text
      FROM operation o WHERE o.id = $1::text::uuid AND v.release_id = o.release_id AND v.revision = $2
"""
_ADD_OPERATION = """
    INSERT INTO operation (id, release_id, revision, kind, request, options, former_state, rollback_of, follows, actor,
                           reason, deadline_at, lease_id)
    SELECT $2::text::uuid, o.release_id, $3, $4::text, '{"call": "follow"}', $5::text::jsonb, $6::text, $7, o.id,
           o.actor, o.reason, clock_timestamp() + make_interval(secs => $8::double precision), $9::text::uuid
      FROM operation o WHERE o.id = $1::text::uuid
"""
_WRITE_OPERATION = """
    UPDATE operation
       SET revision = $2, state = $3::text, phase = $4::text, cause = nullif($5, '')::jsonb, total_nodes = $6,
           changed_nodes = $7, failed_nodes = $8, skipped_nodes = $9,
           cancel_requested_at = CASE WHEN $10 THEN coalesce(cancel_requested_at, clock_timestamp()) END,
           cancel_grace_seconds = $11, cancel_reason = coalesce($12, cancel_reason),
           started_at = CASE WHEN $13 THEN coalesce(started_at, clock_timestamp()) ELSE started_at END,
           finished_at = CASE WHEN $14 THEN coalesce(finished_at, clock_timestamp()) END,
           lease_id = CASE WHEN $14 THEN NULL WHEN $15 THEN $16::text::uuid ELSE lease_id END
     WHERE id = $1::text::uuid
"""
_TAKE_HOLD = "UPDATE operation SET lease_id = $2::text::uuid WHERE id = $1::text::uuid"
_ADD_NODES = """
    INSERT INTO node (operation_id, release_id, path, kind, task, batch, ordinal)
    SELECT o.id, o.release_id, given.path, given.kind, given.task, given.batch, given.place - 1
      FROM operation o
     CROSS JOIN unnest($2::text[], $3::text[], $4::text[], $5::integer[])
           WITH ORDINALITY AS given (path, kind, task, batch, place)
     WHERE o.id = $1::text::uuid
"""
MOVE_NODE = """
    UPDATE node
       SET state = $3::text, changed = changed OR $4, message = $5,
           started_at = CASE WHEN $6 THEN clock_timestamp() ELSE started_at END,
           finished_at = CASE WHEN $7 THEN clock_timestamp() END
     WHERE operation_id = $1::text::uuid AND path = $2
"""
_ADD_STEP = """
    INSERT INTO step (id, node_id, operation_id, release_id, path, ordinal, kind, name, description, image, entrypoint,
                      args, state, attempt, exit_code, message, started_at, finished_at)
    SELECT $2::text::uuid, n.id, n.operation_id, n.release_id, n.path, $4, $5::text, $6, $7, $8, $9, $10::text[],
           $11::text, $12, $13, $14, CASE WHEN $15 THEN clock_timestamp() END, CASE WHEN $16 THEN clock_timestamp() END
      FROM node n WHERE n.operation_id = $1::text::uuid AND n.path = $3
"""
MOVE_STEP = """
    UPDATE step
       SET state = $2::text, attempt = $3, exit_code = $4, message = $5,
           started_at = CASE WHEN $6 THEN clock_timestamp() ELSE started_at END,
           finished_at = CASE WHEN $7 THEN clock_timestamp() END
     WHERE id = $1::text::uuid
"""
# A document that is not given stays unchanged, and an empty one is deleted.
_STORE_RESOURCE = """
    INSERT INTO release_resource AS e (release_id, path, type, revision, image_id, init, config, state, status, owned)
    SELECT o.release_id, $2, $3, coalesce($4, 0), coalesce($5, ''), nullif($6, '')::json, nullif($7, '')::json,
           nullif($8, '')::json, $9::text, coalesce($10, false)
      FROM operation o WHERE o.id = $1::text::uuid
        ON CONFLICT (release_id, path) DO UPDATE
       SET type = excluded.type, revision = coalesce($4, e.revision), image_id = coalesce($5, e.image_id),
           init = CASE WHEN $6 IS NULL THEN e.init ELSE excluded.init END,
           config = CASE WHEN $7 IS NULL THEN e.config ELSE excluded.config END,
           state = CASE WHEN $8 IS NULL THEN e.state ELSE excluded.state END,
           status = excluded.status, owned = coalesce($10, e.owned), observed_at = clock_timestamp()
"""
_DROP_RESOURCE = """
    DELETE FROM release_resource e USING operation o
     WHERE o.id = $1::text::uuid AND e.release_id = o.release_id AND e.path = $2
"""
_STORE_RESULT = "UPDATE operation SET result = $2::text::json WHERE id = $1::text::uuid"
_STORE_PLAN = "UPDATE operation SET plan = $2::text::json WHERE id = $1::text::uuid"

Statement: TypeAlias = tuple[str, tuple[object, ...]]
# Changes that are always written, each by one statement.
OneStatement: TypeAlias = (
    change.AddRevision
    | change.MoveRevision
    | change.AddOperation
    | change.WriteOperation
    | change.AddNodes
    | change.MoveNode
    | change.AddStep
    | change.MoveStep
    | change.StoreResource
    | change.DropResource
    | change.StoreEmitted
    | change.StoreResult
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """The documents of a submission, as JSON texts.

    `manifest` and `late` are None if a former revision has them. `source` is None if the operation, or the former
    revision, has it stored. `plan` is the plan that the operation carries out, and `installation` the part of it that
    its revision keeps.
    """

    source: str | None = None
    manifest: str | None
    late: str | None
    plan: str
    installation: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """The changes of an operation, in order, and further values for them.

    An operation that is acquired is held under the lease `lease_id`. A `cancel_reason` of None leaves the stored one.
    """

    operation_id: str
    changes: change.Changes
    lease_id: str = ""
    documents: Documents | None = None
    cancel_reason: str | None = None


async def write(transaction: Transaction, move: Move) -> None:
    """Write the changes. Consecutive changes of one kind go to the database in one call."""
    if move.documents is not None and move.changes:
        await transaction.fetch(_STORE_PLAN, move.operation_id, move.documents.plan)
    statements = itertools.chain.from_iterable(_statements(move, each) for each in move.changes)
    for statement, run in itertools.groupby(statements, key=lambda found: found[0]):
        await transaction.execute_each(statement, [values for _, values in run])


def _statements(move: Move, found: change.Change) -> Iterator[Statement]:
    """Yield the statements that write a change, with their values.

    If a hold and its operation are both written, one statement writes both, so that the last event has the last
    version.
    """
    match found:
        case change.WriteRelease():
            new = found.row
            values = (new.id, new.state, new.revision, new.latest_revision, new.operation_id, new.engine, new.drift)
            yield _WRITE_RELEASE, values
            if new.is_deleted:
                yield _DELETE_RELEASE, (new.id,)
        case change.TakeHold():
            if not any(isinstance(each, change.WriteOperation) for each in move.changes):
                yield _TAKE_HOLD, (move.operation_id, move.lease_id)
        case change.LetGo() | change.HearSecrets():
            # The end of an operation releases it, and nothing else does. Secrets are sealed before the changes are
            # written.
            pass
        case _:
            yield _statement(move, found)


def _statement(move: Move, found: OneStatement) -> Statement:
    match found:
        case change.AddRevision() | change.MoveRevision():
            return _revision(move, found)
        case change.AddOperation() | change.WriteOperation():
            return _operation(move, found)
        case change.AddNodes() | change.MoveNode() | change.AddStep() | change.MoveStep():
            return _progress(move.operation_id, found)
        case change.StoreResource() | change.DropResource():
            return _resource(move.operation_id, found)
        case change.StoreEmitted():
            return lifecycle.STORE, (move.operation_id, *lifecycle.values(found.report))
        case change.StoreResult():
            return _STORE_RESULT, (move.operation_id, found.result)
        case _:
            assert_never(found)


def _revision(move: Move, found: change.AddRevision | change.MoveRevision) -> Statement:
    if isinstance(found, change.MoveRevision):
        return _MOVE_REVISION, (move.operation_id, found.revision, found.state)
    assert move.documents is not None
    brought = move.documents
    texts = (brought.manifest, brought.late, brought.installation, brought.source)
    values = (found.revision, found.rollback_of, *texts)
    return _ADD_REVISION, (move.operation_id, *values)


def _operation(move: Move, found: change.AddOperation | change.WriteOperation) -> Statement:
    if isinstance(found, change.WriteOperation):
        return _WRITE_OPERATION, (move.operation_id, *_operation_values(move, found))
    new = found.row
    options, seconds = row.dump_options(new.options), float(new.options.timeout_seconds)
    held = (move.lease_id or None) if found.is_held else None
    values = (new.revision, new.kind, options, new.former_state, new.rollback_of, seconds, held)
    return _ADD_OPERATION, (move.operation_id, new.id, *values)


def _operation_values(move: Move, found: change.WriteOperation) -> tuple[object, ...]:
    new = found.row
    counters = (new.total_nodes, new.changed_nodes, new.failed_nodes, new.skipped_nodes)
    cancel = (new.is_cancel_requested, new.cancel_grace_seconds, move.cancel_reason)
    times = (new.state is State.RUNNING, new.state.is_final)
    takes = any(isinstance(each, change.TakeHold) for each in move.changes)
    held = (takes, move.lease_id if takes else None)
    return (new.revision, new.state, new.phase, new.cause, *counters, *cancel, *times, *held)


def _progress(id_: str, found: change.AddNodes | change.MoveNode | change.AddStep | change.MoveStep) -> Statement:
    match found:
        case change.AddNodes():
            names = ("path", "kind", "task", "batch")
            return _ADD_NODES, (id_, *([getattr(node, name) for node in found.nodes] for name in names))
        case change.MoveNode():
            begins = found.state in (NodeState.INSTALLING, NodeState.REMOVING)
            values: tuple[object, ...] = (found.path, found.state, found.changed, found.message)
            return MOVE_NODE, (id_, *values, begins, found.state.is_final)
        case change.AddStep():
            return _ADD_STEP, (id_, *_step_values(id_, found))
        case _:
            values = (found.state, found.attempt, found.exit_code, found.message)
            times = (found.state is State.RUNNING, found.state.is_final)
            return MOVE_STEP, (step_id(id_, found.path, found.ordinal), *values, *times)


def _step_values(id_: str, found: change.AddStep) -> tuple[Any, ...]:
    told = found.report
    call = told.call
    args = None if call.args is None else list(call.args)
    return (
        step_id(id_, told.path, told.ordinal),
        told.path,
        told.ordinal,
        told.kind,
        call.name,
        call.description,
        call.image,
        call.entrypoint,
        args,
        told.state,
        told.attempt,
        told.exit_code,
        told.message,
        told.state is not State.PENDING,
        told.state.is_final,
    )


def _resource(id_: str, found: change.StoreResource | change.DropResource) -> Statement:
    if isinstance(found, change.DropResource):
        return _DROP_RESOURCE, (id_, found.path)
    told = found.report
    documents = (told.init, told.config, told.state)
    values = (told.path, told.type, found.revision, told.image_id, *documents, told.status, told.owned)
    return _STORE_RESOURCE, (id_, *values)
