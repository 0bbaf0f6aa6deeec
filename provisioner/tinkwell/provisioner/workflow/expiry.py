"""Asks the server to end workflows whose deadline has passed or whose owner is dead.

The worker of an action enforces its deadline; this module is for workers that are dead or have never come.

Theory of operation. The question is an `ExpireWorkflow` call. If a deadline has passed by the database's clock, the
server ends the workflow, or the attempt, which may then be repeated. If not, it answers how long that will take. So
asking too early, twice, or from several provisioners does no harm, and this module only has to ask in time:

    started workflows and actions ──▶ when to ask ──▶ timer ──▶ ids due ──▶ askers ──▶ the server
    list of running workflows ─────▶   (by id)  ◀──────────── again in so many seconds

The event of a start names the limit, and so the time of the first question. A workflow that a list shows as running is
asked about at once. If it has no deadline, it is remembered as such and not asked about again. After missed events all
of this is forgotten.
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
# At most this many workflows are timed. Running workflows beyond that are found by a later list.
MAX_WORKFLOWS = 100_000
# At most this many workflows are remembered as having no deadline. Forgetting one costs one question.
MAX_TIMELESS = 10_000
# The shortest time between two questions about a workflow, whatever the server answers.
SHORTEST_SECONDS = 0.05
# The time until the next question about a workflow if the server failed to answer the last one.
FAILED_SECONDS = 30.0

_LIMITS = {
    EventType.WORKFLOW_STARTED: "global_timeout_seconds",
    EventType.ACTION_STARTED: "timeout_seconds",
}


class ExpiryApi(Protocol):
    """The call to the server that this module needs."""

    async def expire(self, id: str, *, deadlines_only: bool) -> Expired:  # noqa: A002
        """End a workflow whose deadline has passed or, unless `deadlines_only`, which is lost; raises `NotFound`."""


class Expiry:
    """Asks about each running workflow when one of its deadlines passes."""

    def __init__(self, api: ExpiryApi) -> None:
        self._api = api
        # Workflow id → time of the next question, by the loop's clock.
        self._ask_at: dict[str, float] = {}
        # A heap of the same, soonest first. It may also hold times that were replaced in `_ask_at` or removed from it.
        self._order: list[tuple[float, str]] = []
        # Workflow id → time from which a question may end the workflow as lost, by the loop's clock.
        self._lost: dict[str, float] = {}
        self._timeless: OrderedDict[str, None] = OrderedDict()
        self._is_sooner = asyncio.Event()
        self._due = work_queue.DirtySet(MAX_DUE)

    def hear(self, event: Event) -> None:
        """Schedule a question at a start that names a limit, and forget a workflow that has ended."""
        workflow_id = event.parent_id if event.resource_type is ResourceType.ACTION else event.resource_id
        if event.event_type in _LIMITS:
            if limit := _seconds(event):
                self._schedule(workflow_id, after_seconds=limit + GRACE_SECONDS)
        elif event.resource_type is ResourceType.WORKFLOW and event.event_type in _ENDS:
            self._ask_at.pop(workflow_id, None)
            self._timeless.pop(workflow_id, None)
            self._lost.pop(workflow_id, None)

    def find(self, workflow_id: str) -> None:
        """Ask now about a running workflow that was not known here."""
        if workflow_id not in self._ask_at and workflow_id not in self._timeless:
            self._schedule(workflow_id, after_seconds=0.0)

    def lose(self, workflow_id: str, *, after_seconds: float) -> None:
        """Have a workflow whose owner is dead ended as lost after `after_seconds`, if nobody takes it over before."""
        if workflow_id in self._lost or len(self._lost) < MAX_WORKFLOWS:
            self._lost.setdefault(workflow_id, asyncio.get_running_loop().time() + after_seconds)
            self._schedule(workflow_id, after_seconds=after_seconds)

    def forget(self) -> None:
        """Forget all workflows, because events were missed; the list that follows finds them again."""
        self._ask_at.clear()
        self._order.clear()
        self._timeless.clear()
        self._lost.clear()

    async def run(self) -> NoReturn:
        """Ask in time until cancelled; raises an `errors.Error` that no retry can mend."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._wait_for_due(), name="deadlines")
            for number in range(ASKERS):
                group.create_task(self._ask_again_and_again(), name=f"asker {number}")
        raise AssertionError("its tasks never end by themselves")

    def _schedule(self, workflow_id: str, *, after_seconds: float) -> None:
        """Ask after `after_seconds`, or at the time that is already set if that is sooner.

        A workflow and its running action have a limit each; the one that ends sooner counts.
        """
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
            logger.warning(
                "the server failed to check the deadlines of a workflow; it is asked again later",
                extra={"workflow": workflow_id, "cause": str(error)},
            )
            self._schedule(workflow_id, after_seconds=FAILED_SECONDS)
            return
        if expired.revision:
            logger.info(
                "the server ended a workflow or an attempt: its deadline had passed, or its owner was dead",
                extra={"workflow": workflow_id},
            )
        if expired.remaining_seconds is not None:
            # The workflow has another deadline, also where the server has just ended an attempt that is repeated.
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
    """Return the limit that the event of a start names, 0 if it names none."""
    limit = event.data.get(_LIMITS[event.event_type], 0)
    return float(limit) if isinstance(limit, int) else 0.0
