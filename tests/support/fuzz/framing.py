"""Connections that break the rules of HTTP/2, or keep them to the letter alone: RFC 9113."""

import asyncio
import contextlib
import random
import struct
from collections.abc import Callable, Iterator, Sequence

from support import http2
from support.fuzz.method import Method

_HEALTH_WATCH = "/grpc.health.v1.Health/Watch"
_READ_SECONDS = 0.3
# The connection may be closed by then, or stand still.
_SEND_SECONDS = 1.5
_PIECE_BYTES = 1 << 20

Attack = Callable[[random.Random, Sequence[Method]], Iterator[bytes]]


def _ids() -> range:
    return range(1, 1 << 31, 2)


def _reset(chance: random.Random, methods: Sequence[Method]) -> Iterator[bytes]:
    """Begin calls that nobody waits for."""
    for stream in _ids()[:3_000]:
        yield http2.headers(stream, chance.choice(methods).path)
        yield http2.message(stream, b"") if chance.random() < 0.3 else b""
        yield http2.reset(stream)


def _never_read(chance: random.Random, methods: Sequence[Method]) -> Iterator[bytes]:
    """Ask for streams of which nothing can be sent, as the client gives no window."""
    yield http2.settings([(http2.INITIAL_WINDOW_SIZE, 0)])
    for stream in _ids()[:1_200]:
        yield http2.headers(stream, chance.choice((_HEALTH_WATCH, chance.choice(methods).path)))
        yield http2.message(stream, b"")


def _open_only(chance: random.Random, methods: Sequence[Method]) -> Iterator[bytes]:
    for stream in _ids()[:1_500]:
        yield http2.headers(stream, chance.choice(methods).path)


def _ping(chance: random.Random, _: Sequence[Method]) -> Iterator[bytes]:
    yield http2.frame(http2.PING, content=b"x" * 8) * 5_000


def _settings(chance: random.Random, _: Sequence[Method]) -> Iterator[bytes]:
    for _number in range(3_000):
        yield http2.settings([(chance.randrange(10), chance.choice((0, 1, 2**31, 2**32 - 1)))])


def _endless_headers(chance: random.Random, methods: Sequence[Method]) -> Iterator[bytes]:
    yield http2.headers(1, chance.choice(methods).path, flags=0)
    field = b"\x00\x03x-a\x64" + b"y" * 100
    for _number in range(1_000):
        yield http2.frame(http2.CONTINUATION, stream=1, content=field * 100)


def _many_headers(chance: random.Random, methods: Sequence[Method]) -> Iterator[bytes]:
    yield http2.headers(1, chance.choice(methods).path, *((f"x-{number}", "y" * 100) for number in range(140)))
    yield http2.message(1, b"")


def _odd_headers(chance: random.Random, methods: Sequence[Method]) -> Iterator[bytes]:
    odd = (
        *((":path", "x"), ("Upper", "a"), ("a b", "c"), ("x", "\x00\r\n"), ("te", "gzip"), ("connection", "close")),
        *(("grpc-timeout", "1n"), ("grpc-timeout", "-1S"), ("grpc-timeout", "99999999H"), ("grpc-encoding", "x")),
        *(("grpc-encoding", "gzip"), ("content-type", "text/html"), ("x-bin", "***"), ("authorization", "\u00ff")),
    )
    for stream in _ids()[:50]:
        path = chance.choice((chance.choice(methods).path, "", "/", "//", "/a", "/\x00/b", "x" * 120))
        yield http2.headers(stream, path, *chance.sample(odd, 2))
        yield http2.message(stream, chance.randbytes(20))


def _broken_messages(chance: random.Random, methods: Sequence[Method]) -> Iterator[bytes]:
    for stream in _ids()[:50]:
        yield http2.headers(stream, chance.choice(methods).path)
        content = struct.pack(">BI", chance.choice((0, 1, 1, 255)), chance.choice((0, 5, 6, 1 << 22, (1 << 32) - 1)))
        yield http2.frame(
            http2.DATA, flags=chance.choice((0, http2.END_STREAM)), stream=stream, content=content + b"hello"
        )


def _trickle(chance: random.Random, methods: Sequence[Method]) -> Iterator[bytes]:
    yield http2.headers(1, chance.choice(methods).path)
    yield http2.frame(http2.DATA, stream=1) * 20_000
    yield b"".join(http2.frame(http2.DATA, stream=1, content=b"\x00") for _number in range(5_000))


def _wrong_place(chance: random.Random, methods: Sequence[Method]) -> Iterator[bytes]:
    path = chance.choice(methods).path
    yield chance.choice(
        (
            http2.headers(0, path),
            http2.headers(2, path),
            http2.headers(5, path) + http2.headers(3, path),
            http2.frame(http2.DATA, stream=7, content=b"x"),
            http2.frame(http2.CONTINUATION, stream=1, content=b"x"),
            http2.frame(http2.WINDOW_UPDATE, content=(2**31 - 1).to_bytes(4)) * 2,
            http2.frame(http2.RST_STREAM, stream=9, content=b"x"),
            http2.frame(http2.GOAWAY, content=b"\xff" * 8) * 1_000,
            http2.frame(http2.HEADERS, flags=http2.END_HEADERS, stream=1, content=b"\xff" * 1_000),
            http2.frame(http2.HEADERS, flags=http2.END_HEADERS, stream=1, content=b"\x3f\xe1\xff\xff\xff\x0f"),
            b"\xff\xff\xff" + b"\x00" * 100,
        )
    )


def _noise(chance: random.Random, _: Sequence[Method]) -> Iterator[bytes]:
    for _number in range(20):
        kind, flags, stream = chance.randrange(12), chance.randrange(256), chance.randrange(5)
        yield http2.frame(kind, flags=flags, stream=stream, content=chance.randbytes(chance.randrange(64)))


ATTACKS: Sequence[Attack] = (
    *(_reset, _never_read, _open_only, _ping, _settings, _endless_headers, _many_headers, _odd_headers),
    *(_broken_messages, _trickle, _wrong_place, _noise),
)


async def attack(address: str, seed: int, number: int, methods: Sequence[Method]) -> str:
    """Make the connection of a number, and return what it was about."""
    chance = random.Random(f"{seed}/http2/{number}")
    chosen = ATTACKS[number % len(ATTACKS)]
    # The server may close a connection at any time, and read no more of it.
    with contextlib.suppress(ConnectionError, TimeoutError, asyncio.IncompleteReadError):
        async with http2.connected(address) as connection:
            async with asyncio.timeout(_SEND_SECONDS):
                for piece in _pieces(chosen(chance, methods)):
                    await connection.send(piece)
            async with asyncio.timeout(_READ_SECONDS):
                while True:
                    await connection.receive()
    return chosen.__name__.strip("_")


def _pieces(frames: Iterator[bytes]) -> Iterator[bytes]:
    piece = bytearray()
    for frame in frames:
        piece += frame
        if len(piece) > _PIECE_BYTES:
            yield bytes(piece)
            piece.clear()
    yield bytes(piece)
