"""Leases as a part of the server. Each room that holds something under leases passes its holder in."""

import functools

from tinkwell.api.v1 import work_service_pb2, work_service_pb2_grpc
from tinkwell.server.database.database import Database
from tinkwell.server.lease.api import servicer
from tinkwell.server.lease.service.operations import Holder, LeaseService
from tinkwell.server.rpc.room import Room


class LeaseRoom(Room):
    """Leases over gRPC."""

    def __init__(
        self, database: Database, *, lease_seconds: float, workflows: servicer.WorkflowHolder, operations: Holder
    ) -> None:
        holders = {servicer.WORKFLOW: workflows, servicer.OPERATION: operations}
        self.service = LeaseService(database, lease_seconds=lease_seconds, holders=holders)
        add = functools.partial(
            work_service_pb2_grpc.add_WorkServiceServicer_to_server, servicer.WorkServicer(self.service, workflows)
        )
        super().__init__(work_service_pb2.DESCRIPTOR.services_by_name["WorkService"].full_name, add)
