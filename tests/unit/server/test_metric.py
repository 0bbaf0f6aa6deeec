"""What the metrics say about watchers."""

from support.log_event import make_event
from tinkwell.core import errors
from tinkwell.core.log import Selection
from tinkwell.server import metric
from tinkwell.server.watch.hub import Hub


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
