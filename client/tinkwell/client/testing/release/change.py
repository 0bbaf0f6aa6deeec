"""Writes the changes that the core's rules return for an operation, in their order, each with its event."""

import dataclasses
import json
import uuid
from dataclasses import dataclass
from typing import Any, assert_never

from tinkwell.client.release.model import LifecycleRun, Node, Operation, Release, Resource, Revision, Step
from tinkwell.client.testing.release import book as release_book
from tinkwell.client.testing.release import row as release_row
from tinkwell.client.testing.release.book import StoredRevision
from tinkwell.client.testing.world import World
from tinkwell.core.event.kinds import EventType, State
from tinkwell.core.release.kinds import NodeKind, NodeState, ReleaseState
from tinkwell.core.release.plan import Plan
from tinkwell.core.release.report import step_id
from tinkwell.core.release.transition import change, ending
from tinkwell.core.release.transition.row import ReleaseRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """The documents of a submission, as JSON texts; empty if a former revision has them."""

    manifest: str
    late: str
    plan: str


def write(
    world: World,
    operation_id: str,
    changes: change.Changes,
    *,
    lease_id: str = "",
    documents: Documents | None = None,
    cancel_reason: str | None = None,
) -> None:
    """Write changes of an operation. An operation that is taken is held under the lease `lease_id`."""
    writer = _Writer(world, operation_id, lease_id, documents, cancel_reason)
    if documents is not None and changes:
        world.releases.facts_of(operation_id).plan = documents.plan
    for each in changes:
        writer.write(each)


def expire(world: World, operation: Operation) -> Operation:
    """End an operation that is past its deadline or cancelled, unless a living lease holds it. Returns it as it is."""
    row = release_row.operation_row(world, operation)
    if not ending.is_due(row, release_row.hold(world, operation)):
        return operation
    leftover = release_row.leftover(world, operation)
    write(world, operation.id, ending.expire(row, leftover, cancel_reason=operation.cancel_reason))
    return world.find(Operation, operation.id)


class _Writer:
    """Writes the changes of one operation."""

    def __init__(
        self,
        world: World,
        operation_id: str,
        lease_id: str,
        documents: Documents | None,
        cancel_reason: str | None,
    ) -> None:
        self._world = world
        self._book = world.releases
        self._id = operation_id
        self._lease_id = lease_id
        self._documents = documents
        self._cancel_reason = cancel_reason
        self._now = world.clock.now()

    @property
    def _operation(self) -> Operation:
        return self._world.find(Operation, self._id)

    def write(self, each: change.Change) -> None:
        match each:
            case change.WriteRelease():
                self._write_release(each.row)
            case change.AddRevision() | change.MoveRevision():
                self._write_revision(each)
            case change.AddOperation() | change.WriteOperation() | change.TakeHold() | change.LetGo():
                self._write_own(each)
            case change.AddNodes() | change.MoveNode() | change.AddStep() | change.MoveStep():
                self._write_progress(each)
            case change.HearSecrets():
                pass  # the secrets of reports were noted before
            case change.StoreResource() | change.DropResource():
                self._write_resource(each)
            case change.StoreEmitted():
                self._store_emitted(each)
            case change.StoreResult():
                self._book.facts_of(self._id).result = each.result
            case _:
                assert_never(each)

    def _write_revision(self, each: change.AddRevision | change.MoveRevision) -> None:
        if isinstance(each, change.AddRevision):
            self._add_revision(each)
        else:
            self._move_revision(each)

    def _write_own(self, each: change.AddOperation | change.WriteOperation | change.TakeHold | change.LetGo) -> None:
        match each:
            case change.AddOperation():
                self._add_operation(each)
            case change.WriteOperation():
                self._write_operation(each)
            case change.TakeHold():
                self._book.facts_of(self._id).lease_id = self._lease_id
            case _:
                self._book.facts_of(self._id).lease_id = ""

    def _write_progress(self, each: change.AddNodes | change.MoveNode | change.AddStep | change.MoveStep) -> None:
        match each:
            case change.AddNodes():
                self._add_nodes(each)
            case change.MoveNode():
                self._move_node(each)
            case change.AddStep():
                self._add_step(each)
            case _:
                self._move_step(each)

    def _write_resource(self, each: change.StoreResource | change.DropResource) -> None:
        if isinstance(each, change.StoreResource):
            self._store_resource(each)
        else:
            self._book.resources.get(self._operation.release_id, {}).pop(each.path, None)

    def _write_release(self, row: ReleaseRow) -> None:
        old = self._world.find(Release, row.id)
        is_drifted = row.drift not in ("", self._book.drifts.get(row.id, ""))
        new = dataclasses.replace(
            old,
            state=row.state,
            revision=row.revision,
            latest_revision=row.latest_revision,
            operation_id=row.operation_id,
            engine=row.engine,
            drifted=bool(row.drift),
            **self._chart(row),
        )
        self._book.drifts[row.id] = row.drift
        event_type = _release_event(old, new, self._operation, self._book.facts_of(self._id))
        if is_drifted and new.state is old.state:
            event_type = EventType.RELEASE_DRIFTED
        stored = self._world.put(new, event_type=event_type)
        if row.is_deleted:
            gone = self._world.remove(stored)
            self._book.deleted[row.id] = dataclasses.replace(
                stored, version=gone.version, updated_at=self._now, deleted_at=self._now
            )

    def _chart(self, row: ReleaseRow) -> dict[str, Any]:
        stored = self._book.stored(row.id, row.revision or row.latest_revision)
        return release_book.chart_of(stored.source) if stored is not None else {}

    def _add_revision(self, each: change.AddRevision) -> None:
        operation, facts = self._operation, self._book.facts_of(self._id)
        former = self._book.stored(operation.release_id, each.rollback_of)
        assert self._documents is not None  # only a submission creates a revision
        revision = Revision(
            release_id=operation.release_id,
            revision=each.revision,
            operation_id=operation.id,
            rollback_of=each.rollback_of,
            description=facts.description,
            created_at=self._now,
            updated_at=self._now,
        )
        self._book.revisions.setdefault(operation.release_id, {})[each.revision] = StoredRevision(
            revision=revision,
            source=facts.source or (former.source if former is not None else "{}"),
            manifest=self._documents.manifest or (former.manifest if former is not None else "{}"),
            late=self._documents.late or (former.late if former is not None else "{}"),
            plan=Plan.load(self._documents.plan).installation.dump(),
        )

    def _move_revision(self, each: change.MoveRevision) -> None:
        known = self._book.revisions[self._operation.release_id]
        stored = known[each.revision]
        moved = dataclasses.replace(stored.revision, state=each.state, updated_at=self._now)
        known[each.revision] = dataclasses.replace(stored, revision=moved)

    def _add_operation(self, each: change.AddOperation) -> None:
        former, row = self._operation, each.row
        self._book.facts[row.id] = release_book.Facts(
            former_state=row.former_state,
            rollback_of=row.rollback_of,
            lease_id=self._book.facts_of(self._id).lease_id if each.is_held else "",
        )
        self._world.put(
            Operation(
                id=row.id,
                release_id=former.release_id,
                namespace=former.namespace,
                release_name=former.release_name,
                revision=row.revision,
                kind=row.kind,
                actor=former.actor,
                reason=former.reason,
                follows=row.follows,
                options=row.options,
            )
        )

    def _write_operation(self, each: change.WriteOperation) -> None:
        old, row = self._operation, each.row
        new = dataclasses.replace(
            old,
            revision=row.revision,
            state=row.state,
            phase=row.phase,
            cause=json.loads(row.cause) if row.cause else None,
            total_nodes=row.total_nodes,
            changed_nodes=row.changed_nodes,
            failed_nodes=row.failed_nodes,
            skipped_nodes=row.skipped_nodes,
            cancel_requested=row.is_cancel_requested,
            cancel_grace_seconds=row.cancel_grace_seconds,
            cancel_reason=old.cancel_reason if self._cancel_reason is None else self._cancel_reason,
            started_at=old.started_at or (self._now if row.state is State.RUNNING else None),
            finished_at=self._now if row.state.is_final else None,
        )
        # A change of the phase or of counters alone has no event.
        asked = (new.cancel_requested, new.cancel_grace_seconds)
        is_told = new.state is not old.state or asked != (old.cancel_requested, old.cancel_grace_seconds)
        (self._world.put if is_told else self._world.keep)(new)

    def _add_nodes(self, each: change.AddNodes) -> None:
        operation = self._operation
        for ordinal, planned in enumerate(each.nodes):
            self._world.keep(
                Node(
                    id=str(uuid.uuid4()),
                    operation_id=operation.id,
                    release_id=operation.release_id,
                    path=planned.path,
                    kind=NodeKind(planned.kind),
                    task=planned.task,
                    ordinal=ordinal,
                    batch=planned.batch,
                )
            )

    def _move_node(self, each: change.MoveNode) -> None:
        old = self._node(each.path)
        begins = each.state in (NodeState.INSTALLING, NodeState.REMOVING)
        self._world.put(
            dataclasses.replace(
                old,
                state=each.state,
                changed=old.changed or each.changed,
                message=each.message,
                started_at=self._now if begins else old.started_at,
                finished_at=self._now if each.state.is_final else None,
            )
        )

    def _add_step(self, each: change.AddStep) -> None:
        told, node = each.report, self._node(each.report.path)
        begun_at = self._now if told.state is not State.PENDING else None
        step = Step(
            id=step_id(self._id, told.path, told.ordinal),
            node_id=node.id,
            operation_id=self._id,
            release_id=node.release_id,
            path=told.path,
            ordinal=told.ordinal,
            kind=told.kind,
            name=told.call.name,
            description=told.call.description,
            image=told.call.image,
            entrypoint=told.call.entrypoint,
            args=told.call.args,
            state=told.state,
            attempt=told.attempt,
            exit_code=told.exit_code,
            message=told.message,
            started_at=begun_at,
            finished_at=self._now if told.state.is_final else None,
        )
        if told.kind.has_effects and told.state is not State.PENDING:
            word = "STARTED" if told.state is State.RUNNING else told.state
            self._world.put(step, event_type=EventType(f"STEP_{word}"))
        else:
            self._world.keep(step)

    def _move_step(self, each: change.MoveStep) -> None:
        old = self._world.find(Step, step_id(self._id, each.path, each.ordinal))
        new = dataclasses.replace(
            old,
            state=each.state,
            attempt=each.attempt,
            exit_code=each.exit_code,
            message=each.message,
            started_at=self._now if each.state is State.RUNNING else old.started_at,
            finished_at=self._now if each.state.is_final else None,
        )
        (self._world.put if old.kind.has_effects else self._world.keep)(new)

    def _store_resource(self, each: change.StoreResource) -> None:
        told, release_id = each.report, self._operation.release_id
        known = self._book.resources.setdefault(release_id, {})
        old = known.get(told.path) or Resource(release_id, told.path)
        given: dict[str, Any] = {
            "revision": each.revision,
            "status": told.status,
            "image_id": told.image_id,
            "owned": told.owned,
        }
        texts = {"init": told.init, "config": told.config, "state": told.state}
        documents = {name: json.loads(text) if text else None for name, text in texts.items() if text is not None}
        values = {name: value for name, value in given.items() if value is not None} | documents
        known[told.path] = dataclasses.replace(old, type=told.type, observed_at=self._now, **values)

    def _store_emitted(self, each: change.StoreEmitted) -> None:
        told, known = each.report, release_row.runs_of(self._world, self._id)
        old = next((run for run in known if (run.event, run.chart) == (told.event, told.chart)), None)
        if old is None:
            new_id, release_id = str(uuid.uuid4()), self._operation.release_id
            old = LifecycleRun(new_id, self._id, release_id, len(known) + 1, told.event, told.chart)
        names = ("handlers", "outcome", "message", "seconds")
        new = dataclasses.replace(old, **{name: getattr(told, name) for name in names})
        if new != old or not old.version:
            self._world.put(new, event_type=EventType.LIFECYCLE_EMITTED)

    def _node(self, path: str) -> Node:
        return next(node for node in release_row.nodes_of(self._world, self._id) if node.path == path)


def _release_event(old: Release, new: Release, operation: Operation, facts: release_book.Facts) -> EventType:
    """Return the type of the release's event. A release that returns to its former state gets UPDATED."""
    if new.state is old.state:
        return EventType.UPDATED
    goes_back = facts.former_state is ReleaseState.FAILED and not facts.plan
    match new.state:
        case ReleaseState.UNINSTALLED:
            return EventType.RELEASE_UNINSTALLED
        case ReleaseState.DEPLOYED if operation.state is State.SUCCEEDED:
            return EventType.RELEASE_DEPLOYED
        case ReleaseState.FAILED if not goes_back or old.state is ReleaseState.PENDING_INSTALL:
            return EventType.RELEASE_FAILED
        case _:
            return EventType.UPDATED
