"""Releases as a part of the server, with the output of their steps and the operations that are held under leases."""

import functools

from tinkwell.api.v1 import release_service_pb2, release_service_pb2_grpc
from tinkwell.server.database.database import Database
from tinkwell.server.release.api.servicer import ReleaseServicer
from tinkwell.server.release.service import listener
from tinkwell.server.release.service.operation_hold import OperationHolds
from tinkwell.server.release.service.operations import ReleaseService
from tinkwell.server.release.service.output import StepLogs
from tinkwell.server.rpc.room import Room
from tinkwell.server.rpc.watch.watch import Watches
from tinkwell.server.secret.service.operations import SecretService


class ReleaseRoom(Room):
    """Releases over gRPC."""

    def __init__(self, database: Database, watches: Watches, secrets: SecretService) -> None:
        self.service = ReleaseService(database, secrets, listener.load())
        self.operations = OperationHolds()
        self._output = StepLogs(database, self.service.expiry)
        add = functools.partial(
            release_service_pb2_grpc.add_ReleaseServiceServicer_to_server,
            ReleaseServicer(self.service, self._output, watches),
        )
        super().__init__(release_service_pb2.DESCRIPTOR.services_by_name["ReleaseService"].full_name, add)

    def close(self) -> None:
        """End the streams of output."""
        self._output.close()
