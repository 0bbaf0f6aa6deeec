"""Asks the server for a workflow, and translates the answer into the view that `core.decide` takes."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from tinkwell.client import errors
from tinkwell.client.workflow.model import Action, MachineHold, WorkflowContext
from tinkwell.core.workflow import decide, hook
from tinkwell.provisioner.workflow import machine_queue

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class LookApi(Protocol):
    """The call to the server that a look needs."""

    async def context(self, id: str, *, with_actions: bool) -> WorkflowContext:  # noqa: A002
        """Return the state of a workflow, with its actions at the same moment if wanted; raises `NotFound`."""


class Lease(Protocol):
    """The part of the lease that a look needs."""

    def is_own(self, token: int) -> bool:
        """Return whether this is the token of this provisioner's lease."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The result of a look at a workflow. If another workflow holds a machine of it, `held_by` and `machine` name both.

    They are empty otherwise.
    """

    view: decide.WorkflowView
    actions: dict[str, Action] = field(default_factory=dict)
    created_at: datetime = _LONG_AGO
    machine: str = ""
    held_by: str = ""

    @property
    def waiter(self) -> machine_queue.Waiter:
        """The workflow as an entry of a machine's queue."""
        return machine_queue.Waiter(self.created_at, self.view.id)


async def see(api: LookApi, workflow_id: str, *, lease: Lease, was_begun: bool) -> Seen:
    """Ask for the workflow and its actions by one call: actions from an earlier call could miss an end, and its hook.

    The server does not tell who holds the machines of a deleted workflow. If a run of it was begun here, it counts as
    owed.
    """
    try:
        context = await api.context(workflow_id, with_actions=True)
    except errors.NotFound:
        return Seen(view=decide.WorkflowView.deleted(workflow_id, is_owed=was_begun))
    return of(context, lease)


def of(context: WorkflowContext, lease: Lease) -> Seen:
    """Build the result of a look from a context with its actions."""
    view = decide.WorkflowView(
        id=context.workflow_id,
        state=context.workflow_state,
        actions=tuple(_view_of(action) for action in context.actions),
        is_blocked=bool(context.waits_for_workflow),
        holders={hold.worker_id: _holder_of(hold, lease) for hold in context.holds if hold.lease_token},
        is_owed=any(hold.action_id and lease.is_own(hold.lease_token) for hold in context.holds),
    )
    return Seen(
        view=view,
        actions={action.id: action for action in context.actions},
        created_at=context.created_at or _LONG_AGO,
        machine=context.waits_for_worker,
        held_by=context.waits_for_workflow,
    )


def _holder_of(hold: MachineHold, lease: Lease) -> decide.Holder:
    if lease.is_own(hold.lease_token):  # Also if the lease has expired: it is valid again once it is renewed.
        return decide.Holder.HERE
    return decide.Holder.ELSEWHERE if hold.is_live else decide.Holder.DEAD


def _view_of(action: Action) -> decide.ActionView:
    return decide.ActionView(
        id=action.id,
        index=action.index,
        worker_id=action.worker_id,
        state=action.state,
        attempt=action.attempt,
        remaining_seconds=action.remaining_seconds,
        wait_seconds=action.wait_seconds,
        reboots=action.reboots,
        hook=hook.due(action.state, on_failure=action.on_failure, on_timeout=action.on_timeout),
    )
