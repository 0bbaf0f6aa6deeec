"""Waiting for a workflow, by the real command at a real server that is restarted meanwhile."""

import contextlib
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import tinkwell.client
from support import process, waiting
from support import server as servers
from tinkwell.client import Client, State

MAC = "52:54:00:10:00:03"
TEMPLATE = """
version: "0.1"
name: two_steps
tasks:
  - name: only
    worker: "{{.device_1}}"
    actions:
      - {name: first, image: examples/nothing, timeout: 600}
      - {name: second, image: examples/nothing, timeout: 600}
"""
CREATE = ("workflow", "create", "-t", "two_steps", "--device", f"device_1={MAC}", "--wait")


@contextlib.asynccontextmanager
async def prepared(address: str) -> AsyncIterator[Client]:
    """A client of a server that has a machine and the template."""
    async with tinkwell.client.connect(address) as client:
        machine = {"id": str(uuid.uuid4()), "network": {"interfaces": [{"dhcp": {"mac": MAC}}]}}
        await client.hardware.push(machine)
        await client.templates.create(TEMPLATE)
        yield client


async def report(client: Client, workflow: str, index: int, state: State, **fields: int) -> None:
    """Report as the worker would."""
    action = (await client.workflows.actions(workflow))[index]
    await client.workflows.report(
        workflow,
        action_id=action.id,
        worker_id=action.worker_id,
        state=state,
        message="as a test has it",
        exit_code=fields.get("exit_code"),
    )


async def test_waiting_goes_on_over_a_restart_of_the_server(database_url: str, tmp_path: Path) -> None:
    async with contextlib.AsyncExitStack() as stack:
        first = contextlib.AsyncExitStack()
        address = (await first.enter_async_context(servers.running(database_url))).address
        client = await stack.enter_async_context(prepared(address))
        log = tmp_path / "create.log"
        create = await stack.enter_async_context(process.running("--server", address, *CREATE, log=log))
        workflow = (await create.line(r"^(\S{36})$"))[1]
        await create.line(r"ACTION    PENDING    only/first  not started, waits for worker \S+$")
        await report(client, workflow, 0, State.RUNNING)
        await create.line(r"ACTION    RUNNING    only/first  attempt 1  as a test has it$")
        await first.aclose()
        await create.line("^The connection is lost; what happens meanwhile is told once it is back.$")
        port = int(address.rpartition(":")[2])
        await stack.enter_async_context(servers.running(database_url, port=port))
        await client.wait_ready()
        await report(client, workflow, 0, State.SUCCEEDED, exit_code=0)
        await report(client, workflow, 1, State.RUNNING)
        await report(client, workflow, 1, State.SUCCEEDED)
        assert await create.wait(deadline_seconds=60) == 0
    told = [line.partition("  ")[2] for line in create.output.splitlines() if "Z  " in line]
    assert [line.split()[:2] for line in told] == [
        ["WORKFLOW", "PENDING"],
        ["ACTION", "PENDING"],
        ["WORKFLOW", "RUNNING"],
        ["ACTION", "RUNNING"],
        ["ACTION", "SUCCEEDED"],
        ["WORKFLOW", "RUNNING"],
        ["ACTION", "RUNNING"],
        ["ACTION", "SUCCEEDED"],
        ["WORKFLOW", "SUCCEEDED"],
    ]


async def test_waiting_fails_with_the_workflow_and_says_why(
    client: Client, server_address: str, tmp_path: Path
) -> None:
    async with (
        prepared(server_address),
        process.running("--server", server_address, *CREATE, log=tmp_path / "create.log") as create,
    ):
        workflow = (await create.line(r"^(\S{36})$"))[1]
        await waiting.eventually(lambda: "ACTION    PENDING" in create.output, deadline_seconds=60)
        await report(client, workflow, 0, State.RUNNING)
        await report(client, workflow, 0, State.FAILED, exit_code=7)
        assert await create.wait(deadline_seconds=60) == 1
    assert create.output.splitlines()[-1] == (
        f"Error: workflow {workflow} ended as FAILED: action only/first failed with exit code 7: as a test has it"
    )
