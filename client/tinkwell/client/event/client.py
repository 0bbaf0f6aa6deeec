"""The client of the log of events."""

from collections.abc import Mapping
from typing import Any

from tinkwell.api.v1 import event_service_pb2 as pb
from tinkwell.api.v1 import event_service_pb2_grpc
from tinkwell.client import call
from tinkwell.client.event import message
from tinkwell.client.event.model import Position, Published
from tinkwell.client.value import field
from tinkwell.client.watch import service


class EventClient(service.Service):
    """Watches the events of all resources, publishes custom events, and keeps named positions."""

    def __init__(self, caller: call.Caller) -> None:
        self._stub = event_service_pb2_grpc.EventServiceStub(caller.channel)
        super().__init__(caller, self._stub.Watch)

    async def publish(
        self, name: str, *, resource_id: str = "", data: Mapping[str, Any] | str | None = None
    ) -> Published:
        """Record a custom event with a dotted name.

            await client.events.publish("rack.door_opened", data={"rack": 5})

        Raises `InvalidField` for a name below a built-in prefix, such as `workflow.`.
        """
        request = field.build(
            pb.PublishRequest, name=name, resource_id=resource_id, data=field.to_json_text(data, "data")
        )
        answer = await self._caller.unary(self._stub.Publish, request, may_repeat=False)
        return Published(answer.id, answer.revision)

    async def position(self, name: str, *, claim: bool = False) -> Position:
        """Read a named position; raises `NotFound` for one that was never claimed.

        `claim` creates the position, or takes it over: from then on only the returned token may commit.
        """
        request = field.build(pb.GetPositionRequest, name=name, claim=claim)
        return message.position(await self._caller.unary(self._stub.GetPosition, request, may_repeat=True))

    async def commit_position(self, name: str, *, revision: int, history_id: str, token: int) -> Position:
        """Store the revision up to which a consumer has handled events.

            held = await client.events.position("mailer", claim=True)
            watch = client.events.watch(from_revision=held.revision + 1, history_id=held.history_id)
            async for event in watch:
                await mail(event)
                await client.events.commit_position(
                    "mailer", revision=watch.revision, history_id=watch.history_id, token=held.token
                )

        Raises `LostRace` if another consumer has claimed the position since.
        """
        request = field.build(
            pb.CommitPositionRequest, name=name, revision=revision, history_id=history_id, token=token
        )
        return message.position(await self._caller.unary(self._stub.CommitPosition, request, may_repeat=True))
