"""What handlers tell at once, while their event goes on."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field

from support.waiting import eventually
from tinkwell import charm
from tinkwell.charm.agent.outbox import Outbox
from tinkwell.client import errors
from tinkwell.client.lease.keeper import Keeper
from tinkwell.client.lease.model import Lease as Acquired
from tinkwell.client.lease.model import Renewed
from tinkwell.client.unit.model import UnitLogLine, UnitStatus
from tinkwell.core.unit import limit


class Leases:
    """Gives a lease of half a minute."""

    async def acquire(self, owner: str, engine: str) -> Acquired:
        return Acquired(1, 30.0)

    async def renew(self, lease_token: int) -> Renewed:
        return Renewed(30.0)

    async def release(self, lease_token: int, *, workflow_id: str = "", worker_id: str = "") -> None:
        raise AssertionError("nothing is released here")


@contextlib.asynccontextmanager
async def kept(api: Leases) -> AsyncIterator[Keeper]:
    lease = Keeper(api, owner="charm:test", engine="charm:test")
    task = asyncio.create_task(lease.run())
    try:
        async with asyncio.timeout(10):
            yield lease
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


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
    async with kept(Leases()) as lease:
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


async def test_what_is_no_text_or_too_long_is_told_as_far_as_it_can_be() -> None:
    told = Told()
    async with outbox(told) as box:
        box.tell("status", charm.Blocked("\udcff\0" + "x" * 2_000))
        box.log("INFO", "before \udcff and \0")
        box.log("INFO", "after")
        await eventually(lambda: len(told.lines) == 2 and bool(told.statuses))
    assert [line.text for line in told.lines] == ["before ? and \ufffd", "after"]
    assert told.statuses == [UnitStatus("blocked", "?\ufffd" + "x" * 998)]


async def test_what_is_refused_takes_nothing_else_with_it() -> None:
    class Follower(Told):
        async def set_status(self, lease_token: int, unit_id: str, **said: UnitStatus | str | None) -> None:
            if said["application_status"] is not None:
                raise errors.NotLeader("web/0 does not lead")
            if said["workload_version"] is not None:
                raise errors.InvalidField.of("workload_version", "is too long")
            await super().set_status(lease_token, unit_id, **said)

    told = Follower()
    async with outbox(told) as box:
        box.tell("application_status", charm.Active())
        box.tell("status", charm.Active("b"))
        box.log("INFO", "one")
        await eventually(lambda: len(told.lines) == 1 and bool(told.statuses))
        box.tell("workload_version", "2" * 1_000)
        box.tell("status", charm.Blocked("c"))
        box.log("INFO", "two")
        await eventually(lambda: len(told.lines) == 2)
    assert told.statuses == [UnitStatus("active", "b"), UnitStatus("blocked", "c")]
