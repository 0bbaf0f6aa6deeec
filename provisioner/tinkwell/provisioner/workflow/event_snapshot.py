"""What events tell of workflows so well that nothing need be asked: how they begin, and that they have succeeded.

A workflow and its actions are created in one transaction, and their events come one after the other, the workflow's
first. Together they are a look at the moment of the creation. Like any look it may be out of date when it is used; then
the server refuses what comes of it, and the events of what has changed are on their way. Success is final, and leaves
nothing to ask.
"""

from dataclasses import dataclass, field

from tinkwell.client import errors
from tinkwell.client.watch.event import Event
from tinkwell.client.workflow.model import Action, Workflow, WorkflowContext
from tinkwell.core.event.kinds import EventType, ResourceType, State
from tinkwell.core.workflow import decide
from tinkwell.provisioner.workflow import event_filter, snapshot

# So many actions are waited for at most; to ask for more takes little beside what they are.
MAX_ACTIONS = 100
# So many workflows are waited for at most. Each is complete a moment after it has begun.
MAX_COMING = 100


@dataclass(slots=True)
class _Coming:
    workflow: Workflow
    actions: list[Action] = field(default_factory=list)


class Told:
    """What was told of workflows that are to be looked at; whoever looks takes it."""

    def __init__(self, lease: snapshot.Lease) -> None:
        self._lease = lease
        self._known: dict[str, snapshot.Seen] = {}
        self._coming: dict[str, _Coming] = {}

    def hear(self, event: Event) -> bool:
        """Take an event; False while the rest of a creation is still to come, before which there is nothing to do."""
        workflow_id = event_filter.workflow_of(event)
        self._known.pop(workflow_id, None)
        if event.event_type is EventType.WORKFLOW_SUCCEEDED:
            self.hear_of_success(workflow_id)
        elif event.event_type is EventType.CREATED and event.version == 1:
            try:
                self._create(event)
            except errors.Error:  # a newer server's, perhaps: a look will tell
                self._coming.pop(workflow_id, None)
        else:
            self._coming.pop(workflow_id, None)
        return workflow_id not in self._coming

    def hear_of_success(self, workflow_id: str) -> None:
        """Take note that a workflow, which is to be looked at, has succeeded."""
        self._known[workflow_id] = snapshot.Seen(view=decide.WorkflowView.succeeded(workflow_id))

    def forget(self) -> None:
        """Wait for nothing any more, since events were missed."""
        self._coming.clear()
        self._known.clear()

    def take(self, workflow_id: str) -> snapshot.Seen | None:
        """Return what is known of a workflow at this moment, once."""
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
