"""Leases as a part of the server."""

import functools

from tinkwell.api.v1 import work_service_pb2, work_service_pb2_grpc
from tinkwell.server.database.database import Database
from tinkwell.server.lease.api.servicer import WorkServicer
from tinkwell.server.lease.service.operations import WorkService
from tinkwell.server.rpc.room import Room


class LeaseRoom(Room):
    """Leases over gRPC."""

    def __init__(self, database: Database, *, lease_seconds: float) -> None:
        self.service = WorkService(database, lease_seconds=lease_seconds)
        add = functools.partial(work_service_pb2_grpc.add_WorkServiceServicer_to_server, WorkServicer(self.service))
        super().__init__(work_service_pb2.DESCRIPTOR.services_by_name["WorkService"].full_name, add)
