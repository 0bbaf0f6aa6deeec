"""What reaches watchers over a real channel: whole, alike however it comes, and without waiting for one another."""

import asyncio
import contextlib
import json
import urllib.request
import uuid
from typing import Any

import grpc.aio
import pytest

import tinkwell.client
from support import server as servers
from support.server import Server
from support.waiting import eventually
from tinkwell.api.v1 import event_service_pb2 as pb
from tinkwell.api.v1 import event_service_pb2_grpc
from tinkwell.client import Client, Event, errors
from tinkwell.core.event.page import Replay
from tinkwell.server.log.store.log import PostgresLog

TEMPLATE = """version: "0.1"
name: large
tasks:
  - name: t
    worker: "{{.device_1}}"
    actions:
      - name: a
        image: IMAGE
"""
DEADLINE_SECONDS = 20


async def take(watch: "tinkwell.client.Watch", count: int) -> list[Event]:
    """Return the next events, and close the watch."""
    async with asyncio.timeout(DEADLINE_SECONDS), contextlib.aclosing(watch):
        return [await anext(watch) for _ in range(count)]


@pytest.mark.parametrize("is_live", [True, False], ids=["live", "replayed"])
async def test_a_template_of_900_kilobytes_is_delivered_whole_by_each_of_its_events(
    client: Client, is_live: bool
) -> None:
    # Two bytes a character, so that characters are what must be counted nowhere.
    filler = "# é" + "é" * 48 + "\n"
    texts = [TEMPLATE.replace("IMAGE", image) + filler * 9_000 for image in ("one", "two")]
    assert all(len(text.encode()) > 900_000 for text in texts)
    async with contextlib.AsyncExitStack() as stack:
        watch = client.templates.watch(from_revision=1)
        if is_live:
            await stack.enter_async_context(watch)
        created = await client.templates.create(texts[0])
        await client.templates.update(created.id, data=texts[1])
        assert (await client.templates.get(id=created.id)).data == texts[1]
        await client.templates.delete(id=created.id)
        events = await take(watch, 3)
    assert [event.name for event in events] == ["template.created", "template.updated", "template.deleted"]
    assert [event.data["data"] for event in events] == [texts[0], texts[1], texts[1]]


@pytest.mark.parametrize("is_live", [True, False], ids=["live", "replayed"])
async def test_metadata_of_500_kilobytes_is_delivered_whole_by_each_of_its_events(
    client: Client, is_live: bool
) -> None:
    machine = str(uuid.uuid4())
    # Quotes and other scripts, which take more room in some encodings than in others.
    documents = [{"n": n, "text": 'é"\\\n' * 60_000, "list": list(range(40_000))} for n in (1, 2)]
    assert all(len(json.dumps(document, ensure_ascii=False).encode()) > 500_000 for document in documents)
    async with contextlib.AsyncExitStack() as stack:
        watch = client.hardware.watch(from_revision=1)
        if is_live:
            await stack.enter_async_context(watch)
        for document in documents:
            await client.hardware.push({"id": machine, "metadata": document})
        assert (await client.hardware.by_id(machine)).metadata == documents[1]
        await client.hardware.delete(machine)
        events = await take(watch, 3)
    assert [event.name for event in events] == ["hardware.created", "hardware.updated", "hardware.deleted"]
    assert [event.data["metadata"] for event in events] == [documents[0], documents[1], documents[1]]


async def test_an_event_is_the_same_whether_live_or_from_memory_or_from_the_table(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    replayed: list[int] = []
    replay = PostgresLog.replay

    async def noting(self: PostgresLog, *, first: int, **others: Any) -> Replay:
        replayed.append(first)
        return await replay(self, first=first, **others)

    monkeypatch.setattr(PostgresLog, "replay", noting)
    machine = str(uuid.uuid4())
    async with (
        servers.running(database_url, ring_bytes=1 << 20) as server,
        tinkwell.client.connect(server.address) as client,
    ):
        live = client.events.watch(now=True)
        async with live:
            await client.hardware.push({"id": machine, "metadata": {"rate": 1.5, "text": 'a "quoted" é\n'}})
            from_live = [await anext(live)]
        from_memory = await take(client.events.watch(from_revision=1), 1)
        assert replayed == []
        # More than the memory for the newest events holds.
        for _ in range(3):
            await client.hardware.push({"id": str(uuid.uuid4()), "metadata": {"filler": "x" * 500_000}})
        # Who has received the last of them knows that the memory has taken them in.
        await take(client.events.watch(from_revision=2), 3)
        replayed.clear()
        from_table = await take(client.events.watch(from_revision=1), 1)
    assert replayed[0] == 1
    assert from_live == from_memory == from_table
    assert [event.data["metadata"]["text"] for event in from_table] == ['a "quoted" é\n']


async def test_a_watcher_that_does_not_read_holds_up_nobody_and_misses_nothing(server: Server, client: Client) -> None:
    # More than the connection, the watcher's buffer and the memory for the newest events take in together.
    count = 30
    async with grpc.aio.insecure_channel(server.address) as channel:
        stalled = event_service_pb2_grpc.EventServiceStub(channel).Watch(pb.WatchRequest(from_revision=1))
        async with client.events.watch(from_revision=1) as watch:
            for _ in range(count):
                await client.hardware.push({"id": str(uuid.uuid4()), "metadata": {"filler": "x" * 500_000}})
            events = [await anext(watch) for _ in range(count)]
        late: list[int] = []
        async with asyncio.timeout(DEADLINE_SECONDS):
            while len(late) < count:
                response = await stalled.read()
                assert isinstance(response, pb.WatchResponse)
                late.extend(event.revision for event in response.events)
        stalled.cancel()
    assert [event.revision for event in events] == late == list(range(1, count + 1))


async def test_watchers_that_left_are_freed(server: Server, client: Client) -> None:
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(50):
            await stack.enter_async_context(client.events.watch(now=True))
        assert await watchers(server) == 50
    await eventually(lambda: _has_no_watchers(server))


async def _has_no_watchers(server: Server) -> bool:
    return await watchers(server) == 0


async def watchers(server: Server) -> int:
    """Ask the server how many watchers it has."""

    def fetch() -> str:
        with urllib.request.urlopen(f"http://{server.http_address}/metrics", timeout=5) as response:
            return str(response.read().decode())

    lines = (await asyncio.to_thread(fetch)).splitlines()
    return int(float(next(line.split()[1] for line in lines if line.startswith("tinkwell_watchers "))))


async def test_more_watchers_than_the_limit_are_told_so(database_url: str) -> None:
    async with (
        servers.running(database_url, max_watchers=2) as server,
        tinkwell.client.connect(server.address) as client,
        client.events.watch(now=True),
        client.events.watch(now=True),
    ):
        with pytest.raises(errors.LimitReached):
            await take(client.events.watch(now=True, reconnect=False), 1)
