"""What the metrics say about watchers."""

import pytest

from support.log_event import make_event
from tinkwell.core import errors
from tinkwell.core.event.selection import Selection
from tinkwell.server.app import metric
from tinkwell.server.event.service.lag import Lag
from tinkwell.server.event.store.position import Position
from tinkwell.server.log.fanout.hub import Hub


def shown(hub: Hub, name: str) -> float:
    [value] = [sample.value for family in metric.watching(hub) for sample in family.samples if sample.name == name]
    return float(value)


async def test_a_watcher_that_has_ended_and_takes_its_rest_is_not_behind() -> None:
    hub = Hub(encode=lambda event: b"", ring_bytes=1 << 20, subscriber_bytes=1 << 20, max_subscribers=2)
    hub.open(history_id="h", last=0)
    ended = hub.subscribe(Selection(), position=1)
    hub.catch_up(ended)
    hub.publish([make_event(revision) for revision in range(1, 101)], released=100)
    hub.close(errors.OtherHistory("another", history_id="i"))
    hub.open(history_id="i", last=1_000)
    assert (shown(hub, "tinkwell_watchers_behind"), shown(hub, "tinkwell_watch_lag_revisions")) == (0, 0)
    hub.subscribe(Selection(), position=991)
    assert (shown(hub, "tinkwell_watchers_behind"), shown(hub, "tinkwell_watch_lag_revisions")) == (1, 10)
    assert ended.take(max_bytes=1)


async def nothing() -> Position:
    raise AssertionError("nobody looks")


async def test_the_delay_of_each_batch_is_that_of_its_oldest_event() -> None:
    hub = metric.MeteredHub(encode=lambda event: b"", ring_bytes=1 << 20, subscriber_bytes=1 << 20, max_subscribers=2)
    meter = metric.DelayMeter(Lag(nothing, hub))
    oldest = make_event(1)
    since = oldest.created_at / 1_000_000
    # One that is younger than this clock says, one on a bound, one between two, and one above all.
    for delay, count in ((-1.0, 1), (0.25, 2), (0.3, 3), (90.0, 4)):
        meter.observe(oldest, count, since + delay)
    [events, delays] = meter.collect()
    assert [sample.value for sample in events.samples] == [10]
    found = {sample.labels.get("le", sample.name.rpartition("_")[2]): sample.value for sample in delays.samples}
    assert [found[bound] for bound in ("0.001", "0.1", "0.25", "0.5", "60.0", "+Inf")] == [1, 1, 2, 3, 3, 4]
    assert found["count"] == 4
    assert found["sum"] == pytest.approx(90.55)


async def test_a_hub_observes_what_it_publishes() -> None:
    hub = metric.MeteredHub(encode=lambda event: b"", ring_bytes=1 << 20, subscriber_bytes=1 << 20, max_subscribers=2)
    hub.open(history_id="h", last=0)
    hub.meter = metric.DelayMeter(Lag(nothing, hub))
    hub.publish([make_event(1), make_event(2)], released=2)
    hub.publish([], released=3)
    [events, delays] = hub.meter.collect()
    assert [sample.value for sample in events.samples] == [2]
    assert [sample.value for sample in delays.samples if sample.name.endswith("_count")] == [1]
