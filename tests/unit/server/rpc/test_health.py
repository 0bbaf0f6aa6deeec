"""Health checks: everybody hears of each change at once, and nobody keeps it from others."""

import asyncio
from typing import Any

import pytest
from grpc_health.v1 import health_pb2

from tinkwell.core import errors
from tinkwell.server.rpc.health import Health

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
UNKNOWN = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
DEADLINE_SECONDS = 10


class Watcher:
    """A client, as its call's context; one that `reads` nothing takes its first response never."""

    def __init__(self, *, reads: bool = True, host: str = "192.0.2.1") -> None:
        self.told: asyncio.Queue[int] = asyncio.Queue()
        self.is_asked = asyncio.Event()
        self._reads = reads
        self._host = host

    def peer(self) -> str:
        return f"ipv4:{self._host}:50000"

    async def write(self, response: Any) -> None:
        self.is_asked.set()
        if not self._reads:
            await asyncio.Event().wait()
        self.told.put_nowait(response.status)


def watch(health: Health, watcher: Any, name: str = "") -> "asyncio.Task[None]":
    return asyncio.create_task(health.Watch(health_pb2.HealthCheckRequest(service=name), watcher))


async def end(*watches: "asyncio.Task[None]") -> None:
    for each in watches:
        each.cancel()
    await asyncio.gather(*watches, return_exceptions=True)


async def test_a_watcher_that_reads_nothing_keeps_nobody_from_the_status() -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        health = Health()
        lazy, reader = Watcher(reads=False), Watcher()
        first = watch(health, lazy)
        await lazy.is_asked.wait()
        second = watch(health, reader)
        assert await reader.told.get() == NOT_SERVING
        health.set("", SERVING)
        assert await reader.told.get() == SERVING
        health.close()
        assert await reader.told.get() == NOT_SERVING
        with pytest.raises(errors.Unavailable):
            await second
        with pytest.raises(TimeoutError):
            await first


async def test_a_service_becomes_known_to_who_watches_it() -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        health, reader = Health(), Watcher()
        watching = watch(health, reader, "later")
        assert await reader.told.get() == UNKNOWN
        health.set("other", SERVING)
        health.set("later", SERVING)
        assert await reader.told.get() == SERVING
        await end(watching)


async def test_watches_are_bounded_in_all_and_from_one_host() -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        health = Health(max_watches=3, max_watches_each_host=2)
        readers = [Watcher(), Watcher(), Watcher(host="192.0.2.2")]
        open_ones = [watch(health, reader) for reader in readers]
        for reader in readers:
            await reader.told.get()
        with pytest.raises(errors.LimitReached, match="this server has its limit of 3 health watches"):
            await watch(health, Watcher(host="192.0.2.3"))
        await end(open_ones.pop())
        with pytest.raises(errors.LimitReached, match="this host has its limit of 2 health watches"):
            await watch(health, Watcher())
        other = Watcher(host="192.0.2.3")
        open_ones.append(watch(health, other))
        assert await other.told.get() == NOT_SERVING
        await end(*open_ones)


@pytest.mark.parametrize("method", ["Check", "Watch"])
async def test_a_name_that_no_service_has_is_not_kept(method: str) -> None:
    request = health_pb2.HealthCheckRequest(service="x" * 201)
    with pytest.raises(errors.InvalidField, match="service: no service has a name of more than 200 characters"):
        await getattr(Health(), method)(request, Watcher())


async def test_all_services_are_listed() -> None:
    context: Any = Watcher()
    health = Health()
    health.set("one", SERVING)
    listed = await health.List(None, context)
    assert {name: answer.status for name, answer in listed.statuses.items()} == {"": NOT_SERVING, "one": SERVING}


async def test_an_unknown_service_has_no_status() -> None:
    context: Any = Watcher()
    with pytest.raises(errors.NotFound):
        await Health().Check(health_pb2.HealthCheckRequest(service="x"), context)
