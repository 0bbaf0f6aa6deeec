"""A worker on its own: it serves as it is told, and not without the one who tells it."""

import asyncio
import socket
import sys
from pathlib import Path

import pytest

import tinkwell.client
from tinkwell.server.app.workers import supervisor
from tinkwell.server.app.workers.channel import Channel
from tinkwell.server.settings import Settings

DEADLINE_SECONDS = 30


@pytest.mark.parametrize("is_ready", [False, True], ids=["before its order", "while it serves"])
async def test_it_ends_when_its_supervisor_has_gone(server_url: str, tmp_path: Path, is_ready: bool) -> None:
    # Started as it never is, without the death signal, which a program with privileges of its own would not get.
    ours, theirs = socket.socketpair()
    channel = await Channel.over(ours)
    log = tmp_path / "log"
    with theirs, log.open("wb") as output:
        worker = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tinkwell.server.app.workers", stdin=theirs.fileno(), stdout=output, stderr=output
        )
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            if is_ready:
                settings = Settings.model_validate(
                    {"database_url": server_url, "throwaway_database": True, "port": 0, "workers": 2}
                )
                await channel.send({"worker": 1, "settings": supervisor._revealed(settings)})
                ready = await channel.receive()
                assert ready is not None
                async with tinkwell.client.connect(ready["ready"]) as client:
                    await client.wait_ready()
            await channel.close()
            assert await worker.wait() == 1
    finally:
        if worker.returncode is None:
            worker.kill()
            await worker.wait()
    written = log.read_text()
    assert ("the supervisor has gone, so this worker ends worker=1" in written) is is_ready
    assert "Traceback" not in written
