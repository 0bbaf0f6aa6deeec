"""HTTP/2 by the frame: what a client of gRPC's would never send, or never leave undone."""

import asyncio
import contextlib
import select
import socket
import struct
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1
MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE = 3, 4
NO_ERROR, REFUSED_STREAM, CANCEL = 0, 7, 8

_HEAD = struct.Struct(">BHBBI")
_SETTING = struct.Struct(">HI")
_OPEN_SECONDS = 10
_POUR_SECONDS = 30
_PIECE_BYTES = 65_536
# What a ping is known by.
_MARK = b"the last"


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame as it was received."""

    kind: int
    flags: int
    stream: int
    content: bytes

    @property
    def code(self) -> int:
        """The error code of a RST_STREAM."""
        return int.from_bytes(self.content[:4])

    @property
    def settings(self) -> dict[int, int]:
        """What a SETTINGS frame sets."""
        return dict(_SETTING.iter_unpack(self.content))


def frame(kind: int, *, flags: int = 0, stream: int = 0, content: bytes = b"") -> bytes:
    """Encode a frame."""
    length = len(content)
    return _HEAD.pack(length >> 16, length & 0xFFFF, kind, flags, stream) + content


def headers(stream: int, path: str, *more: tuple[str, str], flags: int = END_HEADERS) -> bytes:
    """Encode the beginning of a gRPC call. Each header is written out, none is remembered: RFC 7541, 6.2.2."""
    given = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "localhost")]
    given += [("te", "trailers"), ("content-type", "application/grpc"), *more]
    return frame(HEADERS, flags=flags, stream=stream, content=b"".join(_literal(*each) for each in given))


def message(stream: int, content: bytes, *, flags: int = END_STREAM) -> bytes:
    """Encode a gRPC message, with which by default the client has said all."""
    return frame(DATA, flags=flags, stream=stream, content=struct.pack(">BI", 0, len(content)) + content)


def reset(stream: int) -> bytes:
    """Encode that nobody waits for an answer any more."""
    return frame(RST_STREAM, stream=stream, content=CANCEL.to_bytes(4))


def settings(given: Iterable[tuple[int, int]] = ()) -> bytes:
    """Encode settings of the client's."""
    return frame(SETTINGS, content=b"".join(_SETTING.pack(*each) for each in given))


def _literal(name: str, content: str) -> bytes:
    return b"\x00" + _text(name) + _text(content)


def _text(text: str) -> bytes:
    encoded = text.encode()
    assert len(encoded) < 127, "longer ones have another form"
    return bytes([len(encoded)]) + encoded


class Connection:
    """An open connection; `settings` are the server's."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.settings: dict[int, int] = {}

    async def send(self, *frames: bytes) -> None:
        """Send frames, once there is room for them."""
        self._writer.write(b"".join(frames))
        await self._writer.drain()

    async def receive(self) -> Frame:
        """Return the next frame; raises `asyncio.IncompleteReadError` at the end."""
        high, low, kind, flags, stream = _HEAD.unpack(await self._reader.readexactly(_HEAD.size))
        return Frame(kind, flags, stream & 0x7FFFFFFF, await self._reader.readexactly(high << 16 | low))

    async def until(self, kind: int) -> Frame:
        """Return the next frame of a kind, and pass over others."""
        while True:
            found = await self.receive()
            if found.kind == kind:
                return found

    async def greet(self, given: Iterable[tuple[int, int]]) -> None:
        """Exchange settings."""
        await self.send(PREFACE, settings(given))
        self.settings = (await self.until(SETTINGS)).settings
        await self.send(frame(SETTINGS, flags=ACK))


def pour(address: str, frames: bytes) -> None:
    """Send frames over a connection of their own, as fast as they are taken, and pass over all that comes back.

    Blocks. Returns once the server has read them all, as a ping behind them tells, or has closed the connection.
    """
    host, _, port = address.rpartition(":")
    left = memoryview(PREFACE + settings() + frame(SETTINGS, flags=ACK) + frames + frame(PING, content=_MARK))
    received = b""
    with (
        socket.create_connection((host, int(port)), timeout=_OPEN_SECONDS) as plain,
        contextlib.suppress(ConnectionError),
    ):
        plain.setblocking(False)
        while _MARK not in received:
            readable, writable, _ = select.select([plain], [plain] if left else [], [], _POUR_SECONDS)
            if readable:
                piece = plain.recv(_PIECE_BYTES)
                if not piece:
                    return
                received = received[-len(_MARK) :] + piece
            if writable:
                left = left[plain.send(left[:_PIECE_BYTES]) :]
            if not readable and not writable:
                raise TimeoutError(f"the server took nothing for {_POUR_SECONDS} s")


@asynccontextmanager
async def connected(address: str, *given: tuple[int, int]) -> AsyncIterator[Connection]:
    """Connect to host:port without TLS, with settings by their number."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        connection = Connection(reader, writer)
        async with asyncio.timeout(_OPEN_SECONDS):
            await connection.greet(given)
        yield connection
    finally:
        writer.transport.abort()
