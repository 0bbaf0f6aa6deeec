"""Events as the log holds them, for tests that need some."""

from tinkwell.core.event.event import Event
from tinkwell.core.event.kinds import EventType, ResourceType

KINDS = [
    (ResourceType.HARDWARE, EventType.CREATED, "hardware.created"),
    (ResourceType.HARDWARE, EventType.UPDATED, "hardware.updated"),
    (ResourceType.WORKFLOW, EventType.WORKFLOW_TIMEOUT, "workflow.timeout"),
    (ResourceType.ACTION, EventType.ACTION_STARTED, "action.started"),
    (ResourceType.CUSTOM, EventType.CUSTOM, "rack.door_opened"),
]
IDS = ["", "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"]


def make_event(revision: int, *, kind: int = 0, resource: int = 1, parent: int = 0, data: str = "{}") -> Event:
    """Make an event of one of the `KINDS` about one of the `IDS`."""
    resource_type, event_type, name = KINDS[kind]
    return Event(
        revision=revision,
        id=f"00000000-0000-0000-0000-{revision:012}",
        resource_type=resource_type,
        resource_id=IDS[resource],
        parent_id=IDS[parent],
        event_type=event_type,
        name=name,
        version=1,
        # The first of January 2026.
        created_at=1_767_225_600_000_000,
        actor="test",
        data=data,
    )
