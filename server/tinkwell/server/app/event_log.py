"""The event log of a server process: what reads it, what watches it, and what looks after it."""

import asyncio
import datetime
import functools

from tinkwell.core.event.retention import Policy
from tinkwell.server.app import metric, relay_extra
from tinkwell.server.database.database import Database
from tinkwell.server.database.election import PostgresElection
from tinkwell.server.event import room as event_room
from tinkwell.server.log.fanout.pacing import Spread
from tinkwell.server.log.fanout.stream import Streams
from tinkwell.server.log.fanout.watchdog import Patience, Sweep
from tinkwell.server.log.read.reader import Reader
from tinkwell.server.log.relay.broker import Broker
from tinkwell.server.log.relay.option import Options
from tinkwell.server.log.relay.relay import Relay
from tinkwell.server.log.retention import Retention
from tinkwell.server.log.store import partition
from tinkwell.server.log.store.log import PostgresLog
from tinkwell.server.log.watching import WatchService
from tinkwell.server.rpc.watch import event_encoding
from tinkwell.server.settings import Settings, nats_urls


class EventLog:
    """Reads the log and fans it out for as long as the process lives."""

    def __init__(self, settings: Settings, database: Database, log: PostgresLog) -> None:
        self._settings = settings
        self.source = log
        loop = asyncio.get_running_loop()
        self.hub = metric.MeteredHub(
            encode=event_encoding.encode_event,
            ring_bytes=settings.ring_bytes,
            subscriber_bytes=settings.subscriber_bytes,
            max_subscribers=settings.max_watchers,
            spread=Spread(call_soon=loop.call_soon, call_later=loop.call_later, clock=loop.time),
        )
        self.reader = self._feeder()
        self.lag = event_room.lag(database, self.hub)
        streams = Streams(
            self.hub,
            log,
            encode_rows=event_encoding.encode_rows,
            respond=event_encoding.encode_response,
            table_readers=settings.catchup_readers,
        )
        self.watches = WatchService(self.hub, log, streams)
        self.retention = retention(settings)
        self._sweep = Sweep(
            self.hub,
            Patience(stall_seconds=settings.max_stall_seconds, lag_revisions=settings.max_lag_revisions),
        )

    def _feeder(self) -> Reader | Relay:
        """Return what feeds the hub: the database's reader, or the relay where there is a broker."""
        broker = _broker(self._settings)
        if broker is None:
            return Reader(self.source, self.hub)
        return Relay(
            self.hub,
            self.source,
            broker,
            PostgresElection(self._settings.database_url.get_secret_value()),
            make_reader=lambda: Reader(self.source, self.hub),
        )

    @property
    def is_ready(self) -> bool:
        """Whether watchers are accepted, and get what is committed."""
        return self.reader.is_connected and self.hub.is_open

    @property
    def readiness(self) -> bool | str:
        """True, or what keeps the log from being ready."""
        if closed_by := self.reader.counts.closed_by:
            return f"open transactions keep the event log closed: {closed_by}"
        if not self.reader.is_connected:
            return "the event log is not read: the database is out of reach, or another one than before"
        return self.is_ready or "the event log is not open yet"

    def start(self, tasks: asyncio.TaskGroup) -> None:
        """Let the group own the tasks of the log, which run until they are cancelled."""
        tasks.create_task(self.reader.run(), name="reader")
        tasks.create_task(self.lag.run(), name="lag")
        tasks.create_task(self._sweep.run(), name="sweep")
        if self._settings.retention_interval_seconds > 0:
            tasks.create_task(self.retention.run(), name="retention")


def retention(settings: Settings) -> Retention:
    """Make what adds and drops the partitions of the log."""
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
