"""What agents are named where the log was not heard for a while."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, cast

from support.waiting import eventually
from tinkwell.server.database.database import Database
from tinkwell.server.unit.service.agent.wake import Wakes
from tinkwell.server.unit.store.agent.wake import Serving

SERVING = Serving(lease_id="lease", engine="engine", kinds=frozenset({"SCRIPTS"}), is_anywhere=True)


class Units:
    """A database that has these units."""

    def __init__(self, *unit_ids: str) -> None:
        self.unit_ids = list(unit_ids)
        self.errors: list[Exception] = []

    async def fetch(self, query: str, *arguments: object) -> list[dict[str, Any]]:
        if self.errors:
            raise self.errors.pop()
        found = {"namespace": "default", "application": "web", "kind": "SCRIPTS", "charm": "c", "unit_charm": "c"}
        place = {"machine": "", "is_anywhere": True, "lease_id": "lease", "engine": "engine"}
        return [{"unit_id": each, **found, **place} for each in self.unit_ids]


@contextlib.asynccontextmanager
async def running(wakes: Wakes) -> AsyncIterator[None]:
    """Let it run, and again after an error, as the server does."""

    async def run() -> None:
        while True:
            with contextlib.suppress(ConnectionError):
                await wakes.run()

    task = asyncio.create_task(run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_unit_that_went_unheard_is_named() -> None:
    units = Units("one", "two")
    wakes = Wakes(cast(Database, units))
    async with running(wakes):
        stream = wakes.watch(SERVING)
        assert await anext(stream) == (["one", "two"], True)
        units.unit_ids = ["two", "three"]
        wakes.name_all()
        named, _ = await anext(stream)
        assert sorted(named) == ["one", "three", "two"]
        # It is named once.
        wakes.name_all()
        named, _ = await anext(stream)
        assert sorted(named) == ["three", "two"]
        await stream.aclose()


async def test_a_unit_that_went_while_units_could_not_be_looked_for_is_named() -> None:
    units = Units("one")
    wakes = Wakes(cast(Database, units))
    async with running(wakes):
        stream = wakes.watch(SERVING)
        assert await anext(stream) == (["one"], True)
        units.errors, units.unit_ids = [ConnectionError("away")], []
        wakes.name_all()
        assert await anext(stream) == (["one"], False)
        await eventually(lambda: not units.errors)
        await stream.aclose()
