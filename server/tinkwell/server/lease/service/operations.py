"""Leases: acquired, renewed and released by those who run actions."""

import dataclasses
import time
from collections.abc import Sequence

from tinkwell.core import errors
from tinkwell.core.value import check, parse
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.lease.store import queries

MAX_OWNER_BYTES = 500
MAX_ENGINE_BYTES = 1_000
# What still fits into one answer; an owner hears of the rest by listing workflows.
MAX_INHERITED = 10_000
MAX_LOST = 100
# For so long it is known on which engine the runs of an owner are that does not come back.
FORGET_SECONDS = 86_400


@dataclasses.dataclass(frozen=True, slots=True)
class Acquired:
    """A lease that has begun, for how long it lives, and the workflows that are held under it already."""

    token: int
    seconds: float
    workflow_ids: Sequence[str]


@dataclasses.dataclass(frozen=True, slots=True)
class Renewed:
    """For how long a lease lives, and workflows of which something is held under one that is over."""

    seconds: float
    lost_workflow_ids: Sequence[str]


class WorkService:
    """Acquire, Renew and Release."""

    def __init__(self, database: Database, *, lease_seconds: float) -> None:
        self._database = database
        self._seconds = lease_seconds
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

        async def work(transaction: Transaction) -> queries.Acquired:
            transaction.changed = False
            return await queries.acquire(
                transaction.connection,
                owner=owner,
                engine=engine,
                seconds=self._seconds,
                limit=MAX_INHERITED,
                forget_seconds=FORGET_SECONDS,
            )

        acquired = (await self._database.write(work, actor=actor)).value
        self._remember(acquired.token)
        return Acquired(acquired.token, self._seconds, acquired.workflow_ids)

    async def renew(self, token: int, *, actor: str) -> Renewed:
        """Let a lease live on, also one that has expired. Raises `errors.LeaseLost` for one that is none any more."""

        async def work(transaction: Transaction) -> Sequence[str]:
            transaction.changed = False
            if not await queries.renew(transaction.connection, token, seconds=self._seconds):
                raise errors.LeaseLost(token)
            return await queries.lost(transaction.connection, limit=MAX_LOST)

        try:
            lost = (await self._database.write(work, actor=actor)).value
        except errors.LeaseLost:
            self._alive.pop(token, None)
            raise
        self._remember(token)
        return Renewed(self._seconds, lost)

    async def release(self, token: int, *, workflow_id: str, worker_id: str, actor: str) -> None:
        """Let a workflow's machines go that are held under a lease, or without a workflow the lease itself.

        Raises `errors.InvalidField`.
        """
        if worker_id and not workflow_id:
            raise errors.InvalidField.of("workflow_id", "say of which workflow the machine is to be released")
        checks = check.Checks()
        workflow_id = workflow_id and checks.take(parse.parse_uuid, "workflow_id", workflow_id)
        worker_id = worker_id and checks.take(parse.parse_uuid, "worker_id", worker_id)
        checks.finish()

        async def work(transaction: Transaction) -> None:
            transaction.changed = False
            if workflow_id:
                await queries.release(transaction.connection, token, workflow_id=workflow_id, worker_id=worker_id)
            else:
                await queries.end(transaction.connection, token)

        await self._database.write(work, actor=actor)
        if not workflow_id:
            self._alive.pop(token, None)

    def _remember(self, token: int) -> None:
        now = time.monotonic()
        self._alive = {known: until for known, until in self._alive.items() if until > now}
        self._alive[token] = now + self._seconds
