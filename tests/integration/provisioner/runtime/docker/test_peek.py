"""What is seen of a container that is looked at while it writes, on an engine that does what a test says."""

import asyncio
import queue
from collections.abc import AsyncIterator, Iterator

import pytest
from integration.provisioner import fake_engine
from integration.provisioner.fake_engine import FakeEngine, Request

from support.waiting import eventually
from tinkwell.client.workflow.model import LogStream
from tinkwell.provisioner.runtime import output, stream_line
from tinkwell.provisioner.runtime.docker import engine, peek, setting

OUT, ERR = LogStream.STDOUT, LogStream.STDERR


class Container:
    """Writes what it is told to."""

    def __init__(self, fake: FakeEngine) -> None:
        self._said: queue.Queue[bytes] = queue.Queue()
        fake.serve("/containers/c/attach", self._attach)
        self.url = fake.url

    def say(self, payload: bytes, stream: LogStream = OUT) -> None:
        self._said.put(output.frame(stream, payload))

    def end(self) -> None:
        self._said.put(b"")

    def _attach(self, request: Request) -> None:
        request.upgrade()
        while said := self._said.get(timeout=20):
            request.wfile.write(said)
            request.wfile.flush()


@pytest.fixture
def container() -> Iterator[Container]:
    with fake_engine.running() as fake:
        container = Container(fake)
        yield container
        container.end()


@pytest.fixture
async def peeked(container: Container, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[peek.Peek]:
    monkeypatch.setattr(peek, "PAUSE_SECONDS", 0.0)
    found = await engine.Engine.connect(streams=4, settings=setting.DockerSettings(host=container.url))
    attached = await found.attach("c", streams=("stdout", "stderr"), with_log=True)
    peeked = peek.Peek(attached, lambda: None)
    yield peeked
    peeked.close()
    found.close()


async def shows(peeked: peek.Peek, out: int, err: int, expected: tuple[LogStream, bytes]) -> None:
    async with asyncio.timeout(20):
        await eventually(lambda: peeked.progress({OUT: out, ERR: err}) == expected)


async def test_a_state_is_shown_that_follows_on_another_one(container: Container, peeked: peek.Peek) -> None:
    container.say(b"begin\nthe rest of something\r1 %")
    await shows(peeked, 1, 0, (OUT, b"1 %"))
    container.say(b"\r")
    container.say(b"warning\nsomething\r", ERR)
    container.say(b"2 %\r")
    await shows(peeked, 1, 1, (OUT, b"2 %"))
    assert peeked.progress({OUT: 0, ERR: 1}) is None
    container.say(b"end\nlast\r")
    container.say(b"50 %", ERR)
    await shows(peeked, 2, 1, (ERR, b"50 %"))


@pytest.mark.parametrize("rest", [b"rest of a secret\r", b"rest of a secret\r\r", b"rest of a secret"])
async def test_what_may_have_begun_before_anybody_looked_is_not_shown(
    container: Container, peeked: peek.Peek, rest: bytes
) -> None:
    container.say(rest)
    container.say(b"1 %\r2 %\r", ERR)
    await shows(peeked, 0, 0, (ERR, b"2 %"))


async def test_the_rest_of_what_is_too_long_is_not_shown(container: Container, peeked: peek.Peek) -> None:
    container.say(b"\r" + b"x" * (stream_line.MAX_LINE_BYTES + 5))
    container.say(b"1 %\r2 %\r", ERR)
    await shows(peeked, 0, 0, (ERR, b"2 %"))
