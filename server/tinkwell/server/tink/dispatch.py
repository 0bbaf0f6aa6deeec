"""Hands workflows to Tinkerbell's workers, each of which holds a stream open for them.

    stream opens ──▶ look ──▶ a workflow is due? ──▶ write it ──▶ wait ──▶ look ──▶ …
                      ▲                 └── no ──▶ wait              │
                      └───── an action of the worker changed, or a while has passed

A worker runs a workflow as far as it can before it reads on, so it is given one workflow at a time: a second one would
be out of date when the worker reads it. One task follows the log for all streams, and wakes the streams of the workers
that an event concerns.
"""

import asyncio
import contextlib
import json
import logging
import random
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from tinkwell.api.v1 import event_service_pb2
from tinkwell.core import errors
from tinkwell.core.event.kinds import EventType, ResourceType, State
from tinkwell.core.event.selection import Selection
from tinkwell.core.value import parse
from tinkwell.core.workflow.record import Progress
from tinkwell.server.log.watching import Now
from tinkwell.server.tink.feed import Feed
from tinkwell.server.workflow.service.operations import WorkflowService

logger = logging.getLogger(__name__)

# Work may also become due by the passing of time alone, which no event reports.
_LOOK_AGAIN_SECONDS = 10.0
_LONGEST_PAUSE_SECONDS = 1.0
_SELECTION = Selection(
    event_types=frozenset(
        {
            EventType.CREATED,
            EventType.ACTION_RETRYING,
            EventType.ACTION_SUCCEEDED,
            EventType.ACTION_FAILED,
            EventType.ACTION_TIMEOUT,
            EventType.ACTION_CANCELLED,
        }
    ),
    resource_types=frozenset({ResourceType.ACTION}),
)
# After these events it may be another worker's turn.
_STEPS = frozenset(
    {
        event_service_pb2.EVENT_TYPE_ACTION_SUCCEEDED,
        event_service_pb2.EVENT_TYPE_ACTION_FAILED,
        event_service_pb2.EVENT_TYPE_ACTION_TIMEOUT,
    }
)

Write = Callable[[Progress], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Turn:
    """A worker's turn: the actions of a workflow that it runs in a row, up to the index `end`.

    `ended` is the attempt that had ended without success before, so that the worker had to repeat it.
    """

    workflow_id: str
    end: int
    ended: tuple[int, int] | None

    def covers(self, progress: Progress) -> bool:
        """Whether the worker is still busy with the turn."""
        is_given = progress.workflow_id == self.workflow_id and progress.completed_actions < self.end
        return is_given and _ended(progress) in (None, self.ended)


def _ended(progress: Progress) -> tuple[int, int] | None:
    """Return the action and its attempt that must be followed by another attempt, or None if there is none."""
    current = progress.current
    return (current.index, current.attempt) if current is not None and current.state is State.PENDING else None


class Dispatch:
    """Serves the streams. Beyond `max_held` streams, one ends as soon as it would have to wait."""

    def __init__(
        self,
        workflows: WorkflowService,
        feed: Feed,
        *,
        max_held: int,
        longest_pause_seconds: float = _LONGEST_PAUSE_SECONDS,
    ) -> None:
        self._workflows = workflows
        self._feed = feed
        self._max_held = max_held
        self._longest_pause_seconds = longest_pause_seconds
        # The events that wake the streams, by worker.
        self._held: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._held_count = 0
        self._is_closed = False

    async def run(self) -> None:
        """Wake streams until cancelled."""
        while True:
            try:
                await self._feed.follow(_SELECTION, Now(), self._hear, begun=self._begin, reader="dispatch")
            except errors.TinkwellError as error:
                logger.info("the log is not followed for a moment", extra={"cause": str(error)})
            except Exception:
                # Streams also look for work at intervals, so no error here is worth the end of the server.
                logger.exception("the log could not be followed")
            await asyncio.sleep(random.uniform(0, self._longest_pause_seconds))  # noqa: S311

    def close(self) -> None:
        """End every stream, and refuse new ones."""
        self._is_closed = True
        self._wake_all()

    async def serve(self, worker_id: str, write: Write) -> None:
        """Write the workflows of a worker, one after the other, until the stream's client has gone.

        Returns early if there is no room to wait. Raises `errors.InvalidField`, and `errors.Unavailable` when the
        server stops.
        """
        worker_id = parse.parse_uuid("worker_id", worker_id)
        if self._held_count >= self._max_held:
            await self._look(worker_id, None, write)
            return
        turn: _Turn | None = None
        with self._hold(worker_id) as woken:
            while not self._is_closed:
                woken.clear()
                turn = await self._look(worker_id, turn, write)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_AGAIN_SECONDS):
                        await woken.wait()
        raise errors.Unavailable("the server is stopping; try again")

    async def _look(self, worker_id: str, turn: _Turn | None, write: Write) -> _Turn | None:
        """Give the worker what has been due for longest, unless its turn goes on; return the turn that it then has."""
        chosen: Progress | None = None
        async with contextlib.aclosing(self._workflows.list_due(worker_id)) as due:
            async for progress in due:
                if turn is not None and turn.covers(progress):
                    return turn
                chosen = chosen or progress
                if turn is None:
                    break
        if chosen is None:
            return None
        try:
            actions = await self._workflows.list_actions(chosen.workflow_id)
        except errors.NotFound:
            # The workflow was deleted in the meantime; that event is yet to come.
            return None
        later = (action for action in actions if action.index >= chosen.completed_actions)
        end = next((action.index for action in later if action.worker_id != worker_id), len(actions))
        await write(chosen)
        return _Turn(chosen.workflow_id, end, _ended(chosen))

    @contextlib.contextmanager
    def _hold(self, worker_id: str) -> Iterator[asyncio.Event]:
        woken = asyncio.Event()
        self._held[worker_id].add(woken)
        self._held_count += 1
        try:
            yield woken
        finally:
            self._held_count -= 1
            self._held[worker_id].discard(woken)
            if not self._held[worker_id]:
                del self._held[worker_id]

    async def _begin(self) -> None:
        # Something may have happened while the log was not followed.
        self._wake_all()

    async def _hear(self, event: event_service_pb2.Event) -> None:
        if not self._held:
            return
        action = json.loads(event.data)
        if event.event_type == event_service_pb2.EVENT_TYPE_CREATED and action["index"] > 0:
            return
        self._wake(action["worker_id"])
        if event.event_type in _STEPS and self._held.keys() - {action["worker_id"]}:
            await self._wake_others(event.parent_id)

    async def _wake_others(self, workflow_id: str) -> None:
        """Wake all workers of a workflow: one of them is next, or each is free for another workflow.

        An event names only the worker of its own action.
        """
        with contextlib.suppress(errors.NotFound):
            for worker_id in {action.worker_id for action in await self._workflows.list_actions(workflow_id)}:
                self._wake(worker_id)

    def _wake(self, worker_id: str) -> None:
        for woken in self._held.get(worker_id, ()):
            woken.set()

    def _wake_all(self) -> None:
        for worker_id in self._held:
            self._wake(worker_id)
