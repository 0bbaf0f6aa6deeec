"""The metrics of a server. `docs/reference/metrics.md` explains each metric.

Hot paths keep plain counters of their own, which are read here when Prometheus asks.
"""

import asyncio
import bisect
import dataclasses
import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from importlib import metadata

import prometheus_client
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from tinkwell.core.event.event import Event
from tinkwell.server.database.database import Database
from tinkwell.server.event.service.lag import Lag
from tinkwell.server.lease.service.operations import LeaseService
from tinkwell.server.log.fanout.hub import Hub
from tinkwell.server.log.read.reader import Reader
from tinkwell.server.log.relay.count import Counts as RelayCounts
from tinkwell.server.log.relay.count import Role
from tinkwell.server.log.relay.relay import Relay
from tinkwell.server.log.retention import Status
from tinkwell.server.log.store.log import PostgresLog
from tinkwell.server.workflow.service import upkeep
from tinkwell.server.workflow.service.operations import WorkflowService

_DELAY_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
# Returns metrics each time Prometheus asks.
Collect = Callable[[], Iterable[Metric]]
# A client that reads its stream accepts a response at once.
_STALLED_SECONDS = 10.0


def create_registry() -> prometheus_client.CollectorRegistry:
    """Make a server's registry, with the metrics of any process."""
    # Each counter would otherwise have a second series with its time of creation.
    prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
    registry = prometheus_client.CollectorRegistry()
    prometheus_client.ProcessCollector(registry=registry)
    register(registry, build)
    return registry


def register(registry: prometheus_client.CollectorRegistry, collect: Collect) -> None:
    """Add the metrics that `collect` returns to the registry."""
    registry.register(_Families(collect))


class _Families(Collector):
    def __init__(self, collect: Collect) -> None:
        self._collect = collect

    def collect(self) -> Iterable[Metric]:
        return self._collect()


class MeteredHub(Hub):
    """A hub that measures the delay of the events that it publishes, once it has a meter."""

    meter: "DelayMeter | None" = None

    def publish(self, events: Sequence[Event], *, released: int) -> None:
        """See `Hub.publish`."""
        super().publish(events, released=released)
        if self.meter is not None and events:
            self.meter.observe(events[0], len(events), time.time())


class DelayMeter:
    """Measures, for each batch, the delay of its oldest event. The events' times are the database's."""

    def __init__(self, lag: Lag) -> None:
        self._lag = lag
        self._events = 0
        self._seconds = 0.0
        # The number of batches per range of delays, between two bounds; the last is for all longer ones.
        self._batches = [0] * (len(_DELAY_SECONDS) + 1)

    def observe(self, oldest: Event, count: int, now: float) -> None:
        """Record a batch: its oldest event, its number of events, and the time of its release on this clock."""
        delay = max(0.0, now + self._lag.clock_offset_seconds - oldest.created_at / 1_000_000)
        self._events += count
        self._seconds += delay
        self._batches[bisect.bisect_left(_DELAY_SECONDS, delay)] += 1

    def collect(self) -> Iterable[Metric]:
        """Return the delays as metrics."""
        yield _counter("tinkwell_log_events", "Events that were released to this process.", self._events)
        bounds = (*(str(bound) for bound in _DELAY_SECONDS), "+Inf")
        yield HistogramMetricFamily(
            "tinkwell_log_publish_delay_seconds",
            "Time from the drawing of a revision to its release; of the oldest event in each batch.",
            buckets=list(zip(bounds, itertools.accumulate(self._batches), strict=True)),
            sum_value=self._seconds,
        )


def build() -> Iterable[Metric]:
    """Return the release as a metric."""
    yield InfoMetricFamily("tinkwell_build", "The release that runs.", {"version": metadata.version("tinkwell")})


def watching(hub: Hub) -> Iterable[Metric]:
    """Return the metrics of a hub's watchers."""
    now = asyncio.get_running_loop().time()
    watchers, counts = hub.subscribers, hub.counts
    # A watcher that has ended still delivers the rest of its events, and has no position.
    behind = [watcher for watcher in watchers if not (watcher.is_live or watcher.has_ended)]
    lag = max((hub.released + 1 - watcher.position for watcher in behind), default=0)
    stalled = sum(
        watcher.sending_since is not None and now - watcher.sending_since > _STALLED_SECONDS for watcher in watchers
    )
    yield _gauge("tinkwell_watchers", "Open watches.", len(watchers))
    yield _gauge("tinkwell_watchers_behind", "Watches that read on by themselves instead of live.", len(behind))
    yield _gauge("tinkwell_watchers_stalled", "Watches whose client has taken no response for 10 s.", stalled)
    yield _gauge("tinkwell_watch_lag_revisions", "Revisions that the watch furthest behind has to go.", max(lag, 0))
    yield _counter("tinkwell_watch_events", "Events that were sent to watchers.", counts.events)
    yield _counter("tinkwell_watch_responses", "Responses that were sent to watchers.", counts.responses)
    yield _counter("tinkwell_watch_fallen_behind", "How often a live watch fell behind.", counts.fallen_behind)
    yield _counter("tinkwell_watch_too_slow", "Watches that were ended for being too slow.", counts.too_slow)
    yield _counter("tinkwell_watch_ring_reads", "Pieces read from memory for watches behind.", counts.ring_reads)
    yield _counter("tinkwell_watch_table_reads", "Pieces read from the table for watches behind.", counts.table_reads)


def delivery(hub: Hub, lag: Lag) -> Iterable[Metric]:
    """Return how far this process is behind the database."""
    yield _gauge("tinkwell_log_released_revision", "Everything up to it has been released.", hub.released)
    yield _gauge("tinkwell_log_lag_revisions", "Revisions in the database that are not released yet.", lag.revisions)
    yield _gauge("tinkwell_log_lag_seconds", "For how long the oldest of them has been seen there.", lag.seconds)
    offset = lag.clock_offset_seconds
    yield _gauge("tinkwell_database_clock_offset_seconds", "The database's clock minus this machine's.", offset)


def reading(reader: Reader | Relay, log: PostgresLog) -> Iterable[Metric]:
    """Return the metrics of the log's reader: how it is woken, and what it waits for."""
    counts, wait = reader.counts, reader.counts.wait
    waited = time.monotonic() - wait.since if wait else 0.0
    yield _gauge("tinkwell_log_connected", "1 while the log is read.", int(reader.is_connected))
    yield _counter("tinkwell_log_sessions", "How often the log was connected to.", counts.sessions)
    yield _counter("tinkwell_log_polls", "Pages of the log that were read.", counts.polls)
    yield _counter("tinkwell_log_sleeps", "How often the reader went to sleep.", counts.sleeps)
    wakeups = CounterMetricFamily("tinkwell_log_wakeups", "What ended the reader's sleep.", labels=["cause"])
    for cause, count in (("rung", counts.rings), ("check", counts.checks), ("timeout", counts.timeouts)):
        wakeups.add_metric([cause], count)
    yield wakeups
    yield _counter("tinkwell_log_told_events", "Events that rings told of.", counts.told)
    yield _counter("tinkwell_log_bell_refusals", "How often writers kept the reader from sleep.", counts.refusals)
    yield _counter("tinkwell_log_notifications", "Notifications of writers that were heard.", log.notifications)
    yield _counter("tinkwell_log_gap_waits", "How often holders of missing revisions were read.", counts.gap_waits)
    yield _counter("tinkwell_log_gap_seconds", "Time in which missing revisions held delivery.", counts.gap_seconds)
    yield _gauge("tinkwell_log_gap_age_seconds", "For how long the oldest missing revision holds delivery.", waited)
    holders = wait.holders if wait else 0
    yield _gauge("tinkwell_log_gap_holders", "Transactions that may still commit that revision.", holders)


def storage(database: Database) -> Iterable[Metric]:
    """Return the metrics of the connection pool that requests share."""
    yield _gauge("tinkwell_database_connections", "Connections that requests may share.", database.connections)
    in_use = database.connections_in_use
    yield _gauge("tinkwell_database_connections_in_use", "Connections that requests use at the moment.", in_use)


def working(leases: LeaseService, workflows: WorkflowService) -> Iterable[Metric]:
    """Return the metrics of leases and attempts."""
    yield _gauge("tinkwell_leases", "Leases, acquired or renewed by this process, that are alive.", leases.live_leases)
    yield _counter("tinkwell_lost_attempts", "Attempts that ended with their owner's lease.", workflows.lost_attempts)


def retention(status: Status) -> Iterable[Metric]:
    """Return the metrics of the log's partitions, as of the last look at them."""
    prefix = "tinkwell_retention"
    yield _gauge(f"{prefix}_partitions", "Partitions of the log.", status.partitions)
    yield _gauge(f"{prefix}_partitions_ahead", "Partitions that hold nothing yet.", status.partitions_ahead)
    yield _gauge(f"{prefix}_revisions_ahead", "Revisions until writes fail for lack of one.", status.revisions_ahead)
    yield _gauge(f"{prefix}_oldest_revision", "The oldest revision that is kept.", status.oldest_revision)
    yield _gauge(f"{prefix}_oldest_event_seconds", "Age of the oldest event.", status.oldest_event_seconds)
    yield _gauge(f"{prefix}_last_run_timestamp_seconds", "When the log was looked after last.", status.last_run_at)
    yield _counter(f"{prefix}_runs", "How often this process looked after the log.", status.runs)
    yield _counter(f"{prefix}_failures", "How often that failed.", status.failures)
    yield _counter(f"{prefix}_partitions_added", "Partitions that were added.", status.partitions_added)
    yield _counter(f"{prefix}_partitions_closed", "Partitions that were closed early.", status.partitions_closed)
    yield _counter(f"{prefix}_partitions_dropped", "Partitions that were dropped.", status.partitions_dropped)


def pruning(status: upkeep.Status) -> Iterable[Metric]:
    """Return what this process has pruned, and when it looked last."""
    prefix, pruned = "tinkwell_pruning", status.pruned
    yield _gauge(
        f"{prefix}_last_run_timestamp_seconds", "When it was last looked for old workflows.", status.last_run_at
    )
    yield _counter(f"{prefix}_runs", "How often this process looked for old workflows.", status.runs)
    yield _counter(f"{prefix}_failures", "How often that failed.", status.failures)
    rows = CounterMetricFamily(f"{prefix}_rows", "Rows that were forgotten.", labels=["kind"])
    for field in dataclasses.fields(pruned):
        rows.add_metric([field.name], getattr(pruned, field.name))
    yield rows


def relaying(counts: RelayCounts) -> Iterable[Metric]:
    """Return the metrics of the relay, which exist only with a broker."""
    role = GaugeMetricFamily("tinkwell_relay_role", "1 for where this process takes its events.", labels=["role"])
    for name in Role:
        role.add_metric([name.value], int(counts.role is name))
    yield role
    yield _counter("tinkwell_relay_published_batches", "Messages that were published.", counts.published_batches)
    yield _counter("tinkwell_relay_published_events", "Events that were published.", counts.published_events)
    yield _counter("tinkwell_relay_consumed_batches", "Messages that were taken.", counts.consumed_batches)
    yield _counter("tinkwell_relay_consumed_events", "Events that were taken.", counts.consumed_events)
    yield _counter("tinkwell_relay_elections", "How often this process was elected to publish.", counts.elections)
    yield _counter("tinkwell_relay_joins", "How often it went over to the broker.", counts.joins)
    yield _counter("tinkwell_relay_fallbacks", "How often it went back to the database.", counts.fallbacks)
    yield _counter("tinkwell_relay_refusals", "How often another one was publishing, too.", counts.refusals)


def _gauge(name: str, documentation: str, value: float) -> Metric:
    return GaugeMetricFamily(name, documentation, value)


def _counter(name: str, documentation: str, value: float) -> Metric:
    return CounterMetricFamily(name, documentation, value)
