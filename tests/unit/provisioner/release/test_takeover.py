"""Whoever dies, an operation goes on: on the same engine its actions are adopted, on another one they are lost."""

import asyncio
import contextlib
from typing import Any

import pytest
from unit.provisioner.fake_runtime import FakeRuntime, FakeWorld
from unit.provisioner.release.stage import Stage

from support.waiting import eventually
from tinkwell.client import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeState, StepKind
from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.release.prepare import preparation as prepare

ONE = "resources: {disk: {type: acme/disk:1, config: {size: 3}}}"


@pytest.fixture
def gate(stage: Stage) -> asyncio.Event:
    """Holds the action of the resource up."""
    gate = asyncio.Event()
    stage.images.thing("disk", gates={"create": gate})
    return gate


async def test_who_comes_back_adopts_the_action_that_goes_on_and_asks_for_the_state(
    stage: Stage, gate: asyncio.Event
) -> None:
    async with stage.provisioner():
        operation_id = await stage.apply(ONE)
        await stage.has_called("disk", "create")
    assert len(stage.world.running) == 1
    async with stage.provisioner():
        gate.set()
        await stage.ends(operation_id)
        await stage.is_clear()
    assert stage.images.calls("disk") == ["init", "state", "create", "state"]
    lines = [line.text async for line in stage.operator.logs(operation_id)]
    assert lines.count("create of disk") == 1


async def test_an_action_that_failed_while_nobody_watched_has_failed(stage: Stage, gate: asyncio.Event) -> None:
    async with stage.provisioner():
        operation_id = await stage.apply(ONE)
        await stage.has_called("disk", "create")
    (key,) = stage.world.running
    await stage.world.runs[key].exit(5)
    async with stage.provisioner():
        operation = await stage.ends(operation_id, State.FAILED)
        await stage.is_clear()
    assert operation.cause is not None
    assert "action create FAILED (exit 5)" in operation.cause["message"]


async def test_an_action_that_had_not_begun_is_begun_in_another_round(stage: Stage, gate: asyncio.Event) -> None:
    async with stage.provisioner():
        operation_id = await stage.apply(ONE)
        await stage.has_called("disk", "create")
    (key,) = stage.world.running
    await stage.world.runs.pop(key).exit()
    gate.set()
    async with stage.provisioner():
        await stage.ends(operation_id)
    assert stage.images.calls("disk") == ["init", "state", "create", "state", "create", "state"]
    steps = (await stage.nodes(operation_id))["disk"].steps
    assert [step.state for step in steps if step.kind is StepKind.ACTION] == [State.CANCELLED, State.SUCCEEDED]


async def test_a_call_without_effects_does_not_outlive_its_owner_and_is_made_anew(stage: Stage) -> None:
    gate = asyncio.Event()
    stage.images.thing("disk", gates={"state": gate})
    async with stage.provisioner():
        operation_id = await stage.apply(ONE)
        await stage.has_called("disk", "state")
    assert not stage.world.runs
    gate.set()
    async with stage.provisioner():
        await stage.ends(operation_id)
    assert stage.images.calls("disk") == ["init", "state", "state", "create", "state"]


async def test_an_image_that_answered_init_to_a_new_owner_is_not_asked_once_more(stage: Stage) -> None:
    gate = asyncio.Event()
    stage.images.thing("disk", gates={"init": gate})
    async with stage.provisioner():
        operation_id = await stage.apply(ONE)
        await stage.has_called("disk", "init")
    gate.set()
    async with stage.provisioner():
        await stage.ends(operation_id)
        await stage.ends(await stage.apply(ONE))
    assert stage.images.calls("disk").count("init") == 2


async def test_who_comes_back_when_a_part_was_removed_removes_the_rest(stage: Stage) -> None:
    gate = asyncio.Event()
    stage.images.thing("disk", gates={"destroy": gate})
    both = "resources: {disk: {type: acme/disk:1}, file: {type: acme/file:1, dependencies: {on: disk}}}"
    async with stage.provisioner():
        await stage.ends(await stage.apply(both))
        operation_id = (await stage.operator.uninstall("shop")).id
        await stage.has_called("disk", "destroy")
    gate.set()
    async with stage.provisioner():
        await stage.ends(operation_id)
    assert stage.images.calls("file").count("destroy") == stage.images.calls("disk").count("destroy") == 1


async def test_a_neighbour_takes_over_what_a_dead_one_ran_here(stage: Stage, gate: asyncio.Event) -> None:
    stage.server.world.lease_seconds = 0.3
    async with contextlib.AsyncExitStack() as neighbour:
        async with stage.provisioner(slot=0):
            operation_id = await stage.apply(ONE)
            await stage.has_called("disk", "create")
            await neighbour.enter_async_context(stage.provisioner(slot=1))
            await stage.rest()
        stage.expire(0)
        gate.set()
        await stage.ends(operation_id)
        await stage.is_clear()
    assert stage.images.calls("disk") == ["init", "state", "create", "state"]


async def test_on_another_engine_an_action_is_lost_where_the_resource_is_stale(
    stage: Stage, gate: asyncio.Event
) -> None:
    stage.server.world.lease_seconds = 0.3
    async with stage.provisioner():
        operation_id = await stage.apply(ONE)
        await stage.has_called("disk", "create")
    stage.expire(0)
    elsewhere = FakeWorld()
    async with stage.provisioner(
        slot=1, engine="elsewhere", runtime=FakeRuntime(elsewhere, perform=stage.images.perform)
    ):
        operation = await stage.ends(operation_id, State.FAILED)
    assert operation.cause is not None
    assert operation.cause["reason"] == "STEP_LOST"
    assert stage.images.calls("disk") == ["init", "state", "create", "state"]
    assert not elsewhere.runs


async def test_on_another_engine_all_is_well_where_the_resource_is_valid(stage: Stage, gate: asyncio.Event) -> None:
    stage.server.world.lease_seconds = 0.3
    async with stage.provisioner():
        operation_id = await stage.apply(ONE)
        await stage.has_called("disk", "create")
    stage.expire(0)
    stage.images.things["disk"].state = {"size": 3}
    async with stage.provisioner(
        slot=1, engine="elsewhere", runtime=FakeRuntime(FakeWorld(), perform=stage.images.perform)
    ):
        await stage.ends(operation_id)


async def test_who_hears_that_an_operation_is_another_s_removes_what_it_runs(stage: Stage, gate: asyncio.Event) -> None:
    async with stage.provisioner():
        operation_id = await stage.apply(ONE)
        await stage.has_called("disk", "create")
        await stage.steal(operation_id, engine="elsewhere")
        gate.set()
        await stage.is_clear()
        assert stage.images.calls("disk") == ["init", "state", "create"]
    assert (await stage.nodes(operation_id))["disk"].state is NodeState.INSTALLING


async def test_a_defect_in_taking_over_ends_the_operation_and_what_runs_of_it(
    stage: Stage, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage.provisioner():
        operation_id = await stage.apply(ONE)
        await stage.has_called("disk", "create")

    async def fail(*_: object) -> None:
        raise KeyError("a defect")

    monkeypatch.setattr(prepare, "recall", fail)
    async with stage.provisioner():
        operation = await stage.ends(operation_id, State.FAILED)
        await stage.is_clear()
    assert operation.cause is not None
    assert operation.cause["reason"] == "INTERNAL"
    assert (await stage.nodes(operation_id))["disk"].steps[-1].state is State.CANCELLED


async def test_what_its_new_owner_watches_on_this_engine_is_left_to_it(stage: Stage, gate: asyncio.Event) -> None:
    async with stage.provisioner():
        operation_id = await stage.apply(ONE)
        await stage.has_called("disk", "create")
        (key,) = stage.world.running
        stage.claims.living.add(7)
        stage.claims.of(7).take(key)
        await stage.steal(operation_id, engine="engine")
        gate.set()
        await eventually(lambda: stage.world.runs[key].ending is not None)
        await stage.rest()
    assert key in stage.world.runs


async def test_runs_of_earlier_operations_are_stopped_before_anything_begins(stage: Stage) -> None:
    async with stage.provisioner():
        await stage.ends(await stage.apply(ONE))
        release = await stage.operator.get("shop")
        leftover = await stage.leave(RunKey(RunKind.RELEASE, release.id, "earlier", 1))
        running: list[bool] = []
        stage.images.on_call = lambda: running.append(leftover.ending is None)
        await stage.ends(await stage.apply("resources: {disk: {type: acme/disk:1, config: {size: 4}}}"))
    assert running
    assert not any(running)
    assert not stage.world.runs


async def test_runs_of_releases_without_an_operation_are_removed_but_not_those_that_others_watch(stage: Stage) -> None:
    orphan = await stage.leave(RunKey(RunKind.RELEASE, "gone", "orphan", 1))
    watched = await stage.leave(RunKey(RunKind.RELEASE, "gone", "watched", 1))
    stage.claims.living.add(7)
    stage.claims.of(7).take(watched.key)
    async with stage.provisioner():
        await eventually(lambda: orphan.key not in stage.world.runs)
        await stage.rest()
    assert watched.key in stage.world.runs


async def test_nothing_starts_before_the_server_has_taken_that_it_does(stage: Stage) -> None:
    async def refuse(actor: str, method: str, request: object) -> None:
        if method == "ReportOperation":
            raise errors.Unavailable("the line is cut")

    async with stage.provisioner():
        stage.server.on_call = refuse
        operation_id = await stage.apply(ONE)
        await eventually(lambda: len(stage.server.requests("ReportOperation")) > 2)
        assert stage.images.journal == []
        stage.server.on_call = None
        await stage.ends(operation_id)


async def test_a_report_is_repeated_until_the_server_is_back_and_the_run_is_kept_until_then(
    stage: Stage, gate: asyncio.Event
) -> None:
    async with stage.provisioner():
        operation_id = await stage.apply(ONE)
        await stage.has_called("disk", "create")
        (key,) = stage.world.running
        stage.server.is_away = True
        gate.set()
        await eventually(lambda: stage.world.runs[key].ending is not None)
        for _ in range(20):
            await asyncio.sleep(0)
        assert key in stage.world.runs
        stage.server.is_away = False
        await stage.ends(operation_id)
        await stage.is_clear()


async def test_a_defect_ends_the_operation_and_says_so_and_the_next_one_is_carried_out(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    async with stage.provisioner():
        with monkeypatch.context() as patch:
            patch.setattr("tinkwell.provisioner.release.call.caller.answer.parse_state", broken)
            operation = await stage.ends(await stage.apply(ONE), State.FAILED)
        assert operation.cause is not None
        assert operation.cause["reason"] == "INTERNAL"
        await stage.is_clear()
        await stage.ends(await stage.apply(ONE))


async def test_reports_that_the_server_refuses_end_the_operation(stage: Stage) -> None:
    async def refuse(actor: str, method: str, request: Any) -> None:
        if method == "ReportOperation" and any(each.HasField("resource") for each in request.reports):
            raise errors.InvalidField("reports[0].resource.state: is too deep")

    stage.server.on_call = refuse
    async with stage.provisioner():
        operation = await stage.ends(await stage.apply(ONE), State.FAILED)
        await stage.is_clear()
    assert operation.cause is not None
    assert operation.cause["reason"] == "INTERNAL"
