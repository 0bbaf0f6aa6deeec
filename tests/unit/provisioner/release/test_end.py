"""Operations that are cancelled, or whose time is over, end, and nothing of them is left running."""

import asyncio

import pytest
from unit.provisioner.release.stage import Stage

from support.patient_loop import HastyLoop
from support.waiting import eventually
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeState, StepKind

LOOP = HastyLoop
ONE = "resources: {disk: {type: acme/disk:1, config: {size: 3}}}"


@pytest.fixture
def gate(stage: Stage) -> asyncio.Event:
    """Holds the action of the resource up."""
    gate = asyncio.Event()
    stage.images.thing("disk", gates={"create": gate})
    return gate


async def _action(stage: Stage, operation_id: str) -> State:
    (action,) = (s for s in (await stage.nodes(operation_id))["disk"].steps if s.kind is StepKind.ACTION)
    return action.state


async def test_after_a_cancellation_an_action_has_time_to_end_and_nothing_more_begins(
    stage: Stage, gate: asyncio.Event
) -> None:
    async with stage.provisioner():
        operation_id = await stage.apply(ONE)
        await stage.has_called("disk", "create")
        await stage.operator.cancel(operation_id)
        await stage.rest()
        assert len(stage.world.running) == 1
        gate.set()
        await stage.ends(operation_id, State.CANCELLED)
        await stage.is_clear()
    assert stage.images.calls("disk") == ["init", "state", "create"]
    assert await _action(stage, operation_id) is State.SUCCEEDED


async def test_who_cancels_at_once_has_the_action_killed(stage: Stage, gate: asyncio.Event) -> None:
    async with stage.provisioner():
        operation_id = await stage.apply(ONE)
        await stage.has_called("disk", "create")
        await stage.operator.cancel(operation_id, now=True)
        operation = await stage.ends(operation_id, State.CANCELLED)
        await stage.is_clear()
    assert await _action(stage, operation_id) is State.CANCELLED
    assert operation.cause is not None
    assert operation.cause["reason"] == "CANCELLED"


async def test_who_cancels_once_more_and_at_once_is_obeyed_at_once(stage: Stage, gate: asyncio.Event) -> None:
    async with stage.provisioner():
        operation_id = await stage.apply(ONE)
        await stage.has_called("disk", "create")
        await stage.operator.cancel(operation_id)
        await stage.rest()
        assert len(stage.world.running) == 1
        await stage.operator.cancel(operation_id, now=True)
        await stage.ends(operation_id, State.CANCELLED)
        await stage.is_clear()
    assert await _action(stage, operation_id) is State.CANCELLED


async def test_a_call_without_effects_is_killed_at_once(stage: Stage) -> None:
    stage.images.thing("disk", gates={"state": asyncio.Event()})
    async with stage.provisioner():
        operation_id = await stage.apply(ONE)
        await stage.has_called("disk", "state")
        await stage.operator.cancel(operation_id)
        await stage.ends(operation_id, State.CANCELLED)
        await stage.is_clear()


async def test_a_preparation_is_cancelled(stage: Stage) -> None:
    stage.runtime.may_identify.clear()
    async with stage.provisioner():
        operation_id = await stage.apply(ONE)
        await eventually(lambda: bool(stage.server.requests("GetWork")))
        await stage.operator.cancel(operation_id)
        await stage.ends(operation_id, State.CANCELLED)
    assert stage.images.journal == []


async def test_a_cancellation_at_the_very_end_of_its_time_does_no_harm(stage: Stage) -> None:
    stage.runtime.may_identify.clear()
    async with stage.provisioner():
        operation_id = await stage.apply(ONE, timeout_seconds=1)
        await eventually(lambda: bool(stage.server.requests("GetWork")))
        left = (await stage.operator.operation(operation_id)).remaining_seconds
        assert left is not None
        await asyncio.sleep(left)
        await stage.operator.cancel(operation_id)
        await stage.operator.wait(operation_id)
        await stage.ends(await stage.apply("resources: {}", name="other"))


async def test_what_was_cancelled_before_it_was_taken_is_not_begun(stage: Stage) -> None:
    operation_id = await stage.apply(ONE)
    await stage.operator.cancel(operation_id)
    async with stage.provisioner():
        await stage.ends(operation_id, State.CANCELLED)
        await stage.rest()
    assert stage.images.journal == []


async def test_a_cancellation_that_was_asked_of_a_dead_owner_is_obeyed_by_its_successor(
    stage: Stage, gate: asyncio.Event
) -> None:
    async with stage.provisioner():
        operation_id = await stage.apply(ONE)
        await stage.has_called("disk", "create")
    await stage.operator.cancel(operation_id, now=True)
    async with stage.provisioner():
        await stage.ends(operation_id, State.CANCELLED)
        await stage.is_clear()
    assert stage.images.calls("disk") == ["init", "state", "create"]


async def test_at_the_deadline_what_runs_is_killed_once_it_had_its_time(
    stage: Stage, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinkwell.core.release.decision.decide.GRACE_SECONDS", 0)
    async with stage.provisioner():
        operation_id = await stage.apply(ONE, timeout_seconds=1)
        operation = await stage.ends(operation_id, State.TIMEOUT)
        await stage.is_clear()
    assert operation.cause is not None
    assert operation.cause["reason"] == "TIMEOUT"
    assert (await stage.nodes(operation_id))["disk"].state is NodeState.FAILED


async def test_a_preparation_that_takes_too_long_is_ended(stage: Stage) -> None:
    stage.runtime.may_identify.clear()
    async with stage.provisioner():
        operation = await stage.ends(await stage.apply(ONE, timeout_seconds=1), State.TIMEOUT)
    assert operation.cause is not None
    assert "in the phase VALIDATE" in operation.cause["message"]


@pytest.mark.parametrize(("call", "timeout"), [("create", "action"), ("state", "state"), ("init", "state")])
async def test_a_call_that_takes_too_long_is_killed_and_has_failed_its_resource(
    stage: Stage, call: str, timeout: str
) -> None:
    stage.images.thing("disk", gates={call: asyncio.Event()})
    async with stage.provisioner():
        operation_id = await stage.apply(f"resources: {{disk: {{type: acme/disk:1, timeouts: {{{timeout}: 1}}}}}}")
        await stage.ends(operation_id, State.FAILED)
        await stage.is_clear()
    assert "its deadline passed and was killed" in (await stage.nodes(operation_id))["disk"].message


async def test_a_resource_that_does_not_become_ready_in_time_has_failed(stage: Stage) -> None:
    thing = stage.images.thing("disk", is_stubborn=True)
    thing.init = {"tinkwell": {"protocol": 1, "readiness": {"poll_seconds": 1}}}
    async with stage.provisioner():
        operation_id = await stage.apply(ONE, readiness_timeout_seconds=1)
        await stage.ends(operation_id, State.FAILED)
    assert "recheck FAILED: it is still STALE" in (await stage.nodes(operation_id))["disk"].message
