"""Reports of one operation: in order, one call at a time, and together where they come at once."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, TypeVar, cast

import pytest

from tinkwell.client import errors
from tinkwell.client.lease.keeper import Keeper
from tinkwell.client.release.model import Operation
from tinkwell.core.release.kinds import NodeState, ResourceStatus
from tinkwell.core.release.report import NodeReport, Report, ResourceReport
from tinkwell.provisioner.release import reporter
from tinkwell.provisioner.release.secret import Secrets

T = TypeVar("T")


class Api:
    """A server that takes what it is let take."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.passes = asyncio.Semaphore(0)
        self.failures: list[errors.Error] = []

    async def report(self, operation_id: str, lease_token: int, reports: Sequence[Report]) -> Operation:
        self.calls.append([cast(Any, report).path for report in reports])
        await self.passes.acquire()
        if self.failures:
            raise self.failures.pop(0)
        return Operation(operation_id, lease_token=lease_token, version=len(self.calls))


class Lease:
    """A lease that lives for ever."""

    async def under(self, call: Callable[[int], Awaitable[T]]) -> T:
        return await call(7)


class Sending:
    """A reporter at work, and what was heard of the operation."""

    def __init__(self) -> None:
        self.api = Api()
        self.heard: list[Operation] = []
        self.reporter = reporter.Reporter(
            self.api, cast(Keeper, Lease()), "o", secrets=Secrets(), hear=self.heard.append
        )
        self.task = asyncio.ensure_future(self.reporter.run())

    def post(self, *paths: str, size: int = 0) -> "asyncio.Future[None]":
        reports: list[Report] = [NodeReport(path=path, state=NodeState.READY) for path in paths]
        if size:
            reports = [ResourceReport(path=p, type="t", status=ResourceStatus.VALID, state="x" * size) for p in paths]
        return self.reporter.post(reports)

    async def let(self, count: int = 1) -> None:
        for _ in range(count):
            self.api.passes.release()
        for _ in range(10):
            await asyncio.sleep(0)


@pytest.fixture
async def sending() -> AsyncIterator[Sending]:
    found = Sending()
    yield found
    found.task.cancel()
    with contextlib.suppress(asyncio.CancelledError, errors.Error):
        await found.task


async def test_what_comes_at_once_goes_by_one_call_and_what_comes_meanwhile_by_the_next(sending: Sending) -> None:
    first = [sending.post("a"), sending.post("b", "c")]
    await sending.let(0)
    later = [sending.post("d"), sending.post("e")]
    await sending.let()
    assert sending.api.calls == [["a", "b", "c"], ["d", "e"]]
    assert [stored.done() for stored in [*first, *later]] == [True, True, False, False]
    await sending.let()
    assert all(stored.done() for stored in later)
    assert [operation.version for operation in sending.heard] == [1, 2]


async def test_nothing_to_report_is_stored_at_once(sending: Sending) -> None:
    await sending.post()
    assert sending.api.calls == []


async def test_a_group_is_not_divided_and_a_call_has_no_more_than_the_server_takes(sending: Sending) -> None:
    for _ in range(2):
        _ = sending.post(*["x"] * 300)
    _ = sending.post("large", size=reporter.MAX_BYTES * 3)
    _ = sending.post("last")
    await sending.let(4)
    assert [len(call) for call in sending.api.calls] == [300, 300, 1, 1]


async def test_a_call_is_repeated_until_the_server_answers(sending: Sending) -> None:
    sending.api.failures = [errors.Unavailable("away")]
    stored = sending.post("a")
    sending.api.passes.release()
    sending.api.passes.release()
    async with asyncio.timeout(10):
        await stored
    assert sending.api.calls == [["a"], ["a"]]


async def test_after_a_refusal_nothing_more_is_sent(sending: Sending) -> None:
    sending.api.failures = [errors.LeaseLost("another has it")]
    refused = sending.post("a")
    await sending.let(0)
    waiting = sending.post("b")
    await sending.let(2)
    assert refused.cancelled()
    assert waiting.cancelled()
    assert sending.api.calls == [["a"]]
    with pytest.raises(errors.LeaseLost):
        await sending.task
