"""When a reader sleeps though there are events, and when it had better wake."""

from tinkwell.server.log.read.wake_policy import Limits, Load

LIMITS = Limits(
    calm_rate=100,
    busy_rate=200,
    spread_rate=20,
    window_seconds=1,
    busy_events=10,
    events_for_check=5,
    checks_for_look=3,
    looks=4,
    first_crowded_seconds=1,
    longest_crowded_seconds=4,
)


def test_a_load_is_calm_once_that_has_been_measured() -> None:
    load = Load(LIMITS, now=0)
    load.release(50, now=0.5)
    assert not load.is_calm(now=0.9)
    assert load.is_calm(now=1.0)
    load.release(120, now=1.5)
    assert load.is_calm(now=1.9)
    assert not load.is_calm(now=2.0)
    assert load.is_calm(now=3.0)


def test_a_load_is_busy_as_soon_as_there_are_enough_events_to_tell() -> None:
    load = Load(LIMITS, now=0)
    load.release(9, now=0.001)
    assert not load.is_busy(now=0.001, is_spread=False)
    load.release(1, now=0.002)
    assert load.is_busy(now=0.002, is_spread=False)
    assert not load.is_calm(now=0.5)
    assert load.is_calm(now=1.002)


def test_where_events_are_spread_fewer_make_a_load_busy() -> None:
    load = Load(LIMITS, now=0)
    load.release(11, now=0.5)
    assert not load.is_busy(now=0.5, is_spread=False)
    assert load.is_busy(now=0.5, is_spread=True)


def test_a_load_between_calm_and_busy_leaves_things_as_they_are() -> None:
    load = Load(LIMITS, now=0)
    for step in range(1, 150):
        load.release(3, now=step / 50)
        assert not load.is_busy(now=step / 50, is_spread=False)
        assert not load.is_calm(now=step / 50)


def test_a_load_is_checked_once_for_so_many_events() -> None:
    load = Load(LIMITS, now=0)
    load.release(4, now=0)
    seen = [load.must_check]
    load.release(1, now=0)
    seen.append(load.must_check)
    load.is_busy(now=0, is_spread=False)
    assert [*seen, load.must_check] == [False, True, False]


def checks_until_look(load: Load) -> int:
    count = 0
    while not load.must_look:
        load.is_busy(now=0, is_spread=False)
        count += 1
    return count


def test_it_is_looked_for_waiting_writers_at_once_then_now_and_then_and_again_where_there_were_some() -> None:
    load = Load(LIMITS, now=0)
    seen = [checks_until_look(load)]
    for waiting in (0, 1, 2, 0):
        load.look(waiting)
        seen.append(checks_until_look(load))
    assert seen == [0, 3, 0, 0, 3]


def test_whoever_has_woken_since_writers_wait_looks_at_once_when_next_asleep() -> None:
    load = Load(LIMITS, now=0)
    assert crowd(load, now=0)
    assert checks_until_look(load) == 0


def crowd(load: Load, *, now: float) -> bool:
    load.is_calm(now=now)
    for waiting in (1, 2, 7, 1):
        load.look(waiting)
    return load.is_busy(now=now, is_spread=False)


def test_a_load_is_busy_when_all_the_latest_looks_find_writers_that_wait() -> None:
    load = Load(LIMITS, now=0)
    for waiting in (1, 2, 3, 0, 1, 1, 5):
        load.look(waiting)
        assert not load.is_busy(now=0, is_spread=False)
    load.look(1)
    assert load.is_busy(now=0, is_spread=False)


def test_after_each_trial_that_was_in_vain_the_next_one_is_later() -> None:
    load = Load(LIMITS, now=0)
    now = 10.0
    for pause in (1, 2, 4, 4):
        assert crowd(load, now=now)
        assert not load.is_calm(now=now + pause - 0.01)
        now += pause + 1
        assert load.is_calm(now=now)


def test_a_trial_that_went_well_for_a_while_is_soon_repeated() -> None:
    load = Load(LIMITS, now=0)
    assert crowd(load, now=10)
    assert crowd(load, now=11.5)
    assert not load.is_calm(now=13.4)
    assert crowd(load, now=18)
    assert load.is_calm(now=20)
