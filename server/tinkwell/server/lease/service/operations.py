"""Leases: acquired, renewed and ended by their owners."""

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
# The largest number of ids in one response. The owner finds the rest in the lists of unfinished resources.
MAX_INHERITED = 10_000
MAX_LOST = 100
# For this long after a lease is over, the server knows on which engine its owner's runs are.
FORGET_SECONDS = 86_400


class Holder(Protocol):
    """A kind of resource that holds something under leases; workflows, for example, hold machines."""

    async def inherited(self, connection: AsyncConnection, lease_id: str, *, limit: int) -> Sequence[str]:
        """Return the ids of the resources that hold something under a lease."""

    async def lost(self, connection: AsyncConnection, *, limit: int) -> Sequence[str]:
        """Return the ids of resources that hold something under a lease that is over, and need a new owner."""


# Ids by the name of the resource, such as `workflow`.
Held = Mapping[str, Sequence[str]]


@dataclasses.dataclass(frozen=True, slots=True)
class Acquired:
    """A new lease: its token, its lifetime, and the ids of the resources that its owner already holds."""

    token: int
    seconds: float
    inherited: Held


@dataclasses.dataclass(frozen=True, slots=True)
class Renewed:
    """The lifetime of a lease, and the ids of resources that are held under leases that are over."""

    seconds: float
    lost: Held


class LeaseService:
    """Acquires, renews and ends leases. `holders` are the kinds of resources that are held under leases, by name."""

    def __init__(self, database: Database, *, lease_seconds: float, holders: Mapping[str, Holder]) -> None:
        self._database = database
        self._seconds = lease_seconds
        self._holders = holders
        # Further work to do, in the same transaction, when an owner ends the lease of this token. Other services add to
        # it.
        self.on_end: list[Callable[[Transaction, int], Awaitable[None]]] = []
        # The ends of the leases that were acquired or renewed here, by token, on the clock of this process.
        self._alive: dict[int, float] = {}

    @property
    def live_leases(self) -> int:
        """The number of leases that were acquired or renewed here and are not over."""
        now = time.monotonic()
        return sum(until > now for until in self._alive.values())

    async def acquire(self, *, owner: str, engine: str, actor: str) -> Acquired:
        """Begin a lease for an owner. This ends the owner's former lease. Raises `errors.InvalidField`."""
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
        """Extend a lease, even if it has expired.

        Raises `errors.LeaseLost` if the token is not a lease's current one.
        """

        async def work(transaction: Transaction) -> Renewed:
            transaction.changed = False
            connection = transaction.connection
            if not await queries.renew(connection, token, seconds=self._seconds):
                raise errors.LeaseLost(token)
            # Only after the renewal, so that the renewed lease counts as alive.
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
        """End a lease if it exists. What is held under it is lost, unless a function of `on_end` decides otherwise."""

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
