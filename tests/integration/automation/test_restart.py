"""The example of a recovery, run by a provisioner that is killed wherever it hurts."""

import contextlib
import signal
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg

from support import automation
from support.waiting import eventually
from tinkwell.client import Client
from tinkwell.core.event.kinds import State
from tinkwell.provisioner.automation.rule import key

EXAMPLES = Path(__file__).parents[3] / "examples"
RULES = EXAMPLES / "automation" / "recovery.yaml"
MACHINE = "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a11"
SLOW = """
version: "0.1"
name: slow
tasks:
  - {name: only, worker: "{{.device_1}}", actions: [{name: only, image: examples/slow, timeout: 1}]}
"""
IMAGES = {"slow": "exec sleep 100", "collect-logs": "exit 0", "power-cycle": "exit 0"}


def make_images(folder: Path) -> Path:
    for name, script in IMAGES.items():
        entry_point = folder / "examples" / name / "run"
        entry_point.parent.mkdir(parents=True)
        entry_point.write_text(f"#!/bin/sh\n{script}\n")
        entry_point.chmod(0o755)
    return folder


@contextlib.asynccontextmanager
async def locked(database_url: str, table: str, mode: str) -> AsyncIterator[None]:
    """Keep others waiting at a table until the block ends, and then let none of them come to it."""
    connection = await asyncpg.connect(database_url)

    async def is_left() -> bool:
        waiting = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE NOT granted AND relation = $1::regclass"
        return not await connection.fetch(waiting, table)

    try:
        async with connection.transaction():
            await connection.execute(f"LOCK TABLE {table} IN {mode} MODE")
            yield
            # Whoever asked was killed. What the server does for him ends when it has waited for a lock for ten seconds.
            await eventually(is_left, deadline_seconds=automation.SECONDS)
    finally:
        await connection.close(timeout=5)


class Scene:
    """What the receiver, the provisioner's journal and the database have seen."""

    def __init__(self, client: Client, place: automation.Place, database_url: str) -> None:
        self._client = client
        self._place = place
        self._database_url = database_url

    def done(self, rule: str) -> list[dict[str, object]]:
        tries = self._place.deliveries("recovery")
        return [each for each in tries if (each["rule"], each["outcome"]) == (rule, "DONE")]

    async def recoveries(self) -> list[str]:
        return [found.id async for found in self._client.workflows.list() if found.template_name == "recovery"]

    async def events(self, event_type: str, resource_type: str = "") -> list[asyncpg.Record]:
        connection = await asyncpg.connect(self._database_url)
        rows: list[asyncpg.Record] = await connection.fetch(
            "SELECT * FROM events WHERE event_type = $1 AND $2 IN (resource_type, '') ORDER BY revision",
            event_type,
            resource_type,
        )
        await connection.close(timeout=5)
        return rows

    async def position(self) -> int:
        return (await self._client.events.position("automation_recovery")).revision


def options(images: Path, *, serves: str = "all") -> tuple[str, ...]:
    served = ("--agent-for", serves, "--automation", str(RULES))
    return (*served, "--runtime", "process", "--process-images", str(images))


async def test_each_effect_of_the_example_is_seen_once_by_its_key_wherever_its_provisioner_is_killed(
    client: Client, place: automation.Place, database_url: str, tmp_path: Path
) -> None:
    scene = Scene(client, place, database_url)
    arguments = options(make_images(tmp_path / "images"))
    await client.hardware.push({"id": MACHINE})
    await client.templates.create(SLOW)
    await client.templates.create((EXAMPLES / "recovery" / "recovery.yaml").read_text())

    # Between its effects: the webhook is delivered, and no workflow can be created meanwhile.
    async with place.running(RULES, *arguments, module="tinkwell.provisioner") as provisioner:
        begun = await scene.position()
        workflow = (await client.workflows.create("slow", {"device_1": MACHINE})).id
        async with locked(database_url, "template", "ACCESS EXCLUSIVE"):
            await eventually(lambda: bool(scene.done("tell")), deadline_seconds=automation.SECONDS)
            assert (await provisioner.stop(signal.SIGKILL), scene.done("recover")) == (-signal.SIGKILL, [])
    assert await scene.recoveries() == []

    # After both effects, and before the position is stored. It runs no actions: one that is about to begin when its
    # provisioner is killed is lost, as it should be, and this is not about that.
    place.receiver.may_answer.clear()
    idle = options(tmp_path / "images", serves=str(uuid.uuid4()))
    async with place.running(RULES, *idle, module="tinkwell.provisioner") as provisioner:
        await eventually(lambda: bool(scene.done("recover")), deadline_seconds=automation.SECONDS)
        async with locked(database_url, "event_position", "SHARE"):
            place.receiver.may_answer.set()
            await eventually(lambda: len(scene.done("tell")) == 2, deadline_seconds=automation.SECONDS)
            await provisioner.stop(signal.SIGKILL)
    (timeout,) = await scene.events("WORKFLOW_TIMEOUT")
    assert str(timeout["resource_id"]) == workflow
    assert begun <= await scene.position() < timeout["revision"]

    async with place.running(RULES, *arguments, module="tinkwell.provisioner") as provisioner:
        await automation.caught_up(client, "automation_recovery", timeout["revision"])
        (recovery,) = await scene.recoveries()

        async def has_ended() -> bool:
            return (await client.workflows.get(recovery)).state is State.SUCCEEDED

        await eventually(has_ended, deadline_seconds=automation.SECONDS)
        assert await provisioner.stop() == 0
    await judge(scene, place, workflow=workflow, recovery=recovery, event_id=str(timeout["id"]))


async def judge(scene: Scene, place: automation.Place, *, workflow: str, recovery: str, event_id: str) -> None:
    """Assert that each effect was seen under one key, and once where it can be."""
    tell, recover = (key.effect_key(event_id, rule_set="recovery", rule=name) for name in ("tell", "recover"))
    # Delivered before each death, and once more: each time the same under the same key.
    assert place.receiver.keys == [tell] * 3
    for request in place.receiver.requests:
        request.verify()
        assert (request.body, request.json["subject"]) == (place.receiver.requests[0].body, workflow)
    assert recovery == key.workflow_id(recover)
    created = [str(event["resource_id"]) for event in await scene.events("CREATED", resource_type="WORKFLOW")]
    assert created == [workflow, recovery]
    # Neither action of it ran twice.
    started = [event["parent_id"] for event in await scene.events("ACTION_STARTED")]
    assert [str(each) for each in started] == [workflow, recovery, recovery]
    assert {each["key"] for each in place.deliveries("recovery")} == {tell, recover}
