"""What an event says to a provisioner: which workflow is worth a look, and when that is no news."""

from tinkwell.client.watch.event import Event
from tinkwell.core.event.kinds import EventType, ResourceType

# What is asked for: all but that a workflow gets on, which the end of its action has told in the moment before.
WANTED = tuple(kind for kind in EventType if kind is not EventType.WORKFLOW_INPROGRESS)

# What tells nothing new about a workflow of which an action runs here: its job's reports have brought it about.
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
