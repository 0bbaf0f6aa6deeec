"""Templates as a part of the server."""

import functools

from tinkwell.api.v1 import template_service_pb2, template_service_pb2_grpc
from tinkwell.server.database.database import Database
from tinkwell.server.rpc.room import Room
from tinkwell.server.rpc.watch.watch import Watches
from tinkwell.server.template.api.servicer import TemplateServicer
from tinkwell.server.template.service.operations import TemplateService
from tinkwell.server.template.service.rendering import Rendering


class TemplateRoom(Room):
    """Templates over gRPC."""

    def __init__(self, database: Database, watches: Watches, rendering: Rendering) -> None:
        self.service = TemplateService(database, rendering)
        add = functools.partial(
            template_service_pb2_grpc.add_TemplateServiceServicer_to_server, TemplateServicer(self.service, watches)
        )
        super().__init__(template_service_pb2.DESCRIPTOR.services_by_name["TemplateService"].full_name, add)
