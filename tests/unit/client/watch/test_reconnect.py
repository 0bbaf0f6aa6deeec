"""A watch over real connections that break: nothing lost, nothing repeated, and typed errors at the end."""

import asyncio
import uuid

import pytest

import tinkwell.client
from support import waiting
from tinkwell.client import Client, EventType, Hardware, ResourceType, State, Workflow, errors, testing
from tinkwell.core import errors as core


def emit(server: testing.FakeServer, count: int) -> None:
    for _ in range(count):
        server.emit(EventType.CUSTOM, name="rack.door_opened")


async def take(events: tinkwell.client.Watch, count: int) -> list[int]:
    async with asyncio.timeout(20):
        return [(await anext(events)).revision for _ in range(count)]


async def test_replay_and_live_events_come_without_a_gap(server: testing.FakeServer, client: Client) -> None:
    emit(server, 5)
    events = client.events.watch()
    assert await take(events, 2) == [1, 2]
    emit(server, 5)
    assert await take(events, 8) == list(range(3, 11))


async def test_a_connection_dropped_in_the_middle_of_a_batch_is_resumed(
    server: testing.FakeServer, client: Client
) -> None:
    emit(server, 5)
    events = client.events.watch()
    assert await take(events, 2) == [1, 2]
    server.drop_connections()
    emit(server, 5)
    assert await take(events, 8) == list(range(3, 11))
    first, second = server.requests("Watch")
    assert first.WhichOneof("start") is None
    assert second.from_revision > 2


async def test_a_server_that_restarts_is_found_again(server: testing.FakeServer, client: Client) -> None:
    events = client.events.watch()
    emit(server, 2)
    assert await take(events, 2) == [1, 2]
    for revision in (3, 4, 5):
        await server.stop()
        emit(server, 1)
        await server.start()
        assert await take(events, 1) == [revision]


async def test_many_dropped_connections_lose_and_repeat_nothing(server: testing.FakeServer, client: Client) -> None:
    seen: list[int] = []

    async def follow() -> None:
        async for event in client.events.watch():
            seen.append(event.revision)
            if event.revision == 200:
                return

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        group.create_task(follow())
        for tens in range(20):
            emit(server, 10)
            if tens % 4 == 0:
                server.drop_connections()
            await waiting.eventually(lambda reached=10 * tens: len(seen) > reached)  # type: ignore[misc]
    assert seen == list(range(1, 201))


async def test_filters_reach_the_server_and_bookmarks_pass_what_they_hide(
    server: testing.FakeServer, client: Client
) -> None:
    async with client.events.watch(names=["rack.door_closed"], now=True) as events:
        reading = asyncio.create_task(_one(events))
        emit(server, 20)
        await waiting.eventually(lambda: events.revision == 20)
        server.drop_connections()
        await waiting.eventually(lambda: len(server.requests("Watch")) == 2)
        server.emit(EventType.CUSTOM, name="rack.door_closed")
        assert await reading == 21
    assert server.requests("Watch")[1].from_revision == 21


async def _one(events: tinkwell.client.Watch) -> int:
    return (await anext(events)).revision


async def test_each_service_watches_its_own_resources(server: testing.FakeServer, client: Client) -> None:
    workflow = server.put(Workflow(str(uuid.uuid4()), state=State.RUNNING))
    machine = server.put(Hardware(str(uuid.uuid4())))
    server.emit(EventType.ACTION_STARTED, ResourceType.ACTION, resource_id="a1", parent_id=workflow.id)
    assert (await anext(client.hardware.watch())).resource_id == machine.id
    assert await take(client.workflows.watch(), 2) == [1, 3]
    assert await take(client.workflows.watch(resource_id=workflow.id, event_types=["ACTION_STARTED"]), 1) == [3]
    assert await take(client.events.watch(resource_types=["HARDWARE"]), 1) == [2]


async def test_a_watch_begins_where_it_is_told(server: testing.FakeServer, client: Client) -> None:
    emit(server, 3)
    assert await take(client.events.watch(from_revision=3), 1) == [3]
    async with client.events.watch(now=True) as events:
        emit(server, 1)
        assert await take(events, 1) == [4]
    assert await take(client.events.watch(since=60), 1) == [1]


async def test_a_stored_place_is_resumed_by_the_next_process(server: testing.FakeServer, client: Client) -> None:
    emit(server, 3)
    events = client.events.watch()
    await take(events, 2)
    stored = (events.revision, events.history_id)
    await events.aclose()
    resumed = client.events.watch(from_revision=stored[0] + 1, history_id=stored[1])
    assert await take(resumed, 1) == [3]


async def test_a_revision_that_is_gone_names_the_oldest_kept(server: testing.FakeServer, client: Client) -> None:
    emit(server, 10)
    server.compact(5)
    with pytest.raises(errors.Compacted) as caught:
        await anext(client.events.watch(from_revision=2))
    assert caught.value.oldest_revision == 5


async def test_events_compacted_while_away_are_an_error_not_a_gap(server: testing.FakeServer, client: Client) -> None:
    events = client.events.watch()
    emit(server, 2)
    await take(events, 2)
    await server.stop()
    emit(server, 5)
    server.compact(6)
    await server.start()
    with pytest.raises(errors.Compacted):
        await take(events, 1)


async def test_another_history_ends_a_watch(server: testing.FakeServer, client: Client) -> None:
    events = client.events.watch()
    emit(server, 2)
    await take(events, 2)
    server.change_history(tail=50)
    emit(server, 1)
    with pytest.raises(errors.OtherHistory) as caught:
        await take(events, 1)
    assert caught.value.history_id == server.log.history_id


async def test_a_revision_beyond_the_end_is_of_another_history(server: testing.FakeServer, client: Client) -> None:
    with pytest.raises(errors.OtherHistory):
        await anext(client.events.watch(from_revision=1000))


async def test_wrong_filters_are_refused_before_connecting(server: testing.FakeServer, client: Client) -> None:
    with pytest.raises(errors.InvalidField, match=r"event_types\[1\]: 'WORKFLOW_TIMOUT' is none of CREATED, UPDATED"):
        client.events.watch(event_types=["CREATED", "WORKFLOW_TIMOUT"])
    with pytest.raises(errors.InvalidField, match=r"resource_types\[0\]"):
        client.events.watch(resource_types=["hardware"])
    with pytest.raises(errors.InvalidField, match="event_types: must be a list"):
        client.events.watch(event_types="CREATED")
    with pytest.raises(errors.InvalidField, match="a watch has one start, and since is given too"):
        client.events.watch(since=5, now=True)
    with pytest.raises(errors.InvalidField, match="from_revision"):
        client.events.watch(from_revision="5")  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidField, match="since: must be seconds"):
        client.events.watch(since=float("inf"))
    with pytest.raises(errors.InvalidField, match=r"names"):
        client.events.watch(names=[5])  # type: ignore[list-item]
    assert server.calls == []


async def test_what_the_server_refuses_is_not_retried(server: testing.FakeServer, client: Client) -> None:
    with pytest.raises(errors.InvalidField, match="needs a resource type"):
        await anext(client.events.watch(resource_id="r1"))
    assert len(server.calls) == 1


async def test_a_server_that_refuses_for_a_while_is_asked_again(server: testing.FakeServer, client: Client) -> None:
    server.fail_next(core.LimitReached("too many watches"), method="Watch", times=2)
    emit(server, 1)
    assert await take(client.events.watch(), 1) == [1]


async def test_watch_events_calls_back(server: testing.FakeServer, client: Client) -> None:
    emit(server, 3)
    seen: list[int] = []

    async def callback(event: tinkwell.client.Event) -> None:
        seen.append(event.revision)
        if event.revision == 3:
            raise StopWatching

    with pytest.raises(StopWatching):
        await client.events.watch_events(callback, names=["rack.door_opened"])
    assert seen == [1, 2, 3]


class StopWatching(Exception):
    pass


async def test_a_wait_with_a_time_limit_loses_nothing(server: testing.FakeServer, client: Client) -> None:
    events = client.events.watch()
    for revision in range(1, 4):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await anext(events)
        emit(server, 1)
        assert await take(events, 1) == [revision]


async def test_a_big_event_arrives_whole(server: testing.FakeServer, client: Client) -> None:
    data = {"text": "x" * 6_000_000}
    server.emit(EventType.CUSTOM, name="rack.photographed", data=data)
    assert (await anext(client.events.watch())).data == data


async def test_a_watch_closed_from_another_task_ends_quietly(server: testing.FakeServer, client: Client) -> None:
    events = client.events.watch()

    async def read() -> list[int]:
        return [event.revision async for event in events]

    reading = asyncio.create_task(read())
    await waiting.eventually(lambda: events.is_live)
    await events.aclose()
    assert await reading == []
