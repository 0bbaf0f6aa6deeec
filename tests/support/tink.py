"""What Tinkerbell's command line and worker do, over a channel made as they make theirs."""

import asyncio
import re
import urllib.request
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio

from support.server import Server
from tinkwell.api.tink import (
    events_pb2_grpc,
    hardware_pb2,
    hardware_pb2_grpc,
    template_pb2,
    template_pb2_grpc,
    workflow_pb2,
    workflow_pb2_grpc,
)

_CALL_SECONDS = 30
# What the database or the program says of a mistake, and no caller should ever read.
_RAW = re.compile(
    r"sqlstate|asyncpg|sqlalchemy|postgres|syntax|violates|constraint|relation|no rows|traceback|exception|<class",
    re.IGNORECASE,
)

FIRST_WORKER = "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a11"
SECOND_WORKER = "0e4b6a0f-2d43-4d7c-9d0c-6a1f0c6f7b22"
FIRST_MAC = "52:54:00:10:00:03"
SECOND_MAC = "52:54:00:10:00:04"


class Tools:
    """What Tinkerbell's command line and worker call, by service."""

    def __init__(self, channel: grpc.aio.Channel, server: Server) -> None:
        self.channel = channel
        self.server = server
        self.hardware: hardware_pb2_grpc.HardwareServiceStub = hardware_pb2_grpc.HardwareServiceStub(channel)
        self.template: template_pb2_grpc.TemplateServiceStub = template_pb2_grpc.TemplateServiceStub(channel)
        self.workflow: workflow_pb2_grpc.WorkflowServiceStub = workflow_pb2_grpc.WorkflowServiceStub(channel)
        self.events: events_pb2_grpc.EventsServiceStub = events_pb2_grpc.EventsServiceStub(channel)

    async def push(self, hardware_id: str = FIRST_WORKER, mac: str = FIRST_MAC, **more: Any) -> None:
        """Push a machine with one interface, which has a MAC and no IP."""
        given = {"metadata": "{}", "network": {"interfaces": [{"dhcp": {"mac": mac}}]}, **more}
        machine = hardware_pb2.Hardware(id=hardware_id, **given)
        await self.hardware.Push(hardware_pb2.PushRequest(data=machine), timeout=30)

    async def create_workflow(self, *workers: str, name: str = "t", global_timeout: int = 0, extra: str = "") -> str:
        """Create a workflow with a task of one action for each of the workers, given by their MACs.

        `extra` is what each action says beside.
        """
        tasks = "".join(
            f"  - name: task{index}\n"
            f'    worker: "{{{{.device_{index}}}}}"\n'
            f"    actions:\n      - {{name: action{index}, image: hello-world, timeout: {60 * index}{extra}}}\n"
            for index, _ in enumerate(workers)
        )
        text = f'version: "0.1"\nname: {name}\nglobal_timeout: {global_timeout}\ntasks:\n{tasks}'
        template = await self.template.CreateTemplate(template_pb2.WorkflowTemplate(name=name, data=text), timeout=30)
        devices = ", ".join(f'"device_{index}": "{mac}"' for index, mac in enumerate(workers))
        created = await self.workflow.CreateWorkflow(
            workflow_pb2.CreateRequest(template=template.id, hardware=f"{{{devices}}}"), timeout=30
        )
        return created.id

    async def report(self, workflow_id: str, index: int, state: Any, worker: str = FIRST_WORKER) -> None:
        """Report as the worker does."""
        await self.workflow.ReportActionStatus(
            workflow_pb2.WorkflowActionStatus(
                workflow_id=workflow_id,
                task_name=f"task{index}",
                action_name=f"action{index}",
                action_status=state,
                seconds=0,
                message="Started execution" if state == workflow_pb2.STATE_RUNNING else "",
                worker_id=worker,
            ),
            timeout=30,
        )


async def fetch(url: str) -> bytes:
    """Get what is at a URL."""

    def get() -> bytes:
        with urllib.request.urlopen(url, timeout=30) as response:
            read: bytes = response.read()
            return read

    return await asyncio.to_thread(get)


@asynccontextmanager
async def connected(server: Server) -> AsyncIterator[Tools]:
    """Connect as Tinkerbell's tools do: trust what `/cert` tells, and nothing else."""
    bundle = await fetch(f"http://{server.http_address}/cert")
    # Each has a connection of its own.
    options = [("grpc.use_local_subchannel_pool", 1)]
    secure = grpc.ssl_channel_credentials(bundle)
    async with grpc.aio.secure_channel(server.tink_address, secure, options=options) as channel:
        yield Tools(channel, server)


async def code(call: Awaitable[Any]) -> grpc.StatusCode:
    """Return the status that a call fails with, whose text must be one of ours."""
    status, details = await _outcome(call)
    assert bool(details) is (status is not grpc.StatusCode.OK)
    assert not _RAW.search(details), details
    return status


async def _outcome(call: Awaitable[Any]) -> tuple[grpc.StatusCode, str]:
    try:
        async with asyncio.timeout(_CALL_SECONDS):
            await call
    except grpc.aio.AioRpcError as error:
        return error.code(), error.details() or ""
    return grpc.StatusCode.OK, ""
