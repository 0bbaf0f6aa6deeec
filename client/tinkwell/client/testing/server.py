"""The fake server for tests."""

from typing import Any, Self

import grpc
from grpc import aio

from tinkwell.api.v1 import (
    application_service_pb2_grpc,
    event_service_pb2_grpc,
    hardware_service_pb2_grpc,
    namespace_service_pb2_grpc,
    release_service_pb2_grpc,
    secret_service_pb2_grpc,
    template_service_pb2_grpc,
    unit_service_pb2_grpc,
    work_service_pb2_grpc,
    workflow_service_pb2_grpc,
)
from tinkwell.client.testing import event, gate, hardware, template, work
from tinkwell.client.testing.clock import Clock
from tinkwell.client.testing.gate import ReceivedCall
from tinkwell.client.testing.log import EventLog
from tinkwell.client.testing.release.servicer import ReleaseServicer
from tinkwell.client.testing.unit import agent_servicer, namespace, secret_servicer
from tinkwell.client.testing.unit import servicer as unit
from tinkwell.client.testing.workflow import servicer as workflow
from tinkwell.client.testing.world import R, World
from tinkwell.client.watch.event import Event
from tinkwell.core import errors
from tinkwell.core.event.kinds import EventType, ResourceType

_HEALTH_SERVICE = "grpc.health.v1.Health"
_SERVING, _NOT_SERVING = b"\x08\x01", b"\x08\x02"
# The client pings a silent connection every 20 s; gRPC's own limit is one ping in 5 minutes.
_OPTIONS = (("grpc.http2.min_ping_interval_without_data_ms", 5_000), ("grpc.so_reuseport", 0))


class FakeServer:
    """A server in this process and event loop, on a free port of the loopback interface; an async context manager.

    It keeps resources and events in memory, checks little, and causes faults on demand. It has no provisioner:
    workflows and releases begin and end by reports and by `put`; deadlines follow `clock`. `gate.around` is called
    around each call; `log.pause` delays watches. `batch_size` and `bookmark_seconds` configure its watches. With
    `token` it refuses calls without that token, with `credentials` it uses TLS. Applications follow the rules of the
    core; their units get events when agents ask for them. Charts and charms need the libraries of `tinkwell[server]`.
    """

    def __init__(
        self,
        *,
        token: str | None = None,
        credentials: grpc.ServerCredentials | None = None,
        batch_size: int = 50,
        bookmark_seconds: float = 1.0,
        clock: Clock | None = None,
    ) -> None:
        self.clock = clock or Clock()
        self.log = EventLog(batch_size=batch_size, bookmark_seconds=bookmark_seconds, clock=self.clock)
        self.world = World(self.log)
        self.gate = gate.Gate(token)
        self.is_serving = True
        self._credentials = credentials
        self._server: aio.Server | None = None
        self._port = 0

    @property
    def address(self) -> str:
        """The address for clients; the same after a restart."""
        return f"localhost:{self._port}"

    @property
    def calls(self) -> list[ReceivedCall]:
        """The calls received, oldest first."""
        return list(self.gate.calls)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen; after a stop, on the same port as before."""
        server = aio.server(interceptors=[self.gate], options=_OPTIONS)
        hardware_service_pb2_grpc.add_HardwareServiceServicer_to_server(hardware.HardwareServicer(self.world), server)
        template_service_pb2_grpc.add_TemplateServiceServicer_to_server(template.TemplateServicer(self.world), server)
        workflow_service_pb2_grpc.add_WorkflowServiceServicer_to_server(
            workflow.WorkflowServicer(self.world, self.gate), server
        )
        release_service_pb2_grpc.add_ReleaseServiceServicer_to_server(ReleaseServicer(self.world), server)
        application_service_pb2_grpc.add_ApplicationServiceServicer_to_server(
            unit.ApplicationServicer(self.world), server
        )
        namespace_service_pb2_grpc.add_NamespaceServiceServicer_to_server(
            namespace.NamespaceServicer(self.world), server
        )
        unit_service_pb2_grpc.add_UnitServiceServicer_to_server(agent_servicer.UnitServicer(self.world), server)
        secret_service_pb2_grpc.add_SecretServiceServicer_to_server(secret_servicer.SecretServicer(self.world), server)
        work_service_pb2_grpc.add_WorkServiceServicer_to_server(work.WorkServicer(self.world), server)
        event_service_pb2_grpc.add_EventServiceServicer_to_server(event.EventServicer(self.world), server)
        check: Any = grpc.unary_unary_rpc_method_handler(self._check_health)
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(_HEALTH_SERVICE, {"Check": check})])
        where = f"localhost:{self._port}"
        if self._credentials is None:
            self._port = server.add_insecure_port(where)
        else:
            self._port = server.add_secure_port(where, self._credentials)
        await server.start()
        self._server = server

    async def stop(self) -> None:
        """Stop like a server that dies. Resources and events stay for the next start."""
        if self._server is not None:
            server, self._server = self._server, None
            self.log.drop_connections()
            await server.stop(None)

    def put(self, resource: R, *, actor: str = "test") -> R:
        """Create or replace a resource as the API would; sets its version and times, and records an event.

        machine = server.put(Hardware(id="…"))
        server.put(dataclasses.replace(workflow, state=State.TIMEOUT))     # a WORKFLOW_TIMEOUT event
        """
        return self.world.put(resource, actor=actor)

    def expire_lease(self, lease_token: int) -> None:
        """End a lease, as if its owner had been silent for too long."""
        self.world.ledger.expire(lease_token)

    def remove(self, resource: R, *, actor: str = "test") -> Event:
        """Delete a resource, as the API would."""
        return self.world.remove(resource, actor=actor)

    def emit(self, event_type: EventType, resource_type: ResourceType = ResourceType.CUSTOM, **fields: Any) -> Event:
        """Record an event that changes no resource; `fields` are those of an event, such as `name` and `data`."""
        return self.world.emit(event_type, resource_type, **fields)

    def drop_connections(self) -> None:
        """End all watches with UNAVAILABLE; they may come back at once."""
        self.log.drop_connections()

    def compact(self, oldest_revision: int) -> None:
        """Delete the events below a revision."""
        self.log.compact(oldest_revision)

    def change_history(self, *, tail: int = 0) -> None:
        """Begin another history with the last revision `tail`, as a restored database does."""
        self.log.change_history(tail=tail)

    def fail_next(self, error: errors.TinkwellError, *, method: str = "", times: int = 1) -> None:
        """Answer the next calls with an error of `tinkwell.core.errors`; `method` such as "Push", empty means any."""
        self.gate.fail_next(error, method=method, times=times)

    def requests(self, method: str) -> list[Any]:
        """Return the requests received by a method, oldest first."""
        return [call.request for call in self.gate.calls if call.method == method and call.request is not None]

    async def _check_health(self, request: bytes, context: Any) -> bytes:
        return _SERVING if self.is_serving else _NOT_SERVING
