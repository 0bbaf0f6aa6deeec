"""The two classic designs as one small server: `python -m bench.latency.classic row|id DATABASE_URL`.

row    a trigger notifies with the event as JSON, which becomes a message and is streamed
id     a trigger notifies with the event's number; the server queries the event, one after another, and streams it

Both lose what exceeds 8,000 bytes or happens while they are not connected, and know no history. Notifications come in
the order of commits, which is not that of the events' numbers, and a watcher that resumes by number skips the
difference: here each event is numbered anew as it comes, so that nothing is lost. Only speed counts: they use the same
loop, the same gRPC and the same messages as Tinkwell's server, one event in each.
"""

import argparse
import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import grpc
import grpc.aio

from bench.latency import design
from tinkwell.api.v1 import event_service_pb2 as pb
from tinkwell.server.app import process

_SERVICE = pb.DESCRIPTOR.services_by_name["EventService"].full_name
_TIMEOUT_SECONDS = 10
# A design that falls behind by so much has failed; the benchmark says so instead of measuring it.
_LONGEST_QUEUE = 100_000


class Watches:
    """Streams every event of its table to every watcher, whatever the watcher selected."""

    def __init__(self) -> None:
        self._count = 0
        self._watchers: set[asyncio.Queue[pb.WatchResponse]] = set()

    def publish(self, row: Any) -> None:
        """Hand an event to all who watch."""
        self._count += 1
        response = pb.WatchResponse(events=[_message(row, revision=self._count)], revision=self._count)
        for queue in self._watchers:
            queue.put_nowait(response)

    async def stream(self, _request: pb.WatchRequest, _context: object) -> AsyncIterator[pb.WatchResponse]:
        """Serve one watcher."""
        queue: asyncio.Queue[pb.WatchResponse] = asyncio.Queue(_LONGEST_QUEUE)
        self._watchers.add(queue)
        try:
            yield pb.WatchResponse(created=True)
            while True:
                yield await queue.get()
        finally:
            self._watchers.discard(queue)


def _message(row: Any, *, revision: int) -> pb.Event:
    seconds, microseconds = divmod(row["microseconds"], 1_000_000)
    message = pb.Event(
        id=row["id"],
        revision=revision,
        resource_id=row["resource_id"],
        parent_id=row["parent_id"],
        resource_type=pb.ResourceType.Value(f"RESOURCE_TYPE_{row['resource_type']}"),
        event_type=pb.EventType.Value(f"EVENT_TYPE_{row['event_type']}"),
        name=row["name"],
        version=row["version"],
        actor=row["actor"],
        data=row["data"],
    )
    message.created_at.seconds, message.created_at.nanos = seconds, microseconds * 1_000
    return message


async def _listen_rows(listener: asyncpg.Connection, watches: Watches) -> None:
    await listener.add_listener(design.CHANNEL, lambda *told: watches.publish(json.loads(told[3])))


async def _query_each(url: str, ids: "asyncio.Queue[int]", watches: Watches) -> None:
    connection = await asyncpg.connect(url, timeout=_TIMEOUT_SECONDS, command_timeout=_TIMEOUT_SECONDS)
    try:
        query = await connection.prepare(design.QUERY)
        while True:
            watches.publish(await query.fetchrow(await ids.get()))
    finally:
        connection.terminate()


async def serve(chosen: str, url: str) -> None:
    """Serve until cancelled, and print the address once everything is ready."""
    watches = Watches()
    server = grpc.aio.server()
    method = grpc.unary_stream_rpc_method_handler(
        watches.stream, pb.WatchRequest.FromString, pb.WatchResponse.SerializeToString
    )
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, {"Watch": method}),))
    port = server.add_insecure_port("127.0.0.1:0")
    listener = await asyncpg.connect(url, timeout=_TIMEOUT_SECONDS)
    async with asyncio.TaskGroup() as tasks:
        if chosen == "row":
            await _listen_rows(listener, watches)
        else:
            ids: asyncio.Queue[int] = asyncio.Queue(_LONGEST_QUEUE)
            await listener.add_listener(design.CHANNEL, lambda *told: ids.put_nowait(int(told[3])))
            tasks.create_task(_query_each(url, ids, watches), name="query")
        await server.start()
        print(f"gRPC  127.0.0.1:{port}", flush=True)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await server.stop(None)
            listener.terminate()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("design", choices=sorted(design.PAYLOADS))
    parser.add_argument("database_url")
    options = parser.parse_args()
    process.run(serve(options.design, options.database_url))
