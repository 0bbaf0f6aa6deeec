"""The states of a run, which of them follow on which, and the requests that interrupt it."""

import asyncio
import itertools

import pytest

from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.agent import run_state
from tinkwell.provisioner.agent.job import Job
from tinkwell.provisioner.agent.run_state import IllegalMove, RunState, after

BEGINNING, RUNNING, REPORTING, CLEARING = (
    RunState.BEGINNING,
    RunState.RUNNING,
    RunState.REPORTING,
    RunState.CLEARING,
)
STOPPING, LEAVING = RunState.STOPPING, RunState.LEAVING
REFUSED, GONE, LEFT, STUCK = FINAL = (RunState.REFUSED, RunState.GONE, RunState.LEFT, RunState.STUCK)

# Every pair of a state and a move that is taken, and what it leads to; all others are refused.
TAKEN = {
    (BEGINNING, RUNNING): RUNNING,
    (BEGINNING, REFUSED): REFUSED,
    (BEGINNING, STOPPING): STOPPING,
    (BEGINNING, LEAVING): LEAVING,
    (RUNNING, REPORTING): REPORTING,
    (RUNNING, GONE): GONE,
    (RUNNING, STUCK): STUCK,
    (RUNNING, STOPPING): STOPPING,
    (RUNNING, LEAVING): LEAVING,
    (REPORTING, CLEARING): CLEARING,
    (REPORTING, STOPPING): STOPPING,
    (STOPPING, CLEARING): CLEARING,
    (LEAVING, LEFT): LEFT,
    (CLEARING, GONE): GONE,
    (CLEARING, STUCK): STUCK,
    (CLEARING, LEFT): LEFT,
    # What a request interrupts has no say any more.
    **{(request, late): request for request in (STOPPING, LEAVING) for late in (RUNNING, REPORTING, REFUSED)},
    **{(request, late): request for request in (STOPPING, LEAVING) for late in (GONE, STUCK)},
    # A request that comes too late, or after another one, changes nothing.
    **{(state, request): state for state in (CLEARING, *FINAL) for request in (STOPPING, LEAVING)},
    **{(state, request): state for state in (STOPPING, LEAVING) for request in (STOPPING, LEAVING)},
    (REPORTING, LEAVING): REPORTING,
}
PAIRS = list(itertools.product(RunState, RunState))


@pytest.mark.parametrize(("state", "to"), PAIRS, ids=[f"{state.name}-{to.name}" for state, to in PAIRS])
def test_a_move_leads_where_the_table_says_or_is_refused(state: RunState, to: RunState) -> None:
    if (state, to) in TAKEN:
        assert after(state, to) is TAKEN[state, to]
    else:
        with pytest.raises(IllegalMove, match=f"{to.name} does not follow on {state.name}"):
            after(state, to)


def test_every_state_is_reached_and_every_run_can_come_to_an_end() -> None:
    followed = {to for following in run_state.FOLLOWING.values() for to in following}
    assert followed | {BEGINNING} == set(RunState)
    assert set(RunState) - run_state.FOLLOWING.keys() == set(FINAL)
    for state in run_state.FOLLOWING:
        reached = {state}
        for _ in RunState:
            reached |= {to for each in reached for to in run_state.FOLLOWING.get(each, ())}
        assert reached & set(FINAL)


def test_nothing_is_removed_before_its_end_was_reported_unless_it_is_stopped() -> None:
    before = {state for state, following in run_state.FOLLOWING.items() if CLEARING in following}
    assert before == {REPORTING, STOPPING}


def test_what_may_still_run_is_watched_and_nothing_else() -> None:
    assert {state for state in RunState if state.is_watched} == {BEGINNING, RUNNING, REPORTING, STOPPING}


@pytest.mark.parametrize(("request_", "state"), [("stop", STOPPING), ("leave", LEAVING)])
async def test_a_request_interrupts_what_is_under_way(request_: str, state: RunState) -> None:
    job, is_under_way = Job(RunKey(RunKind.WORKFLOW, "w", "a", 1)), asyncio.Event()

    async def work() -> None:
        async with job.until_stopped():
            is_under_way.set()
            await asyncio.Event().wait()

    task = asyncio.ensure_future(work())
    await is_under_way.wait()
    getattr(job, request_)("enough")
    getattr(job, request_)("once more")
    async with asyncio.timeout(10):
        await task
    assert (job.state, job.reason) == (state, "enough")


async def test_a_request_that_comes_before_the_work_interrupts_it_at_its_first_await() -> None:
    job, steps = Job(RunKey(RunKind.WORKFLOW, "w", "a", 1)), list[str]()
    job.stop("enough")
    async with job.until_stopped():
        steps.append("begun")
        await asyncio.Event().wait()
    assert steps == ["begun"]


async def test_a_request_that_comes_too_late_interrupts_nothing() -> None:
    job = Job(RunKey(RunKind.WORKFLOW, "w", "a", 1), CLEARING)
    async with job.until_stopped():
        job.stop("too late")
        job.leave("too late")
        await asyncio.sleep(0)
        job.move(GONE)
    assert (job.state, job.reason) == (GONE, "")


async def test_a_timeout_of_the_work_itself_is_not_taken_for_a_request() -> None:
    job = Job(RunKey(RunKind.WORKFLOW, "w", "a", 1))
    with pytest.raises(TimeoutError):
        async with job.until_stopped():
            raise TimeoutError
    assert job.state is BEGINNING
