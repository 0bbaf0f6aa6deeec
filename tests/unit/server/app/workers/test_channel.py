"""The channel between a supervisor and a worker."""

import socket

from tinkwell.server.app.workers.channel import Channel


async def test_a_line_that_is_too_long_ends_the_channel() -> None:
    ours, theirs = socket.socketpair()
    supervisor, worker = await Channel.over(ours, max_bytes=100), await Channel.over(theirs)
    try:
        await worker.send({"id": 1, "answer": "short"})
        await worker.send({"id": 2, "answer": "long" * 100})
        assert await supervisor.receive() == {"id": 1, "answer": "short"}
        assert await supervisor.receive() is None
    finally:
        await worker.close()
        await supervisor.close()
