"""How workflows end that do not succeed, in real containers: hooks, deadlines and cancellations, and how soon."""

import asyncio
import contextlib
import functools
import signal
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import docker
import pytest
from e2e.scene import action, create, events_of, finished, provisioner, task

from support.waiting import eventually
from tinkwell.client import Client, Event, State

pytestmark = [pytest.mark.docker, pytest.mark.timeout(180)]

HOOKS = (
    "        on-failure: [/bin/sh, -c, 'echo $SITE failure >>/data/hooks; echo telling']\n"
    "        on-timeout: [/bin/sh, -c, 'echo $SITE timeout >>/data/hooks; echo telling']\n"
)
# A hook that goes on until the test lets it end, so that its attempt stays to be looked at.
LASTING_HOOK = (
    "        on-timeout: [/bin/sh, -c, 'until [ -e /data/go ]; do sleep 0.05; done; echo late >>/data/hooks']\n"
)
# So long after the deadline or the cancellation, what is to be stopped must have been.
DEADLINE_SECONDS, CANCEL_SECONDS = 2.0, 3.0


def when(events: list[Event], name: str) -> datetime:
    """When an event was recorded, by the database's clock."""
    found = next(event.created_at for event in events if event.name == name)
    assert found is not None
    return found


def death(engine: docker.APIClient, workflow: str, since: datetime) -> datetime:
    """Wait until a container of a workflow dies, and return when it did, by the engine's clock: the database's."""
    told: Any = engine.events(
        since=int(since.timestamp()) - 1,
        until=int(datetime.now(UTC).timestamp()) + 30,
        filters={"label": f"tinkwell.workflow={workflow}", "event": "die"},
        decode=True,
    )
    with contextlib.closing(told):
        return datetime.fromtimestamp(next(told)["timeNano"] / 1e9, UTC)


def left(engine: docker.APIClient, workflow: str) -> list[str]:
    """The names of what is left of a workflow's containers."""
    found = engine.containers(all=True, filters={"label": f"tinkwell.workflow={workflow}"})
    return [name for container in found for name in container["Names"]]


@pytest.mark.parametrize(
    ("script", "timeout", "state", "ending"),
    [
        ("echo trying; exit 3", 60, State.FAILED, "on-failure"),
        ("echo trying; sleep 120", 4, State.TIMEOUT, "on-timeout"),
    ],
)
async def test_a_hook_has_its_effect_and_leaves_the_outcome_as_it_is(
    engine: docker.APIClient,
    client: Client,
    machines: dict[str, str],
    server_address: str,
    tmp_path: Path,
    script: str,
    timeout: int,
    state: State,
    ending: str,
) -> None:
    async with provisioner(server_address, tmp_path):
        hooked = action("only", script, timeout=timeout, more=HOOKS)
        workflow = await create(client, task("only", "device_1", tmp_path, hooked))
        assert await finished(client, workflow) is state
        await eventually(lambda: not left(engine, workflow), deadline_seconds=30)
    assert (tmp_path / "hooks").read_text() == f"lab {ending.removeprefix('on-')}\n"
    (only,) = await client.workflows.actions(workflow)
    assert ((await client.workflows.get(workflow)).state, only.state) == (state, state)
    lines = [line.text async for line in client.workflows.logs(workflow)]
    assert lines == ["trying", "telling", f"[{ending} exited with code 0]"]
    assert [event.name for event in await events_of(client, workflow)][-1] == f"workflow.{state.value.lower()}"


async def test_a_global_timeout_of_5_s_ends_an_action_of_60_s_in_time_also_over_a_restart(
    engine: docker.APIClient, client: Client, machines: dict[str, str], server_address: str, tmp_path: Path
) -> None:
    async def end(device: str, *, is_restarted: bool) -> None:
        folder = tmp_path / device
        folder.mkdir()
        async with contextlib.AsyncExitStack() as stack:
            place = functools.partial(provisioner, server_address, folder, serves=machines[device])
            first = await stack.enter_async_context(place())
            long = action("long", "touch /data/running; sleep 60", timeout=120, more=LASTING_HOOK)
            workflow = await create(client, task("only", device, folder, long), more="global_timeout: 5\n")
            await eventually(lambda: (folder / "running").exists(), deadline_seconds=30)
            if is_restarted:
                await first.stop(signal.SIGKILL)
                await stack.enter_async_context(place(log="second.log"))
            # A machine that is busy elsewhere may take longer to start the second than the deadline is away.
            await check(workflow, folder, watched_at=datetime.now(UTC))

    async def check(workflow: str, folder: Path, *, watched_at: datetime) -> None:
        assert await finished(client, workflow) is State.TIMEOUT
        events = await events_of(client, workflow)
        began = when(events, "workflow.started")
        ended = (when(events, "workflow.timeout") - began).total_seconds()
        stopped = (await asyncio.to_thread(death, engine, workflow, began) - began).total_seconds()
        print(f"{folder.name}: the action was stopped at {stopped:.2f} s, and the workflow had ended at {ended:.2f} s")
        assert 5.0 <= ended <= 5.0 + DEADLINE_SECONDS
        assert stopped <= max(5.0, (watched_at - began).total_seconds()) + DEADLINE_SECONDS
        assert events[-1].data["cause"]["reason"] == "GLOBAL_TIMEOUT"
        (folder / "go").touch()
        await eventually(lambda: not left(engine, workflow), deadline_seconds=30)
        assert (folder / "hooks").read_text() == "late\n"

    async with asyncio.TaskGroup() as group:
        group.create_task(end("device_1", is_restarted=False))
        group.create_task(end("device_2", is_restarted=True))


async def test_a_cancellation_stops_the_container_in_time_and_runs_no_hook(
    engine: docker.APIClient, client: Client, machines: dict[str, str], server_address: str, tmp_path: Path
) -> None:
    async with provisioner(server_address, tmp_path):
        long = action("long", "touch /data/running; sleep 60", more=HOOKS)
        workflow = await create(client, task("only", "device_1", tmp_path, long))
        await eventually(lambda: (tmp_path / "running").exists(), deadline_seconds=30)
        await client.workflows.cancel(workflow, reason="changed my mind")
        assert (await client.workflows.get(workflow)).state is State.CANCELLED
        await eventually(lambda: not left(engine, workflow), deadline_seconds=30)
        cancelled = when(await events_of(client, workflow), "workflow.cancelled")
        took = (death(engine, workflow, cancelled) - cancelled).total_seconds()
    print(f"the container had died {took:.2f} s after the cancellation")
    assert took <= CANCEL_SECONDS
    assert not (tmp_path / "hooks").exists()


async def test_a_hook_outlives_its_provisioner_and_is_run_once(
    engine: docker.APIClient, client: Client, machines: dict[str, str], server_address: str, tmp_path: Path
) -> None:
    async with provisioner(server_address, tmp_path) as first:
        hook = (
            "        on-failure: [/bin/sh, -c, 'echo on >>/data/hooks; until [ -e /data/go ]; do sleep 0.05; done']\n"
        )
        workflow = await create(client, task("only", "device_1", tmp_path, action("only", "exit 3", more=hook)))
        await eventually(lambda: (tmp_path / "hooks").exists(), deadline_seconds=30)
        await first.stop(signal.SIGKILL)
    async with provisioner(server_address, tmp_path, log="second.log"):
        (only,) = await client.workflows.actions(workflow)
        name = f"/tinkwell-{only.id}-1"
        assert sorted(left(engine, workflow)) == [name, f"{name}-on-failure"]
        (tmp_path / "go").touch()
        await eventually(lambda: not left(engine, workflow), deadline_seconds=30)
    assert (tmp_path / "hooks").read_text() == "on\n"
    assert [line.text async for line in client.workflows.logs(workflow)] == ["[on-failure exited with code 0]"]
