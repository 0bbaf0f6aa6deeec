"""Selects the events that a provisioner watches, and tells which workflow an event is about."""

from tinkwell.client.watch.event import Event
from tinkwell.core.event.kinds import EventType, ResourceType

# The event types to watch. WORKFLOW_INPROGRESS is left out: the end of an action, just before it, tells the same.
WANTED = tuple(kind for kind in EventType if kind is not EventType.WORKFLOW_INPROGRESS)

# These events are no news if an action of the workflow runs here: the reports of its job have caused them.
PROGRESS = frozenset(
    {
        EventType.WORKFLOW_STARTED,
        EventType.ACTION_STARTED,
        EventType.ACTION_SUCCEEDED,
    }
)


def workflow_of(event: Event) -> str:
    """Return the id of the workflow that an event is about; empty for an event about something else."""
    match event.resource_type:
        case ResourceType.WORKFLOW:
            return event.resource_id
        case ResourceType.ACTION:
            return event.parent_id
        case _:
            return ""
