"""Events as a part of the server: watches of all resources, custom events, and how far this process is behind."""

import functools

from tinkwell.api.v1 import event_service_pb2, event_service_pb2_grpc
from tinkwell.server.database.database import Database
from tinkwell.server.event.api.servicer import EventServicer
from tinkwell.server.event.service.lag import Lag
from tinkwell.server.event.service.operations import EventService
from tinkwell.server.event.store import position
from tinkwell.server.log.fanout.hub import Hub
from tinkwell.server.rpc.room import Room
from tinkwell.server.rpc.watch.watch import Watches


class EventRoom(Room):
    """Events over gRPC."""

    def __init__(self, database: Database, watches: Watches) -> None:
        self.service = EventService(database)
        add = functools.partial(
            event_service_pb2_grpc.add_EventServiceServicer_to_server, EventServicer(self.service, watches)
        )
        super().__init__(event_service_pb2.DESCRIPTOR.services_by_name["EventService"].full_name, add)


def lag(database: Database, hub: Hub) -> Lag:
    """Make what looks now and then how far the hub is behind the database."""
    return Lag(functools.partial(position.read, database), hub)
