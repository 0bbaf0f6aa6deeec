"""The server process: puts the rooms together, runs them, and takes them down in order."""

import asyncio
import contextlib
import dataclasses
import functools
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import metadata

import grpc.aio
import prometheus_client
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tinkwell.core import errors
from tinkwell.server.app import credentials, event_log, metric
from tinkwell.server.app.event_log import EventLog
from tinkwell.server.app.http_application import create_application, create_listener
from tinkwell.server.database import engine, readiness
from tinkwell.server.database.database import Database
from tinkwell.server.event.room import EventRoom
from tinkwell.server.hardware import room as hardware_room
from tinkwell.server.hardware.api.phone_home import PhoneHome
from tinkwell.server.hardware.room import HardwareRoom
from tinkwell.server.http.listener import HttpListener
from tinkwell.server.http.probe import Probe
from tinkwell.server.lease.room import LeaseRoom
from tinkwell.server.log.relay.relay import Relay
from tinkwell.server.log.retention import Result
from tinkwell.server.log.store.log import PostgresLog
from tinkwell.server.release.room import ReleaseRoom
from tinkwell.server.release.service.forgetting import Forgetting, Loss
from tinkwell.server.rpc import auth, call_log, interceptor, reflection
from tinkwell.server.rpc.health import Health
from tinkwell.server.rpc.metric import CallMetrics
from tinkwell.server.rpc.room import Room
from tinkwell.server.rpc.watch.watch import Watches
from tinkwell.server.secret import keys
from tinkwell.server.secret.service.operations import SecretService
from tinkwell.server.secret.service.rekey import Outcome, Rekey
from tinkwell.server.settings import Settings
from tinkwell.server.template.room import TemplateRoom
from tinkwell.server.template.service.rendering import Rendering
from tinkwell.server.tink.edge import Edge
from tinkwell.server.unit.room import UnitRooms
from tinkwell.server.unit.service.secret.loss import Losses
from tinkwell.server.workflow.room import WorkflowRoom
from tinkwell.server.workflow.service.upkeep import Upkeep

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 0.005
_PHONE_CONNECTIONS = 2
_COMMAND_CONNECTIONS = 1
# The server finds a client that vanished within half a minute, and clients may check the server as often. gRPC waits
# for the answer to a ping for ping_timeout, a minute by default, however short the keepalive timeout is.
_OPTIONS = (
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.ping_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ("grpc.max_receive_message_length", 4 << 20),
    # Calls of a method that wait to be taken, including those that were reset in the meantime, because gRPC keeps
    # these. From the first number on gRPC cancels random calls of any client; its default is a thousand, which one
    # connection alone may have. Each call takes about 20 KB.
    ("grpc.server.max_pending_requests", 10_000),
    ("grpc.server.max_pending_requests_hard_limit", 20_000),
)
# Opens an HTTP side that answers for the probe, and yields its address as host:port, or an empty text without one.
Side = Callable[[Probe], AbstractAsyncContextManager[str]]


@dataclasses.dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of a ready server, as host:port. `tink` is empty if Tinkerbell's tools are not served."""

    grpc: str
    http: str
    tink: str = ""


async def serve(
    settings: Settings,
    *,
    ready: Callable[[Addresses], None] | None = None,
    side: Side | None = None,
    shares_port: bool = False,
) -> None:
    """Serve until cancelled. `ready` is called once, when calls are accepted and the event log is open.

    `side` replaces the HTTP port. With `shares_port` other processes of this account may listen on the gRPC port, too;
    without it, a second server there is refused. Raises `errors.Unavailable` if the database cannot be reached;
    `readiness.NotUsable` if its schema does not fit this release, or if the database would not survive a crash; and
    `keys.InvalidKeys` for a key file that cannot be used.
    """
    call_log.install()
    # A wrong key file is reported now, not at the first secret.
    known = keys.read(settings.secret_keys) if settings.secret_keys is not None else None
    if known is not None:
        logger.info("secrets are sealed", extra={"key": known.first.id.hex()})
    database_url = settings.database_url.get_secret_value()
    await readiness.wait(database_url, allow_unsafe=settings.throwaway_database)
    async with contextlib.AsyncExitStack() as stack:
        pool = engine.create(database_url, pool_size=settings.pool_size)
        stack.push_async_callback(pool.dispose)
        log = await stack.enter_async_context(PostgresLog(database_url, table_readers=settings.catchup_readers).open())
        rendering = await stack.enter_async_context(Rendering())
        database = Database(pool)
        server = _Server(settings, database, log, SecretService(known), rendering, shares_port=shares_port)
        await server.run(ready, side)


@asynccontextmanager
async def open_phone_home(settings: Settings) -> AsyncIterator[PhoneHome | None]:
    """Open the endpoint for machines that phone home, with connections of its own; yield None if it is turned off."""
    pool = engine.create(settings.database_url.get_secret_value(), pool_size=_PHONE_CONNECTIONS)
    try:
        yield hardware_room.phone_home(settings, Database(pool))
    finally:
        await pool.dispose()


async def maintain(settings: Settings) -> Result:
    """Look after the event log's partitions once, and prune old workflows once.

    Returns the result for the partitions. Raises `readiness.NotUsable`, `errors.TinkwellError`, and
    `tinkwell.core.event.retention.StepFailed`.
    """
    async with _open(settings) as database:
        upkeep = Upkeep(database, age_seconds=settings.workflow_retention_seconds, interval_seconds=0)
        try:
            return await event_log.retention(settings).run_once()
        finally:
            # Both run concurrently.
            if upkeep.is_wanted:
                await upkeep.run_once()


async def rekey(settings: Settings) -> Outcome:
    """Seal everything by the first key that other keys have sealed.

    Raises `keys.InvalidKeys`, `readiness.NotUsable` and `errors.Unavailable`.
    """
    if settings.secret_keys is None:
        raise keys.InvalidKeys("TINKWELL_SECRET_KEYS is not set: let it name the key file")
    known = keys.read(settings.secret_keys)
    async with _open(settings) as database:
        return await Rekey(database, known).run()


async def forget(settings: Settings, key: bytes, *, is_wanted: bool) -> Sequence[Loss]:
    """Return what is lost with a lost key, given by its id, and delete that if `is_wanted`.

    Raises `keys.InvalidKeys` for a key that the key file has, `readiness.NotUsable`, `errors.Unavailable`, and
    `errors.IllegalTransition` while an operation needs what it would delete.
    """
    if settings.secret_keys is not None and keys.read(settings.secret_keys).find(key) is not None:
        raise keys.InvalidKeys(
            f"{settings.secret_keys} has the key {key.hex()}, so that nothing is lost; "
            "`tinkwell secret rekey` seals by another one what it has sealed"
        )
    async with _open(settings) as database:
        forgetting = Forgetting(database)
        lost = [
            Loss(each.title, f"revision {each.revision}", ("content",), 1) for each in await Losses(database).look(key)
        ]
        return [*await (forgetting.forget(key) if is_wanted else forgetting.look(key)), *lost]


@asynccontextmanager
async def _open(settings: Settings) -> AsyncIterator[Database]:
    database_url = settings.database_url.get_secret_value()
    await readiness.wait(database_url, allow_unsafe=settings.throwaway_database)
    pool = engine.create(database_url, pool_size=_COMMAND_CONNECTIONS)
    try:
        yield Database(pool)
    finally:
        await pool.dispose()


class _Server:
    """All parts of one server process that live as long as it does."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        log: PostgresLog,
        secrets: SecretService,
        rendering: Rendering,
        *,
        shares_port: bool,
    ) -> None:
        self._settings = settings
        self._shares_port = shares_port
        self._database = database
        self._log = EventLog(settings, database, log)
        watches = Watches(self._log.watches)
        hardware = HardwareRoom(database, watches)
        template = TemplateRoom(database, watches, rendering)
        workflow = WorkflowRoom(
            database,
            watches,
            rendering,
            retention_seconds=settings.workflow_retention_seconds,
            interval_seconds=settings.retention_interval_seconds,
        )
        self._upkeep = workflow.upkeep
        release = ReleaseRoom(database, watches, secrets)
        lease = LeaseRoom(
            database,
            lease_seconds=settings.lease_seconds,
            workflows=workflow.machines,
            operations=release.operations,
        )
        self._units = UnitRooms(
            database,
            self._log.watches,
            watches,
            secrets,
            lease_seconds=settings.lease_seconds,
            allows_commands=settings.allow_exec,
        )
        lease.service.on_end.append(self._units.agents.hand_back)
        event = EventRoom(database, watches)
        self._rooms: Sequence[Room] = (hardware, template, workflow, release, lease, *self._units.rooms, event)
        self._tink: Edge | None = None
        if settings.tink_port is not None:
            self._tink = Edge(
                self._log.watches,
                hardware=hardware.service,
                templates=template.service,
                workflows=workflow.service,
                data=workflow.data,
                max_held=settings.max_watchers,
            )
        self._registry = self._register(functools.partial(metric.working, lease.service, workflow.service))
        self._health = Health()
        # Set when all ports accept calls.
        self._serves = asyncio.Event()

    def _register(self, working: metric.Collect) -> prometheus_client.CollectorRegistry:
        registry, log = metric.create_registry(), self._log
        log.hub.meter = metric.DelayMeter(log.lag)
        for collect in (
            log.hub.meter.collect,
            functools.partial(metric.watching, log.hub),
            functools.partial(metric.delivery, log.hub, log.lag),
            functools.partial(metric.reading, log.reader, log.source),
            functools.partial(metric.storage, self._database),
            working,
            functools.partial(metric.retention, log.retention.status),
            functools.partial(metric.pruning, self._upkeep.status),
        ):
            metric.register(registry, collect)
        if isinstance(log.reader, Relay):
            metric.register(registry, functools.partial(metric.relaying, log.reader.relay_counts))
        return registry

    async def run(self, ready: Callable[[Addresses], None] | None, side: Side | None) -> None:
        probe = Probe(liveness=self._liveness, readiness=self._readiness, metrics=self._metrics)
        aside = side(probe) if side else self._http(probe).listen()
        async with asyncio.TaskGroup() as tasks:
            self._log.start(tasks)
            self._units.start(tasks)
            if self._upkeep.is_wanted and self._settings.retention_interval_seconds > 0:
                tasks.create_task(self._upkeep.run(), name="upkeep")
            async with aside as http_address, self._listen() as (grpc_address, tink_address):
                await self._log.hub.opened.wait()
                if self._tink is not None:
                    tasks.create_task(self._tink.run(), name="dispatch")
                while not self._log.reader.is_connected:  # noqa: ASYNC110 a page comes within milliseconds, or not at all
                    await asyncio.sleep(_LOOK_SECONDS)
                self._set_health(health_pb2.HealthCheckResponse.SERVING)
                addresses = {"grpc": grpc_address, "http": http_address, "tink": tink_address}
                self._serves.set()
                logger.info("the server is ready", extra={name: where for name, where in addresses.items() if where})
                if ready is not None:
                    ready(Addresses(grpc=grpc_address, http=http_address, tink=tink_address))
                await asyncio.get_running_loop().create_future()

    def _http(self, probe: Probe) -> HttpListener:
        phone_home = hardware_room.phone_home(self._settings, self._database)
        application = create_application(probe, version=metadata.version("tinkwell"), phone_home=phone_home)
        return create_listener(application, self._settings, serves=self._serves)

    @asynccontextmanager
    async def _listen(self) -> AsyncIterator[tuple[str, str]]:
        settings, calls = self._settings, CallMetrics(self._registry)
        options = (
            *_OPTIONS,
            ("grpc.max_concurrent_streams", settings.max_concurrent_streams),
            ("grpc.so_reuseport", int(self._shares_port)),
        )
        servers = [self._create(calls, options)]
        address = self._bind(servers[0], settings.port, credentials.server_credentials(settings))
        tink_address = ""
        if self._tink is not None and settings.tink_port is not None:
            # Callers of this port have no tokens, so it has reflection only if the server needs none.
            has_reflection = settings.reflection and not settings.tokens
            servers.append(self._tink.create(calls, options=options, has_reflection=has_reflection))
            tink_address = self._bind(servers[1], settings.tink_port, credentials.tink_credentials(settings))
        self._set_health(health_pb2.HealthCheckResponse.NOT_SERVING)
        for server in servers:
            await server.start()
        try:
            yield address, tink_address
        finally:
            # Streams would hold the server for the whole grace, so they end first. Their clients resume at another
            # server.
            self._health.close()
            self._log.hub.close(errors.Unavailable("the server is stopping; try again"))
            for room in self._rooms:
                room.close()
            if self._tink is not None:
                self._tink.close()
            await asyncio.gather(*(server.stop(settings.shutdown_grace_seconds) for server in servers))

    def _create(self, calls: CallMetrics, options: Sequence[tuple[str, int]]) -> grpc.aio.Server:
        tokens = {name: token.get_secret_value() for name, token in self._settings.tokens.items()}
        authenticator = auth.Authenticator(tokens, self._settings.roles)
        around = interceptor.CallInterceptor(authenticator, calls)
        server = grpc.aio.server(interceptors=[around], options=options)
        for room in self._rooms:
            room.add_to(server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        if self._settings.reflection:
            names = [room.service_name for room in self._rooms]
            reflection.add_to(server, (*names, "grpc.health.v1.Health"))
        return server

    def _bind(self, server: grpc.aio.Server, number: int, secure: grpc.ServerCredentials | None) -> str:
        host = self._settings.host
        wanted = f"[{host}]:{number}" if ":" in host else f"{host}:{number}"
        try:
            port = server.add_secure_port(wanted, secure) if secure else server.add_insecure_port(wanted)
        except RuntimeError as error:
            raise errors.Unavailable(f"cannot listen on {wanted}; is another server running there?") from error
        return f"{wanted.rsplit(':', 1)[0]}:{port}"

    def _set_health(self, status: int) -> None:
        for name in ("", *(room.service_name for room in self._rooms)):
            self._health.set(name, status)

    async def _liveness(self) -> dict[str, bool | str]:
        return {}

    async def _metrics(self) -> bytes:
        return prometheus_client.generate_latest(self._registry)

    async def _readiness(self) -> dict[str, bool | str]:
        return {"database": await self._database.answers(), "event_log": self._log.readiness}
