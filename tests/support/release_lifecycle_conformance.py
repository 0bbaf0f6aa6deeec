"""What every server answers about what is emitted in the life of releases: run against the real one and the fake."""

import asyncio
import dataclasses
import uuid

import pytest

from support.client_conformance import Check
from support.release_provisioner import Provisioner, apply
from tinkwell.client import Client, Event, EventType, LifecycleRun, ResourceType, errors
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import Phase
from tinkwell.core.release.lifecycle_event.run import HandlerRun, Outcome
from tinkwell.core.release.report import LifecycleReport, PhaseReport

CHECKS: list[Check] = []
HANDLER = HandlerRun(
    chart="shop.db", file="ext/lua/init.lua", line=12, weight=0.5, seconds=0.25, outcome=Outcome.SUCCEEDED
)
RENDERED = LifecycleReport(event="render", chart="shop", seconds=0.5)
_OF_OPERATIONS = (ResourceType.LIFECYCLE, ResourceType.OPERATION)
INSTALLED = LifecycleReport(event="pre-install", chart="shop", handlers=(HANDLER,), seconds=0.25)


def check(function: Check) -> Check:
    """Add a check."""
    CHECKS.append(function)
    return function


async def runs(client: Client, operation_id: str) -> list[tuple[int, str, str]]:
    """Give what an operation emitted, in short."""
    return [(run.ordinal, run.chart, run.event) async for run in client.releases.lifecycle(operation_id)]


async def emitted(client: Client, *, from_revision: int) -> Event:
    """Wait for the first event of what releases emit from a revision on."""
    async with client.releases.watch(from_revision=from_revision, resource_types=[ResourceType.LIFECYCLE]) as events:
        return await anext(events)


@check
async def what_is_emitted_is_kept_in_its_order_in_every_phase(client: Client) -> None:
    handle, owner = await apply(client), await Provisioner.enter(client)
    assert await runs(client, handle.id) == []
    with pytest.raises(errors.IllegalTransition):
        await owner.report(handle.id, RENDERED)
    await client.releases.acquire(handle.id, owner.token)
    await owner.report(handle.id, PhaseReport(Phase.RENDER), RENDERED)
    await owner.submit(handle.id)
    await owner.report(handle.id, INSTALLED, dataclasses.replace(INSTALLED, chart="shop.db"))
    found = [run async for run in client.releases.lifecycle(handle.id)]
    assert [(run.ordinal, run.chart, run.event) for run in found] == [
        (1, "shop", "render"),
        (2, "shop", "pre-install"),
        (3, "shop.db", "pre-install"),
    ]
    told = found[1]
    assert (told.handlers, told.outcome, told.message, told.seconds) == ((HANDLER,), Outcome.SUCCEEDED, "", 0.25)
    assert (told.operation_id, told.version) == (handle.id, 1)
    assert told.release_id == (await client.releases.get("shop")).id
    for path in ("role", "db"):
        await owner.install(handle.id, path)
    await owner.finish(handle.id)
    with pytest.raises(errors.IllegalTransition):
        await owner.report(handle.id, dataclasses.replace(INSTALLED, event="post-install"))
    with pytest.raises(errors.NotFound):
        await runs(client, str(uuid.uuid4()))


@check
async def what_is_emitted_anew_takes_the_place_of_the_former_and_what_is_the_same_is_not_told_again(
    client: Client,
) -> None:
    handle, owner = await apply(client), await Provisioner.enter(client)
    await client.releases.acquire(handle.id, owner.token)
    failed = dataclasses.replace(HANDLER, outcome=Outcome.FAILED)
    again = dataclasses.replace(RENDERED, handlers=(failed,), outcome=Outcome.WARNED, message="it has a point")
    for told in (RENDERED, RENDERED, again, again):
        await owner.report(handle.id, told, INSTALLED)
    await owner.finish(handle.id, State.FAILED)
    render, _ = [run async for run in client.releases.lifecycle(handle.id)]
    assert (render.ordinal, render.version, render.outcome, render.message) == (1, 2, Outcome.WARNED, "it has a point")
    assert render.handlers == (failed,)
    seen: list[LifecycleRun] = []
    release = await client.releases.get("shop")
    async with asyncio.timeout(20):
        async for event in client.releases.watch(resource_id=release.id, resource_types=_OF_OPERATIONS):
            if event.event_type is EventType.OPERATION_FAILED:
                break
            if event.resource_type is ResourceType.LIFECYCLE:
                assert (event.event_type, event.name) == (EventType.LIFECYCLE_EMITTED, "lifecycle.emitted")
                assert (event.parent_id, event.version) == (release.id, event.data["version"])
                assert isinstance(event.resource, LifecycleRun)
                seen.append(event.resource)
    assert [(run.event, run.version) for run in seen] == [("render", 1), ("pre-install", 1), ("render", 2)]
    assert seen[-1] == render


@check
async def a_watch_goes_on_behind_what_was_emitted(client: Client) -> None:
    handle, owner = await apply(client), await Provisioner.enter(client)
    await client.releases.acquire(handle.id, owner.token)
    await owner.report(handle.id, RENDERED, INSTALLED)
    async with asyncio.timeout(20):
        first = await emitted(client, from_revision=1)
        assert first.data["event"] == "render"
        second = await emitted(client, from_revision=first.revision + 1)
    assert second.data["event"] == "pre-install"
    assert second.data["handlers"] == [
        {
            "chart": "shop.db",
            "file": "ext/lua/init.lua",
            "line": 12,
            "weight": 0.5,
            "seconds": 0.25,
            "outcome": "SUCCEEDED",
        }
    ]
