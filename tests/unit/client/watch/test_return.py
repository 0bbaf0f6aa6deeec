"""How soon a client notices that a server is back, and how much it says meanwhile."""

import asyncio
import logging

import pytest

import tinkwell.client
from support.waiting import eventually
from tinkwell.client import backoff, channel, testing
from tinkwell.core import errors

# gRPC draws its pause up to so much longer or shorter.
JITTER = 1.2


@pytest.mark.parametrize("tries", [1, 10, 1_000])
def test_who_waits_for_a_server_tries_within_two_seconds_however_long_that_lasts(tries: int) -> None:
    pause = backoff.Backoff(draw=lambda low, high: high)
    for _ in range(tries):
        longest = pause.next_seconds()
    # The channel may just have begun to pause when the server comes, and the watch just before the channel tries.
    assert longest + channel.LONGEST_RECONNECT_MS / 1_000 * JITTER < 2


def test_every_channel_keeps_to_the_longest_pause() -> None:
    assert dict(channel._OPTIONS)["grpc.max_reconnect_backoff_ms"] == channel.LONGEST_RECONNECT_MS


async def test_an_interruption_is_said_once_and_each_other_reason_too(caplog: pytest.LogCaptureFixture) -> None:
    async with testing.FakeServer() as server, tinkwell.client.connect(server.address) as client:
        tries = 0

        def count(*_: object) -> None:
            nonlocal tries
            tries += 1

        with caplog.at_level(logging.WARNING):
            async with client.events.watch(now=True, on_disconnect=count) as watch:
                server.fail_next(errors.Unavailable("away"), times=3)
                server.drop_connections()
                reading = asyncio.ensure_future(anext(watch))
                await eventually(lambda: tries == 4)
                await eventually(lambda: watch.is_live)
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
    said = [record.getMessage() for record in caplog.records if "interrupted" in record.getMessage()]
    assert [message.rpartition(": ")[2] for message in said].count("away") == 1
    assert len(said) == 2
