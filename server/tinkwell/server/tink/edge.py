"""Serves Tinkerbell's services: the same application as behind the server's own services, on a port of its own."""

from collections.abc import Iterable, Sequence

import grpc.aio

from tinkwell.api.tink import (
    events_pb2,
    events_pb2_grpc,
    hardware_pb2,
    hardware_pb2_grpc,
    template_pb2,
    template_pb2_grpc,
    workflow_pb2,
    workflow_pb2_grpc,
)
from tinkwell.core.access import Caller
from tinkwell.server.hardware.service.operations import HardwareService
from tinkwell.server.log.watching import WatchService
from tinkwell.server.rpc import auth, interceptor, reflection
from tinkwell.server.rpc.metric import CallMetrics
from tinkwell.server.template.service.operations import TemplateService
from tinkwell.server.tink.dispatch import Dispatch
from tinkwell.server.tink.event import EventsServicer
from tinkwell.server.tink.feed import Feed
from tinkwell.server.tink.hardware import HardwareServicer
from tinkwell.server.tink.template import TemplateServicer
from tinkwell.server.tink.worker_id import WorkerIds
from tinkwell.server.tink.workflow import WorkflowServicer
from tinkwell.server.workflow.service.data import WorkflowDataService
from tinkwell.server.workflow.service.operations import WorkflowService

ACTOR = "tinkerbell"

_SERVICES = tuple(
    module.DESCRIPTOR.services_by_name[name].full_name
    for module, name in (
        (hardware_pb2, "HardwareService"),
        (template_pb2, "TemplateService"),
        (workflow_pb2, "WorkflowService"),
        (events_pb2, "EventsService"),
    )
)


class Everybody(auth.Authenticator):
    """Admits every caller under one name, because Tinkerbell's tools cannot identify themselves."""

    def __init__(self) -> None:
        super().__init__({})

    def authenticate(self, method: str, metadata: Iterable[tuple[str, str | bytes]]) -> Caller:
        """Return the one name of all callers, who may do everything on this port."""
        return Caller(ACTOR)


class Edge:
    """Makes servers of the services. `max_held` limits how many workers' streams stay open."""

    def __init__(
        self,
        watches: WatchService,
        *,
        hardware: HardwareService,
        templates: TemplateService,
        workflows: WorkflowService,
        data: WorkflowDataService,
        max_held: int,
    ) -> None:
        self._feed = Feed(watches)
        self._hardware = hardware
        self._templates = templates
        self._workflows = workflows
        self._data = data
        self._dispatch = Dispatch(self._workflows, self._feed, max_held=max_held)

    async def run(self) -> None:
        """Follow the log for the workers' streams, until cancelled."""
        await self._dispatch.run()

    def close(self) -> None:
        """End the workers' streams."""
        self._dispatch.close()

    def create(
        self, calls: CallMetrics, *, options: Sequence[tuple[str, int]], has_reflection: bool
    ) -> grpc.aio.Server:
        """Return a server that has no port yet."""
        server = grpc.aio.server(interceptors=[interceptor.CallInterceptor(Everybody(), calls)], options=options)
        hardware_pb2_grpc.add_HardwareServiceServicer_to_server(HardwareServicer(self._hardware, self._feed), server)
        template_pb2_grpc.add_TemplateServiceServicer_to_server(TemplateServicer(self._templates), server)
        workflow_pb2_grpc.add_WorkflowServiceServicer_to_server(
            WorkflowServicer(self._workflows, self._data, self._dispatch, WorkerIds(self._hardware)), server
        )
        events_pb2_grpc.add_EventsServiceServicer_to_server(EventsServicer(self._feed), server)
        if has_reflection:
            reflection.add_to(server, _SERVICES)
        return server
