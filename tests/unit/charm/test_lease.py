"""The lease of an agent of a charm, and what is told under it at once."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field

import pytest

from support.waiting import eventually
from tinkwell import charm
from tinkwell.charm.agent.lease import Lease
from tinkwell.charm.agent.outbox import Outbox
from tinkwell.client import errors
from tinkwell.client.lease.model import Lease as Acquired
from tinkwell.client.lease.model import Renewed
from tinkwell.client.unit.model import UnitLogLine, UnitStatus
from tinkwell.core.unit import limit


@dataclass
class Leases:
    """Gives lease after lease, each of half a minute; what is in `failures` is raised first, one at a time."""

    token: int = 0
    renewals: int = 0
    released: list[int] = field(default_factory=list)
    failures: deque[errors.Error] = field(default_factory=deque)

    async def acquire(self, owner: str, engine: str) -> Acquired:
        self._fail()
        self.token += 1
        return Acquired(self.token, 30.0)

    async def renew(self, lease_token: int) -> Renewed:
        self._fail()
        self.renewals += 1
        return Renewed(30.0)

    async def release(self, lease_token: int, *, workflow_id: str = "", worker_id: str = "") -> None:
        self.released.append(lease_token)

    def _fail(self) -> None:
        if self.failures:
            raise self.failures.popleft()


@contextlib.asynccontextmanager
async def kept(api: Leases, now: list[float]) -> AsyncIterator[Lease]:
    lease = Lease(api, "charm:test", clock=lambda: now[0])
    task = asyncio.create_task(lease.run())
    try:
        async with asyncio.timeout(10):
            yield lease
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_lease_lives_until_its_end_by_this_sides_clock() -> None:
    now = [100.0]
    async with kept(Leases(), now) as lease:
        token = await lease.token()
        assert lease.lives(token)
        assert not lease.lives(token + 1)
        now[0] = 130.0
        assert not lease.lives(token)


async def test_a_call_that_is_refused_is_made_again_under_the_lease_that_follows() -> None:
    api = Leases()
    async with kept(api, [0.0]) as lease:
        await lease.token()
        api.failures.append(errors.LeaseLost("over"))
        tokens: list[int] = []

        async def call(token: int) -> str:
            tokens.append(token)
            if token == 1:
                raise errors.LeaseLost("over")
            return "done"

        assert await lease.under(call) == "done"
        assert tokens == [1, 2]


async def test_a_call_that_is_refused_under_a_good_lease_is_about_what_is_anothers() -> None:
    api = Leases()
    async with kept(api, [0.0]) as lease:

        async def call(token: int) -> None:
            raise errors.LeaseLost("taken")

        with pytest.raises(errors.LeaseLost, match="taken"):
            await lease.under(call)
        assert (api.token, api.renewals) == (1, 1)
        await lease.end()
        assert api.released == [1]


async def test_a_silent_server_is_asked_again_and_a_refusal_ends_it() -> None:
    api = Leases(failures=deque([errors.Unavailable("away"), errors.Unavailable("away")]))
    async with kept(api, [0.0]) as lease:
        assert await lease.token() == 1
    with pytest.raises(errors.Unauthenticated):
        await Lease(Leases(failures=deque([errors.Unauthenticated("who?")])), "charm:test").run()


@dataclass
class Told:
    """Takes statuses and lines, after it has failed as often as wanted."""

    failures: int = 0
    lines: list[UnitLogLine] = field(default_factory=list)
    statuses: list[UnitStatus] = field(default_factory=list)

    async def set_status(self, lease_token: int, unit_id: str, **said: UnitStatus | str | None) -> None:
        if self.failures:
            self.failures -= 1
            raise errors.Unavailable("away")
        status = said["status"]
        assert isinstance(status, UnitStatus)
        self.statuses.append(status)

    async def append_logs(self, lease_token: int, unit_id: str, lines: Iterable[UnitLogLine]) -> int:
        given = list(lines)
        self.lines += given
        return len(given)


@contextlib.asynccontextmanager
async def outbox(told: Told) -> AsyncIterator[Outbox]:
    async with kept(Leases(), [0.0]) as lease:
        box = Outbox(told, lease, "u", ordinal=7, attempt=2)  # type: ignore[arg-type]
        pump = asyncio.create_task(box.run())
        try:
            yield box
        finally:
            pump.cancel()
            await asyncio.gather(pump, return_exceptions=True)
            await box.flush()


async def test_the_newest_status_is_told_also_after_the_server_was_away() -> None:
    told = Told(failures=2)
    async with outbox(told) as box:
        box.tell("status", charm.Maintenance("a"))
        box.tell("status", charm.Active("b"))
    assert told.statuses == [UnitStatus("active", "b")]


async def test_an_attempt_has_so_many_lines_and_a_line_so_many_bytes() -> None:
    told = Told()
    async with outbox(told) as box:
        box.log("INFO", "ä" * limit.LOG_LINE_BYTES)
        box.log("INFO", "\n".join("x" for _ in range(limit.LOG_LINES_PER_EVENT + 10)))
        await eventually(lambda: len(told.lines) == limit.LOG_LINES_PER_EVENT)
    assert len(told.lines[0].text.encode()) == limit.LOG_LINE_BYTES
    assert [each.number for each in told.lines] == list(range(1, limit.LOG_LINES_PER_EVENT + 1))
    assert "too many lines" in told.lines[-1].text
