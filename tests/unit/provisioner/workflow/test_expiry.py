"""Deadlines are asked about in time, and no more often than that."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator

from support.virtual_time import virtual
from support.waiting import eventually
from tinkwell.client import errors
from tinkwell.client.watch.event import Event
from tinkwell.client.workflow.model import Expired
from tinkwell.core.event.kinds import EventType, ResourceType
from tinkwell.provisioner.workflow import expiry

NOTHING = Expired(0)
ENDED = Expired(5)


class Server:
    """Answers what it is told to, then that there is nothing to end."""

    def __init__(self) -> None:
        self.answers: dict[str, deque[Expired | errors.Error]] = {}
        self.asked: list[tuple[str, float]] = []
        # Asked about though that may end what somebody could still take over.
        self.given_up: list[str] = []

    def will_say(self, workflow_id: str, *answers: Expired | errors.Error) -> None:
        self.answers[workflow_id] = deque(answers)

    def times(self, workflow_id: str) -> list[float]:
        return [at for asked, at in self.asked if asked == workflow_id]

    async def expire(self, id: str, *, deadlines_only: bool) -> Expired:  # noqa: A002
        self.asked.append((id, asyncio.get_running_loop().time()))
        if not deadlines_only:
            self.given_up.append(id)
        await asyncio.sleep(0)
        answers = self.answers.get(id)
        answer = answers.popleft() if answers else NOTHING
        if isinstance(answer, errors.Error):
            raise answer
        return answer


@contextlib.asynccontextmanager
async def keeping(server: Server) -> AsyncIterator[expiry.Expiry]:
    keeper = expiry.Expiry(server)
    running = asyncio.create_task(keeper.run())
    yield keeper
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running


def event(event_type: EventType, **data: int) -> Event:
    is_action = event_type.startswith("ACTION")
    return Event(
        id="e",
        revision=1,
        resource_type=ResourceType.ACTION if is_action else ResourceType.WORKFLOW,
        event_type=event_type,
        name="x",
        resource_id="a" if is_action else "w",
        parent_id="w" if is_action else "",
        data=dict(data),
    )


@virtual
async def test_what_is_found_running_is_asked_about_until_it_has_ended() -> None:
    server = Server()
    server.will_say("w", Expired(0, 0.2), Expired(0, 0.1), ENDED)
    async with keeping(server) as keeper:
        keeper.find("w")
        await eventually(lambda: len(server.asked) == 3)
        first, second, third = server.times("w")
        assert second - first >= 0.2
        assert third - second >= 0.1


@virtual
async def test_a_workflow_that_goes_on_after_a_deadline_is_asked_about_until_the_next_one() -> None:
    server = Server()
    server.will_say("w", Expired(4, 0.2), ENDED)
    async with keeping(server) as keeper:
        keeper.find("w")
        await eventually(lambda: len(server.asked) == 2)
        first, second = server.times("w")
        assert second - first >= 0.2


@virtual
async def test_what_time_cannot_end_is_asked_about_once() -> None:
    server = Server()
    async with keeping(server) as keeper:
        keeper.find("w")
        await eventually(lambda: len(server.asked) == 1)
        keeper.find("w")
        keeper.find("other")
        await eventually(lambda: len(server.times("other")) == 1)
        assert len(server.times("w")) == 1


@virtual
async def test_what_is_lost_is_given_up_after_a_grace_whatever_is_asked_before() -> None:
    server = Server()
    server.will_say("w", Expired(0, 0.1), Expired(0, 3600.0))
    async with keeping(server) as keeper:
        began = asyncio.get_running_loop().time()
        keeper.lose("w", after_seconds=0.3)
        keeper.find("w")
        keeper.hear(event(EventType.ACTION_STARTED, timeout_seconds=1))
        keeper.lose("w", after_seconds=1000.0)
        keeper.lose("other", after_seconds=0.0)
        await eventually(lambda: server.given_up == ["other", "w"])
        assert server.times("w")[-1] - began >= 0.3
        # Once it is asked about, it is as before.
        keeper.forget()
        keeper.find("w")
        before = len(server.asked)
        await eventually(lambda: len(server.asked) > before)
        assert server.given_up == ["other", "w"]


@virtual
async def test_a_start_without_limits_is_not_asked_about() -> None:
    server = Server()
    async with keeping(server) as keeper:
        keeper.hear(event(EventType.WORKFLOW_STARTED, global_timeout_seconds=0))
        keeper.hear(event(EventType.ACTION_STARTED, timeout_seconds=0))
        keeper.find("other")
        await eventually(lambda: len(server.asked) == 1)
        assert server.times("w") == []


@virtual
async def test_a_start_is_asked_about_after_its_limit_and_an_end_is_not() -> None:
    server = Server()
    async with keeping(server) as keeper:
        began = asyncio.get_running_loop().time()
        keeper.hear(event(EventType.WORKFLOW_STARTED, global_timeout_seconds=3600))
        keeper.hear(event(EventType.ACTION_STARTED, timeout_seconds=1))
        await eventually(lambda: len(server.asked) == 1)
        assert server.times("w")[0] - began >= 1
        keeper.hear(event(EventType.ACTION_STARTED, timeout_seconds=1))
        keeper.hear(event(EventType.WORKFLOW_FAILED))
        # The same time once more, by another workflow, so that the first one's has passed.
        server.will_say("other", Expired(0, 2.5), ENDED)
        keeper.find("other")
        await eventually(lambda: len(server.times("other")) == 2)
        assert len(server.times("w")) == 1


@virtual
async def test_after_missed_events_everything_is_asked_about_again() -> None:
    server = Server()
    async with keeping(server) as keeper:
        keeper.find("w")
        await eventually(lambda: len(server.asked) == 1)
        keeper.forget()
        keeper.find("w")
        await eventually(lambda: len(server.asked) == 2)


@virtual
async def test_a_deleted_or_broken_workflow_does_not_keep_the_others_waiting() -> None:
    server = Server()
    server.will_say("deleted", errors.NotFound())
    server.will_say("broken", errors.Internal())
    async with keeping(server) as keeper:
        for workflow_id in ("deleted", "broken", "w"):
            keeper.find(workflow_id)
        await eventually(lambda: len(server.asked) == 3)


@virtual
async def test_what_was_moved_or_has_ended_is_swept_out() -> None:
    server = Server()
    keeper = expiry.Expiry(server)
    for _ in range(3 * expiry.MAX_DUE):
        keeper.hear(event(EventType.ACTION_STARTED, timeout_seconds=600))
        keeper.hear(event(EventType.WORKFLOW_SUCCEEDED))
    assert len(keeper._order) <= expiry.MAX_DUE + 2
