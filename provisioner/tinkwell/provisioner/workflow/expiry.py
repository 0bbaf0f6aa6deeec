"""Sees to it that deadlines end workflows, whoever should have done so: a worker may be dead, or may never have come.

The same question ends what is lost with its owner.

Theory of operation. The server ends a workflow, or an attempt that is then repeated, when it is asked and a deadline is
past by the database's clock; else it answers how long that will take. So asking too early, twice, or from several
provisioners does no harm, and all that is needed is to ask in time:

    started workflows and actions ──▶ when to ask ──▶ timer ──▶ ids due ──▶ askers ──▶ the server
    list of running workflows ─────▶   (by id)  ◀──────────── again in so many seconds

What a start says of its limits tells when to ask first. A workflow that is found running, by a list, is asked about at
once, and not again while the passing of time alone cannot end it. Events that were missed make everything unknown
again.
"""

import asyncio
import heapq
import logging
import math
from collections import OrderedDict
from typing import NoReturn, Protocol

from tinkwell.client import errors, retry
from tinkwell.client.watch.event import Event
from tinkwell.client.workflow.model import Expired
from tinkwell.core.event.kinds import EventType, ResourceType
from tinkwell.core.workflow.deadline import GRACE_SECONDS
from tinkwell.provisioner.queue import work_queue

logger = logging.getLogger(__name__)

ASKERS = 4
MAX_DUE = 1_000
# Beyond so many, running workflows are found by a later list, once others have ended.
MAX_WORKFLOWS = 100_000
# So many workflows are remembered as having no deadline; a forgotten one costs a question.
MAX_TIMELESS = 10_000
# Never asks more often, whatever the server answers.
SHORTEST_SECONDS = 0.05
# A workflow that the server fails on is asked about again after so long.
FAILED_SECONDS = 30.0

_LIMITS = {
    EventType.WORKFLOW_STARTED: "global_timeout_seconds",
    EventType.ACTION_STARTED: "timeout_seconds",
}


class ExpiryApi(Protocol):
    """What is asked of the server."""

    async def expire(self, id: str, *, deadlines_only: bool) -> Expired:  # noqa: A002
        """End a workflow if a deadline in it is past, or, unless that is ruled out, it is lost; raises `NotFound`."""


class Expiry:
    """Asks about each running workflow when a deadline in it passes, until it is cancelled."""

    def __init__(self, api: ExpiryApi) -> None:
        self._api = api
        # When to ask about each workflow, by the loop's clock.
        self._ask_at: dict[str, float] = {}
        # The same, soonest first, with what was moved or has ended since.
        self._order: list[tuple[float, str]] = []
        # Of these it is to be asked whether they are lost, from when on, by the same clock.
        self._lost: dict[str, float] = {}
        self._timeless: OrderedDict[str, None] = OrderedDict()
        self._is_sooner = asyncio.Event()
        self._due = work_queue.DirtySet(MAX_DUE)

    def hear(self, event: Event) -> None:
        """Take note of an event of a workflow or an action."""
        workflow_id = event.parent_id if event.resource_type is ResourceType.ACTION else event.resource_id
        if event.event_type in _LIMITS:
            if limit := _seconds(event):
                self._schedule(workflow_id, after_seconds=limit + GRACE_SECONDS)
        elif event.resource_type is ResourceType.WORKFLOW and event.event_type in _ENDS:
            self._ask_at.pop(workflow_id, None)
            self._timeless.pop(workflow_id, None)
            self._lost.pop(workflow_id, None)

    def find(self, workflow_id: str) -> None:
        """Take note of a workflow that runs; what is known of it already stays."""
        if workflow_id not in self._ask_at and workflow_id not in self._timeless:
            self._schedule(workflow_id, after_seconds=0.0)

    def lose(self, workflow_id: str, *, after_seconds: float) -> None:
        """Take note of a workflow whose owner is dead; after so long it is given up, if nobody has taken it over."""
        if workflow_id in self._lost or len(self._lost) < MAX_WORKFLOWS:
            self._lost.setdefault(workflow_id, asyncio.get_running_loop().time() + after_seconds)
            self._schedule(workflow_id, after_seconds=after_seconds)

    def forget(self) -> None:
        """Know nothing any more, because events were missed; a list is to follow."""
        self._ask_at.clear()
        self._order.clear()
        self._timeless.clear()
        self._lost.clear()

    async def run(self) -> NoReturn:
        """Ask in time; raises an `errors.Error` that cannot be mended."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._wait_for_due(), name="deadlines")
            for number in range(ASKERS):
                group.create_task(self._ask_again_and_again(), name=f"asker {number}")
        raise AssertionError("its tasks never end by themselves")

    def _schedule(self, workflow_id: str, *, after_seconds: float) -> None:
        """Ask after so long, or sooner if that was known before: a workflow's limit holds beside its action's."""
        known = self._ask_at.get(workflow_id)
        at = asyncio.get_running_loop().time() + after_seconds
        if (known is None and len(self._ask_at) >= MAX_WORKFLOWS) or (known is not None and known <= at):
            return
        self._ask_at[workflow_id] = at
        self._timeless.pop(workflow_id, None)
        if len(self._order) > 2 * len(self._ask_at) + MAX_DUE:
            self._order = [(moment, id_) for id_, moment in self._ask_at.items()]
            heapq.heapify(self._order)
        else:
            heapq.heappush(self._order, (at, workflow_id))
        self._is_sooner.set()

    def _remember_timeless(self, workflow_id: str) -> None:
        self._timeless[workflow_id] = None
        if len(self._timeless) > MAX_TIMELESS:
            self._timeless.popitem(last=False)

    async def _wait_for_due(self) -> NoReturn:
        clock = asyncio.get_running_loop().time
        while True:
            self._is_sooner.clear()
            while self._order and self._order[0][0] <= clock():
                at, workflow_id = heapq.heappop(self._order)
                if self._ask_at.get(workflow_id) == at:
                    await self._due.put(workflow_id)
            try:
                async with asyncio.timeout_at(self._order[0][0] if self._order else None):
                    await self._is_sooner.wait()
            except TimeoutError:
                continue

    async def _ask_again_and_again(self) -> NoReturn:
        while True:
            workflow_id = await self._due.take()
            await self._ask(workflow_id)
            await self._due.done(workflow_id)

    async def _ask(self, workflow_id: str) -> None:
        if self._ask_at.pop(workflow_id, None) is None:
            return
        patience = self._lost.pop(workflow_id, math.inf) - asyncio.get_running_loop().time()
        if 0 < patience < math.inf:
            self.lose(workflow_id, after_seconds=patience)
        try:
            expired = await retry.until_answered(
                lambda: self._api.expire(workflow_id, deadlines_only=patience > 0),
                what="expire a workflow",
                gives_up=(errors.Internal,),
            )
        except errors.NotFound:
            return
        except errors.Error as error:
            if isinstance(error, retry.HOPELESS):
                raise
            logger.warning("a deadline cannot be checked", extra={"workflow": workflow_id, "cause": str(error)})
            self._schedule(workflow_id, after_seconds=FAILED_SECONDS)
            return
        if expired.revision:
            logger.info("a deadline, or the death of an owner, has changed a workflow", extra={"workflow": workflow_id})
        if expired.remaining_seconds is not None:
            # It goes on, where the attempt that was ended is repeated.
            self._schedule(workflow_id, after_seconds=max(expired.remaining_seconds, SHORTEST_SECONDS))
        elif not expired.revision and workflow_id not in self._ask_at:
            self._remember_timeless(workflow_id)


_ENDS = frozenset(
    {
        EventType.WORKFLOW_SUCCEEDED,
        EventType.WORKFLOW_FAILED,
        EventType.WORKFLOW_TIMEOUT,
        EventType.WORKFLOW_CANCELLED,
        EventType.DELETED,
    }
)


def _seconds(event: Event) -> float:
    """Return the limit that a start names; 0 where there is none."""
    limit = event.data.get(_LIMITS[event.event_type], 0)
    return float(limit) if isinstance(limit, int) else 0.0
