"""Turns the releases of the fake server into the rows that the core's rules take."""

import json
from collections.abc import Iterable

from tinkwell.client.release.model import LifecycleRun, Node, Operation, Release, Step
from tinkwell.client.testing.world import World
from tinkwell.core.lease import lease
from tinkwell.core.release.record import Options
from tinkwell.core.release.transition.ending import Leftover
from tinkwell.core.release.transition.row import NodeRow, OperationRow, ReleaseRow, StepRow


def nodes_of(world: World, operation_id: str) -> list[Node]:
    """Return the nodes of an operation in the order of its plan."""
    return sorted((n for n in world.all(Node) if n.operation_id == operation_id), key=lambda node: node.ordinal)


def steps_of(world: World, operation_id: str, path: str) -> list[Step]:
    """Return the steps of a node in order."""
    found = (step for step in world.all(Step) if step.operation_id == operation_id and step.path == path)
    return sorted(found, key=lambda step: step.ordinal)


def runs_of(world: World, operation_id: str) -> list[LifecycleRun]:
    """Return the lifecycle events that an operation emitted, in order."""
    found = (run for run in world.all(LifecycleRun) if run.operation_id == operation_id)
    return sorted(found, key=lambda run: run.ordinal)


def remaining_seconds(world: World, operation: Operation) -> float:
    """Return the server's seconds to the deadline of an operation."""
    options = operation.options or Options()
    return world.clock.left(operation.created_at, options.timeout_seconds) or 0.0


def hold(world: World, operation: Operation) -> lease.Hold:
    """Return the lease that holds an operation, with its state."""
    lease_id = world.releases.facts_of(operation.id).lease_id
    return lease.Hold(kind="operation", id=operation.id, lease_id=lease_id, lease=world.ledger.lease(lease_id))


def release_row(world: World, release: Release) -> ReleaseRow:
    """Return a release as a row."""
    mine = (each for each in world.all(Operation) if each.release_id == release.id)
    return ReleaseRow(
        id=release.id,
        name=release.name,
        state=release.state,
        revision=release.revision,
        latest_revision=release.latest_revision,
        operation_id=release.operation_id,
        engine=release.engine,
        is_deleted=release.deleted_at is not None,
        active_operation_id=next((each.id for each in mine if not each.state.is_final), ""),
        drift=world.releases.drifts.get(release.id, ""),
    )


def operation_row(world: World, operation: Operation) -> OperationRow:
    """Return an operation as a row."""
    facts = world.releases.facts_of(operation.id)
    return OperationRow(
        id=operation.id,
        kind=operation.kind,
        state=operation.state,
        phase=operation.phase,
        options=operation.options or Options(),
        former_state=facts.former_state,
        revision=operation.revision,
        rollback_of=facts.rollback_of,
        cause=json.dumps(operation.cause) if operation.cause else "",
        follows=operation.follows,
        plan_of=operation.plan_of,
        total_nodes=operation.total_nodes,
        changed_nodes=operation.changed_nodes,
        failed_nodes=operation.failed_nodes,
        skipped_nodes=operation.skipped_nodes,
        is_cancel_requested=operation.cancel_requested,
        cancel_grace_seconds=operation.cancel_grace_seconds,
        remaining_seconds=remaining_seconds(world, operation),
    )


def node_row(node: Node) -> NodeRow:
    """Return a node as a row."""
    return NodeRow(path=node.path, kind=node.kind, task=node.task, state=node.state)


def step_rows(steps: Iterable[Step]) -> list[StepRow]:
    """Return steps as rows."""
    return [
        StepRow(path=step.path, ordinal=step.ordinal, kind=step.kind, state=step.state, attempt=step.attempt)
        for step in steps
    ]


def leftover(world: World, operation: Operation) -> Leftover:
    """Return the other rows that the end of an operation changes."""
    nodes = nodes_of(world, operation.id)
    steps = [step for node in nodes for step in steps_of(world, operation.id, node.path)]
    return Leftover(
        release=release_row(world, world.find(Release, operation.release_id)),
        revision=world.releases.revision_row(operation.release_id, operation.revision),
        nodes=[node_row(node) for node in nodes if not node.state.is_final],
        steps=step_rows(step for step in steps if not step.state.is_final),
    )
