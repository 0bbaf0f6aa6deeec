"""The HTTP side over real sockets."""

import asyncio
import json
import socket
import urllib.error
import urllib.request
from collections.abc import Mapping

import pytest

from tinkwell.core import errors
from tinkwell.server.app import http_application
from tinkwell.server.http import listener
from tinkwell.server.http.probe import Probe


class Checks:
    """What the readiness checks say at the moment."""

    def __init__(self) -> None:
        self.results: Mapping[str, bool | str] = {"database": True}

    async def __call__(self) -> Mapping[str, bool | str]:
        return self.results


async def alive() -> Mapping[str, bool | str]:
    return {}


async def metrics() -> bytes:
    return b"tinkwell_watchers 3.0\n"


def make(
    checks: Checks | None = None,
    *,
    liveness: Checks | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    tick_seconds: float = 0.1,
) -> listener.HttpListener:
    probe = Probe(liveness=liveness or alive, readiness=checks or Checks(), metrics=metrics)
    return listener.HttpListener(
        http_application.create_application(probe, version="1.2.3"), host=host, port=port, tick_seconds=tick_seconds
    )


async def get(address: str, path: str) -> tuple[int, str]:
    def request() -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://{address}{path}", timeout=10) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    return await asyncio.to_thread(request)


async def test_it_stops_as_soon_as_it_is_told_to() -> None:
    async with asyncio.timeout(30):
        async with make(tick_seconds=3600.0).listen() as address:
            assert (await get(address, "/livez"))[0] == 200
        with socket.create_server(("127.0.0.1", int(address.rpartition(":")[2]))):
            pass


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_it_answers_on_a_port_that_it_chose_itself(host: str) -> None:
    async with make(host=host).listen() as address:
        assert not address.endswith(":0")
        assert await get(address, "/livez") == (200, "ok\n")
        assert json.loads((await get(address, "/"))[1]) == {"name": "tinkwell", "version": "1.2.3"}


async def test_it_is_ready_only_while_every_check_is_true() -> None:
    checks = Checks()
    async with make(checks).listen() as address:
        assert (await get(address, "/readyz"))[0] == 200
        checks.results = {"database": True, "schema": "it is at 0001"}
        status, body = await get(address, "/readyz")
    assert status == 503
    assert json.loads(body) == {"ready": False, "checks": {"database": True, "schema": "it is at 0001"}}


async def test_it_is_alive_until_something_does_not_answer() -> None:
    checks = Checks()
    async with make(liveness=checks).listen() as address:
        assert await get(address, "/livez") == (200, "ok\n")
        checks.results = {"worker 0": True, "worker 1": "it does not answer"}
        status, body = await get(address, "/livez")
    assert status == 503
    assert json.loads(body) == {"live": False, "checks": {"worker 1": "it does not answer"}}


async def test_metrics_are_written_for_prometheus() -> None:
    async with make().listen() as address:
        assert "tinkwell_watchers 3.0" in (await get(address, "/metrics"))[1]


async def test_it_stops_although_a_client_keeps_its_connection_open() -> None:
    async with make().listen() as address:
        host, _, port = address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    assert await reader.read() != b""
    writer.close()
    await writer.wait_closed()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(host, int(port))


async def test_it_stops_when_its_owner_is_cancelled() -> None:
    listening = asyncio.Event()

    async def own() -> None:
        async with make().listen():
            listening.set()
            await asyncio.get_running_loop().create_future()

    async with asyncio.TaskGroup() as tasks:
        owner = tasks.create_task(own())
        await listening.wait()
        owner.cancel()
    assert owner.cancelled()


async def test_a_taken_port_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(errors.Unavailable, match=f"cannot listen on 127.0.0.1:{port}: Address already in use"):
            async with make(port=port).listen():
                pass
