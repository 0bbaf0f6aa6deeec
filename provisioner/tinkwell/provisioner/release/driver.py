"""Brings operations on releases to their end: finds operations without a living owner, and takes them.

    watch ──┐
    list  ──┼─▶ dirty ids ─▶ lookers ─▶ may we take it? ─▶ an `OperationRun`, in its own task
    lease ──┘

An event only marks its operation to be looked at. All unfinished operations are listed whenever a watch begins, and
from time to time in case an event was missed. A provisioner serves the operations of its namespaces; the server decides
whether it may take one.

Any number of provisioners may serve a namespace. A provisioner holds the operations that it carries out under its
lease, and the others leave them alone until that lease ends. Then a provisioner that has a run of the operation on its
engine takes the operation at once, since it can adopt the run; the others wait a while. This provisioner also takes up
an operation that is held under its own lease and that it does not carry out: it held the operation before it restarted,
or the operation makes up for one that has ended here.

At most `concurrency` operations are carried out at once. The ids of further operations wait until one has ended.
Operations that this provisioner holds already never wait.
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
# How many operations of other provisioners are remembered; a forgotten one is looked at once more.
MAX_ELSEWHERE = 10_000


class AllNamespaces:
    """The set of every namespace."""

    def __contains__(self, namespace: object) -> bool:
        return True


ALL_NAMESPACES = AllNamespaces()


class Driver:
    """Carries out the operations of its namespaces until it is cancelled. Containers of actions outlive it."""

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
        # Operations that wait because `concurrency` others are carried out.
        self._waiting: OrderedDict[str, None] = OrderedDict()
        self._elsewhere = recent_set.RecentSet(MAX_ELSEWHERE)
        # Until when an operation of a dead owner is left to a provisioner that has its runs, by the loop's clock.
        self._spared: dict[str, float] = {}
        # Operations that the lease held when it began and that were not looked at yet.
        self._inherited: set[str] = set()
        self._group = asyncio.TaskGroup()
        self._later = delay_queue.Later(self._dirty, self._group)

    async def run(self) -> NoReturn:
        """Work until cancelled, which leaves actions running; raises `errors.Error` if only an operator can help."""
        async with self._group as group:
            group.create_task(self._watch(), name="watch releases")
            group.create_task(self._list_again_and_again(), name="list operations")
            for number in range(LOOKERS):
                group.create_task(self._look_at_dirty(), name=f"release looker {number}")
        raise AssertionError("its tasks never end by themselves")

    def inherit(self, ids: Iterable[str]) -> None:
        """Take up the operations that the lease held when it began; all others belong to other provisioners."""
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
        """Look at all operations held here again, once the lease lives again; until then running calls go on.

        That is safe: any provisioner may make calls without effects at any time, and no other one starts a RUNNING
        action again. A new call waits for the server, which refuses it without a lease.
        """
        self._group.create_task(self._make_sure(), name="make sure of operations")

    async def _make_sure(self) -> None:
        await self._host.lease.until_good()
        for operation_id in list(self._runs):
            await self._dirty.put(operation_id)

    async def _watch(self) -> None:
        """Mark new and cancelled operations as dirty."""
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
        # Operations of all namespaces: runs of a release without any of them can be removed.
        return [found async for found in self._host.api.unfinished()]

    def _is_for_us(self, found: UnfinishedOperation) -> bool:
        if found.id in self._runs or found.id in self._waiting or found.namespace not in self._namespaces:
            return False
        if not found.is_held:
            self._elsewhere.discard(found.id)
        return found.id not in self._elsewhere

    async def _held(self) -> frozenset[RunKey]:
        """Return the runs that exist here, including those of earlier processes, and drop the claims to all others."""
        try:
            held = await self._host.runtime.held(RunKind.RELEASE)
            await asyncio.to_thread(self._host.claims.keep_only, RunKind.RELEASE, _Needed(held, self._runs))
        except (port.RunError, OSError) as error:
            logger.warning("it is not known what runs for releases", extra={"cause": str(error)})
            return frozenset()
        return held

    async def _sweep(self, held: frozenset[RunKey], *, busy: frozenset[str]) -> None:
        """Remove the runs whose releases had no unfinished operation when these were listed after the runs."""
        try:
            await leftover.sweep(self._host.runtime, self._host.claims, held, busy)
        except (port.RunError, OSError) as error:
            logger.warning("what is left of releases cannot be removed", extra={"cause": str(error)})

    async def _look_at_dirty(self) -> None:
        await self._host.lease.token()  # without a lease every operation would seem to belong to another provisioner
        while True:
            operation_id = await self._dirty.take()
            try:
                await self._look_at(operation_id)
            except errors.Error as error:
                if isinstance(error, retry.HOPELESS):
                    raise
                # An operation on which the server fails must not block a looker; the next list brings it back.
                fields = {"operation": operation_id, "cause": str(error)}
                logger.warning("an operation cannot be had", extra=fields)
            await self._dirty.done(operation_id)
            self._look_at_next()

    async def _look_at(self, operation_id: str) -> None:
        """Carry an operation out if this provisioner serves it and may take it."""
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
            # An answer from before the operation was held, or from another lease, says nothing about the operation now.
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
        """Carry out an unfinished operation, if this provisioner may take it and there is room."""
        if not is_own and operation.state is State.RUNNING and not await self._is_ours_to_take(operation):
            return
        if is_own or len(self._runs) < self._concurrency:
            self._begin(operation.id)
        elif len(self._waiting) < MAX_WAITING:
            self._waiting[operation.id] = None

    async def _is_ours_to_take(self, operation: Operation) -> bool:
        """Return whether to ask now for an operation that has or had another owner."""
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
        # All provisioners hear of an owner's death within a third of a lease.
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
        """Carry an operation out, then look at the operation that makes up for it, and at a waiting one."""
        ended: Operation | None = None
        try:
            ended = await run.run()
        except errors.Error as error:
            if isinstance(error, retry.HOPELESS):
                raise
            logger.warning("an operation is given up", extra={"operation": run.id, "cause": str(error)})
        except Exception:
            # One broken operation must not stop the others; the next list brings it back.
            logger.exception("an operation is given up", extra={"operation": run.id})
        finally:
            del self._runs[run.id]
        if run.is_elsewhere:
            self._elsewhere.add(run.id)
        if ended is not None and ended.options is not None and ended.options.atomic:
            await self._dirty.put(follow_up_id(run.id))
        self._look_at_next()

    def _look_at_next(self) -> None:
        """Look at the operation that has waited longest, if there is room; if it cannot be taken, the next follows."""
        if self._waiting and len(self._runs) < self._concurrency:
            self._later.wake({self._waiting.popitem(last=False)[0]: 0.0})


class _Needed(Container[RunKey]):
    """The attempts whose claims are needed, including attempts that begin while claims are being dropped."""

    def __init__(self, held: frozenset[RunKey], runs: dict[str, OperationRun]) -> None:
        self._held = held
        self._runs = runs

    def __contains__(self, key: object) -> bool:
        return key in self._held or any(key in run.keys for run in list(self._runs.values()))
