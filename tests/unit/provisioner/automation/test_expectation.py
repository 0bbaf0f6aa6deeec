"""What has yet to come, compared with what the words say."""

import datetime

import hypothesis
from hypothesis import strategies
from unit.provisioner.automation.sample import BEGIN, event

from tinkwell.provisioner.automation.expectation import Expectations

WITHIN = 10
# Whether an event begins a wait, ends one, or both; whose; and how long after the one before.
STEPS = strategies.lists(
    strategies.tuples(
        strategies.sampled_from(["after", "expected", "both"]), strategies.sampled_from("xy"), strategies.integers(0, 8)
    ),
    max_size=30,
)


def at(seconds: float) -> datetime.datetime:
    return BEGIN + datetime.timedelta(seconds=seconds)


def missing(steps: list[tuple[str, str, int]], until: float) -> list[int]:
    """Return the revisions after which nothing came in time, as the words say it."""
    times = [sum(step[2] for step in steps[: index + 1]) for index in range(len(steps))]
    found = []
    for index, (kind, resource, _) in enumerate(steps):
        is_met = any(
            other in ("expected", "both") and whose == resource and times[later] <= times[index] + WITHIN
            for later, (other, whose, _) in enumerate(steps)
            if later > index
        )
        if kind in ("after", "both") and not is_met and times[index] + WITHIN < until:
            found.append(index + 1)
    return found


def feed(expected: Expectations, steps: list[tuple[str, str, int]], *, asked_after: set[int]) -> list[int]:
    """Hand in events one by one, asking after some of them what is overdue, by the time of the last."""
    now, told = 0, []
    for index, (kind, resource, pause) in enumerate(steps):
        now += pause
        if kind in ("expected", "both"):
            expected.arrive(resource, at=at(now))
        if kind in ("after", "both"):
            assert expected.expect(event(index + 1, resource=resource), at=at(now))
        if index in asked_after:
            told += [late.revision for late in expected.overdue(at(now))]
    return told


@hypothesis.given(STEPS, strategies.sets(strategies.integers(0, 29)))
def test_it_tells_exactly_those_after_which_nothing_came_in_time_whenever_it_is_asked(
    steps: list[tuple[str, str, int]], asked_after: set[int]
) -> None:
    expected = Expectations(datetime.timedelta(seconds=WITHIN))
    told = feed(expected, steps, asked_after=asked_after)
    told += [late.revision for late in expected.overdue(at(1_000))]
    assert told == missing(steps, 1_000)
    assert len(expected) == 0
    assert expected.next_deadline() is None


@hypothesis.given(STEPS)
def test_beginning_again_at_the_oldest_loses_nothing_and_repeats_nothing_that_is_finished(
    steps: list[tuple[str, str, int]],
) -> None:
    end = sum(step[2] for step in steps)
    expected = Expectations(datetime.timedelta(seconds=WITHIN))
    told = feed(expected, steps, asked_after=set(range(30)))
    for revision in told:
        expected.finish(revision)
    resumed = Expectations(datetime.timedelta(seconds=WITHIN))
    first = expected.oldest or len(steps) + 1
    skipped = [step if index + 1 >= first else ("none", *step[1:]) for index, step in enumerate(steps)]
    told += feed(resumed, skipped, asked_after=set())
    told += [late.revision for late in resumed.overdue(at(end + 1_000))]
    assert told == missing(steps, end + 1_000)


def test_what_is_being_handled_counts_as_the_oldest_until_it_is_finished() -> None:
    expected = Expectations(datetime.timedelta(seconds=WITHIN))
    for revision in (3, 4):
        expected.expect(event(revision, resource=str(revision)), at=at(revision))
    assert [late.revision for late in expected.overdue(at(13.5))] == [3]
    assert (expected.oldest, expected.is_handling) == (3, True)
    expected.finish(3)
    assert (expected.oldest, expected.is_handling) == (4, False)


def test_more_than_the_limit_are_refused() -> None:
    expected = Expectations(datetime.timedelta(seconds=WITHIN), max_open=1)
    assert expected.expect(event(1), at=at(0))
    assert not expected.expect(event(2), at=at(0))
