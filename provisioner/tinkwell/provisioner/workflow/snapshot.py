"""What a look at a workflow finds out: how far the server says it is, in the words of `core.decide`."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from tinkwell.client import errors
from tinkwell.client.workflow.model import Action, MachineHold, WorkflowContext
from tinkwell.core.workflow import decide, hook
from tinkwell.provisioner.workflow import machine_queue

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class LookApi(Protocol):
    """What looking at a workflow needs of the server."""

    async def context(self, id: str, *, with_actions: bool) -> WorkflowContext:  # noqa: A002
        """Say how far a workflow is, if wanted with its actions at the same moment; raises `NotFound`."""


class Lease(Protocol):
    """What looking at a workflow needs of the lease."""

    def is_own(self, token: int) -> bool:
        """Say whether this is the token of the lease."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a look has found out about a workflow; a machine of it may be held by another one, which `held_by` names."""

    view: decide.WorkflowView
    actions: dict[str, Action] = field(default_factory=dict)
    created_at: datetime = _LONG_AGO
    machine: str = ""
    held_by: str = ""

    @property
    def waiter(self) -> machine_queue.Waiter:
        """The workflow as one that would start."""
        return machine_queue.Waiter(self.created_at, self.view.id)


async def see(api: LookApi, workflow_id: str, *, lease: Lease, was_begun: bool) -> Seen:
    """Ask for the workflow and its actions at once: were these older, what is due after their ends would be missed.

    Of a workflow that is deleted nobody tells who holds its machines, so one that was begun here is taken for owed.
    """
    try:
        context = await api.context(workflow_id, with_actions=True)
    except errors.NotFound:
        return Seen(view=decide.WorkflowView.deleted(workflow_id, is_owed=was_begun))
    return of(context, lease)


def of(context: WorkflowContext, lease: Lease) -> Seen:
    """Say what a context with its actions shows."""
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
    if lease.is_own(hold.lease_token):  # also where it has expired, for it lives on as soon as it is renewed
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
