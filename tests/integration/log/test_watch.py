"""Watch over a real server: where it begins, what it selects, and how it is refused."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator

import asyncpg
import grpc.aio
import pytest

import tinkwell.client
from support.server import Server
from tinkwell.api.v1 import event_service_pb2 as pb
from tinkwell.api.v1 import event_service_pb2_grpc
from tinkwell.client import Client, Event, errors
from tinkwell.core.event.kinds import EventType, ResourceType


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close(timeout=5)


async def take(watch: "tinkwell.client.Watch", count: int) -> list[Event]:
    """Return the next events, and close the watch."""
    found: list[Event] = []
    async with asyncio.timeout(10), contextlib.aclosing(watch):
        while len(found) < count:
            found.append(await anext(watch))
    return found


async def add_hardware(client: Client, count: int = 1) -> list[str]:
    """Add machines, and wait until the server has released their events: what comes later comes to every watch."""
    ids = [str(uuid.uuid4()) for _ in range(count)]
    changes = [await client.hardware.push({"id": machine, "metadata": {}}) for machine in ids]
    await take(client.events.watch(from_revision=changes[-1].revision), 1)
    return ids


async def test_the_answer_of_a_change_is_the_revision_of_its_event(client: Client) -> None:
    change = await client.hardware.push({"id": str(uuid.uuid4())})
    (event,) = await take(client.events.watch(from_revision=1), 1)
    assert (event.revision, event.version) == (change.revision, change.version)


async def test_a_change_made_with_sql_is_watched_like_one_made_through_the_api(
    client: Client, database: asyncpg.Connection
) -> None:
    machine = str(uuid.uuid4())
    await client.hardware.push({"id": machine, "metadata": {"by": "api"}})
    await database.execute('UPDATE hardware SET metadata = \'{"by": "psql"}\' WHERE id = $1', uuid.UUID(machine))
    first, second = await take(client.hardware.watch(from_revision=1), 2)
    assert (first.event_type, second.event_type) == (EventType.CREATED, EventType.UPDATED)
    assert (first.resource_id, second.resource_id) == (machine, machine)
    assert second.data["metadata"] == {"by": "psql"}
    assert set(first.data) == set(second.data)


async def test_a_watch_without_a_start_begins_five_minutes_ago(client: Client, database: asyncpg.Connection) -> None:
    old, young = await add_hardware(client, 2)
    await database.execute(
        "UPDATE events SET created_at = created_at - interval '301 seconds' WHERE resource_id = $1", uuid.UUID(old)
    )
    (event,) = await take(client.events.watch(), 1)
    assert event.resource_id == young


async def test_since_begins_that_far_back(client: Client, database: asyncpg.Connection) -> None:
    ids = await add_hardware(client, 3)
    for age, machine in enumerate(ids):
        await database.execute(
            "UPDATE events SET created_at = now() - make_interval(hours => $1) WHERE resource_id = $2",
            10 - age,
            uuid.UUID(machine),
        )
    events = await take(client.events.watch(since=9.5 * 3600), 2)
    assert [event.resource_id for event in events] == ids[1:]


async def test_now_begins_with_the_next_event(client: Client) -> None:
    await add_hardware(client, 3)
    # A change may be answered before its event has come by; what has come by is not "next" any more.
    await take(client.events.watch(from_revision=1), 3)
    watch = client.events.watch(now=True)
    async with watch:
        (machine,) = await add_hardware(client)
        assert (await anext(watch)).resource_id == machine


async def test_from_revision_includes_that_revision(client: Client) -> None:
    await add_hardware(client, 5)
    events = await take(client.events.watch(from_revision=3), 3)
    assert [event.revision for event in events] == [3, 4, 5]


async def test_a_revision_that_is_no_longer_kept_is_refused_with_the_oldest_kept(
    client: Client, database: asyncpg.Connection
) -> None:
    await add_hardware(client, 5)
    await database.execute("UPDATE event_history SET oldest_revision = 4")
    with pytest.raises(errors.Compacted) as caught:
        await take(client.events.watch(from_revision=3), 1)
    assert caught.value.oldest_revision == 4
    assert caught.value.code == "OUT_OF_RANGE"
    assert [event.revision for event in await take(client.events.watch(from_revision=4), 2)] == [4, 5]


async def test_a_start_in_time_before_the_oldest_kept_begins_with_the_oldest(
    client: Client, database: asyncpg.Connection
) -> None:
    await add_hardware(client, 5)
    # A server that has not come as far would begin where it stands, so as not to pass what is still being committed.
    await take(client.events.watch(from_revision=1), 5)
    await database.execute("UPDATE event_history SET oldest_revision = 4")
    assert [event.revision for event in await take(client.events.watch(since=3600), 2)] == [4, 5]


async def test_a_revision_beyond_the_end_belongs_to_another_history(client: Client) -> None:
    await add_hardware(client)
    with pytest.raises(errors.OtherHistory):
        await take(client.events.watch(from_revision=1_000), 1)


async def test_a_revision_of_another_history_is_refused(client: Client) -> None:
    await add_hardware(client)
    with pytest.raises(errors.OtherHistory):
        await take(client.events.watch(from_revision=1, history_id=str(uuid.uuid4())), 1)


async def test_the_first_response_says_that_the_watch_is_live_and_where_it_begins(server: Server) -> None:
    async with grpc.aio.insecure_channel(server.address) as channel:
        call = event_service_pb2_grpc.EventServiceStub(channel).Watch(pb.WatchRequest(now=True))
        first = await call.read()
        assert isinstance(first, pb.WatchResponse)
        assert first.created
        assert not first.events
        assert str(uuid.UUID(first.history_id)) == first.history_id
        bookmark = await call.read()
        assert isinstance(bookmark, pb.WatchResponse)
        assert not bookmark.created
        assert bookmark.revision == first.revision
        call.cancel()


async def test_filters_apply_alone_and_combined(client: Client) -> None:
    one, two = await add_hardware(client, 2)
    await client.hardware.push({"id": one, "metadata": {"n": 2}})
    await client.hardware.delete(two)
    await client.hardware.phone_home(id=one, data={"ready": True})
    await client.events.publish("rack.door_opened", resource_id=two)
    await client.templates.create(
        "version: '0.1'\nname: t\ntasks: [{name: a, worker: '{{.d}}', actions: [{name: b, image: c}]}]"
    )

    async def selected(**selection: object) -> list[str]:
        last = (await client.events.publish("test.end")).revision
        names: list[str] = []
        end = asyncio.Event()

        def at_bookmark(watch: tinkwell.client.Watch) -> None:
            if watch.revision >= last:
                end.set()

        watch = client.events.watch(from_revision=1, on_bookmark=at_bookmark, **selection)  # type: ignore[arg-type]
        async with asyncio.timeout(20), contextlib.aclosing(watch):
            reading = asyncio.ensure_future(collect(watch, names))
            await end.wait()
            reading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reading
        return [name for name in names if name != "test.end"]

    assert await selected(event_types=["CREATED"]) == ["hardware.created", "hardware.created", "template.created"]
    assert await selected(resource_types=["TEMPLATE"]) == ["template.created"]
    assert await selected(resource_types=["HARDWARE"], resource_id=one) == [
        "hardware.created",
        "hardware.updated",
        "hardware.phone_home",
    ]
    assert await selected(names=["rack.door_opened", "hardware.deleted"]) == ["hardware.deleted", "rack.door_opened"]
    assert await selected(resource_types=["HARDWARE", "CUSTOM"], resource_id=two) == [
        "hardware.created",
        "hardware.deleted",
        "rack.door_opened",
    ]
    assert await selected(event_types=["UPDATED"], resource_types=["HARDWARE"], resource_id=one) == ["hardware.updated"]
    assert await selected(event_types=["UPDATED"], resource_types=["HARDWARE"], resource_id=two) == []


async def collect(watch: "tinkwell.client.Watch", names: list[str]) -> None:
    def note(event: Event) -> None:
        names.append(event.name)

    await watch.run(note)


async def test_a_wrong_request_is_refused_with_its_field(server: Server) -> None:
    cases: list[tuple[dict[str, object], str]] = [
        ({"resource_id": "x"}, "resource_id"),
        ({"resource_id": str(uuid.uuid4())}, "resource_types"),
        ({"names": ["Not A Name"]}, "names[0]"),
        ({"names": ["a.b"] * 101}, "names"),
        ({"from_revision": 0}, "from_revision"),
        ({"from_revision": -5}, "from_revision"),
        ({"now": False}, "now"),
        ({"since": {"seconds": -1}}, "since"),
        ({"since": {"seconds": 315_576_000_000}}, "since"),
        ({"history_id": "x"}, "history_id"),
        ({"event_types": [0]}, "event_types[0]"),
        ({"event_types": [999]}, "event_types[0]"),
        ({"resource_types": [999]}, "resource_types[0]"),
    ]
    for request_fields, field in cases:
        async with grpc.aio.insecure_channel(server.address) as channel:
            call = event_service_pb2_grpc.EventServiceStub(channel).Watch(pb.WatchRequest(**request_fields))  # type: ignore[arg-type]
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call.read()
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert field in (caught.value.details() or "")


async def test_a_service_s_own_watch_is_about_its_own_resources(client: Client) -> None:
    (machine,) = await add_hardware(client)
    await client.events.publish("rack.door_opened")
    (event,) = await take(client.hardware.watch(from_revision=1), 1)
    assert event.resource_id == machine
    with pytest.raises(errors.InvalidField, match="resource_types"):
        await take(client.hardware.watch(resource_types=["TEMPLATE"], from_revision=1), 1)


async def test_two_identical_watchers_both_get_everything(client: Client) -> None:
    watches = [client.hardware.watch(from_revision=1, event_types=["CREATED"]) for _ in range(2)]
    ids = await add_hardware(client, 20)
    for events in await asyncio.gather(*(take(watch, 20) for watch in watches)):
        assert [event.resource_id for event in events] == ids


async def test_a_large_resource_s_events_are_delivered_whole(client: Client) -> None:
    machine = str(uuid.uuid4())
    metadata = {"blob": "é" * 250_000}
    await client.hardware.push({"id": machine, "metadata": metadata})
    await client.hardware.push({"id": machine, "metadata": {**metadata, "n": 2}})
    await client.hardware.delete(machine)
    events = await take(client.hardware.watch(from_revision=1), 3)
    assert [event.event_type for event in events] == [EventType.CREATED, EventType.UPDATED, EventType.DELETED]
    assert events[0].data["metadata"] == metadata
    assert events[2].data["metadata"] == {**metadata, "n": 2}


async def test_a_custom_event_is_published_with_its_data(client: Client) -> None:
    published = await client.events.publish("rack.door_opened", data={"rack": 7})
    (event,) = await take(client.events.watch(from_revision=published.revision), 1)
    assert (event.id, event.name) == (published.id, "rack.door_opened")
    assert (event.resource_type, event.event_type) == (ResourceType.CUSTOM, EventType.CUSTOM)
    assert event.data == {"rack": 7}


async def test_a_custom_event_may_not_look_like_a_built_in_one(client: Client) -> None:
    cases: list[str] = ["workflow.timeout", "hardware.mine", "release.done", "nodot", "Upper.case", "a..b", ""]
    for name in cases:
        with pytest.raises(errors.InvalidField, match="name"):
            await client.events.publish(name)


async def test_a_position_is_claimed_committed_and_fenced(client: Client) -> None:
    await add_hardware(client, 3)
    with pytest.raises(errors.NotFound):
        await client.events.position("mailer")
    mine = await client.events.position("mailer", claim=True)
    assert (mine.revision, mine.token) == (0, 1)
    moved = await client.events.commit_position("mailer", revision=2, history_id=mine.history_id, token=1)
    assert moved.revision == 2
    theirs = await client.events.position("mailer", claim=True)
    assert (theirs.revision, theirs.token) == (2, 2)
    with pytest.raises(errors.LostRace):
        await client.events.commit_position("mailer", revision=3, history_id=mine.history_id, token=1)
    with pytest.raises(errors.InvalidField, match="before"):
        await client.events.commit_position("mailer", revision=1, history_id=mine.history_id, token=2)
    with pytest.raises(errors.InvalidField, match="beyond"):
        await client.events.commit_position("mailer", revision=1_000, history_id=mine.history_id, token=2)
    assert (await client.events.position("mailer")).revision == 2
