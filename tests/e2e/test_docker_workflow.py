"""Real containers, a real server, a real provisioner: order, output, failures, timeouts, cancels, and sudden deaths."""

import asyncio
import contextlib
import signal
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import docker
import pytest
from e2e.scene import MACS, action, containers, create, events_of, finished, provisioner, task

import tinkwell.client
from support import process, role
from support.waiting import eventually
from tinkwell.client import Client, EventType, State

pytestmark = [pytest.mark.docker, pytest.mark.timeout(180)]

THREE_ACTIONS = [
    "workflow.created",
    *["action.created"] * 3,
    "workflow.started",
    "action.started",
    "action.succeeded",
    "workflow.inprogress",
    "action.started",
    "action.succeeded",
    "workflow.inprogress",
    "action.started",
    "action.succeeded",
    "workflow.succeeded",
]


async def test_tasks_on_two_workers_run_in_order_and_their_output_is_readable_meanwhile(
    engine: docker.APIClient, client: Client, machines: dict[str, str], server_address: str, tmp_path: Path
) -> None:
    shared = tmp_path / "data"
    shared.mkdir()
    async with provisioner(server_address, tmp_path):
        workflow = await create(
            client,
            task(
                "prepare",
                "device_1",
                shared,
                action(
                    "one",
                    "echo $SITE-$STEP >>/data/trace; echo preparing >&2",
                    more="        environment: {STEP: one}\n",
                ),
            ),
            task(
                "install",
                "device_2",
                shared,
                action(
                    "two", "echo two >>/data/trace; echo waiting; until [ -e /data/go ]; do sleep 0.05; done; echo gone"
                ),
            ),
            task("verify", "device_1", shared, action("three", "echo three >>/data/trace; cat /data/trace")),
        )
        lines: list[tuple[str, str, str]] = []
        async with asyncio.timeout(60):
            async for line in client.workflows.logs(workflow, follow=True):
                lines.append((line.action_name, str(line.stream), line.text))
                if line.text == "waiting":
                    running = await client.workflows.get(workflow)
                    assert (running.state, running.completed_actions) == (State.RUNNING, 1)
                    (shared / "go").touch()
        assert await finished(client, workflow) is State.SUCCEEDED
    assert lines == [
        ("one", "STDERR", "preparing"),
        ("two", "STDOUT", "waiting"),
        ("two", "STDOUT", "gone"),
        ("three", "STDOUT", "lab-one"),
        ("three", "STDOUT", "two"),
        ("three", "STDOUT", "three"),
    ]
    assert [event.name for event in await events_of(client, workflow)] == THREE_ACTIONS
    actions = await client.workflows.actions(workflow)
    assert [found.worker_id for found in actions] == [machines[d] for d in ("device_1", "device_2", "device_1")]
    assert [found.exit_code for found in actions] == [0, 0, 0]


async def test_a_failing_action_fails_the_workflow_and_nothing_runs_after_it(
    engine: docker.APIClient, client: Client, machines: dict[str, str], server_address: str, tmp_path: Path
) -> None:
    async with provisioner(server_address, tmp_path):
        workflow = await create(
            client,
            task(
                "only", "device_1", tmp_path, action("bad", "echo broken; exit 3"), action("never", "touch /data/never")
            ),
        )
        assert await finished(client, workflow) is State.FAILED
    bad, never = await client.workflows.actions(workflow)
    assert (bad.state, bad.exit_code) == (State.FAILED, 3)
    assert (never.state, never.attempt) == (State.CANCELLED, 0)
    assert not (tmp_path / "never").exists()
    failed = (await events_of(client, workflow))[-1]
    assert failed.event_type is EventType.WORKFLOW_FAILED
    assert failed.data["cause"]["action_name"] == "bad"
    assert failed.data["cause"]["exit_code"] == 3


async def test_an_action_over_its_timeout_is_killed(
    engine: docker.APIClient, client: Client, machines: dict[str, str], server_address: str, tmp_path: Path
) -> None:
    async with provisioner(server_address, tmp_path):
        workflow = await create(
            client, task("only", "device_1", tmp_path, action("slow", "sleep 120; touch /data/late", timeout=1))
        )
        assert await finished(client, workflow) is State.TIMEOUT
        await eventually(lambda: not containers(engine, workflow))
    by_name = {event.name: event for event in await events_of(client, workflow)}
    started, ended = by_name["action.started"].created_at, by_name["workflow.timeout"].created_at
    assert started is not None
    assert ended is not None
    print(f"the workflow ended {(ended - started).total_seconds() - 1:.2f} s after the action's deadline")
    assert by_name["action.timeout"].revision < by_name["workflow.timeout"].revision
    assert by_name["workflow.timeout"].data["cause"]["reason"] == "ACTION_TIMEOUT"
    assert not (tmp_path / "late").exists()


async def test_a_deleted_workflow_stops_its_container(
    engine: docker.APIClient, client: Client, machines: dict[str, str], server_address: str, tmp_path: Path
) -> None:
    async with provisioner(server_address, tmp_path):
        workflow = await create(client, task("only", "device_1", tmp_path, action("long", "sleep 120")))
        await eventually(lambda: len(containers(engine, workflow)) == 1, deadline_seconds=30)
        await client.workflows.delete(workflow)
        await eventually(lambda: not containers(engine, workflow))


async def test_a_new_provisioner_adopts_what_a_killed_one_left_running(
    engine: docker.APIClient, client: Client, machines: dict[str, str], server_address: str, tmp_path: Path
) -> None:
    async with provisioner(server_address, tmp_path) as first:
        workflow = await create(
            client,
            task(
                "only",
                "device_1",
                tmp_path,
                action("long", "echo begin >>/data/trace; until [ -e /data/go ]; do sleep 0.05; done; echo done"),
                action("next", "echo next >>/data/trace"),
            ),
        )
        await eventually(lambda: (tmp_path / "trace").exists(), deadline_seconds=30)
        # The engine says so a little later than the container's first effect does.
        await eventually(lambda: len(containers(engine, workflow)) == 1)
        before = containers(engine, workflow)
        await first.stop(signal.SIGKILL)
    assert containers(engine, workflow) == before, "the container outlives its provisioner"
    async with provisioner(server_address, tmp_path, log="second.log"):
        (tmp_path / "go").touch()
        assert await finished(client, workflow) is State.SUCCEEDED
    assert (tmp_path / "trace").read_text().split() == ["begin", "next"]
    long, _ = await client.workflows.actions(workflow)
    assert long.attempt == 1
    lines = [line.text async for line in client.workflows.logs(workflow)]
    assert lines == ["done"]


async def test_a_workflow_completes_though_its_server_is_killed_meanwhile(
    engine: docker.APIClient, database_url: str, tmp_path: Path
) -> None:
    settings = {"TINKWELL_DATABASE_URL": role.url_of_server(database_url), "TINKWELL_THROWAWAY_DATABASE": "true"}

    @contextlib.asynccontextmanager
    async def server(port: str, log: str) -> AsyncIterator[tuple[process.Process, str]]:
        arguments = ("server", "--port", port, "--http-port", "0")
        async with process.running(*arguments, log=tmp_path / log, environment=settings) as running:
            ready = await running.line(r"the server is ready.*grpc=(\S+)")
            yield running, ready[1]

    async with contextlib.AsyncExitStack() as stack:
        async with server("0", "first.log") as (first, address):
            client = await stack.enter_async_context(tinkwell.client.connect(address))
            await stack.enter_async_context(provisioner(address, tmp_path))
            for device, mac in MACS.items():
                machine = {"id": str(uuid.uuid4()), "network": {"interfaces": [{"dhcp": {"mac": mac}}]}}
                await client.hardware.push({**machine, "metadata": {"device": device}})
            workflow = await create(
                client,
                task(
                    "only",
                    "device_1",
                    tmp_path,
                    action("long", "echo begin >>/data/trace; until [ -e /data/go ]; do sleep 0.05; done; echo done"),
                    action("next", "echo next >>/data/trace"),
                ),
            )
            await eventually(lambda: (tmp_path / "trace").exists(), deadline_seconds=30)
            await first.stop(signal.SIGKILL)
        (tmp_path / "go").touch()
        await stack.enter_async_context(server(address.rsplit(":", 1)[1], "second.log"))
        assert await finished(client, workflow) is State.SUCCEEDED
    assert (tmp_path / "trace").read_text().split() == ["begin", "next"]
