"""What is left of a connection to the broker that was never made: nothing, for each try would leave a socket open."""

import asyncio
import gc

import pytest

from tinkwell.server.log.relay.broker import BrokerLost
from tinkwell.server.log.relay.connection import Connector
from tinkwell.server.log.relay.option import Options

pytest.importorskip("nats")


def connector(port: int) -> Connector:
    url = f"nats://127.0.0.1:{port}"
    return Connector(Options((url,), stream="tinkwell", replicas=1, age_seconds=60, stream_bytes=1_000_000))


@pytest.mark.parametrize("greeting", [b"", b"INFO {}\r\n", b"nonsense\r\n"], ids=["silent", "hangs up", "nonsense"])
async def test_a_try_that_fails_leaves_nothing_open(greeting: bytes) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(greeting)
        if not greeting:
            await reader.read()
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        with pytest.raises(BrokerLost):
            await connector(server.sockets[0].getsockname()[1]).connect(asyncio.Event())
    gc.collect()  # what is left open is told of then, which fails a test


async def test_one_that_is_cut_off_leaves_nothing_open() -> None:
    is_asked = asyncio.Event()

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_asked.set()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(hear, "127.0.0.1", 0) as server:
        trying = asyncio.create_task(connector(server.sockets[0].getsockname()[1]).connect(asyncio.Event()))
        await asyncio.wait_for(is_asked.wait(), 10)
        trying.cancel()
        with pytest.raises(asyncio.CancelledError):
            await trying
    gc.collect()
