"""The server process: puts the layers together, runs them, and takes them down in order."""

import asyncio
import contextlib
import dataclasses
import datetime
import functools
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import metadata

import grpc.aio
import prometheus_client
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from tinkwell.api.v1 import (
    event_service_pb2,
    event_service_pb2_grpc,
    hardware_service_pb2,
    hardware_service_pb2_grpc,
    template_service_pb2,
    template_service_pb2_grpc,
    work_service_pb2,
    work_service_pb2_grpc,
    workflow_service_pb2,
    workflow_service_pb2_grpc,
)
from tinkwell.core import errors
from tinkwell.core.event.retention import Policy
from tinkwell.server.app import credentials, metric, relay_extra
from tinkwell.server.app.http_application import create_application
from tinkwell.server.database import engine, readiness
from tinkwell.server.database.database import Database
from tinkwell.server.database.election import PostgresElection
from tinkwell.server.event.api.servicer import EventServicer
from tinkwell.server.event.service.lag import Lag
from tinkwell.server.event.service.operations import EventService
from tinkwell.server.event.store import position
from tinkwell.server.hardware.api.phone_home import PhoneHome
from tinkwell.server.hardware.api.servicer import HardwareServicer
from tinkwell.server.hardware.service.enrolment import PhoneCalls
from tinkwell.server.hardware.service.operations import HardwareService
from tinkwell.server.http import certificate
from tinkwell.server.http.listener import HttpListener
from tinkwell.server.http.probe import Probe
from tinkwell.server.lease.api.servicer import WorkServicer
from tinkwell.server.lease.service.operations import WorkService
from tinkwell.server.log.fanout.pacing import Spread
from tinkwell.server.log.fanout.stream import Streams
from tinkwell.server.log.fanout.watchdog import Patience, Sweep
from tinkwell.server.log.read.reader import Reader
from tinkwell.server.log.relay.broker import Broker
from tinkwell.server.log.relay.option import Options
from tinkwell.server.log.relay.relay import Relay
from tinkwell.server.log.retention import Result, Retention
from tinkwell.server.log.store import partition
from tinkwell.server.log.store.log import PostgresLog
from tinkwell.server.log.watching import WatchService
from tinkwell.server.rpc import auth, event_encoding, interceptor
from tinkwell.server.rpc.health import Health
from tinkwell.server.rpc.metric import CallMetrics
from tinkwell.server.rpc.watch import Watches
from tinkwell.server.settings import Settings, nats_urls, networks
from tinkwell.server.template.api.servicer import TemplateServicer
from tinkwell.server.template.service.operations import TemplateService
from tinkwell.server.tink.edge import Edge
from tinkwell.server.workflow.api.servicer import WorkflowServicer
from tinkwell.server.workflow.service.data import WorkflowDataService
from tinkwell.server.workflow.service.operations import WorkflowService
from tinkwell.server.workflow.service.output import LogService

logger = logging.getLogger(__name__)

_SERVICES = tuple(
    module.DESCRIPTOR.services_by_name[name].full_name
    for module, name in (
        (hardware_service_pb2, "HardwareService"),
        (template_service_pb2, "TemplateService"),
        (workflow_service_pb2, "WorkflowService"),
        (work_service_pb2, "WorkService"),
        (event_service_pb2, "EventService"),
    )
)
_LOOK_SECONDS = 0.005
_PHONE_CONNECTIONS = 2
# A client that vanished without goodbye is found within half a minute; clients may ask as often about us. gRPC waits
# for the answer to a ping as long as ping_timeout says, a minute by default, however short the keepalive timeout is.
_OPTIONS = (
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.ping_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ("grpc.max_receive_message_length", 4 << 20),
)
# Opens what answers the probe for as long as it lasts, and yields its address as host:port; empty where it has none.
Side = Callable[[Probe], AbstractAsyncContextManager[str]]


@dataclasses.dataclass(frozen=True, slots=True)
class Addresses:
    """Where a ready server answers, as host:port; `tink` is empty where Tinkerbell's tools are not served."""

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
    """Serve until cancelled; `ready` is called once, when calls are accepted and the event log is open.

    `side` replaces the HTTP port. With `shares_port` other processes of this account may listen on the gRPC port, too;
    without it, a second server there is refused.

    Raises `errors.Unavailable` when the database cannot be reached, and `readiness.NotUsable` when its schema is not
    the one that this release works on, or when it would not survive a crash.
    """
    database_url = settings.database_url.get_secret_value()
    await readiness.wait(database_url, allow_unsafe=settings.throwaway_database)
    async with contextlib.AsyncExitStack() as stack:
        pool = engine.create(database_url, pool_size=settings.pool_size)
        stack.push_async_callback(pool.dispose)
        log = await stack.enter_async_context(PostgresLog(database_url, table_readers=settings.catchup_readers).open())
        server = _Server(settings, Database(pool), log, shares_port=shares_port)
        await server.run(ready, side)


@asynccontextmanager
async def open_phone_home(settings: Settings) -> AsyncIterator[PhoneHome | None]:
    """Open what answers phone calls of machines over connections of its own; None where it is turned off."""
    pool = engine.create(settings.database_url.get_secret_value(), pool_size=_PHONE_CONNECTIONS)
    try:
        yield _phone_home(settings, Database(pool))
    finally:
        await pool.dispose()


def _phone_home(settings: Settings, database: Database) -> PhoneHome | None:
    if not settings.phone_home:
        return None
    calls = PhoneCalls(database, max_enrolled=settings.max_enrolled if settings.enrol_unknown else 0)
    return PhoneHome(calls, proxies=networks(settings.trusted_proxies))


async def maintain(settings: Settings) -> Result:
    """Look after the event log's partitions once.

    Raises `readiness.NotUsable`, `errors.Unavailable`, and `tinkwell.core.event.retention.StepFailed`.
    """
    database_url = settings.database_url.get_secret_value()
    await readiness.wait(database_url, allow_unsafe=settings.throwaway_database)
    return await _retention(settings).run_once()


def _retention(settings: Settings) -> Retention:
    policy = Policy(age=datetime.timedelta(seconds=settings.retention_age_seconds), count=settings.retention_count)
    session = functools.partial(partition.session, settings.database_url.get_secret_value())
    return Retention(session, policy, interval_seconds=settings.retention_interval_seconds)


def _broker(settings: Settings) -> Broker | None:
    if settings.nats_url is None:
        return None
    return relay_extra.broker(
        Options(
            urls=nats_urls(settings.nats_url),
            stream=settings.nats_stream,
            replicas=settings.nats_replicas,
            age_seconds=settings.nats_stream_seconds,
            stream_bytes=settings.nats_stream_bytes,
            credentials=settings.nats_credentials,
            ca=settings.nats_ca,
            cert=settings.nats_cert,
            key=settings.nats_key,
        )
    )


class _Server:
    """Everything of one process that lives as long as it does."""

    def __init__(self, settings: Settings, database: Database, log: PostgresLog, *, shares_port: bool) -> None:
        self._settings = settings
        self._shares_port = shares_port
        self._database = database
        loop = asyncio.get_running_loop()
        self._hub = metric.MeteredHub(
            encode=event_encoding.encode_event,
            ring_bytes=settings.ring_bytes,
            subscriber_bytes=settings.subscriber_bytes,
            max_subscribers=settings.max_watchers,
            spread=Spread(call_soon=loop.call_soon, call_later=loop.call_later, clock=loop.time),
        )
        self._reader = self._feeder(log)
        self._lag = Lag(functools.partial(position.read, database), self._hub)
        streams = Streams(
            self._hub,
            log,
            encode_rows=event_encoding.encode_rows,
            respond=event_encoding.encode_response,
            table_readers=settings.catchup_readers,
        )
        self._sweep = Sweep(
            self._hub,
            Patience(stall_seconds=settings.max_stall_seconds, lag_revisions=settings.max_lag_revisions),
        )
        watches = WatchService(self._hub, log, streams)
        self._watches = Watches(watches)
        self._workflows = WorkflowService(database)
        self._work = WorkService(database, lease_seconds=settings.lease_seconds)
        self._tink: Edge | None = None
        if settings.tink_port is not None:
            self._tink = Edge(database, watches, self._workflows, max_held=settings.max_watchers)
        self._logs = LogService(database)
        self._retention = _retention(settings)
        self._registry = self._register(log)
        self._health = Health()

    def _feeder(self, log: PostgresLog) -> Reader | Relay:
        """Return what feeds the hub: the database's reader, or the relay where there is a broker."""
        broker = _broker(self._settings)
        if broker is None:
            return Reader(log, self._hub)
        return Relay(
            self._hub,
            log,
            broker,
            PostgresElection(self._settings.database_url.get_secret_value()),
            make_reader=lambda: Reader(log, self._hub),
        )

    def _register(self, log: PostgresLog) -> prometheus_client.CollectorRegistry:
        registry = metric.create_registry()
        self._hub.meter = metric.DelayMeter(self._lag)
        for collect in (
            self._hub.meter.collect,
            functools.partial(metric.watching, self._hub),
            functools.partial(metric.delivery, self._hub, self._lag),
            functools.partial(metric.reading, self._reader, log),
            functools.partial(metric.storage, self._database),
            functools.partial(metric.working, self._work, self._workflows),
            functools.partial(metric.retention, self._retention.status),
        ):
            metric.register(registry, collect)
        if isinstance(self._reader, Relay):
            metric.register(registry, functools.partial(metric.relaying, self._reader.relay_counts))
        return registry

    async def run(self, ready: Callable[[Addresses], None] | None, side: Side | None) -> None:
        probe = Probe(liveness=self._liveness, readiness=self._readiness, metrics=self._metrics)
        aside = side(probe) if side else self._http(probe).listen()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._reader.run(), name="reader")
            tasks.create_task(self._lag.run(), name="lag")
            if self._settings.retention_interval_seconds > 0:
                tasks.create_task(self._retention.run(), name="retention")
            tasks.create_task(self._sweep.run(), name="sweep")
            async with aside as http_address, self._listen() as (grpc_address, tink_address):
                await self._hub.opened.wait()
                if self._tink is not None:
                    tasks.create_task(self._tink.run(), name="dispatch")
                while not self._reader.is_connected:  # noqa: ASYNC110 a page comes within milliseconds, or not at all
                    await asyncio.sleep(_LOOK_SECONDS)
                await self._set_health(health_pb2.HealthCheckResponse.SERVING)
                addresses = {"grpc": grpc_address, "http": http_address, "tink": tink_address}
                logger.info("the server is ready", extra={name: where for name, where in addresses.items() if where})
                if ready is not None:
                    ready(Addresses(grpc=grpc_address, http=http_address, tink=tink_address))
                await asyncio.get_running_loop().create_future()

    def _http(self, probe: Probe) -> HttpListener:
        phone_home = _phone_home(self._settings, self._database)
        application = create_application(probe, version=metadata.version("tinkwell"), phone_home=phone_home)
        certificate.add_to(application, self._settings.tink_bundle)
        return HttpListener(application, host=self._settings.host, port=self._settings.http_port)

    @asynccontextmanager
    async def _listen(self) -> AsyncIterator[tuple[str, str]]:
        settings, calls = self._settings, CallMetrics(self._registry)
        options = (*_OPTIONS, ("grpc.so_reuseport", int(self._shares_port)))
        servers = [self._create(calls, options)]
        address = self._bind(servers[0], settings.port, credentials.server_credentials(settings))
        tink_address = ""
        if self._tink is not None and settings.tink_port is not None:
            servers.append(self._tink.create(calls, options=options, has_reflection=settings.reflection))
            tink_address = self._bind(servers[1], settings.tink_port, credentials.tink_credentials(settings))
        await self._set_health(health_pb2.HealthCheckResponse.NOT_SERVING)
        for server in servers:
            await server.start()
        try:
            yield address, tink_address
        finally:
            # Streams would hold the server for the whole grace, so they end first; clients resume elsewhere.
            await self._health.close()
            self._hub.close(errors.Unavailable("the server is stopping; try again"))
            self._logs.close()
            if self._tink is not None:
                self._tink.close()
            await asyncio.gather(*(server.stop(settings.shutdown_grace_seconds) for server in servers))

    def _create(self, calls: CallMetrics, options: Sequence[tuple[str, int]]) -> grpc.aio.Server:
        tokens = {name: token.get_secret_value() for name, token in self._settings.tokens.items()}
        around = interceptor.CallInterceptor(auth.Authenticator(tokens), calls)
        server = grpc.aio.server(interceptors=[around], options=options)
        database, watches = self._database, self._watches
        hardware_service_pb2_grpc.add_HardwareServiceServicer_to_server(
            HardwareServicer(HardwareService(database), watches), server
        )
        template_service_pb2_grpc.add_TemplateServiceServicer_to_server(
            TemplateServicer(TemplateService(database), watches), server
        )
        workflow_service_pb2_grpc.add_WorkflowServiceServicer_to_server(
            WorkflowServicer(self._workflows, WorkflowDataService(database), self._logs, watches), server
        )
        work_service_pb2_grpc.add_WorkServiceServicer_to_server(WorkServicer(self._work), server)
        event_service_pb2_grpc.add_EventServiceServicer_to_server(
            EventServicer(EventService(database), watches), server
        )
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        if self._settings.reflection:
            reflection.enable_server_reflection((*_SERVICES, "grpc.health.v1.Health", reflection.SERVICE_NAME), server)
        return server

    def _bind(self, server: grpc.aio.Server, number: int, secure: grpc.ServerCredentials | None) -> str:
        host = self._settings.host
        wanted = f"[{host}]:{number}" if ":" in host else f"{host}:{number}"
        try:
            port = server.add_secure_port(wanted, secure) if secure else server.add_insecure_port(wanted)
        except RuntimeError as error:
            raise errors.Unavailable(f"cannot listen on {wanted}; is another server running there?") from error
        return f"{wanted.rsplit(':', 1)[0]}:{port}"

    async def _set_health(self, status: int) -> None:
        for name in ("", *_SERVICES):
            await self._health.set(name, status)

    async def _liveness(self) -> dict[str, bool | str]:
        return {}

    async def _metrics(self) -> bytes:
        return prometheus_client.generate_latest(self._registry)

    async def _readiness(self) -> dict[str, bool | str]:
        return {
            "database": await self._database.answers(),
            "event_log": self._reader.is_connected and self._hub.is_open,
        }
