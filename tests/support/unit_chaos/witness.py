"""Who reads the log through Watch, which is all that a run is judged by."""

from tinkwell import client
from tinkwell.client import Event
from tinkwell.core.event.kinds import ResourceType

TYPES = (
    ResourceType.APPLICATION,
    ResourceType.UNIT,
    ResourceType.UNIT_EVENT,
    ResourceType.RELATION,
    ResourceType.STORAGE,
    ResourceType.SECRET,
    ResourceType.TASK,
)


class Witness:
    """Reads the log from its beginning on, over lost connections. `seen` is the last revision that it was told."""

    name = "witness"

    def __init__(self, connected: client.Client) -> None:
        self.events: list[Event] = []
        self.seen = 0
        self._client = connected

    async def run(self) -> None:
        """Read until cancelled."""
        watch = self._client.events.watch(resource_types=TYPES, from_revision=1)
        async with watch as events:
            async for event in events:
                self.events.append(event)
                self.seen = event.revision
