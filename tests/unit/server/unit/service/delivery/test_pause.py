"""Failed events wait ever longer, up to a bound, and no two units wait equally long."""

from tinkwell.server.unit.service.delivery import pause


def test_a_failed_event_waits_twice_as_long_each_time() -> None:
    for attempt, middle in ((1, 5.0), (2, 10.0), (4, 40.0), (6, 160.0)):
        waits = [pause.retry_seconds(attempt) for _ in range(200)]
        assert middle / 2 <= min(waits) < middle < max(waits) <= middle * 1.5


def test_it_never_waits_longer_than_five_minutes() -> None:
    assert max(pause.retry_seconds(attempt) for attempt in range(1, 100) for _ in range(20)) <= 300


def test_ticks_are_spread_by_a_fifth() -> None:
    waits = [pause.tick_seconds(300) for _ in range(200)]
    assert 240 <= min(waits) < 300 < max(waits) <= 360
