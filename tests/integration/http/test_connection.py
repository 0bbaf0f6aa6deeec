"""How long a connection to the HTTP port may take, and how many there may be, over real sockets."""

import asyncio
import contextlib
import functools
import ipaddress
import socket
from collections.abc import AsyncIterator, Mapping

import pytest

from support.waiting import eventually
from tinkwell.server.app import http_application
from tinkwell.server.http import connection
from tinkwell.server.http.admission import Bounds
from tinkwell.server.http.listener import HttpListener
from tinkwell.server.http.probe import Probe

REQUEST = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
# More than the kernel takes for somebody who does not read.
EXPOSITION = b"# nothing\n" * 2_000_000
HERE, ELSEWHERE, PROXY = "127.0.0.1", "127.0.0.2", "127.0.0.3"


class Line:
    """One connection of a client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def ask(self, request: bytes = REQUEST) -> int:
        """Send a request, and return the status of the answer."""
        self.writer.write(request)
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await self.reader.readexactly(length)
        return int(head.split()[1])

    async def is_closed(self) -> bool:
        """Wait until the other end has closed it; what it has said before is passed over."""
        try:
            while await self.reader.read(1 << 16):
                pass
        except ConnectionError:
            pass
        return True

    def is_over(self) -> bool:
        """Whether the other end has closed it already."""
        return self.reader.at_eof() or self.reader.exception() is not None


class Served:
    """A port, and connections to it that end with the block."""

    def __init__(self, port: int, stack: contextlib.AsyncExitStack) -> None:
        self.port = port
        self._stack = stack

    async def line(self, source: str = HERE, *, buffer_bytes: int = 0) -> Line:
        """Connect from an address of one's choice."""
        end = socket.socket()
        if buffer_bytes:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
        end.bind((source, 0))
        end.setblocking(False)
        await asyncio.get_running_loop().sock_connect(end, (HERE, self.port))
        reader, writer = await asyncio.open_connection(sock=end, limit=1 << 16)
        self._stack.callback(writer.close)
        return Line(reader, writer)


@contextlib.asynccontextmanager
async def serving(bounds: Bounds | None = None, *, ready: asyncio.Event | None = None) -> AsyncIterator[Served]:
    async def readiness() -> Mapping[str, bool | str]:
        if ready is not None:
            await ready.wait()
        return {}

    async def metrics() -> bytes:
        return EXPOSITION

    application = http_application.create_application(
        Probe(liveness=readiness, readiness=readiness, metrics=metrics), version="1.2.3"
    )
    proxies = [ipaddress.ip_network(PROXY)]
    listener = HttpListener(application, host=HERE, port=0, bounds=bounds, proxies=proxies)
    async with asyncio.timeout(60), listener.listen() as address, contextlib.AsyncExitStack() as stack:
        yield Served(int(address.rpartition(":")[2]), stack)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deadlines that pass at once."""
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.3)
    monkeypatch.setattr(connection, "REQUEST_SECONDS", 0.6)


async def trickle(line: Line, pieces: bytes = b"x") -> None:
    """Send a piece again and again until the connection is closed."""
    closed = asyncio.create_task(line.is_closed())
    while not closed.done():
        line.writer.write(pieces)
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("sent", [b"", b"GET /livez HTTP/1.1\r\nHost: x\r\nX-Endless: "])
async def test_a_request_whose_head_does_not_come_to_its_end_is_given_up(hasty: None, sent: bytes) -> None:
    async with serving() as served:
        silent = await served.line()
        silent.writer.write(sent)
        assert await silent.is_closed()
        busy = await served.line()
        busy.writer.write(sent or b"G")
        await trickle(busy)
        assert await (await served.line()).ask() == 200


async def test_a_connection_that_goes_on_sending_after_its_answer_is_given_up(hasty: None) -> None:
    async with serving() as served:
        line = await served.line()
        assert await line.ask(b"GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n") == 200
        await trickle(line)


async def test_whoever_does_not_take_what_it_asked_for_is_given_up(hasty: None) -> None:
    async with serving() as served:
        for count in (1, 50):
            line = await served.line(buffer_bytes=4_096)
            line.writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * count)
            # What the kernel has taken already is not enough to be told that it is over.
            await eventually(functools.partial(fails_to_write, line), deadline_seconds=20)


def fails_to_write(line: Line) -> bool:
    """Whether the other end has reset the connection; the reader, which takes nothing meanwhile, would not see it."""
    line.writer.write(b"x")
    end = line.writer.get_extra_info("socket")
    return line.writer.is_closing() or end.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0


async def test_a_request_that_is_answered_in_time_leaves_the_connection_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 1.5)
    monkeypatch.setattr(connection, "REQUEST_SECONDS", 1.5)
    async with serving() as served:
        line = await served.line()
        # Longer than either deadline, all together.
        for _ in range(7):
            assert await line.ask() == 200
            await asyncio.sleep(0.3)
        line.writer.write(REQUEST * 3)
        for _ in range(3):
            assert (await line.reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
            await line.reader.readexactly(3)


async def test_who_asks_for_nothing_makes_room_for_others_of_its_address() -> None:
    async with serving(Bounds(total=100, per_place=5)) as served:
        other = await served.line(ELSEWHERE)
        first, *others = [await served.line() for _ in range(5)]
        # They wait in this order once all of them were taken.
        assert [await line.ask() for line in (other, first, *others)] == [200] * 6
        assert await (await served.line()).ask() == 200
        assert await first.is_closed()
        assert [await line.ask() for line in (other, *others)] == [200] * 5


async def test_a_flood_of_silent_connections_keeps_nobody_out() -> None:
    async with serving(Bounds(total=40, per_place=20)) as served:
        silent = [await served.line(f"127.0.1.{number % 50}") for number in range(400)]
        for line in silent:
            line.writer.write(b"GET /livez HTTP/1.1\r\nX-Endless: ")
        assert [await (await served.line(source)).ask() for source in (HERE, ELSEWHERE, PROXY)] == [200] * 3
        await eventually(lambda: sum(map(Line.is_over, silent)) >= 360)


async def test_one_more_is_refused_where_all_are_busy_unless_it_comes_from_elsewhere() -> None:
    ready = asyncio.Event()
    async with serving(Bounds(total=4, per_place=2), ready=ready) as served:
        busy = [await served.line() for _ in range(2)]
        for line in busy:
            line.writer.write(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
        line = await served.line()
        head = await line.reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
        assert b"\r\nRetry-After: 1\r\n" in head
        assert await line.reader.read() == b"too many connections are open; try again\n"
        assert await (await served.line(ELSEWHERE)).ask(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n") == 200
        ready.set()
        for line in busy:
            assert (await line.reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        assert await (await served.line()).ask() == 200


async def test_a_proxy_may_have_as_many_as_all_together() -> None:
    async with serving(Bounds(total=20, per_place=5)) as served:
        lines = [await served.line(PROXY) for _ in range(18)]
        assert [await line.ask() for line in lines] == [200] * 18
        assert await (await served.line(HERE)).ask() == 200
        assert [await line.ask() for line in lines] == [200] * 18


async def test_many_who_ask_at_the_same_time_cost_one_look() -> None:
    asked = 0

    async def readiness() -> Mapping[str, bool | str]:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0)
        return {"database": True}

    async def metrics() -> bytes:
        nonlocal asked
        asked += 1
        return b""

    probe = Probe(liveness=readiness, readiness=readiness, metrics=metrics)
    listener = HttpListener(http_application.create_application(probe, version="1"), host=HERE, port=0)
    async with listener.listen() as address, contextlib.AsyncExitStack() as stack:
        served = Served(int(address.rpartition(":")[2]), stack)
        lines = [await served.line() for _ in range(50)]
        for path in (b"readyz", b"metrics"):
            asked = 0
            request = b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n" % path
            assert await asyncio.gather(*(line.ask(request) for line in lines)) == [200] * 50
            assert asked < 25


async def test_it_stops_although_a_client_does_not_take_what_it_asked_for() -> None:
    async with serving() as served:
        line = await served.line(buffer_bytes=4_096)
        line.writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await (await served.line()).ask() == 200
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(HERE, served.port)


async def test_what_is_no_http_is_refused_and_its_connection_closed() -> None:
    async with serving() as served:
        for junk in (
            b"\x16\x03\x01\x02\x00\x01\n\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00",
            b"x" * 70_000,
            b"\r\n" * 40_000,
        ):
            line = await served.line()
            line.writer.write(junk)
            with contextlib.suppress(ConnectionError):
                # The beginning of HTTP/2 reads like a request for what is not there.
                assert (await line.reader.read(12)) in (b"HTTP/1.1 400", b"HTTP/1.1 404", b"")
            assert await line.is_closed()
        assert await (await served.line()).ask() == 200
