"""Hostile HTTP requests, as bytes: the same seed and number make the same one."""

import asyncio
import contextlib
import json
import random
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_PATHS = ("/", "/livez", "/readyz", "/metrics", "/phone-home", "/phone-home", "/phone-home", "/cert", "/docs", "/%00")
_ODD_PATHS = (
    "/" + "x" * 70_000,
    "/../../etc/passwd",
    "*",
    "http://elsewhere/",
    "/\xff",
    "/?" + "a=b&" * 20_000,
    "//",
    "/%zz",
)
_METHODS = (
    "GET",
    "POST",
    "POST",
    "POST",
    "HEAD",
    "PUT",
    "DELETE",
    "OPTIONS",
    "TRACE",
    "CONNECT",
    "PRI",
    "get",
    "\x00",
    "X" * 300,
)
_KINDS = (
    *("application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", ""),
    *("application/json; charset=utf-16", "application/grpc", "x" * 5_000),
)
_BODIES = (
    *(
        b"",
        b"{}",
        b'{"id": 1}',
        b'{"mac": "52:54:00:10:00:0a"}',
        b"[" * 50_000,
        b'{"a":' * 5_000,
        b"\xff\xfe",
        b"\x00" * 1_000,
    ),
    *(
        b'{"id": "\\ud800"}',
        b'{"a": NaN}',
        b"a=b&" * 20_000,
        b"id=%ff&mac=%00",
        b"x" * (2 << 20),
        b"1" * 10_000,
        b'"' * 9,
    ),
    json.dumps({f"k{index}": index for index in range(5_000)}).encode(),
)
_HEADERS = (
    *(
        b"X: " + b"y" * 70_000,
        b"X" * 70_000 + b": y",
        b": y",
        b"X y",
        b"X\x00: y",
        b"X: \x00",
        b" folded",
        b"\xff: \xff",
    ),
    *(b"Content-Length: -1", b"Content-Length: 99999999999999999999", b"Content-Length: 3", b"Content-Length: 1, 2"),
    *(
        b"Transfer-Encoding: chunked",
        b"Transfer-Encoding: gzip, chunked",
        b"Transfer-Encoding: x",
        b"Expect: 100-continue",
    ),
    *(
        b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__",
        b"Upgrade: websocket",
    ),
    *(
        b"X-Forwarded-For: 10.0.0.1",
        b"X-Forwarded-For: " + b"1," * 5_000,
        b"Forwarded: for=x",
        b"Origin: http://elsewhere",
    ),
    *(b"Sec-Fetch-Site: cross-site", b"Host: a\r\nHost: b", b"Range: bytes=0-99999999999", b"Content-Encoding: gzip"),
)
# From another address than those who are to be answered meanwhile, as strangers call from elsewhere.
_STRANGER = "127.0.0.66"
_ANSWER_SECONDS = 5.0
# Those that are never finished are ended soon.
_UNFINISHED_SECONDS = 0.2
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] (\d{3})")


@dataclass(frozen=True, slots=True)
class Request:
    """A request by what is sent; without an end, nobody can answer it."""

    number: int
    pieces: Sequence[bytes]
    is_finished: bool

    def __str__(self) -> str:
        size = sum(map(len, self.pieces))
        return f"request {self.number}: {size:,} bytes, {self.pieces[0][:80]!r}"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a request ended, by the monotonic clock; without a status where the connection was just closed."""

    request: str
    begun: float
    seconds: float
    status: int | None


def draw(seed: int, number: int) -> Request:
    """Make the request of a number."""
    chance = random.Random(f"{seed}/http/{number}")
    if chance.random() < 0.05:
        return Request(number, [chance.randbytes(chance.randrange(1, 3_000))], is_finished=False)
    path = chance.choice(_PATHS if chance.random() < 0.85 else _ODD_PATHS)
    version = chance.choice(("HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/9.9", "", "HTTP/1.1 x"))
    lines = [f"{chance.choice(_METHODS)} {path} {version}".encode("latin-1")]
    lines += [b"Host: localhost"] if chance.random() < 0.9 else []
    lines += [b"Content-Type: " + chance.choice(_KINDS).encode()] if chance.random() < 0.8 else []
    body = chance.choice(_BODIES)
    is_sized = chance.random() < 0.85
    lines += [b"Content-Length: %d" % len(body)] if is_sized else []
    lines += [chance.choice(_HEADERS) for _ in range(chance.choice((0, 0, 0, 1, 2, 200)))]
    head = b"\r\n".join(lines) + b"\r\n\r\n"
    if chance.random() < 0.2:
        whole = head + body
        return Request(number, [whole[: chance.randrange(len(whole)) + 1]], is_finished=False)
    return Request(number, [head, body], is_finished=is_sized)


async def send(address: str, request: Request) -> Ended:
    """Send a request over a connection of its own and read the status."""
    begun = time.monotonic()
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port), local_addr=(_STRANGER, 0))
    try:
        status = await _exchange(reader, writer, request)
    finally:
        writer.transport.abort()
    return Ended(str(request), begun, time.monotonic() - begun, status)


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: Request) -> int | None:
    # Whoever is refused may find the connection closed before all is sent, with the answer or without.
    with contextlib.suppress(ConnectionError, TimeoutError):
        async with asyncio.timeout(_ANSWER_SECONDS if request.is_finished else _UNFINISHED_SECONDS):
            with contextlib.suppress(ConnectionError):
                for piece in request.pieces:
                    writer.write(piece)
                    await writer.drain()
            found = _STATUS_LINE.match(await reader.readline())
            return int(found[1]) if found else None
    return None


async def all_of(address: str, requests: Iterable[Request], *, jobs: int) -> list[Ended]:
    """Send the requests, so many at once."""
    waiting, ended = iter(requests), list[Ended]()

    async def work() -> None:
        for request in waiting:
            ended.append(await send(address, request))

    async with asyncio.TaskGroup() as tasks:
        for _ in range(jobs):
            tasks.create_task(work())
    return ended
