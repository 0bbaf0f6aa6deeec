"""Units as a part of the server: the calls of operators and agents, and the tasks that run as long as the server."""

import asyncio
import functools
from collections.abc import Sequence

from tinkwell.api.v1 import (
    application_service_pb2,
    application_service_pb2_grpc,
    namespace_service_pb2,
    namespace_service_pb2_grpc,
    secret_service_pb2,
    secret_service_pb2_grpc,
    unit_service_pb2,
    unit_service_pb2_grpc,
)
from tinkwell.server.database.database import Database
from tinkwell.server.log.watching import WatchService
from tinkwell.server.rpc.room import Room
from tinkwell.server.rpc.watch.watch import Watches
from tinkwell.server.secret.service.operations import SecretService
from tinkwell.server.unit.api.agent_servicer import UnitServicer
from tinkwell.server.unit.api.log_feed import LogFeed
from tinkwell.server.unit.api.secret_servicer import SecretServicer
from tinkwell.server.unit.api.servicer import ApplicationServicer, NamespaceServicer
from tinkwell.server.unit.service.agent.service import AgentService
from tinkwell.server.unit.service.request.service import ApplicationService

# The longest time that units wait for changes that no event of the log reports, such as a leader's end.
_LONGEST_ROUND_SECONDS = 5.0


class UnitRooms:
    """Applications, namespaces and units over gRPC, one room for each service."""

    def __init__(
        self,
        database: Database,
        log: WatchService,
        watches: Watches,
        sealing: SecretService,
        *,
        lease_seconds: float,
        allows_commands: bool,
    ) -> None:
        self.agents = AgentService(
            database,
            interval_seconds=min(lease_seconds / 3, _LONGEST_ROUND_SECONDS),
            sealing=sealing,
        )
        self._feed = LogFeed(log, self.agents.wakes)
        self.applications = ApplicationService(
            database, self.agents.reaping.run, sealing=sealing, allows_commands=allows_commands
        )
        self.agents.rounds.others.append(self.applications.removing.force_due)
        self.rooms: Sequence[Room] = (
            _ApplicationRoom(self.applications, watches),
            _NamespaceRoom(self.applications, watches),
            _SecretRoom(self.applications, watches),
            _AgentRoom(self.agents),
        )

    def start(self, tasks: asyncio.TaskGroup) -> None:
        """Start the tasks of units in the group. They run until they are cancelled."""
        tasks.create_task(self._feed.run(), name="unit feed")
        tasks.create_task(self.agents.run(), name="unit wakes")
        tasks.create_task(self.agents.rounds.run(), name="unit rounds")


class _ApplicationRoom(Room):
    """ApplicationService."""

    def __init__(self, service: ApplicationService, watches: Watches) -> None:
        self._service = service
        add = functools.partial(
            application_service_pb2_grpc.add_ApplicationServiceServicer_to_server, ApplicationServicer(service, watches)
        )
        super().__init__(application_service_pb2.DESCRIPTOR.services_by_name["ApplicationService"].full_name, add)

    def close(self) -> None:
        """End the streams of logs."""
        self._service.logs.close()


class _NamespaceRoom(Room):
    """NamespaceService."""

    def __init__(self, service: ApplicationService, watches: Watches) -> None:
        add = functools.partial(
            namespace_service_pb2_grpc.add_NamespaceServiceServicer_to_server,
            NamespaceServicer(service.namespaces, watches),
        )
        super().__init__(namespace_service_pb2.DESCRIPTOR.services_by_name["NamespaceService"].full_name, add)


class _SecretRoom(Room):
    """SecretService."""

    def __init__(self, service: ApplicationService, watches: Watches) -> None:
        add = functools.partial(
            secret_service_pb2_grpc.add_SecretServiceServicer_to_server, SecretServicer(service.secrets, watches)
        )
        super().__init__(secret_service_pb2.DESCRIPTOR.services_by_name["SecretService"].full_name, add)


class _AgentRoom(Room):
    """UnitService."""

    def __init__(self, agents: AgentService) -> None:
        self._agents = agents
        add = functools.partial(unit_service_pb2_grpc.add_UnitServiceServicer_to_server, UnitServicer(agents))
        super().__init__(unit_service_pb2.DESCRIPTOR.services_by_name["UnitService"].full_name, add)

    def close(self) -> None:
        """End the streams of agents."""
        self._agents.wakes.close()
