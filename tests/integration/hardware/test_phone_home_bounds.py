"""What a phone call may cost: nobody's page makes one, and no caller has more than its share."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Mapping

import pytest
from integration.hardware.test_phone_home import FORM, KNOWN, MACHINE, UNKNOWN, Caller, calling

from support.waiting import eventually

# More than may wait for their turn at once.
SLOW = 250
HEAD = b"POST /phone-home HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


@pytest.fixture
async def caller(database_url: str) -> AsyncIterator[Caller]:
    async with calling(database_url) as opened:
        yield opened


async def begin(caller: Caller, source: str, head: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Send the head of a call from an address."""
    host, _, port = caller.server.http_address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port), local_addr=(source, 0))
    writer.write(HEAD + head + b"\r\n")
    return reader, writer


async def answer(reader: asyncio.StreamReader) -> tuple[int, Mapping[str, str]]:
    """Return the status and the headers of an answer."""
    async with asyncio.timeout(5):
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = dict(re.split(": *", line.lower(), maxsplit=1) for line in lines if line)
    return int(first.split()[1]), headers


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://pages.example"},
        {"Origin": "null"},
        {"origin": ""},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
    ],
)
async def test_what_a_browser_sends_is_refused_whatever_page_it_shows(
    caller: Caller, headers: Mapping[str, str]
) -> None:
    for kind in (FORM, "application/json"):
        status, told = await caller.call(b"", kind=kind, headers=headers)
        assert status == 403
        assert told["error"].startswith("a web browser sent this call")
    assert await caller.said() == []


@pytest.mark.parametrize(
    ("source", "head", "status"),
    [
        (UNKNOWN, b"Content-Length: 1000\r\n", 404),
        (UNKNOWN, b"Transfer-Encoding: chunked\r\n", 404),
        (KNOWN, b"Content-Length: 65537\r\n", 413),
        (KNOWN, b"Content-Length: 1000\r\nOrigin: null\r\n", 403),
    ],
)
async def test_what_can_be_refused_is_refused_before_the_body_has_come(
    caller: Caller, source: str, head: bytes, status: int
) -> None:
    reader, writer = await begin(caller, source, head)
    assert (await answer(reader))[0] == status
    writer.close()


async def test_a_body_that_is_not_wanted_is_not_asked_for(caller: Caller) -> None:
    for source, expected in ((UNKNOWN, 404), (KNOWN, 100)):
        reader, writer = await begin(caller, source, b"Content-Length: 2\r\nExpect: 100-continue\r\n")
        assert (await answer(reader))[0] == expected
        if expected == 100:
            writer.write(b"{}")
            assert (await answer(reader))[0] == 200
        writer.close()


async def test_slow_bodies_keep_no_other_machine_from_calling(database_url: str) -> None:
    async with calling(database_url, enrol_unknown=True) as caller, contextlib.AsyncExitStack() as stack:
        lines = []
        for number in range(SLOW):
            reader, writer = await begin(caller, f"127.0.2.{number % 200 + 1}", b"Content-Length: 1000\r\n")
            stack.callback(writer.close)
            lines.append(reader)
        await eventually(lambda: is_reading(caller))
        status, told = await caller.call()
        assert (status, told.get("id")) == (200, MACHINE)
        assert (await caller.call(source="127.0.3.1"))[0] == 200
        assert not any(line.at_eof() for line in lines)


async def is_reading(caller: Caller) -> bool:
    """Whether calls that came later than the slow ones are looked at."""
    return (await caller.call(b"", kind="text/plain"))[0] == 415


async def test_a_machine_may_call_only_so_often_and_is_told_when_it_may_again(caller: Caller) -> None:
    statuses = [(await caller.call())[0] for _ in range(20)]
    assert statuses == [200] * 20
    answers = [await caller.call() for _ in range(20)]
    refused = [told for status, told in answers if status == 429]
    # A slow machine may be let in once or twice more meanwhile.
    assert len(refused) > 10
    assert refused[0] == {"error": "this machine calls too often, or says too much; try again in 1 s"}
    reader, writer = await begin(caller, KNOWN, b"Content-Length: 0\r\n")
    status, headers = await answer(reader)
    writer.close()
    assert (status, headers.get("retry-after")) == (429, "1") or status == 200
    assert len(await caller.said()) == 40 - len(refused) + (status == 200)


async def test_a_machine_may_say_only_so_much(caller: Caller) -> None:
    body = {"log": "x" * 60_000}
    statuses = [(await caller.call(body))[0] for _ in range(12)]
    assert statuses[:4] == [200] * 4
    assert statuses.count(429) >= 6
    # What it has to say is small, so it may.
    assert (await caller.call())[0] == 200
    assert (await caller.call(body, source=UNKNOWN))[0] == 404


async def test_looks_at_an_address_that_is_nobodys_are_limited_too(caller: Caller) -> None:
    statuses = [(await caller.call(source=UNKNOWN))[0] for _ in range(60)]
    assert statuses[:40] == [404] * 40
    assert 429 in statuses[40:]
    assert (await caller.call())[0] == 200


async def test_the_rate_is_each_machine_s_behind_a_proxy_as_well(database_url: str) -> None:
    proxy = "127.0.0.3"
    async with calling(database_url, trusted_proxies=proxy, enrol_unknown=True) as caller:
        # More calls than one address may make.
        for number in range(45):
            by_proxy = {"X-Forwarded-For": f"198.51.100.{number}"}
            assert (await caller.call(source=proxy, headers=by_proxy))[0] == 200
        loud = {"X-Forwarded-For": "192.0.2.7"}
        assert 429 in [(await caller.call(source=proxy, headers=loud))[0] for _ in range(40)]
        assert (await caller.call(source=proxy, headers={"X-Forwarded-For": "198.51.100.1"}))[0] == 200
