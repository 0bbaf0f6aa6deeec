"""One call: retries, time limits, what goes along, and its end with the client."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest
from grpc import aio

import tinkwell.client
from support import waiting
from tinkwell.client import Client, Hardware, call, errors, testing
from tinkwell.core import errors as core

DOWN = core.Unavailable("restarting")
MACHINE: dict[str, Any] = {"id": str(uuid.uuid4())}

REPEATABLE: dict[str, Callable[[Client], Awaitable[object]]] = {
    "ByID": lambda client: client.hardware.by_id(MACHINE["id"]),
    "ByMAC": lambda client: client.hardware.by_mac("52:54:00:00:00:01"),
    "Push": lambda client: client.hardware.push(MACHINE),
    "GetTemplate": lambda client: client.templates.get(name="ubuntu"),
    "CreateTemplate": lambda client: client.templates.create("name: x"),
    "CreateWorkflow": lambda client: client.workflows.create("ubuntu", {}),
    "CancelWorkflow": lambda client: client.workflows.cancel("w1"),
    "ReportActionStatus": lambda client: client.workflows.report(
        "w1", action_id="a1", worker_id="m1", state="RUNNING", attempt=1
    ),
    "GetPosition": lambda client: client.events.position("mailer"),
}
NOT_REPEATABLE: dict[str, Callable[[Client], Awaitable[object]]] = {
    "Push": lambda client: client.hardware.push(MACHINE, expected_version=1),
    "Delete": lambda client: client.hardware.delete(MACHINE["id"]),
    "PhoneHome": lambda client: client.hardware.phone_home(id=MACHINE["id"]),
    "UpdateTemplate": lambda client: client.templates.update("t1", name="x", expected_version=1),
    "DeleteTemplate": lambda client: client.templates.delete(id="t1"),
    "DeleteWorkflow": lambda client: client.workflows.delete("w1"),
    "ReportActionStatus": lambda client: client.workflows.report("w1", action_id="a1", worker_id="m1", state="RUNNING"),
    "UpdateWorkflowData": lambda client: client.workflows.update_data("w1", b"{}"),
    "Publish": lambda client: client.events.publish("rack.door_opened"),
}


@pytest.mark.parametrize("method", REPEATABLE)
async def test_a_call_that_may_happen_twice_is_tried_again(
    server: testing.FakeServer, client: Client, method: str
) -> None:
    server.fail_next(DOWN, method=method)
    server.fail_next(core.NotFound("workflow", "w1"), method=method)
    with pytest.raises(errors.NotFound):
        await REPEATABLE[method](client)
    assert [each.method for each in server.calls] == [method, method]


@pytest.mark.parametrize("method", NOT_REPEATABLE)
async def test_a_call_that_may_not_happen_twice_is_tried_once(
    server: testing.FakeServer, client: Client, method: str
) -> None:
    server.fail_next(DOWN, method=method)
    with pytest.raises(errors.Unavailable):
        await NOT_REPEATABLE[method](client)
    assert [each.method for each in server.calls] == [method]


async def test_a_repeated_creation_carries_the_same_id(server: testing.FakeServer, client: Client) -> None:
    server.fail_next(DOWN, method="CreateTemplate", times=2)
    with pytest.raises(errors.InvalidField):
        await client.templates.create("nothing")
    assert len({request.id for request in server.requests("CreateTemplate")}) == 1
    assert len(server.requests("CreateTemplate")) == 3


async def test_only_an_unavailable_server_is_worth_another_try(server: testing.FakeServer, client: Client) -> None:
    server.fail_next(core.LostRace("again"))
    with pytest.raises(errors.LostRace):
        await client.hardware.by_id("m1")
    assert len(server.calls) == 1


async def test_tries_are_few_and_their_pauses_grow(server: testing.FakeServer) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    server.fail_next(DOWN, times=100)
    async with aio.insecure_channel(server.address) as channel:
        caller = call.Caller(channel, server.address, sleep=sleep)
        with pytest.raises(errors.Unavailable):
            await tinkwell.client.HardwareClient(caller).by_id("m1")
    assert len(server.calls) == call.TRIES == len(pauses) + 1
    assert all(pause <= 0.1 * 2**tries for tries, pause in enumerate(pauses))


async def test_no_server_is_an_error_that_names_the_address() -> None:
    async with tinkwell.client.connect("localhost:1", timeout_seconds=5) as client:
        with pytest.raises(errors.Unavailable, match="localhost:1"):
            await client.hardware.by_id("m1")


class Mute(grpc.GenericRpcHandler):
    """Takes every call and never answers."""

    def service(self, handler_call_details: Any) -> Any:
        async def one(request: bytes, context: Any) -> bytes:
            await asyncio.Event().wait()
            return b""

        async def many(request: bytes, context: Any) -> Any:
            await asyncio.Event().wait()
            yield b""

        streams = ("All", "Watch", "WatchLogs")
        if handler_call_details.method.endswith(streams):
            return grpc.unary_stream_rpc_method_handler(many)
        return grpc.unary_unary_rpc_method_handler(one)


async def test_a_server_that_does_not_answer_runs_into_the_time_limit() -> None:
    server = aio.server(handlers=[Mute()])
    port = server.add_insecure_port("localhost:0")
    await server.start()
    try:
        async with tinkwell.client.connect(f"localhost:{port}", timeout_seconds=0.1) as client:
            with pytest.raises(errors.DeadlineExceeded, match=f"localhost:{port}"):
                await client.hardware.by_id("m1")
            with pytest.raises(errors.DeadlineExceeded, match=f"localhost:{port}"):
                await anext(aiter(client.hardware.all()))
            with pytest.raises(errors.Unavailable, match="did not answer in time"):
                await client.wait_ready(0.2)
    finally:
        await server.stop(None)


async def test_a_method_that_the_server_does_not_know_is_unimplemented() -> None:
    server = aio.server()
    port = server.add_insecure_port("localhost:0")
    await server.start()
    try:
        async with tinkwell.client.connect(f"localhost:{port}") as client:
            with pytest.raises(errors.Unimplemented):
                await client.hardware.by_id("m1")
    finally:
        await server.stop(None)


@pytest.mark.parametrize("token", ["secret", "a.b.c=="])
async def test_the_token_goes_along_with_every_call(token: str) -> None:
    async with testing.FakeServer(token=token) as server:
        async with tinkwell.client.connect(server.address) as stranger:
            with pytest.raises(errors.Unauthenticated):
                await stranger.hardware.by_id("m1")
            with pytest.raises(errors.Unauthenticated):
                await anext(stranger.events.watch())
        async with tinkwell.client.connect(server.address, token=token) as client:
            await client.wait_ready(5)
            assert [machine async for machine in client.hardware.all()] == []
            async with client.events.watch() as events:
                assert events.is_live


async def test_the_actor_goes_along_with_every_call(server: testing.FakeServer) -> None:
    async with tinkwell.client.connect(server.address, actor="ci") as client:
        await client.hardware.push(MACHINE)
    assert [each.metadata["x-tinkwell-actor"] for each in server.calls] == ["ci"]


@pytest.mark.parametrize("value", ["", "ü", "a\nb", "a\x7f"])
@pytest.mark.parametrize("option", ["token", "actor"])
async def test_a_token_or_actor_that_cannot_be_sent_is_refused_at_once(option: str, value: str) -> None:
    with pytest.raises(errors.InvalidField, match=option):
        tinkwell.client.connect("localhost:1", **{option: value})  # type: ignore[arg-type]


async def test_a_closed_client_says_so(server: testing.FakeServer) -> None:
    client = tinkwell.client.connect(server.address)
    await client.close()
    with pytest.raises(errors.Closed):
        await client.hardware.by_id("m1")
    with pytest.raises(errors.Closed):
        await anext(aiter(client.hardware.all()))
    with pytest.raises(errors.Closed):
        await anext(client.events.watch())


async def test_closing_the_client_ends_what_waits(server: testing.FakeServer) -> None:
    client = tinkwell.client.connect(server.address)
    events = client.events.watch()
    watching = asyncio.create_task(_next(events))
    await waiting.eventually(lambda: events.is_live)
    await client.close()
    with pytest.raises(errors.Closed):
        await watching


async def test_closing_the_client_ends_a_call_that_waits() -> None:
    server = aio.server(handlers=[Mute()])
    port = server.add_insecure_port("localhost:0")
    await server.start()
    try:
        client = tinkwell.client.connect(f"localhost:{port}")
        calling = asyncio.create_task(client.hardware.by_id("m1"))
        await asyncio.sleep(0)
        await client.close()
        with pytest.raises(errors.Closed):
            await calling
    finally:
        await server.stop(None)


async def _next(events: tinkwell.client.Watch) -> None:
    await anext(events)


async def test_a_cancelled_call_is_cancelled_and_nothing_else(server: testing.FakeServer, client: Client) -> None:
    async with client.events.watch() as events:
        watching = asyncio.create_task(_next(events))
        await asyncio.sleep(0)
        watching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await watching


async def test_leaving_a_list_early_ends_its_call(server: testing.FakeServer, client: Client) -> None:
    for _ in range(3):
        server.put(Hardware(str(uuid.uuid4())))
    machines = aiter(client.hardware.all())
    await anext(machines)
    await machines.aclose()  # type: ignore[attr-defined]
    assert [machine async for machine in machines] == []


async def test_waiting_for_a_server_to_be_ready(server: testing.FakeServer, client: Client) -> None:
    server.is_serving = False
    with pytest.raises(errors.Unavailable, match=f"{server.address} is not ready"):
        await client.wait_ready(0.1)
    ready = asyncio.create_task(client.wait_ready(10))
    await waiting.eventually(lambda: len(server.calls) > 3)
    server.is_serving = True
    await ready


async def test_waiting_for_a_server_that_starts_late(server: testing.FakeServer, client: Client) -> None:
    await server.stop()
    ready = asyncio.create_task(client.wait_ready(10))
    await asyncio.sleep(0)
    await server.start()
    await ready


async def test_waiting_for_no_server_ends_in_time() -> None:
    async with tinkwell.client.connect("localhost:1") as client:
        with pytest.raises(errors.Unavailable, match="localhost:1"):
            await client.wait_ready(0.2)


def test_a_client_needs_a_running_event_loop() -> None:
    with pytest.raises(RuntimeError, match="no running event loop"):
        tinkwell.client.connect("localhost:1")
