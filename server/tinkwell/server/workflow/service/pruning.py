"""Prunes workflows that ended long ago, and all that belongs to them, without delaying other calls.

Theory of operation. A run goes through the old workflows from the latest end to the earliest, so that it meets the last
workflow of a chain of recoveries first. It takes a few at a time:

    mark ──▶ lines of output, documents, reports, in pieces ──▶ remove

Marking is the same as a user's deletion, and watchers receive it as one. A marked workflow is invisible, so its parts
can be deleted piece by piece. Removing deletes the rest with the actions, and watchers receive an event for each of
these. Each piece is a transaction of its own, with a few hundred events at most, and a pause after it. The rule is
checked in the transaction that marks and in the one that removes, while the rows are locked. If a run ends between
these, the next run finishes its work, because it finds the same workflows.

After the workflows, a run deletes reports of workflows that were deleted from the database by hand, and then machines
and templates that were deleted long ago and that nothing refers to.
"""

import asyncio
import dataclasses
import datetime
import functools
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Protocol, Self, TypeAlias, TypeVar

from tinkwell.core.workflow import pruning as rule
from tinkwell.core.workflow.pruning import Candidate
from tinkwell.server.database.database import Database, Fetch, Transaction
from tinkwell.server.workflow.store import pruning as store

T = TypeVar("T")
Work: TypeAlias = Callable[[Fetch], Awaitable[T]]

_WORKFLOWS = 100
# The rows of workflows and actions that one transaction removes, and therefore its events. While it commits, later
# transactions wait to be delivered. One workflow may have more rows than this.
_MAX_ROWS = 200
_LOOKED_AT = 500
_SHORTEST_PAUSE_SECONDS = 0.02
# Longer than a piece and its pause take. If the server whose turn it is dies, another one waits for this long.
TURN_SECONDS = 60.0


class LostTurn(Exception):
    """Another server is pruning at this moment."""


@dataclasses.dataclass(frozen=True, slots=True)
class Pruned:
    """The numbers of rows that were deleted, or that would be."""

    workflows: int = 0
    actions: int = 0
    log_lines: int = 0
    reports: int = 0
    hardware: int = 0
    templates: int = 0

    def __add__(self, other: Self) -> Self:
        return type(self)(*map(sum, zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True)))


class Pruning:
    """Finds and deletes what is old enough.

    With a `holder`, an id, it deletes only while that holder has the turn. The pause after a piece is as long as the
    piece took, and at least `pause_seconds`.
    """

    def __init__(self, database: Database, *, holder: str = "", pause_seconds: float = _SHORTEST_PAUSE_SECONDS) -> None:
        self._database = database
        self._holder = holder
        self._pause_seconds = pause_seconds

    async def look(self, *, age_seconds: float) -> AsyncGenerator[Pruned, None]:
        """Yield the counts of what `run` would delete, piece by piece."""
        fetch = self._database.fetch
        before = await store.cut(fetch, age_seconds)
        place, gone, kept = store.beginning(before), set[str](), list[str]()
        while found := await store.page(fetch, before, place, limit=_LOOKED_AT):
            past = rule.forgettable(found, ended_before=before, gone=gone)
            ids = [candidate.id for candidate in past]
            gone.update(candidate.id for candidate in past if candidate.recovers)
            kept += {candidate.id for candidate in found}.difference(ids)
            lines, reports = await store.count_parts(fetch, ids)
            yield Pruned(len(past), sum(candidate.rows - 1 for candidate in past), lines, reports)
            place = _after(found[-1])
        page = store.Strays(0, 0, has_more=True)
        while page.has_more:
            page = await store.strays(fetch, before, after=page.last, is_wanted=False)
            yield Pruned(reports=page.count)
        hardware, templates = await store.count_unused(fetch, before, kept=kept)
        yield Pruned(hardware=hardware, templates=templates)

    async def run(self, *, age_seconds: float, actor: str) -> AsyncGenerator[Pruned, None]:
        """Delete what ended or was deleted at least `age_seconds` ago, and yield the counts, piece by piece.

        Raises `LostTurn`, and `errors.IllegalTransition` if the server's role may not delete.
        """
        fetch = self._database.fetch
        before = await store.cut(fetch, age_seconds)
        walk = _Walk(functools.partial(self._write, actor=actor), before)
        place = store.beginning(before)
        while found := rule.portion(await store.page(fetch, before, place, limit=_WORKFLOWS), max_rows=_MAX_ROWS):
            yield await walk.forget_workflows(found)
            place = _after(found[-1])
        for forget in (walk.forget_strays, walk.forget_hardware, walk.forget_templates):
            yield await forget()

    async def give_turn_back(self) -> None:
        """End this holder's turn, so that another server may prune."""
        await store.take_turn(self._database.fetch, self._holder, seconds=0)

    async def _write(self, work: Work[T], *, actor: str) -> T:
        """Run one piece in a transaction of its own, then pause."""

        async def once(transaction: Transaction) -> T:
            transaction.changed = False
            if self._holder and not await store.take_turn(transaction.fetch, self._holder, seconds=TURN_SECONDS):
                raise LostTurn
            return await work(transaction.fetch)

        clock = asyncio.get_running_loop().time
        began = clock()
        written = await self._database.write(once, actor=actor)
        await asyncio.sleep(max(self._pause_seconds, clock() - began))
        return written.value


class _Write(Protocol):
    """Runs one piece in a transaction."""

    async def __call__(self, work: Work[T]) -> T: ...


class _Walk:
    """The pieces of one run."""

    def __init__(self, write: _Write, before: datetime.datetime) -> None:
        self._write = write
        self._before = before

    async def forget_workflows(self, found: Sequence[Candidate]) -> Pruned:
        """Delete those of the candidates that are old enough and that no other transaction has locked."""

        async def mark(fetch: Fetch) -> list[str]:
            past = await self._locked(fetch, [candidate.id for candidate in found])
            await store.mark(fetch, past)
            return past

        async def remove(fetch: Fetch) -> Sequence[int]:
            return await store.remove(fetch, await self._locked(fetch, past))

        if not (past := await self._write(mark)):
            return Pruned()
        lines = await self._forget_parts(store.FORGET_LINES, past, store.LINES)
        await self._forget_parts(store.FORGET_DOCUMENTS, past, store.DOCUMENTS)
        reports = await self._forget_parts(store.FORGET_STATUSES, past, store.STATUSES)
        actions = await self._write(remove)
        return Pruned(len(actions), sum(actions), lines, reports)

    async def forget_strays(self) -> Pruned:
        """Delete the reports of workflows that were deleted from the database by hand."""
        count, page = 0, store.Strays(0, 0, has_more=True)

        async def forget(fetch: Fetch) -> store.Strays:
            return await store.strays(fetch, self._before, after=page.last, is_wanted=True)

        while page.has_more:
            page = await self._write(forget)
            count += page.count
        return Pruned(reports=count)

    async def forget_hardware(self) -> Pruned:
        """Delete machines that are marked as deleted and that nothing refers to."""
        return Pruned(hardware=await self._forget_unused(store.FORGET_HARDWARE))

    async def forget_templates(self) -> Pruned:
        """Delete templates that are marked as deleted and that nothing refers to."""
        return Pruned(templates=await self._forget_unused(store.FORGET_TEMPLATES))

    async def _locked(self, fetch: Fetch, ids: Sequence[str]) -> list[str]:
        locked = await store.lock(fetch, ids)
        return [candidate.id for candidate in rule.forgettable(locked, ended_before=self._before)]

    async def _forget_parts(self, query: str, ids: Sequence[str], limit: int) -> int:
        return await self._until_less(limit, lambda fetch: store.forget(fetch, query, ids, limit=limit))

    async def _forget_unused(self, query: str) -> int:
        return await self._until_less(store.OTHERS, lambda fetch: store.forget_unused(fetch, query, self._before))

    async def _until_less(self, limit: int, work: Work[int]) -> int:
        total = count = await self._write(work)
        while count == limit:
            count = await self._write(work)
            total += count
        return total


def _after(last: Candidate) -> store.Place:
    assert last.ended_at is not None
    return store.Place(last.ended_at, last.id)
