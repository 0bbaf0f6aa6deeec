"""Leases: acquired, renewed and ended by those who run what is held under them."""

import dataclasses
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core import errors
from tinkwell.core.value import check, parse
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.lease.store import queries

MAX_OWNER_BYTES = 500
MAX_ENGINE_BYTES = 1_000
# What still fits into one answer; an owner hears of the rest by listing what is unfinished.
MAX_INHERITED = 10_000
MAX_LOST = 100
# For so long it is known on which engine the runs of an owner are that does not come back.
FORGET_SECONDS = 86_400


class Holder(Protocol):
    """One kind of resource that holds something under leases, such as workflows, which hold machines."""

    async def inherited(self, connection: AsyncConnection, lease_id: str, *, limit: int) -> Sequence[str]:
        """Return the ids of those that hold something under a lease."""

    async def lost(self, connection: AsyncConnection, *, limit: int) -> Sequence[str]:
        """Return the ids of those that hold something under a lease that is over, and that somebody must see to."""


# By the name of the resource, such as `workflow`.
Held = Mapping[str, Sequence[str]]


@dataclasses.dataclass(frozen=True, slots=True)
class Acquired:
    """A lease that has begun, for how long it lives, and the ids of what holds something under it already."""

    token: int
    seconds: float
    inherited: Held


@dataclasses.dataclass(frozen=True, slots=True)
class Renewed:
    """For how long a lease lives, and the ids of what holds something under one that is over."""

    seconds: float
    lost: Held


class LeaseService:
    """Acquire, renew and end leases. `holders` are the kinds of resources that hold something, by their names."""

    def __init__(self, database: Database, *, lease_seconds: float, holders: Mapping[str, Holder]) -> None:
        self._database = database
        self._seconds = lease_seconds
        self._holders = holders
        # What else there is to do as a lease is ended by its owner, by its token: whoever needs that adds it.
        self.on_end: list[Callable[[Transaction, int], Awaitable[None]]] = []
        # Until when the leases live that were acquired or renewed here, by the clock of this process.
        self._alive: dict[int, float] = {}

    @property
    def live_leases(self) -> int:
        """How many leases were acquired or renewed here that are not over."""
        now = time.monotonic()
        return sum(until > now for until in self._alive.values())

    async def acquire(self, *, owner: str, engine: str, actor: str) -> Acquired:
        """Begin a lease for an owner, whose former one is over by that. Raises `errors.InvalidField`."""
        checks = check.Checks()
        owner = checks.take(parse.parse_text, "owner", owner, max_bytes=MAX_OWNER_BYTES)
        engine = checks.take(parse.parse_text, "engine", engine, max_bytes=MAX_ENGINE_BYTES)
        checks.finish()

        async def work(transaction: Transaction) -> Acquired:
            transaction.changed = False
            connection = transaction.connection
            acquired = await queries.acquire(connection, owner=owner, engine=engine, seconds=self._seconds)
            inherited = {
                name: await holder.inherited(connection, acquired.id, limit=MAX_INHERITED)
                for name, holder in self._holders.items()
            }
            await queries.forget(connection, age_seconds=FORGET_SECONDS)
            return Acquired(acquired.token, self._seconds, inherited)

        acquired = (await self._database.write(work, actor=actor)).value
        self._remember(acquired.token)
        return acquired

    async def renew(self, token: int, *, actor: str) -> Renewed:
        """Let a lease live on, also one that has expired. Raises `errors.LeaseLost` for one that is none any more."""

        async def work(transaction: Transaction) -> Renewed:
            transaction.changed = False
            connection = transaction.connection
            if not await queries.renew(connection, token, seconds=self._seconds):
                raise errors.LeaseLost(token)
            # After that, since the lease that has just been renewed must be seen as alive.
            lost = {name: await holder.lost(connection, limit=MAX_LOST) for name, holder in self._holders.items()}
            return Renewed(self._seconds, lost)

        try:
            renewed = (await self._database.write(work, actor=actor)).value
        except errors.LeaseLost:
            self._alive.pop(token, None)
            raise
        self._remember(token)
        return renewed

    async def end(self, token: int, *, actor: str) -> None:
        """End a lease, if it is one; what is held under it is lost, or what those that were added make of it."""

        async def work(transaction: Transaction) -> None:
            transaction.changed = False
            await queries.end(transaction.connection, token)
            for act in self.on_end:
                await act(transaction, token)

        await self._database.write(work, actor=actor)
        self._alive.pop(token, None)

    def _remember(self, token: int) -> None:
        now = time.monotonic()
        self._alive = {known: until for known, until in self._alive.items() if until > now}
        self._alive[token] = now + self._seconds
