"""How the log of a real server is followed, with effects that the test holds in its hand."""

import asyncio
import contextlib
import datetime
from collections.abc import AsyncIterator

import pytest

from support.waiting import eventually
from tinkwell.client import Client, connect, errors, testing
from tinkwell.core.event.kinds import EventType
from tinkwell.provisioner.automation import engine
from tinkwell.provisioner.automation.rule import evaluation, file, model

SECONDS = 60
RULES = file.parse(
    """
name: test
rules:
  - name: one
    on: {name: rack.door_opened}
    do: {command: {argv: [x]}}
  - name: closed
    expect:
      after: {on: {name: rack.door_opened}, if: event.data.watched}
      event: {on: {name: rack.door_closed}}
      within: 1s
    do: {command: {argv: [x]}}
""",
    {},
    source="test",
)


class Hands:
    """Holds effects until they may end."""

    def __init__(self) -> None:
        self.begun: list[model.Effect] = []
        self.ended: list[model.Effect] = []
        self.skipped: list[str] = []
        self.may_end = asyncio.Event()

    async def perform(self, effect: model.Effect) -> None:
        self.begun.append(effect)
        await self.may_end.wait()
        self.ended.append(effect)

    def revisions(self, name: str) -> list[int]:
        return [effect.event.revision for effect in self.ended if effect.rule.name == name]


@contextlib.asynccontextmanager
async def following(
    client: Client, hands: Hands, *, max_begun: int = 100, rules: model.RuleSet = RULES
) -> AsyncIterator[engine.Engine]:
    """Follow the log until the block ends."""
    async with evaluation.Evaluator() as evaluator:
        worker = engine.Engine(
            client.events,
            rules,
            hands.perform,
            evaluator,
            on_skip=hands.skipped.append,
            max_begun=max_begun,
            grace=datetime.timedelta(seconds=0.5),
        )
        task = asyncio.create_task(worker.run())
        try:
            yield worker
            assert not task.done()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def position(client: Client, name: str = "automation_test") -> int:
    return (await client.events.position(name)).revision


async def is_claimed(client: Client) -> None:
    """Wait until the first position is stored: what happens from then on is followed."""

    async def has_begun() -> bool:
        with contextlib.suppress(errors.NotFound):
            return await position(client, "automation_test_closed") > 0
        return False

    await eventually(has_begun, deadline_seconds=SECONDS)


async def test_slow_effects_hold_the_watch_back_and_lose_nothing(client: Client) -> None:
    await client.events.publish("test.marker")
    hands = Hands()
    async with following(client, hands, max_begun=2):
        await is_claimed(client)
        resources = [f"00000000-0000-0000-0000-00000000000{number}" for number in range(5)]
        published = [
            await client.events.publish("rack.door_opened", resource_id=resource)
            for _ in "ab"
            for resource in resources
        ]
        await eventually(lambda: len(hands.begun) == 2, deadline_seconds=SECONDS)
        assert await position(client) < published[0].revision
        hands.may_end.set()
        await eventually(lambda: len(hands.ended) == 10, deadline_seconds=SECONDS)

        async def is_committed() -> bool:
            return await position(client) >= published[-1].revision

        await eventually(is_committed, deadline_seconds=SECONDS)
    assert sorted(hands.revisions("one")) == [each.revision for each in published]
    for resource in resources:
        about = [effect.event.revision for effect in hands.ended if effect.event.resource_id == resource]
        assert about == sorted(about)


async def test_what_comes_in_time_is_no_alarm_and_what_does_not_is_one(client: Client) -> None:
    await client.events.publish("test.marker")
    hands = Hands()
    hands.may_end.set()
    async with following(client, hands):
        await is_claimed(client)
        met, missed = "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"
        await client.events.publish("rack.door_opened", resource_id=met, data={"watched": True})
        late = await client.events.publish("rack.door_opened", resource_id=missed, data={"watched": True})
        await client.events.publish("rack.door_closed", resource_id=met)
        await eventually(lambda: bool(hands.revisions("closed")), deadline_seconds=SECONDS)
        await client.events.publish("rack.door_closed", resource_id=missed)

        async def is_committed() -> bool:
            return await position(client, "automation_test_closed") > late.revision

        await eventually(is_committed, deadline_seconds=SECONDS)
    assert hands.revisions("closed") == [late.revision]


async def test_a_log_that_is_another_one_is_followed_from_a_little_way_back(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    await client.events.publish("test.marker")
    held = await client.events.position("automation_test", claim=True)
    await client.events.commit_position(
        "automation_test", revision=1, history_id="00000000-0000-0000-0000-000000000009", token=held.token
    )
    published = await client.events.publish("rack.door_opened", data={"watched": False})
    hands = Hands()
    hands.may_end.set()
    async with following(client, hands):
        await eventually(lambda: hands.revisions("one") == [published.revision], deadline_seconds=SECONDS)

        async def is_committed() -> bool:
            return (await client.events.position("automation_test")).history_id == held.history_id

        await eventually(is_committed, deadline_seconds=SECONDS)
    assert "events were missed" in caplog.text


async def test_events_that_are_no_longer_kept_are_missed_loudly_and_the_rest_is_handled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hands = Hands()
    hands.may_end.set()
    async with testing.FakeServer() as server, connect(server.address) as client:
        doors = [
            server.emit(EventType.CUSTOM, name="rack.door_opened", data={"watched": False}).revision for _ in range(6)
        ]
        held = await client.events.position("automation_test", claim=True)
        await client.events.commit_position(
            "automation_test", revision=doors[0], history_id=held.history_id, token=held.token
        )
        server.compact(doors[3])
        async with following(client, hands):
            await eventually(lambda: hands.revisions("one") == doors[3:], deadline_seconds=SECONDS)
    assert "events were missed" in caplog.text


HEAVY = file.parse(
    """
name: test
rules:
  - name: heavy
    on: {name: rack.door_opened}
    if: event.data.items.filter(i, i.id >= 0).size() > 0
    do: {command: {argv: [x]}}
  - name: light
    on: {name: rack.door_opened}
    if: event.resource_id != ''
    do: {command: {argv: [x]}}
  - name: closed
    expect:
      after: {on: {name: rack.door_opened}, if: "event.data.items.filter(i, i.id >= 0).size() > 0"}
      event: {on: {name: rack.door_closed}}
      within: 1s
    do: {command: {argv: [x]}}
""",
    {},
    source="test",
)


async def test_a_condition_that_takes_too_long_is_skipped_for_its_event_and_the_others_are_done(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    await client.events.publish("test.marker")
    hands = Hands()
    hands.may_end.set()
    resource = "00000000-0000-0000-0000-000000000001"
    async with following(client, hands, rules=HEAVY):
        await is_claimed(client)
        small: dict[str, object] = {"items": [{"id": 1}]}
        large: dict[str, object] = {"items": [{"id": number} for number in range(20_000)]}
        first, second, third = [
            await client.events.publish("rack.door_opened", resource_id=resource, data=data)
            for data in (small, large, small)
        ]

        async def is_committed() -> bool:
            return min([await position(client), await position(client, "automation_test_closed")]) >= third.revision

        await eventually(is_committed, deadline_seconds=SECONDS)
    assert hands.revisions("heavy") == [first.revision, third.revision]
    assert hands.revisions("light") == [first.revision, second.revision, third.revision]
    assert hands.revisions("closed") == [first.revision, third.revision]
    assert sorted(hands.skipped) == ["closed", "heavy"]
    causes = [vars(each)["cause"] for each in caplog.records if "cannot be evaluated" in each.message]
    assert len(causes) == 2
    assert all("needs more than 1 s of processor time" in cause for cause in causes)
