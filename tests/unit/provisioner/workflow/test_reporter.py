"""Reports that come at once go to the server by one call, and each comes to what it would alone."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Iterable, Sequence

import pytest

from tinkwell.client import errors
from tinkwell.client.workflow.model import LogLine, Report, Reported
from tinkwell.core.event.kinds import State
from tinkwell.provisioner.workflow import reporter

END = Report(workflow_id="w", action_id="a", worker_id="m", state=State.SUCCEEDED, attempt=1)
START = Report(workflow_id="w", action_id="b", worker_id="m", state=State.RUNNING, attempt=2)


class Api:
    """A server that answers every report with its attempt, and holds each call until it is let through."""

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.passes = asyncio.Semaphore(0)
        self.fails_together: errors.Error | None = None

    async def report(self, workflow_id: str, *, attempt: int, **_: object) -> Reported:
        self.calls.append(1)
        await self.passes.acquire()
        return _judge(workflow_id, attempt)

    async def report_together(self, reports: Sequence[Report]) -> Sequence[Reported | errors.Error]:
        self.calls.append(len(reports))
        await self.passes.acquire()
        if self.fails_together is not None:
            raise self.fails_together
        return [_outcome(report) for report in reports]

    async def append_logs(self, workflow_id: str, lines: Iterable[LogLine]) -> int:
        return len(list(lines))

    def let_through(self, count: int) -> None:
        for _ in range(count):
            self.passes.release()


def _judge(workflow_id: str, attempt: int) -> Reported:
    if workflow_id == "refused":
        raise errors.IllegalTransition("no")
    return Reported(1, attempt)


def _outcome(report: Report) -> Reported | errors.Error:
    try:
        return _judge(report.workflow_id, report.attempt)
    except errors.Error as error:
        return error


@contextlib.asynccontextmanager
async def sending(api: Api) -> AsyncIterator[reporter.Reporter]:
    worker = reporter.Reporter(api)
    task = asyncio.ensure_future(worker.run())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    yield worker
    task.cancel()
    await asyncio.wait([task])


def report(
    worker: reporter.Reporter, attempt: int, workflow_id: str = "w", *, state: State = State.RUNNING
) -> "asyncio.Future[Reported]":
    told = Report(workflow_id=workflow_id, action_id="a", worker_id="m", state=state, attempt=attempt)
    return asyncio.ensure_future(worker.report(told))


async def rest() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.fixture
def api() -> Api:
    return Api()


async def test_what_comes_while_calls_are_under_way_goes_together(api: Api) -> None:
    async with sending(api) as worker:
        reports = []
        for attempt in range(1, reporter.SENDERS + 1):
            reports.append(report(worker, attempt))
            await rest()
        assert api.calls == [1] * reporter.SENDERS
        reports += [report(worker, attempt) for attempt in range(reporter.SENDERS + 1, 10)]
        await rest()
        api.let_through(10)
        answers = await asyncio.gather(*reports)
    assert [answer.attempt for answer in answers] == list(range(1, 10))
    assert api.calls == [*[1] * reporter.SENDERS, 9 - reporter.SENDERS]


async def test_an_end_without_success_waits_for_no_other_report(api: Api) -> None:
    async with sending(api) as worker:
        reports = [report(worker, attempt) for attempt in (1, 2, 3)]
        await rest()
        assert api.calls == [3]
        reports += [report(worker, attempt, state=State.FAILED) for attempt in (4, 5, 6)]
        await rest()
        assert api.calls == [3, 1, 1, 1]
        api.let_through(10)
        answers = await asyncio.gather(*reports)
    assert [answer.attempt for answer in answers] == [1, 2, 3, 4, 5, 6]


async def test_one_that_is_refused_leaves_the_others_their_answers(api: Api) -> None:
    api.let_through(10)
    async with sending(api) as worker:
        fine, refused, other = report(worker, 1), report(worker, 2, "refused"), report(worker, 3)
        await asyncio.wait([fine, refused, other])
    assert api.calls == [3]
    assert (fine.result().attempt, other.result().attempt) == (1, 3)
    assert isinstance(refused.exception(), errors.IllegalTransition)


async def test_a_server_that_does_not_answer_is_told_to_each(api: Api) -> None:
    api.let_through(10)
    api.fails_together = errors.Unavailable("away")
    async with sending(api) as worker:
        reports = [report(worker, 1), report(worker, 2)]
        await asyncio.wait(reports)
    assert [type(call.exception()) for call in reports] == [errors.Unavailable] * 2
    assert api.calls == [2]


@pytest.mark.parametrize("fault", [errors.Unimplemented(), errors.Internal(), errors.InvalidField()])
async def test_what_fails_as_a_whole_is_sent_one_by_one(api: Api, fault: errors.Error) -> None:
    api.let_through(10)
    api.fails_together = fault
    async with sending(api) as worker:
        answers = await asyncio.gather(report(worker, 1), report(worker, 2))
    assert [answer.attempt for answer in answers] == [1, 2]
    assert api.calls == [2, 1, 1]


async def test_no_call_carries_more_than_the_server_takes(api: Api) -> None:
    api.let_through(1_000)
    async with sending(api) as worker:
        await asyncio.gather(*(report(worker, attempt) for attempt in range(1, 251)))
    assert sorted(api.calls) == [50, 100, 100]


async def test_reports_are_made_alone_when_the_senders_have_stopped_or_stop_meanwhile(api: Api) -> None:
    async with sending(api) as worker:
        caught = [report(worker, 1), report(worker, 2)]
        await rest()
        assert api.calls == [2]
    api.let_through(3)
    assert [answer.attempt for answer in await asyncio.gather(*caught, report(worker, 3))] == [1, 2, 3]
    assert api.calls == [2, 1, 1, 1]


async def test_one_that_is_given_up_does_not_disturb_the_others(api: Api) -> None:
    async with sending(api) as worker:
        given_up, other = report(worker, 1), report(worker, 2)
        await rest()
        given_up.cancel()
        api.let_through(1)
        assert (await other).attempt == 2
    assert given_up.cancelled()
    assert api.calls == [2]


async def test_a_start_goes_along_with_an_end_and_each_is_answered(api: Api) -> None:
    async with sending(api) as worker:
        api.let_through(1)
        ended, started = await worker.report_both(END, START)
        assert (ended.attempt, started and started.attempt) == (1, 2)
    assert api.calls == [2]


async def test_a_start_that_is_refused_is_not_heard_of_and_a_refused_end_is_raised(api: Api) -> None:
    api.let_through(2)
    async with sending(api) as worker:
        ended, started = await worker.report_both(END, dataclasses.replace(START, workflow_id="refused"))
        assert (ended.attempt, started) == (1, None)
        with pytest.raises(errors.IllegalTransition):
            await worker.report_both(dataclasses.replace(END, workflow_id="refused"), START)


async def test_a_start_that_cannot_go_along_is_left_to_who_reports_it(api: Api) -> None:
    api.fails_together = errors.Internal()
    api.let_through(2)
    async with sending(api) as worker:
        ended, started = await worker.report_both(END, START)
    assert (ended.attempt, started) == (1, None)
    assert api.calls == [2, 1]


async def test_two_reports_that_belong_together_are_never_in_two_calls(api: Api) -> None:
    async with sending(api) as worker:
        blocking = [report(worker, 1) for _ in range(reporter.SENDERS)]
        for _ in range(reporter.SENDERS):
            await rest()
        single = [report(worker, 1) for _ in range(reporter.MAX_REPORTS - 1)]
        await rest()
        pair = asyncio.ensure_future(worker.report_both(END, START))
        await rest()
        api.let_through(10)
        await asyncio.gather(*blocking, *single, pair)
    assert api.calls[-2:] == [reporter.MAX_REPORTS - 1, 2]
