"""Builds a workflow snapshot from events, which saves a GetWorkflowContext call.

The server creates a workflow and its actions in one transaction. Their events come one after the other, the workflow's
first, and together they equal a snapshot taken at the creation. Like any snapshot, it may be out of date when the
driver uses it. The server then refuses the report that the driver makes, and the events of the newer changes make the
driver look again. A workflow that has succeeded needs no call, since success is final.
"""

from dataclasses import dataclass, field

from tinkwell.client import errors
from tinkwell.client.watch.event import Event
from tinkwell.client.workflow.model import Action, Workflow, WorkflowContext
from tinkwell.core.event.kinds import EventType, ResourceType, State
from tinkwell.core.workflow import decide
from tinkwell.provisioner.workflow import event_filter, snapshot

# A workflow with more actions than this is asked for instead: one call costs little beside that many events.
MAX_ACTIONS = 100
# At most this many workflows wait for the events of their actions at once. Workflows beyond it are asked for.
MAX_COMING = 100


@dataclass(slots=True)
class _Coming:
    workflow: Workflow
    actions: list[Action] = field(default_factory=list)


class Told:
    """Snapshots that need no call to the server. `take` removes the one it returns."""

    def __init__(self, lease: snapshot.Lease) -> None:
        self._lease = lease
        self._known: dict[str, snapshot.Seen] = {}
        self._coming: dict[str, _Coming] = {}

    def hear(self, event: Event) -> bool:
        """Take an event; False if the driver must wait for more events of the workflow's creation."""
        workflow_id = event_filter.workflow_of(event)
        self._known.pop(workflow_id, None)
        if event.event_type is EventType.WORKFLOW_SUCCEEDED:
            self.hear_of_success(workflow_id)
        elif event.event_type is EventType.CREATED and event.version == 1:
            try:
                self._create(event)
            except errors.Error:  # A newer server may have sent it: the driver asks for the workflow instead.
                self._coming.pop(workflow_id, None)
        else:
            self._coming.pop(workflow_id, None)
        return workflow_id not in self._coming

    def hear_of_success(self, workflow_id: str) -> None:
        """Store a snapshot of a workflow that has succeeded."""
        self._known[workflow_id] = snapshot.Seen(view=decide.WorkflowView.succeeded(workflow_id))

    def forget(self) -> None:
        """Drop all snapshots and unfinished creations, because the watch has missed events."""
        self._coming.clear()
        self._known.clear()

    def take(self, workflow_id: str) -> snapshot.Seen | None:
        """Remove and return the snapshot of a workflow; None if there is none."""
        return self._known.pop(workflow_id, None)

    def _create(self, event: Event) -> None:
        if event.resource_type is ResourceType.WORKFLOW:
            workflow = Workflow.from_json(event.data)
            is_small = 0 < workflow.total_actions <= MAX_ACTIONS and len(self._coming) < MAX_COMING
            if is_small and workflow.state is State.PENDING:
                self._coming[workflow.id] = _Coming(workflow)
        elif (coming := self._coming.get(event.parent_id)) is not None:
            coming.actions.append(Action.from_json(event.data))
            if len(coming.actions) == coming.workflow.total_actions:
                del self._coming[event.parent_id]
                self._known[event.parent_id] = snapshot.of(_context(coming), self._lease)


def _context(coming: _Coming) -> WorkflowContext:
    return WorkflowContext(
        coming.workflow.id,
        workflow_state=coming.workflow.state,
        created_at=coming.workflow.created_at,
        actions=tuple(coming.actions),
    )
