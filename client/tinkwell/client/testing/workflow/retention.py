"""Prunes the workflows of the fake server. Deleted workflows are gone at once, so only finished ones are pruned."""

import datetime

from tinkwell.client.testing.world import World
from tinkwell.client.workflow.model import Pruned, Workflow
from tinkwell.core import errors
from tinkwell.core.workflow import pruning


def forgettable(world: World, age_seconds: float) -> list[Workflow]:
    """Return the workflows that ended longer ago than `age_seconds`. Raises `InvalidField` for a negative time."""
    if not age_seconds >= 0:
        raise errors.InvalidField.of("older_than_seconds", f"is {age_seconds:g}; give 0 or more seconds")
    # The rule takes the latest workflow first, and `all` gives the oldest first.
    found = {workflow.id: workflow for workflow in reversed(world.all(Workflow))}
    before = world.clock.now() - datetime.timedelta(seconds=age_seconds)
    past = pruning.forgettable((_candidate(world, each) for each in found.values()), ended_before=before)
    return [found[candidate.id] for candidate in past]


def count(world: World, workflow: Workflow) -> Pruned:
    """Count a workflow and all that belongs to it."""
    return Pruned(
        workflows=1,
        actions=len(world.actions_of(workflow.id)),
        log_lines=len(world.lines.get(workflow.id, ())),
        reports=sum(entry.workflow_id == workflow.id for entry in world.journal),
    )


def forget(world: World, workflow: Workflow) -> None:
    """Delete a workflow for good."""
    actions = world.actions_of(workflow.id)
    world.remove(workflow)
    for gone in actions:
        world.remove(gone)
        world.forget(gone.id)
    world.forget(workflow.id)
    world.lines.pop(workflow.id, None)
    world.documents.pop(workflow.id, None)
    world.journal[:] = [entry for entry in world.journal if entry.workflow_id != workflow.id]


def _candidate(world: World, workflow: Workflow) -> pruning.Candidate:
    return pruning.Candidate(
        id=workflow.id,
        state=workflow.state,
        finished_at=workflow.finished_at,
        deleted_at=None,
        is_held=any(held.is_live for held in world.ledger.holds_of(workflow.id)),
        recovers=workflow.recovers,
        recovered_by=[other.id for other in world.all(Workflow) if other.recovers == workflow.id],
    )
