"""The examples, as a reader would run them."""

import asyncio
import contextlib
import json
import sys
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

from support import process
from support.waiting import eventually
from tinkwell.client import Client, State

EXAMPLES = Path(__file__).parents[2] / "examples"
MAC = "52:54:00:10:00:03"
TEMPLATE = """
version: "0.1"
name: {name}
tasks:
  - name: only
    worker: "{{{{.device_1}}}}"
    actions:
      - {{name: only, image: examples/nothing, timeout: 60}}
"""


@contextlib.asynccontextmanager
async def example(
    folder: Path, script: str, *arguments: str, log: str = "example.log"
) -> AsyncIterator[process.Process]:
    """Run an example until the block ends."""
    async with process.running(str(EXAMPLES / script), *arguments, program=sys.executable, log=folder / log) as running:
        yield running


async def create_workflow(client: Client, name: str) -> str:
    machine = {"id": str(uuid.uuid4()), "network": {"interfaces": [{"dhcp": {"mac": MAC}}]}}
    if not [found async for found in client.hardware.all()]:
        await client.hardware.push(machine)
    await client.templates.create(TEMPLATE.format(name=name))
    return (await client.workflows.create(name, {"device_1": MAC})).id


async def end_workflow(client: Client, workflow: str, state: State) -> None:
    """Report as the worker would."""
    (action,) = await client.workflows.actions(workflow)
    for reported in (State.RUNNING, state):
        await client.workflows.report(
            workflow, action_id=action.id, worker_id=action.worker_id, state=reported, message="as a test has it"
        )


async def test_watch_prints_events(client: Client, server_address: str, tmp_path: Path) -> None:
    async with example(tmp_path, "watch/watch.py", "--server", server_address, "--count", "2") as watching:
        for _ in range(2):
            await client.hardware.push({"id": str(uuid.uuid4())})
        assert await watching.wait() == 0
    assert watching.output.count("hardware.created") == 2


async def test_informer_counts_workflows_by_state(client: Client, server_address: str, tmp_path: Path) -> None:
    first = await create_workflow(client, "first")
    async with example(
        tmp_path, "informer/informer.py", "--server", server_address, "--until-finished", "2"
    ) as informer:
        await informer.line("1 PENDING")
        second = await create_workflow(client, "second")
        await end_workflow(client, first, State.SUCCEEDED)
        await end_workflow(client, second, State.FAILED)
        assert await informer.wait() == 0
    assert "1 FAILED, 1 SUCCEEDED" in informer.output


class Hook:
    """A webhook's receiver."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, object]] = []
        self.url = ""

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["Hook"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
        async with server:
            yield self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.split("content-length:")[1].split()[0])
        self.bodies.append(json.loads(await reader.readexactly(length)))
        writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()
        await writer.wait_closed()


async def test_recover_starts_a_workflow_and_tells_the_webhook_once_over_restarts(
    client: Client, server_address: str, tmp_path: Path
) -> None:
    await client.templates.create((EXAMPLES / "recovery" / "recovery.yaml").read_text())
    async with Hook().running() as hook:
        arguments = ("--server", server_address, "--template", "recovery", "--webhook", hook.url)
        workflow = await create_workflow(client, "slow")
        await end_workflow(client, workflow, State.TIMEOUT)
        async with example(tmp_path, "recovery/recover.py", *arguments, "--once") as first:
            assert await first.wait() == 0
        async with example(tmp_path, "recovery/recover.py", *arguments, log="second.log") as second:
            later = await create_workflow(client, "slower")
            await end_workflow(client, later, State.TIMEOUT)
            await second.line(f"timeout of workflow {later}")
        await eventually(lambda: len(hook.bodies) == 2)
    assert [body["workflow"] for body in hook.bodies] == [workflow, later]
    recoveries = [found async for found in client.workflows.list() if found.template_name == "recovery"]
    assert len(recoveries) == 2
