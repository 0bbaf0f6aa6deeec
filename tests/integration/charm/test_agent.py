"""An agent of a charm with a real server: whole lives, and what outlives an agent that dies."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support import waiting
from tinkwell import charm
from tinkwell.charm import description
from tinkwell.charm.agent.agent import Agent, Wanted, sweep
from tinkwell.charm.agent.folder import AgentFolder
from tinkwell.client import Client
from tinkwell.client.unit.model import UnitStatus
from tinkwell.core.unit.kinds import EventState

SECONDS = 90.0


class Text(charm.Charm):
    """Tells a text, which the leader writes."""

    others = charm.Provides("text", interface="text")
    text = charm.Option(str, default="hello")

    @charm.on.config_changed
    @charm.on.leader_elected
    @others.created
    async def tell(self, event: charm.Event) -> None:
        if self.is_leader:
            for relation in self.others:
                relation.application["text"] = self.text
        self.status = charm.Active(self.text)


class Page(charm.Charm):
    """Writes a page of a text."""

    texts = charm.Requires("texts", interface="text")
    site = charm.Storage("site")

    @texts.changed
    async def heard(self, event: charm.RelationChanged) -> None:
        if event.unit:
            return None
        if "text" not in event.remote:
            return event.defer()
        self.state["heard"] = str(int(self.state.get("heard", "0")) + 1)
        await asyncio.to_thread((self.site.one().path / "text").write_text, event.remote["text"])
        self.status = charm.Active(event.remote["text"])
        return None


@contextlib.asynccontextmanager
async def serving(
    client: Client, charm_class: type[charm.Charm], application: str, folder: Path
) -> AsyncIterator[Agent]:
    """Serve the units of an application until the block ends."""
    agent = Agent(client, charm_class, Wanted(application=application), folder / application)
    task = asyncio.create_task(agent.run())
    try:
        yield agent
    finally:
        agent.stop()
        async with asyncio.timeout(SECONDS):
            await task


async def deploy(client: Client, charm_class: type[charm.Charm], name: str, units: int = 1) -> None:
    await client.applications.deploy(name, description.pack(charm_class), units=units, anywhere=True)


async def test_two_applications_live_and_go(client: Client, tmp_path: Path) -> None:
    await deploy(client, Text, "text", units=2)
    await deploy(client, Page, "page", units=2)
    await client.applications.relate("page", "text")
    async with serving(client, Text, "text", tmp_path), serving(client, Page, "page", tmp_path):
        await client.applications.settled("page", "text", timeout_seconds=SECONDS)
        found = {each.name: each.status async for each in client.applications.units("page")}
        assert found == dict.fromkeys(["page/0", "page/1"], UnitStatus("active", "hello"))
        await client.applications.set_config("text", {"text": "bye"})
        await client.applications.settled("page", "text", timeout_seconds=SECONDS)
        assert (await client.applications.unit("page/1")).status == UnitStatus("active", "bye")
        assert [each async for each in client.applications.deferred("page/1")] == []
        told = [each.name async for each in client.applications.events("page/0")]
        assert told[::-1][:3] == ["site-storage-attached", "install", "texts-relation-created"]
        await client.applications.remove("text")
        await client.applications.settled("page", "text", timeout_seconds=SECONDS)

        async def is_gone() -> bool:
            return [each.name async for each in client.applications.list()] == ["page"]

        await waiting.eventually(is_gone, deadline_seconds=SECONDS)


async def test_storages_that_went_with_their_unit_are_removed_and_others_are_not(
    client: Client, tmp_path: Path
) -> None:
    await deploy(client, Page, "page", units=2)
    async with serving(client, Page, "page", tmp_path):
        await client.applications.settled("page", timeout_seconds=SECONDS)
        await client.applications.remove_unit("page/0")

        async def is_gone() -> bool:
            return [each.unit async for each in client.applications.storages()] == ["page/1"]

        await waiting.eventually(is_gone, deadline_seconds=SECONDS)
    folder = AgentFolder.open(tmp_path / "page")
    assert len(folder.storages("default")) == 2
    await sweep(client, folder, "default")
    assert folder.storages("default") == {each.name async for each in client.applications.storages()}
    folder.close()


async def test_an_upgrade_is_run_by_the_agent_of_the_new_code(client: Client, tmp_path: Path) -> None:
    class Second(Text, name="text"):
        """Tells a text, and that it is the second of its kind."""

        @charm.on.upgrade_charm
        async def upgraded(self, event: charm.UpgradeCharm) -> None:
            self.set_workload_version("second")

    await deploy(client, Text, "text")
    async with serving(client, Text, "text", tmp_path):
        await client.applications.settled("text", timeout_seconds=SECONDS)
    await client.applications.refresh("text", description.pack(Second))
    async with serving(client, Second, "text", tmp_path):
        await client.applications.settled("text", timeout_seconds=SECONDS)
    assert (await client.applications.unit("text/0")).workload_version == "second"
    told = [each.name async for each in client.applications.events("text/0")]
    assert told[:3] == ["start", "config-changed", "upgrade-charm"]


async def test_units_of_a_machine_are_served_where_that_is_named(client: Client, tmp_path: Path) -> None:
    machine = str(uuid.uuid4())
    await client.hardware.push({"id": machine})
    agent = Agent(client, Text, Wanted(application="text", machines=(machine,)), tmp_path / "text")
    task = asyncio.create_task(agent.run())
    await client.applications.deploy("text", description.pack(Text), machines=[machine])
    await client.applications.settled("text", timeout_seconds=SECONDS)
    agent.stop()
    await task
    unit = await client.applications.unit("text/0")
    assert (unit.machine, unit.status) == (machine, UnitStatus("active", "hello"))


async def test_an_agent_that_dies_before_its_commit_is_followed_by_one_that_sends_it(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[int] = []

    class Counter(charm.Charm):
        @charm.on.install
        async def install(self, event: charm.Install) -> None:
            called.append(event.ordinal)
            self.state["n"] = str(int(self.state.get("n", "0")) + 1)

    await deploy(client, Counter, "counter")
    agent = Agent(client, Counter, Wanted(application="counter"), tmp_path / "counter")
    with monkeypatch.context() as patched:
        is_kept = asyncio.Event()

        async def never(*_: object, **__: object) -> None:
            is_kept.set()
            await asyncio.Event().wait()

        patched.setattr(client.units, "commit", never)
        task = asyncio.create_task(agent.run())
        async with asyncio.timeout(SECONDS):
            await is_kept.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    async with serving(client, Counter, "counter", tmp_path):
        await client.applications.settled("counter", timeout_seconds=SECONDS)
    assert called == [1]
    (first, *_) = [each async for each in client.applications.events("counter/0")][::-1]
    assert (first.name, first.attempt, first.state) == ("install", 1, EventState.COMMITTED)


async def test_a_failed_event_is_tried_again_and_its_logs_are_kept(client: Client, tmp_path: Path) -> None:
    broken = [True]

    class Flaky(charm.Charm):
        @charm.on.start
        async def start(self, event: charm.Start) -> None:
            if broken:
                raise RuntimeError("not yet")
            self.state["n"] = "1"

    await deploy(client, Flaky, "flaky")
    async with serving(client, Flaky, "flaky", tmp_path):

        async def has_failed() -> bool:
            event = (await client.applications.unit("flaky/0")).event
            return event is not None and event.state is EventState.ERROR

        await waiting.eventually(has_failed, deadline_seconds=SECONDS)
        failed = (await client.applications.unit("flaky/0")).event
        assert failed is not None
        assert failed.message == "RuntimeError: not yet"
        broken.clear()
        await client.applications.resolve("flaky/0")

        async def is_mended() -> bool:
            return (await client.applications.unit("flaky/0")).event is None

        await waiting.eventually(is_mended, deadline_seconds=SECONDS)
        await client.applications.settled("flaky", timeout_seconds=SECONDS)
        lines = [line.text async for line in client.applications.logs("flaky/0")]
        assert "RuntimeError: not yet" in lines
