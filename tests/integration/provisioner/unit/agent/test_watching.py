"""An agent keeps watching: over a stream that ends, over other machines, and up to a refusal that nobody can mend."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support import real_agent
from support.unit_server import UNIT_ID, UnitServer
from support.waiting import eventually
from tinkwell.client import errors
from tinkwell.provisioner.unit import agent

MACHINE = "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a01"


class Streams(UnitServer):
    """A server of which each stream of wakes ends as a test says; the last one stays open."""

    def __init__(self, *ends: errors.Error | None) -> None:
        super().__init__(["install"], {"install": "true"})
        self.ends = list(ends)
        self.asked: list[tuple[str, ...]] = []

    async def wakes(self, lease_token: int, **asked: Any) -> AsyncIterator[tuple[str, ...]]:
        self.asked.append(tuple(asked["machines"]))
        if not self.ends:
            yield (UNIT_ID,)
            await asyncio.Event().wait()
        end = self.ends.pop(0)
        if end is not None:
            raise end


async def test_a_stream_that_ends_is_opened_again(tmp_path: Path) -> None:
    server = Streams(errors.Unavailable("the server is stopping"), None, errors.Unavailable("it is away"))
    async with real_agent.serving(server, tmp_path / "units", resync_seconds=0.0):
        await eventually(lambda: server.state.committed == [("install", 1)], deadline_seconds=60)
    assert len(server.asked) == 4


class Interrupted(Streams):
    """A server whose first stream of wakes ends once that is wanted, and whose second one names nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.ending = asyncio.Event()

    async def wakes(self, lease_token: int, **asked: Any) -> AsyncIterator[tuple[str, ...]]:
        if self.ending.is_set():
            yield ()
            await asyncio.Event().wait()
        yield (UNIT_ID,)
        await self.ending.wait()
        raise errors.Unavailable("the server is stopping")


async def test_a_unit_that_went_while_the_stream_was_away_is_cleared(tmp_path: Path) -> None:
    server = Interrupted()
    async with real_agent.serving(server, tmp_path / "units", resync_seconds=0.0):
        await eventually(lambda: server.state.committed == [("install", 1)])
        assert (tmp_path / "units/units" / UNIT_ID).exists()
        server.state.is_gone = True
        server.ending.set()
        await eventually(lambda: not (tmp_path / "units/units" / UNIT_ID).exists())


async def test_other_machines_are_asked_for_once_they_are_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent, "CHECK_SECONDS", 0.01)
    served: set[str] = set()

    async def machines() -> frozenset[str]:
        return frozenset(served)

    server = Streams()
    async with real_agent.serving(server, tmp_path / "units", resync_seconds=0.0, machines=machines):
        await eventually(lambda: server.asked == [()])
        served.add(MACHINE)
        await eventually(lambda: server.asked == [(), (MACHINE,)])


async def test_a_refusal_that_nobody_can_mend_ends_the_agent(tmp_path: Path) -> None:
    server = Streams(errors.Unauthenticated("no such token"))
    async with real_agent.serving(server, tmp_path / "units", may_end=True, resync_seconds=0.0) as running:
        await asyncio.wait([running], timeout=20)
        error = running.exception()
    while isinstance(error, BaseExceptionGroup):
        (error,) = error.exceptions
    assert isinstance(error, errors.Unauthenticated)
