"""How much each caller may do."""

from tinkwell.server.http.rate import Rate


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_some_may_be_done_at_once_and_then_as_much_as_flows_in() -> None:
    clock = Clock()
    rate = Rate[str](burst=3, per_second=0.5, clock=clock)
    assert [rate.take("a") for _ in range(4)] == [0, 0, 0, 2]
    clock.now += 1
    assert rate.take("a") == 1
    clock.now += 1
    assert [rate.take("a"), rate.take("a")] == [0, 2]
    clock.now += 3_600
    assert [rate.take("a") for _ in range(4)] == [0, 0, 0, 2]


def test_each_caller_has_a_bucket_of_its_own() -> None:
    rate = Rate[str](burst=1, per_second=1, clock=Clock())
    assert [rate.take(name) for name in ("a", "b", "a", "b")] == [0, 0, 1, 1]


def test_what_is_refused_costs_nothing_and_what_no_bucket_holds_takes_a_full_one() -> None:
    clock = Clock()
    rate = Rate[str](burst=10, per_second=2, clock=clock)
    assert rate.take("a", 4) == 0
    assert rate.take("a", 8) == 1
    assert rate.take("a", 6) == 0
    assert rate.take("a", 1_000) == 5
    clock.now += 5
    assert rate.take("a", 1_000) == 0
    assert rate.take("a", 1) == 0.5
    assert rate.take("a", 0) == 0


def test_only_so_many_callers_are_known_and_the_others_begin_anew() -> None:
    rate = Rate[int](burst=1, per_second=1, clock=Clock(), callers=3)
    for caller in (1, 2, 3, 1, 4):
        rate.take(caller)
    assert [rate.take(caller) for caller in (1, 3, 4)] == [1, 1, 1]
    assert rate.take(2) == 0
    assert len(rate._buckets) == 3
