"""Workflows as a part of the server, with their shared documents and their output."""

import functools

from tinkwell.api.v1 import workflow_service_pb2, workflow_service_pb2_grpc
from tinkwell.server.database.database import Database
from tinkwell.server.rpc.room import Room
from tinkwell.server.rpc.watch.watch import Watches
from tinkwell.server.template.service.rendering import Rendering
from tinkwell.server.workflow.api.servicer import WorkflowServicer
from tinkwell.server.workflow.service.data import WorkflowDataService
from tinkwell.server.workflow.service.machine_hold import MachineHolds
from tinkwell.server.workflow.service.operations import WorkflowService
from tinkwell.server.workflow.service.output import LogService
from tinkwell.server.workflow.service.upkeep import Upkeep


class WorkflowRoom(Room):
    """Workflows over gRPC."""

    def __init__(
        self,
        database: Database,
        watches: Watches,
        rendering: Rendering,
        *,
        retention_seconds: float,
        interval_seconds: float,
    ) -> None:
        self.service = WorkflowService(database, rendering, retention_seconds=retention_seconds)
        self.upkeep = Upkeep(database, age_seconds=retention_seconds, interval_seconds=interval_seconds)
        self.data = WorkflowDataService(database)
        self.machines = MachineHolds(database)
        self._output = LogService(database)
        add = functools.partial(
            workflow_service_pb2_grpc.add_WorkflowServiceServicer_to_server,
            WorkflowServicer(self.service, self.data, self._output, watches),
        )
        super().__init__(workflow_service_pb2.DESCRIPTOR.services_by_name["WorkflowService"].full_name, add)

    def close(self) -> None:
        """End the streams of output."""
        self._output.close()
