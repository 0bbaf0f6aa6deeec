"""What the watch side of a server tells Prometheus, read when it asks."""

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from tinkwell.server.relay.relay import Relay
from tinkwell.server.watch.hub import Hub
from tinkwell.server.watch.reader import Reader


class WatchCollector(Collector):
    """Reads the hub's and the reader's own counts, so that the hot paths count nothing twice."""

    def __init__(self, hub: Hub, reader: Reader | Relay) -> None:
        self._hub = hub
        self._reader = reader

    def collect(self) -> Iterable[Metric]:
        hub, counts = self._hub, self._reader.counts
        yield GaugeMetricFamily("tinkwell_watchers", "Open watches.", hub.subscriber_count)
        yield GaugeMetricFamily("tinkwell_watchers_behind", "Watches that are not live.", hub.behind_count)
        yield GaugeMetricFamily("tinkwell_released_revision", "Everything up to it was published.", hub.released)
        yield GaugeMetricFamily("tinkwell_log_connected", "1 while the log is read.", int(self._reader.is_connected))
        yield CounterMetricFamily("tinkwell_log_polls", "Pages of the log that were read.", counts.polls)
        yield CounterMetricFamily("tinkwell_log_sleeps", "How often the reader went to sleep.", counts.sleeps)
        yield CounterMetricFamily("tinkwell_log_rings", "How often a writer woke it.", counts.rings)
        yield CounterMetricFamily("tinkwell_log_gap_waits", "How often holders of a gap were read.", counts.gap_waits)
        yield CounterMetricFamily("tinkwell_log_sessions", "How often the log was connected to.", counts.sessions)
