"""What time it is by the server."""

from unit.cli.following import action, at, workflow

from tinkwell.cli.workflow import server_clock
from tinkwell.core.event.kinds import State


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


def test_what_remains_of_a_running_action_tells_the_time_of_the_answer() -> None:
    runs = action(0, State.RUNNING, started_at=at(10), timeout_seconds=60, remaining_seconds=50.0)
    assert server_clock.moment_of_answer(workflow(State.RUNNING), [action(1), runs]) == at(20)


def test_a_workflows_deadline_counts_where_it_comes_first() -> None:
    runs = action(0, State.RUNNING, started_at=at(10), timeout_seconds=60, remaining_seconds=5.0)
    limited = workflow(State.RUNNING, started_at=at(0), global_timeout_seconds=30)
    assert server_clock.moment_of_answer(limited, [runs]) == at(25)


def test_without_a_deadline_an_answer_does_not_tell_its_time() -> None:
    assert server_clock.moment_of_answer(workflow(State.RUNNING), [action(0, State.RUNNING, started_at=at(1))]) is None
