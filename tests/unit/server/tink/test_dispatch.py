"""Which workflow a worker is given next, and that whatever goes wrong meanwhile passes."""

import asyncio
import dataclasses
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import cast

import pytest

from support.waiting import eventually
from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.workflow.record import Action, Current, Progress
from tinkwell.server.tink import dispatch
from tinkwell.server.tink.dispatch import Dispatch
from tinkwell.server.tink.feed import Feed
from tinkwell.server.workflow.service.operations import WorkflowService

FIRST = "00000000-0000-0000-0000-000000000001"
SECOND = "00000000-0000-0000-0000-000000000002"


@dataclasses.dataclass
class Workflows:
    """Workflows by their ids: whose each action is, how many have succeeded, and which one is current."""

    workers: dict[str, list[str]]
    completed: dict[str, int] = dataclasses.field(default_factory=dict)
    current: dict[str, Current] = dataclasses.field(default_factory=dict)
    looks: int = 0

    async def list_due(self, worker_id: str) -> AsyncGenerator[Progress, None]:
        self.looks += 1
        for workflow_id, workers in self.workers.items():
            done = self.completed.get(workflow_id, 0)
            if done < len(workers) and workers[done] == worker_id:
                current = self.current.get(workflow_id)
                found = SimpleNamespace(workflow_id=workflow_id, completed_actions=done, current=current)
                yield cast("Progress", found)

    async def list_actions(self, workflow_id: str) -> list[Action]:
        if workflow_id not in self.workers:
            raise errors.NotFound("WORKFLOW", workflow_id)
        found = [SimpleNamespace(index=i, worker_id=who) for i, who in enumerate(self.workers[workflow_id])]
        return cast("list[Action]", found)


class Log:
    """A log that is followed until it is made to fail."""

    def __init__(self) -> None:
        self.follows = 0
        self.failure: asyncio.Future[None] | None = None

    async def follow(
        self, selection: object, start: object, take: object, *, begun: Callable[[], Awaitable[None]], reader: str
    ) -> None:
        self.failure = asyncio.get_running_loop().create_future()
        await begun()
        self.follows += 1
        await self.failure

    def fail(self, error: Exception) -> None:
        assert self.failure is not None
        self.failure.set_exception(error)


@asynccontextmanager
async def serving(workflows: Workflows, log: Log) -> AsyncIterator[tuple[Dispatch, list[tuple[str, int]]]]:
    """Serve the first worker; yields what it has been given."""
    given: list[tuple[str, int]] = []
    made = Dispatch(cast("WorkflowService", workflows), cast("Feed", log), max_held=1, longest_pause_seconds=0.001)

    async def write(progress: Progress) -> None:
        given.append((progress.workflow_id, progress.completed_actions))

    async def serve() -> None:
        with pytest.raises(errors.Unavailable):
            await made.serve(FIRST, write)

    async with asyncio.TaskGroup() as tasks:
        following = tasks.create_task(made.run())
        tasks.create_task(serve())
        await eventually(lambda: log.follows == 1 and workflows.looks == 1)
        yield made, given
        following.cancel()
        made.close()


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "_LOOK_AGAIN_SECONDS", 1_000)


async def look_again(workflows: Workflows, log: Log, error: Exception | None = None) -> None:
    """Have the stream look, as at the begin of a watch."""
    looks = workflows.looks
    log.fail(error or errors.Unavailable("gone"))
    await eventually(lambda: workflows.looks > looks)


async def test_a_turn_that_comes_back_unseen_is_a_new_one() -> None:
    workflows, log = Workflows({"a": [FIRST, SECOND, FIRST]}), Log()
    async with serving(workflows, log) as (_, given):
        await eventually(lambda: given == [("a", 0)])
        await look_again(workflows, log)
        # The other worker was so quick that nobody looked while it had its turn.
        workflows.completed["a"] = 2
        await look_again(workflows, log)
        await eventually(lambda: given == [("a", 0), ("a", 2)])


async def test_the_next_workflow_comes_when_the_turn_is_over_and_not_before() -> None:
    workflows, log = Workflows({"a": [FIRST, FIRST], "b": [FIRST]}), Log()
    async with serving(workflows, log) as (_, given):
        await eventually(lambda: given == [("a", 0)])
        workflows.completed["a"] = 1
        await look_again(workflows, log)
        assert given == [("a", 0)]
        workflows.completed["a"] = 2
        await look_again(workflows, log)
        await eventually(lambda: given == [("a", 0), ("b", 0)])


async def test_an_action_is_given_again_once_for_each_attempt_that_is_to_be_repeated() -> None:
    def at(attempt: int, state: State) -> Current:
        return Current(worker_id=FIRST, task_name="t", action_name="a", index=0, state=state, attempt=attempt)

    workflows, log = Workflows({"a": [FIRST, FIRST]}), Log()
    async with serving(workflows, log) as (_, given):
        steps = [at(1, State.RUNNING), at(1, State.PENDING), at(1, State.PENDING), at(2, State.RUNNING)]
        for current, times in zip([*steps, at(2, State.PENDING)], (1, 2, 2, 2, 3), strict=True):
            workflows.current["a"] = current
            await look_again(workflows, log)
            await eventually(lambda times=times: given == [("a", 0)] * times)  # type: ignore[misc]


async def test_no_error_ends_the_following_of_the_log() -> None:
    workflows, log = Workflows({}), Log()
    async with serving(workflows, log) as (_, given):
        await look_again(workflows, log, ValueError("a fault"))
        workflows.workers["a"] = [FIRST]
        await look_again(workflows, log)
        await eventually(lambda: given == [("a", 0)])


async def test_a_worker_beyond_the_limit_is_not_kept_waiting() -> None:
    workflows, log = Workflows({"a": [FIRST]}), Log()
    async with serving(workflows, log) as (made, given):
        await eventually(lambda: given == [("a", 0)])

        async def write(progress: Progress) -> None:
            raise AssertionError("nothing is due")

        await made.serve(SECOND, write)
