"""Brings operations on releases to their end: finds those that nobody alive carries out, and takes them.

    watch ──┐
    list  ──┼─▶ dirty ids ─▶ lookers ─▶ is it one for us? ─▶ an `OperationRun`, a task of its own
    lease ──┘

An event says only that its operation is worth a look. All operations that have not ended are listed whenever a watch
begins, and from time to time in case some other way of noticing has failed. Which operations are for us, their
namespaces say; whether one may be had, the server says when it is asked for.

Any number of provisioners may serve a namespace. What one of them carries out it holds under its lease, and the others
leave it alone until that is over. Then whoever has a run of it at hand takes it at once, since it can adopt that, and
all others a while later. What is held under our own lease and is not carried out here is taken up again: a former self
held it, or it makes up for an operation that has ended here.

At most `concurrency` operations are carried out at once, and what is more waits by its id until one has ended. Those
that are held already never wait.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Container, Iterable
from typing import NoReturn

from tinkwell.client import errors, retry
from tinkwell.client.release.model import Operation, UnfinishedOperation
from tinkwell.core.event.kinds import EventType, ResourceType, State
from tinkwell.core.release.transition.ending import follow_up_id
from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.queue import delay_queue, recent_set, work_queue
from tinkwell.provisioner.release import leftover
from tinkwell.provisioner.release.host import Host
from tinkwell.provisioner.release.operation import OperationRun
from tinkwell.provisioner.runtime import port

logger = logging.getLogger(__name__)

LOOKERS = 4
MAX_DIRTY = 1000
MAX_WAITING = 10_000
# So many operations are remembered as being somebody else's; a forgotten one costs a look.
MAX_ELSEWHERE = 10_000


class AllNamespaces:
    """The set of every namespace."""

    def __contains__(self, namespace: object) -> bool:
        return True


ALL_NAMESPACES = AllNamespaces()


class Driver:
    """Carries out the operations of the namespaces that it serves, until it is cancelled. Actions outlive it."""

    def __init__(
        self, host: Host, *, namespaces: Container[str], concurrency: int, resync_seconds: float = 30.0
    ) -> None:
        self._host = host
        self._namespaces = namespaces
        self._concurrency = concurrency
        self._resync_seconds = resync_seconds
        self._dirty = work_queue.DirtySet(MAX_DIRTY)
        self._relist = asyncio.Event()
        self._runs: dict[str, OperationRun] = {}
        # Operations that wait until there is room.
        self._waiting: OrderedDict[str, None] = OrderedDict()
        self._elsewhere = recent_set.RecentSet(MAX_ELSEWHERE)
        # Until when those of a dead owner are left to who has their runs at hand, by the loop's clock.
        self._spared: dict[str, float] = {}
        # What is held under the lease from its beginning, until it is looked at.
        self._inherited: set[str] = set()
        self._group = asyncio.TaskGroup()
        self._later = delay_queue.Later(self._dirty, self._group)

    async def run(self) -> NoReturn:
        """Work until cancelled, which leaves running what runs; raises an `errors.Error` that cannot be mended."""
        async with self._group as group:
            group.create_task(self._watch(), name="watch releases")
            group.create_task(self._list_again_and_again(), name="list operations")
            for number in range(LOOKERS):
                group.create_task(self._look_at_dirty(), name=f"release looker {number}")
        raise AssertionError("its tasks never end by themselves")

    def inherit(self, ids: Iterable[str]) -> None:
        """Take up operations that are held under the lease from its beginning; all others are somebody else's."""
        self._inherited.update(ids)
        for operation_id in self._runs.keys() - self._inherited:
            self._runs[operation_id].lose()
        self._relist.set()

    def hear_of_lost(self, ids: Iterable[str]) -> None:
        """Look at operations whose owner is dead."""
        lost = dict.fromkeys(ids, 0.0)
        for operation_id in lost:
            self._elsewhere.discard(operation_id)
        self._later.wake(lost)

    def lose(self) -> None:
        """Find out what is held still, once the lease lives again.

        Until then what runs goes on. Calls without effects may be made by anybody at any time, and nobody else starts
        an action once more that was RUNNING; what is to start waits for the server, which refuses it without a lease.
        """
        self._group.create_task(self._make_sure(), name="make sure of operations")

    async def _make_sure(self) -> None:
        await self._host.lease.until_good()
        for operation_id in list(self._runs):
            await self._dirty.put(operation_id)

    async def _watch(self) -> None:
        """Mark operations as dirty that are new, or that somebody has cancelled."""
        while True:
            try:
                watch = self._host.api.watch(
                    now=True, resource_types=[ResourceType.OPERATION], on_created=self._watch_is_live
                )
                async with watch as events:
                    async for event in events:
                        if event.event_type in (EventType.CREATED, EventType.UPDATED) and self._is_news(
                            event.resource_id
                        ):
                            await self._dirty.put(event.resource_id)
            except errors.HistoryGone as error:
                logger.warning("events were missed; all operations are listed", extra={"cause": str(error)})

    def _is_news(self, operation_id: str) -> bool:
        return operation_id in self._runs or operation_id not in self._elsewhere

    def _watch_is_live(self, _: object) -> None:
        logger.info("releases are watched")
        self._relist.set()

    async def _list_again_and_again(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._resync_seconds):
                    await self._relist.wait()
            except TimeoutError:
                logger.debug("operations are listed to be sure")
            self._relist.clear()
            held = await self._held()
            found = await retry.until_answered(self._list, what="list operations")
            for operation_id in {*self._inherited, *(each.id for each in found if self._is_for_us(each))}:
                await self._dirty.put(operation_id)
            await self._sweep(held, busy=frozenset(each.release_id for each in found))

    async def _list(self) -> list[UnfinishedOperation]:
        # Those of all namespaces: what is here of a release that is not among them is needed by nobody.
        return [found async for found in self._host.api.unfinished()]

    def _is_for_us(self, found: UnfinishedOperation) -> bool:
        if found.id in self._runs or found.id in self._waiting or found.namespace not in self._namespaces:
            return False
        if not found.is_held:
            self._elsewhere.discard(found.id)
        return found.id not in self._elsewhere

    async def _held(self) -> frozenset[RunKey]:
        """Return the runs that are here, those of dead predecessors among them, and drop claims to any others."""
        try:
            held = await self._host.runtime.held(RunKind.RELEASE)
            await asyncio.to_thread(self._host.claims.keep_only, RunKind.RELEASE, _Needed(held, self._runs))
        except (port.RunError, OSError) as error:
            logger.warning("it is not known what runs for releases", extra={"cause": str(error)})
            return frozenset()
        return held

    async def _sweep(self, held: frozenset[RunKey], *, busy: frozenset[str]) -> None:
        """Remove runs of releases that had no operation that has not ended after they were found."""
        try:
            await leftover.sweep(self._host.runtime, self._host.claims, held, busy)
        except (port.RunError, OSError) as error:
            logger.warning("what is left of releases cannot be removed", extra={"cause": str(error)})

    async def _look_at_dirty(self) -> None:
        await self._host.lease.token()  # before that, everything would seem to be somebody else's
        while True:
            operation_id = await self._dirty.take()
            try:
                await self._look_at(operation_id)
            except errors.Error as error:
                if isinstance(error, retry.HOPELESS):
                    raise
                # One that the server fails on must not keep a looker; the next list leads back to it.
                fields = {"operation": operation_id, "cause": str(error)}
                logger.warning("an operation cannot be had", extra=fields)
            await self._dirty.done(operation_id)
            self._look_at_next()

    async def _look_at(self, operation_id: str) -> None:
        """Find out whether an operation is one for us, and carry it out."""
        self._inherited.discard(operation_id)
        token, before = await self._host.lease.token(), self._runs.get(operation_id)
        was_held = before is not None and before.is_held
        try:
            operation = await retry.until_answered(
                lambda: self._host.api.operation(operation_id), what="get an operation", gives_up=(errors.Internal,)
            )
        except errors.NotFound:
            self._spared.pop(operation_id, None)
            return
        is_own = operation.lease_token == token
        if operation.state.is_final or is_own:
            self._spared.pop(operation_id, None)
        if (run := self._runs.get(operation_id)) is not None:
            run.hear(operation)
            # What was asked for before it was held, or under another lease, tells nothing of this.
            if (
                run is before
                and was_held
                and self._host.lease.is_own(token)
                and (operation.state.is_final or not is_own)
            ):
                run.lose()
        elif not operation.state.is_final and operation.namespace in self._namespaces:
            await self._consider(operation, is_own=is_own)

    async def _consider(self, operation: Operation, *, is_own: bool) -> None:
        """Carry out an operation that has not ended, if it is to be had and there is room."""
        if not is_own and operation.state is State.RUNNING and not await self._is_ours_to_take(operation):
            return
        if is_own or len(self._runs) < self._concurrency:
            self._begin(operation.id)
        elif len(self._waiting) < MAX_WAITING:
            self._waiting[operation.id] = None

    async def _is_ours_to_take(self, operation: Operation) -> bool:
        """Say whether it is time to ask for an operation that has or had another owner."""
        now = asyncio.get_running_loop().time()
        if operation.id in self._spared:
            is_over = now >= self._spared[operation.id]
            if is_over:
                del self._spared[operation.id]
            return is_over
        try:
            is_at_hand = bool(await self._host.runtime.find_owned(RunKind.RELEASE, operation.release_id))
        except port.RunError as error:
            logger.warning("it is not known what runs of a release", extra={"cause": str(error)})
            is_at_hand = False
        if is_at_hand or len(self._spared) >= MAX_WAITING:
            return True
        # All hear of a death within a third of a lease.
        seconds = self._host.lease.grace_seconds / 2
        self._spared[operation.id] = now + seconds
        self._later.look(operation.id, seconds)
        return False

    def _begin(self, operation_id: str) -> None:
        if operation_id not in self._runs:
            self._waiting.pop(operation_id, None)
            run = self._runs[operation_id] = OperationRun(operation_id, self._host)
            self._group.create_task(self._carry_out(run), name=f"operation {operation_id}")

    async def _carry_out(self, run: OperationRun) -> None:
        """Carry an operation out, then see to the one that makes up for it, and to those that have waited."""
        ended: Operation | None = None
        try:
            ended = await run.run()
        except errors.Error as error:
            if isinstance(error, retry.HOPELESS):
                raise
            logger.warning("an operation is given up", extra={"operation": run.id, "cause": str(error)})
        except Exception:
            # One broken operation must not take the others down; the next list leads back to it.
            logger.exception("an operation is given up", extra={"operation": run.id})
        finally:
            del self._runs[run.id]
        if run.is_elsewhere:
            self._elsewhere.add(run.id)
        if ended is not None and ended.options is not None and ended.options.atomic:
            await self._dirty.put(follow_up_id(run.id))
        self._look_at_next()

    def _look_at_next(self) -> None:
        """Have the one that has waited longest looked at if there is room; if it is not to be had, the next one is."""
        if self._waiting and len(self._runs) < self._concurrency:
            self._later.wake({self._waiting.popitem(last=False)[0]: 0.0})


class _Needed(Container[RunKey]):
    """The attempts whose claims are needed: what begins while this is asked is among them."""

    def __init__(self, held: frozenset[RunKey], runs: dict[str, OperationRun]) -> None:
        self._held = held
        self._runs = runs

    def __contains__(self, key: object) -> bool:
        return key in self._held or any(key in run.keys for run in list(self._runs.values()))
