"""Applications through the client: what is uploaded, waited for and cached, and what the fake server does on demand."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from support.unit_agent import PG, WEB, Agent, charm, deploy
from support.waiting import eventually
from tinkwell.client import (
    Application,
    Client,
    EventType,
    Grant,
    NoEvent,
    NoEventReason,
    Unit,
    blocking,
    errors,
    testing,
)
from tinkwell.client.call import TRIES
from tinkwell.client.testing.gate import ReceivedCall
from tinkwell.client.unit.model import UnitStatus
from tinkwell.core import errors as core_errors
from tinkwell.core.unit.kinds import EventState, Life


def folder(path: Path, manifest: str) -> Path:
    (path / "hooks").mkdir(parents=True)
    (path / "charm.yaml").write_text(manifest)
    script = path / "hooks/install"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    return path


async def test_a_charm_is_uploaded_only_where_the_server_lacks_it(
    server: testing.FakeServer, client: Client, tmp_path: Path
) -> None:
    path = folder(tmp_path / "pg", PG)
    (path / ".git").mkdir()
    (path / ".git/config").write_text("x")
    (path / "__pycache__").mkdir()
    (path / "__pycache__/a.pyc").write_text("x")
    made = await client.applications.deploy("pg", path, anywhere=True)
    again = await client.applications.deploy("other", str(path), anywhere=True)
    assert made.charm == again.charm
    assert len([call for call in server.calls if call.method == "UploadCharm" and call.request is None]) == 1
    await client.applications.deploy("third", made.charm, anywhere=True)


async def test_a_link_in_a_charm_is_refused(client: Client, tmp_path: Path) -> None:
    path = folder(tmp_path / "pg", PG)
    (path / "secret").symlink_to("/etc/passwd")
    with pytest.raises(errors.CharmRefused, match="secret: is no plain file"):
        await client.applications.upload_charm(path)
    with pytest.raises(FileNotFoundError):
        await client.applications.upload_charm(tmp_path / "nothing")


async def test_a_deployment_whose_answer_was_lost_is_repeated_as_the_same(
    server: testing.FakeServer, client: Client
) -> None:
    await client.applications.upload_charm(charm(PG))

    async def lose(call: ReceivedCall, answer: Callable[[], Awaitable[Any]]) -> Any:
        response = await answer()
        if call.method == "Deploy" and len(server.requests("Deploy")) == 1:
            raise core_errors.Unavailable("the line is cut")
        return response

    server.gate.around = lose
    made = await client.applications.deploy("pg", charm(PG), anywhere=True)
    first, second = server.requests("Deploy")
    assert first.id == second.id == made.id
    assert [each.name async for each in client.applications.units()] == ["pg/0"]


async def test_applications_are_settled_when_both_have_been_told_everything(client: Client) -> None:
    agent = await deploy(client, "pg", "web")
    await client.applications.relate("web", "pg")
    waiting = asyncio.create_task(client.applications.settled("web", "pg", timeout_seconds=20))
    for name in ("web/0", "pg/0"):
        assert not waiting.done()
        await agent.run_unit(await client.applications.unit(name))
    await agent.run()
    await waiting


async def test_waiting_goes_on_where_the_server_is_away_for_longer_than_a_call_is_tried(
    server: testing.FakeServer, client: Client
) -> None:
    agent = await deploy(client, "pg")
    away = True

    async def lose(call: ReceivedCall, answer: Callable[[], Awaitable[Any]]) -> Any:
        if call.method == "ListUnits" and away:
            raise core_errors.Unavailable("the server is stopping")
        return await answer()

    server.gate.around = lose
    waiting = asyncio.create_task(client.applications.settled("pg", timeout_seconds=20))
    await eventually(lambda: len(server.requests("ListUnits")) > TRIES)
    away = False
    await agent.run()
    await waiting


async def test_what_is_not_settled_in_time_is_a_timeout(client: Client) -> None:
    await client.applications.deploy("pg", charm(PG), anywhere=True)
    with pytest.raises(TimeoutError):
        await client.applications.settled("pg", timeout_seconds=0.1)
    with pytest.raises(errors.NotFound):
        await client.applications.settled("web", timeout_seconds=5)


async def test_an_application_that_goes_is_settled(client: Client) -> None:
    agent = await deploy(client, "pg")
    await client.applications.remove("pg")
    waiting = asyncio.create_task(client.applications.settled("pg", timeout_seconds=20))
    await asyncio.sleep(0)
    await agent.run()
    await waiting


async def test_applications_are_active_when_each_unit_has_said_so(client: Client) -> None:
    agent = await deploy(client, "pg", "web")
    waiting = asyncio.create_task(client.applications.active("web", "pg", timeout_seconds=20))
    for name in ("web/0", "pg/0"):
        await client.applications.settled("web", "pg", timeout_seconds=20)
        assert not waiting.done()
        unit = await client.applications.unit(name)
        await client.units.set_status(agent.token, unit.id, status=UnitStatus("active"))
    await waiting
    await client.units.set_status(agent.token, unit.id, status=UnitStatus("blocked", "no disk"))
    with pytest.raises(TimeoutError):
        await client.applications.active("pg", timeout_seconds=0.1)


async def test_informers_keep_applications_and_units(client: Client) -> None:
    applications, units = client.applications.informer(strict=True), client.applications.unit_informer(strict=True)
    told: list[str] = []

    def hear(event: object, old: Application | None, new: Application | None) -> None:
        if new is not None and new.leader and (old is None or old.leader != new.leader):
            told.append(new.leader)

    applications.on(None, hear)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each.run()) for each in (applications, units)]
        await applications.wait_synced()
        await units.wait_synced()
        await deploy(client, "web", units=2)
        await eventually(lambda: told == ["web/0"])
        await eventually(lambda: {each.phase for each in units.items()} == {"OPERATION"})
        assert sorted(each.name for each in units.items()) == ["web/0", "web/1"]
        for task in tasks:
            task.cancel()


async def test_the_cache_of_tasks_outlives_an_application_that_goes_while_they_are_listed(
    server: testing.FakeServer, client: Client
) -> None:
    await deploy(client, "pg", "web")

    async def remove(call: ReceivedCall, answer: Callable[[], Awaitable[Any]]) -> Any:
        if call.method == "ListTasks" and call.request.name == "pg":
            await client.applications.remove("pg", force=True)
        return await answer()

    server.gate.around = remove
    tasks = client.applications.task_informer(strict=True)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(tasks.run())
        await tasks.wait_synced()
        assert tasks.items() == []
        running.cancel()


async def test_a_failed_event_is_tried_again_when_its_time_has_come(server: testing.FakeServer, client: Client) -> None:
    agent = await deploy(client, "web")
    await client.applications.set_config("web", {"title": "x"})
    agent.handlers["config-changed"] = lambda _: "exit 1"
    await agent.run()
    unit = await client.applications.unit("web/0")
    waits = await client.units.next_event(agent.token, unit.id)
    assert isinstance(waits, NoEvent)
    assert waits.reason is NoEventReason.IN_ERROR
    assert waits.due_in_seconds is not None
    assert 0 < waits.due_in_seconds <= 5
    server.clock.advance(6)
    again = await client.units.next_event(agent.token, unit.id)
    assert isinstance(again, Grant)
    assert again.event.attempt == 2


async def test_without_retry_only_a_person_lets_an_event_go_on(server: testing.FakeServer, client: Client) -> None:
    await client.namespaces.set(retrying=False)
    agent = await deploy(client, "web")
    await client.applications.set_config("web", {"title": "x"})
    agent.handlers["config-changed"] = lambda _: "exit 1"
    await agent.run()
    server.clock.advance(3600)
    unit = await client.applications.unit("web/0")
    waits = await client.units.next_event(agent.token, unit.id)
    assert isinstance(waits, NoEvent)
    assert (waits.reason, waits.due_in_seconds) == (NoEventReason.IN_ERROR, None)


async def test_what_is_removed_by_force_has_its_grace(server: testing.FakeServer, client: Client) -> None:
    await deploy(client, "pg", "web", units=2)
    await client.applications.remove_unit("web/1", force=True, grace_seconds=60)
    await client.applications.remove("pg", force=True, grace_seconds=90)
    server.clock.advance(59)
    assert (await client.applications.unit("web/1")).life is Life.DYING
    server.clock.advance(2)
    assert [each.name async for each in client.applications.units("web")] == ["web/0"]
    assert (await client.applications.get("pg")).life is Life.DYING
    server.clock.advance(30)
    assert [each.name async for each in client.applications.units("pg")] == []


async def test_update_status_comes_by_the_clock(server: testing.FakeServer, client: Client) -> None:
    await client.namespaces.set(update_status_seconds=60)
    agent = await deploy(client, "web")
    agent.told.clear()
    for _ in range(2):
        server.clock.advance(61)
        await agent.run()
    assert agent.events("web/0") == ["update-status"] * 2


async def test_a_lost_attempt_is_an_error_the_second_time(client: Client) -> None:
    agent = await Agent.enter(client)
    await client.applications.deploy("pg", charm(PG), anywhere=True)
    unit = await client.applications.unit("pg/0")
    grant = await client.units.next_event(agent.token, unit.id)
    assert isinstance(grant, Grant)
    again = await client.units.fail(agent.token, grant.event.id, 1, "killed", is_lost=True)
    assert isinstance(again, Grant)
    assert again.event.attempt == 2
    waits = await client.units.fail(agent.token, grant.event.id, 2, "killed", is_lost=True)
    assert isinstance(waits, NoEvent)
    assert waits.reason is NoEventReason.IN_ERROR


async def test_a_lease_that_is_over_is_told_to_its_agent(server: testing.FakeServer, client: Client) -> None:
    agent = await deploy(client, "web", units=2)
    other = await Agent.enter(client, "other", engine="there")
    server.expire_lease(agent.token)
    unit = await client.applications.unit("web/0")
    with pytest.raises(errors.LeaseLost):
        await client.units.next_event(agent.token, unit.id)
    await client.applications.set_config("web", {"title": "x"})
    await other.run()
    assert other.events("web/0") == ["config-changed"]


async def test_the_last_commit_of_an_agent_grants_nothing(client: Client) -> None:
    agent = await Agent.enter(client)
    await client.applications.deploy("pg", charm(PG), anywhere=True)
    unit = await client.applications.unit("pg/0")
    grant = await client.units.next_event(agent.token, unit.id)
    assert isinstance(grant, Grant)
    assert isinstance(await client.units.commit(agent.token, grant.event.id, 1, is_last=True), NoEvent)
    back = await Agent.enter(client)
    following = await client.units.next_event(back.token, unit.id)
    assert isinstance(following, Grant)
    assert following.event.attempt == 1


async def test_only_the_agent_with_the_right_charm_is_granted_events(client: Client) -> None:
    agent = await Agent.enter(client)
    made = await client.applications.deploy("pg", charm(PG), anywhere=True)
    unit = await client.applications.unit("pg/0")
    for digest, reason in (("sha256:1", NoEventReason.OTHER_CHARM), (made.charm, None)):
        await anext(client.units.wakes(agent.token, kinds=["SCRIPTS"], anywhere=True, charm=digest))
        following = await client.units.next_event(agent.token, unit.id)
        assert (following.reason if isinstance(following, NoEvent) else None) is reason


async def test_what_an_event_leaves_must_be_the_units_to_leave(client: Client) -> None:
    agent = await deploy(client, "web")
    await client.applications.set_config("web", {"title": "x"})
    unit = await client.applications.unit("web/0")
    grant = await client.units.next_event(agent.token, unit.id)
    assert isinstance(grant, Grant)
    with pytest.raises(errors.NotFound):
        await client.units.read_bag(agent.token, grant.event.id, 7, "pg/0")
    states = [event.state async for event in client.applications.events("web/0", kinds=["config-changed"])]
    assert states == [EventState.RUNNING, EventState.COMMITTED]


async def test_a_storage_is_known_by_both_names_in_filters(client: Client) -> None:
    agent = await deploy(client, "web")
    await client.applications.attach("web/0", "data")
    await agent.run()
    await client.applications.detach("data/0")
    await agent.run()
    found = [each.kind async for each in client.applications.events("web/0", kinds=["storage-detached"])]
    assert found == ["storage-detaching"]
    with pytest.raises(errors.InvalidField, match="reboot"):
        await anext(client.applications.events("web/0", kinds=["reboot"]))


async def test_the_blocking_client_does_the_same(server: testing.FakeServer) -> None:
    def work() -> list[Unit]:
        with blocking.connect(server.address) as client:
            client.applications.deploy("web", charm(WEB), units=2, anywhere=True)
            client.applications.set_config("web", {"workers": 3})
            event = next(client.applications.watch(event_types=[EventType.CREATED], resource_types=["UNIT"]))
            assert event.data["name"] == "web/0"
            return list(client.applications.units("web"))

    assert [each.name for each in await asyncio.to_thread(work)] == ["web/0", "web/1"]
