"""What time it is by the server."""

from unit.cli.following import at

from tinkwell.cli.shell import server_clock


class Time:
    """Both of this machine's clocks."""

    def __init__(self) -> None:
        self.seconds = 50.0

    def clock(self, *, ahead_seconds: float = 0.0) -> server_clock.ServerClock:
        return server_clock.ServerClock(
            monotonic=lambda: self.seconds, wall=lambda: at(self.seconds - 50 + ahead_seconds).timestamp()
        )


def test_as_long_as_nothing_is_known_this_machines_time_is_as_good_as_any() -> None:
    time = Time()
    clock = time.clock(ahead_seconds=7)
    time.seconds += 3
    assert clock.now() == at(10)


def test_the_latest_moment_that_came_from_the_server_counts_whatever_time_it_is_here() -> None:
    time = Time()
    clock = time.clock(ahead_seconds=3600)
    clock.is_at_least(at(5))
    clock.is_at_least(at(2))
    clock.is_at_least(None)
    assert clock.now() == at(5)
    time.seconds += 10
    clock.is_at_least(at(6))  # it was long on its way
    assert clock.now() == at(15)
