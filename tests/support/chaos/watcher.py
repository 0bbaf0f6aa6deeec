"""Watchers that write down all that they are told, and can be held up, cut off and sent away."""

import asyncio
import contextlib
import random
import time
import typing
from array import array
from collections.abc import Callable, Sequence

from grpc import aio

from support.chaos.ledger import digest
from support.history.record import LEFT, OPEN, FromRevision, Now, Selection, Since, Start, Stream, Watcher
from tinkwell.api.v1 import event_service_pb2 as pb
from tinkwell.api.v1 import event_service_pb2_grpc
from tinkwell.client import backoff, call, channel, errors
from tinkwell.client.watch import selection, watch
from tinkwell.core.event.kinds import EventType, ResourceType

# The transport buffers little, so that a watcher that does not read is soon noticed by the server.
_NARROW = (
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.lookahead_bytes", 65_536),
    ("grpc.max_receive_message_length", 16 << 20),
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
)
_SILENCE_SECONDS = 60.0
_LONGEST_PAUSE_SECONDS = 0.5


class Addressed(typing.Protocol):
    """Something that answers at an address, or does not."""

    address: str


class Recorded:
    """The responses of one call, each noted in a stream as it is read."""

    def __init__(self, responses: watch.Responses, stream: Stream) -> None:
        self._responses = responses
        self._stream = stream

    async def read(self) -> pb.WatchResponse | None:
        """Read and note a response, or how the stream ended."""
        try:
            response = await self._responses.read()
        except errors.Error as error:
            self._end(LEFT if isinstance(error, errors.Closed) else error.code, error.reason or error.message)
            raise
        if response is None:
            self._end("OK", "the server ended the stream without a reason")
            return None
        self._stream.add(
            [(event.revision, _digest(event)) for event in response.events],
            bookmark=response.revision,
            history_id=response.history_id,
            created=response.created,
            at=time.time(),
        )
        return response

    def cancel(self) -> None:
        """Leave the stream."""
        self._end(LEFT, "")
        self._responses.cancel()

    def _end(self, end: str, reason: str) -> None:
        if self._stream.end == OPEN:
            self._stream.end, self._stream.reason, self._stream.ended_at = end, reason, time.time()


class Consumer:
    """Watches over and over, resuming where it was. Subclasses say what one visit at a server is.

    `record` is what the present series of streams adds up to; a series ends when history is gone.
    """

    def __init__(
        self,
        name: str,
        wanted: Selection,
        start: Start,
        servers: Sequence[Addressed],
        *,
        chance: random.Random,
        add: Callable[[Watcher], None],
        must_arrive: bool = True,
    ) -> None:
        self.name = name
        self.may_read = asyncio.Event()
        self.may_read.set()
        self.delay_seconds = 0.0
        self._wanted = wanted
        self._start = start
        self._servers = servers
        self._chance = chance
        self._add = add
        self._must_arrive = must_arrive
        self._limit: asyncio.Timeout | None = None
        self._rewind = 0
        self.record = self._begin()

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            address = self._chance.choice(self._servers).address
            try:
                async with asyncio.timeout(None) as self._limit:
                    await self._visit(address)
            except TimeoutError:
                pass  # it was told to leave
            except errors.HistoryGone:
                self.record.must_arrive = False
                self._start = Now()
                self.record = self._begin()
            except errors.Error:
                pass  # its stream tells how it ended, and the next one goes on
            finally:
                self._limit = None
            await asyncio.sleep(self._chance.uniform(0, _LONGEST_PAUSE_SECONDS))

    def leave(self, *, rewind: int = 0) -> None:
        """Leave the server at once, and come back to one of them, that many revisions earlier if that is possible."""
        self._rewind = rewind
        if self._limit is not None and not self._limit.expired():
            self._limit.reschedule(asyncio.get_running_loop().time())

    @property
    def is_current(self) -> bool:
        """Whether its last stream is open and live."""
        streams = self.record.streams
        return bool(streams) and streams[-1].is_live and streams[-1].end == OPEN

    def has_arrived(self, last: int) -> bool:
        """Whether it is live and has been told all up to the revision."""
        return (
            self.is_current
            and self.record.streams[-1].bookmark >= last
            and (self.record.handed is None or self.record.handed_up_to >= last)
        )

    async def _visit(self, address: str) -> None:
        raise NotImplementedError

    def _begin(self) -> Watcher:
        record = Watcher(self.name, self._wanted, must_arrive=self._must_arrive)
        self._add(record)
        return record

    def _stream(self, start: Start) -> Stream:
        stream = Stream(start)
        self.record.streams.append(stream)
        return stream

    async def _hesitate(self) -> None:
        await self.may_read.wait()
        if self.delay_seconds:
            await asyncio.sleep(self.delay_seconds)


class RawWatcher(Consumer):
    """Reads streams by itself, each over a connection of its own."""

    async def _visit(self, address: str) -> None:
        start = self._next_start()
        stream = self._stream(start)
        async with aio.insecure_channel(address, options=_NARROW) as connection:
            stub = event_service_pb2_grpc.EventServiceStub(connection)
            responses = call.Caller(connection, address).stream(
                stub.Watch, request(self._wanted, start), silence_seconds=_SILENCE_SECONDS
            )
            recorded = Recorded(responses, stream)
            try:
                while await recorded.read() is not None:
                    await self._hesitate()
            finally:
                recorded.cancel()

    def _next_start(self) -> Start:
        live = [stream for stream in self.record.streams if stream.is_live]
        if not live:
            return self._start
        rewind, self._rewind = self._rewind, 0
        return FromRevision(max(1, self.record.reached + 1 - rewind), live[-1].histories[-1])


class LibraryWatcher(Consumer):
    """Uses the client library, which reconnects to one server by itself; sent away, it begins anew where it was."""

    def _begin(self) -> Watcher:
        record = super()._begin()
        record.handed = array("q")
        return record

    async def _visit(self, address: str) -> None:
        record, handed = self.record, self.record.handed
        assert handed is not None
        async with channel.open_channel(address, None) as connection:
            stub = event_service_pb2_grpc.EventServiceStub(connection)
            caller = call.Caller(connection, address)

            def connect(asked: pb.WatchRequest) -> watch.Responses:
                responses = caller.stream(stub.Watch, asked, silence_seconds=_SILENCE_SECONDS)
                return Recorded(responses, self._stream(_start_of(asked)))

            def advance(reached: watch.Watch) -> None:
                record.handed_up_to = reached.revision

            pause = backoff.Backoff(first_seconds=0.05, longest_seconds=_LONGEST_PAUSE_SECONDS)
            watching = watch.Watch(connect, self._selection(), on_bookmark=advance, pause=pause)
            async with contextlib.aclosing(watching):
                async for event in watching:
                    handed.append(event.revision)
                    record.handed_up_to = event.revision
                    await self._hesitate()

    def _selection(self) -> selection.Selection:
        live = [stream for stream in self.record.streams if stream.is_live]
        start = self._start
        if self.record.handed_up_to and live:
            start = FromRevision(self.record.handed_up_to + 1, live[-1].histories[-1])
        elif live:
            start = FromRevision(live[0].position, live[0].histories[0])
        return selection.Selection(
            event_types=[EventType(kind) for kind in self._wanted.event_types],
            names=self._wanted.names,
            resource_types=[ResourceType(kind) for kind in self._wanted.resource_types],
            resource_id=self._wanted.resource_id,
            since=start.seconds if isinstance(start, Since) else None,
            from_revision=start.revision if isinstance(start, FromRevision) else None,
            now=isinstance(start, Now),
            history_id=start.history_id if isinstance(start, FromRevision) else "",
        )


def request(wanted: Selection, start: Start) -> pb.WatchRequest:
    """Build a request as a watcher without the library does."""
    asked = pb.WatchRequest(
        event_types=[pb.EventType.Value(f"EVENT_TYPE_{kind}") for kind in wanted.event_types],
        names=wanted.names,
        resource_types=[pb.ResourceType.Value(f"RESOURCE_TYPE_{kind}") for kind in wanted.resource_types],
        resource_id=wanted.resource_id,
    )
    match start:
        case Now():
            asked.now = True
        case Since(seconds):
            asked.since.FromNanoseconds(int(seconds * 1e9))
        case FromRevision(revision, history_id):
            asked.from_revision, asked.history_id = revision, history_id
    return asked


def _start_of(asked: pb.WatchRequest) -> Start:
    match asked.WhichOneof("start"):
        case "from_revision":
            return FromRevision(asked.from_revision, asked.history_id)
        case "since":
            return Since(asked.since.ToNanoseconds() / 1e9)
        case _:
            return Now()


def _digest(event: pb.Event) -> int:
    return digest(
        event.id,
        pb.ResourceType.Name(event.resource_type),
        event.resource_id,
        event.parent_id,
        pb.EventType.Name(event.event_type),
        event.name,
        event.version,
        event.created_at.ToMicroseconds(),
        event.actor,
        event.data,
    )
