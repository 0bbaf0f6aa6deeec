"""How a server stops: whoever follows something is sent away at once, and what is under way may end."""

import asyncio
import json
import uuid
from typing import Any

import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

import tinkwell.client
from support import server as servers
from support.edge import refused
from tinkwell.api.v1 import event_service_pb2 as pb
from tinkwell.api.v1 import event_service_pb2_grpc, workflow_service_pb2, workflow_service_pb2_grpc
from tinkwell.server.template.service.operations import TemplateService

# So long that a test fails at its deadline where anything holds the server for the time of grace.
GRACE_SECONDS = 600
DEADLINE_SECONDS = 20
SERVING = health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVING)
NOT_SERVING = health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.NOT_SERVING)
STOPPING = (grpc.StatusCode.UNAVAILABLE, "UNAVAILABLE")


async def add_workflow(client: tinkwell.client.Client) -> str:
    machine = str(uuid.uuid4())
    await client.hardware.push({"id": machine})
    task = {"name": "t", "worker": "{{.d}}", "actions": [{"name": "a", "image": "b"}]}
    template = await client.templates.create(json.dumps({"version": "0.1", "name": "n", "tasks": [task]}))
    return (await client.workflows.create(template.id, {"d": machine})).id


def watch_health(channel: grpc.aio.Channel) -> Any:
    # The stubs have no methods for type checkers.
    stub: Any = health_pb2_grpc.HealthStub(channel)
    return stub.Watch(health_pb2.HealthCheckRequest())


def to_the_end(call: grpc.aio.UnaryStreamCall[Any, Any]) -> asyncio.Future[None]:
    """Read what is left of a call, such as bookmarks."""

    async def read() -> None:
        while await call.read() is not grpc.aio.EOF:
            pass

    return asyncio.ensure_future(read())


async def test_open_streams_do_not_hold_the_server_for_the_time_of_grace(database_url: str) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        async with servers.running(database_url, shutdown_grace_seconds=GRACE_SECONDS) as server:
            async with tinkwell.client.connect(server.address) as client:
                workflow = await add_workflow(client)
            channel = grpc.aio.insecure_channel(server.address)
            watch = event_service_pb2_grpc.EventServiceStub(channel).Watch(pb.WatchRequest(now=True))
            logs = workflow_service_pb2_grpc.WorkflowServiceStub(channel).WatchLogs(
                workflow_service_pb2.WatchLogsRequest(workflow_id=workflow, follow=True)
            )
            health = watch_health(channel)
            reading = asyncio.ensure_future(logs.read())
            created = await watch.read()
            assert isinstance(created, pb.WatchResponse)
            assert created.created
            assert await health.read() == health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVING)
        # A client learns that the server stops before it loses the connection.
        assert await health.read() == health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.NOT_SERVING)
        for end in (reading, to_the_end(watch), to_the_end(health)):
            told = await refused(end)
            assert (told.code, told.reason) == STOPPING
        await channel.close()


async def test_a_call_that_is_under_way_is_answered(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    has_begun, may_end = asyncio.Event(), asyncio.Event()
    delete = TemplateService.delete

    async def slow_delete(self: TemplateService, key: str, text: str, *, actor: str) -> int:
        has_begun.set()
        await may_end.wait()
        return await delete(self, key, text, actor=actor)  # type: ignore[arg-type]

    monkeypatch.setattr(TemplateService, "delete", slow_delete)

    async def let_it_end(health: Any) -> None:
        while await health.read() != NOT_SERVING:
            pass
        may_end.set()

    async with asyncio.timeout(DEADLINE_SECONDS), asyncio.TaskGroup() as tasks:
        async with servers.running(database_url, shutdown_grace_seconds=GRACE_SECONDS) as server:
            client = tinkwell.client.connect(server.address)
            channel = grpc.aio.insecure_channel(server.address)
            await add_workflow(client)
            deleting = tasks.create_task(client.templates.delete(name="n"))
            await has_begun.wait()
            health = watch_health(channel)
            assert await health.read() == SERVING
            tasks.create_task(let_it_end(health))
        assert (await deleting).revision > 0
        await client.close()
        await channel.close()


@pytest.mark.parametrize("is_on", [True, False])
async def test_reflection_may_be_turned_off(database_url: str, is_on: bool) -> None:
    async with (
        servers.running(database_url, reflection=is_on) as server,
        grpc.aio.insecure_channel(server.address) as channel,
        asyncio.timeout(DEADLINE_SECONDS),
    ):
        stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)  # type: ignore[arg-type] # the stubs know no aio
        call = stub.ServerReflectionInfo()
        if is_on:
            await call.write(reflection_pb2.ServerReflectionRequest(list_services=""))
            answer = await call.read()
            assert isinstance(answer, reflection_pb2.ServerReflectionResponse)
            names = {service.name for service in answer.list_services_response.service}
            assert names >= {"tinkwell.api.v1.EventService", "grpc.health.v1.Health"}
        else:
            # Nothing is asked: who still writes when the refusal comes is told of an internal error by gRPC's client.
            assert (await refused(call.read())).code is grpc.StatusCode.UNIMPLEMENTED
        health = watch_health(channel)
        assert await health.read() == SERVING
        health.cancel()
