"""After a commit the next event is decided on what was seen before it: that is what another look would show."""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from support.unit_delivery_storm import Storm
from support.unit_site import LEASE_SECONDS
from tinkwell.server.database import engine
from tinkwell.server.database.database import Database, T, Transaction, Written
from tinkwell.server.lease.service.operations import LeaseService
from tinkwell.server.unit.service.delivery.record import Next
from tinkwell.server.unit.service.delivery.turn import Agent, Turn
from tinkwell.server.unit.store import delivery
from tinkwell.server.unit.store.delivery import Looked


class OneByOne(Database):
    """Transactions come one after the other, so that nobody changes what another one has seen."""

    def __init__(self, pool: AsyncEngine) -> None:
        super().__init__(pool)
        self._turn = asyncio.Lock()

    async def write(self, work: Callable[[Transaction], Awaitable[T]], *, actor: str) -> Written[T]:
        async with self._turn:
            return await super().write(work, actor=actor)


async def test_what_was_seen_is_what_a_look_shows(server_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = engine.create(server_url, pool_size=6)
    database = OneByOne(pool)
    compared = {"seen": 0, "own": 0}
    give = Turn.next

    async def checked(self: Turn, agent: Agent, *, elects: bool) -> Next:
        if self._looked is not None:
            now = await delivery.look(self._transaction.fetch, self._unit_id, lease_token=self._lease_token)
            assert now is not None
            assert (now.loaded.ledger, now.loaded.view) == (self._looked.loaded.ledger, self._looked.loaded.view)
            assert (now.loaded.in_flight is None) == (self._looked.loaded.in_flight is None)
            compared["seen"] += 1
            if self._is_own_seen:
                assert _timeless(now) == _timeless(self._looked)
                compared["own"] += 1
        return await give(self, agent, elects=elects)

    monkeypatch.setattr(Turn, "next", checked)
    try:
        storm = Storm(database, LeaseService(database, lease_seconds=LEASE_SECONDS, holders={}), seed=7)
        assert await storm.run(requests=40) == []
        assert min(compared.values()) > 50
    finally:
        await pool.dispose()


def _timeless(looked: Looked) -> object:
    """Return what is a unit's own, but for what time alone changes."""
    return dataclasses.replace(looked.own, leads_seconds=0.0, due_in_seconds=None)
