"""Which operations a provisioner takes, and which it leaves alone."""

import asyncio
import contextlib

import pytest
from unit.provisioner.release.stage import Stage

from support.waiting import eventually
from tinkwell.api.v1 import workflow_service_pb2 as pb
from tinkwell.client import errors
from tinkwell.core.event.kinds import State
from tinkwell.provisioner.runtime import port

ONE = "resources: {disk: {type: acme/disk:1, config: {size: 3}}}"


async def test_what_was_there_before_a_provisioner_is_found(stage: Stage) -> None:
    operation_id = await stage.apply(ONE)
    async with stage.provisioner():
        await stage.ends(operation_id)


async def test_only_namespaces_that_are_served_are_worked_on(stage: Stage) -> None:
    async with stage.provisioner(namespaces={"prod"}, resync_seconds=0.05):
        other = await stage.apply(ONE, name="other")
        await stage.ends(await stage.apply(ONE, namespace="prod"))
        await stage.rest()
    assert (await stage.operator.operation(other)).state is State.PENDING


async def test_an_operation_is_carried_out_by_one_of_several(stage: Stage) -> None:
    async with contextlib.AsyncExitStack() as stack:
        for slot in range(3):
            await stack.enter_async_context(stage.provisioner(slot=slot))
        ids = [await stage.apply(ONE, name=f"shop-{number}") for number in range(6)]
        for operation_id in ids:
            await stage.ends(operation_id)
    assert stage.images.calls("disk").count("create") <= 6
    assert max(stage.world.starts.values()) == 1


async def test_what_somebody_alive_holds_is_left_alone(stage: Stage) -> None:
    other = stage.server.connect("other")
    token = (await other.work.acquire("other/1", "elsewhere")).token
    operation_id = await stage.apply(ONE)
    await other.releases.acquire(operation_id, token)
    stage.server.world.lease_seconds = 0.3
    async with stage.provisioner(resync_seconds=0.05):
        await eventually(lambda: len(stage.server.requests("AcquireOperation")) > 1)
        await eventually(lambda: len(stage.server.requests("ListUnfinished")) > 5)
        await stage.rest()
        # Whose it is was asked once.
        assert len(stage.server.requests("AcquireOperation")) == 2
        stage.server.world.ledger.expire(token)
        await stage.ends(operation_id)


async def test_a_release_that_keeps_files_elsewhere_is_left_to_its_engine(stage: Stage) -> None:
    manifest = "{plugs: {own: {path: data}}, resources: {disk: {type: acme/disk:1}}}"
    async with stage.provisioner(engine="here"):
        await stage.ends(await stage.apply(manifest))
    async with stage.provisioner(engine="elsewhere", slot=1, resync_seconds=0.05):
        operation_id = await stage.apply(manifest)
        await eventually(lambda: len(stage.server.requests("AcquireOperation")) > 1)
        assert (await stage.operator.operation(operation_id)).state is State.PENDING
        moved = await stage.operator.cancel(operation_id)
        assert moved.state is State.CANCELLED
        await stage.ends(await stage.apply(manifest, move_engine=True))


async def test_so_many_operations_are_carried_out_at_once_and_the_rest_wait(stage: Stage) -> None:
    gate = asyncio.Event()
    stage.images.thing("disk", gates={"state": gate})
    async with stage.provisioner(concurrency=2):
        ids = [await stage.apply(ONE, name=f"shop-{number}") for number in range(4)]
        await stage.has_called("disk", "state", 2)
        await stage.rest()
        assert len(stage.server.requests("GetWork")) == 2
        gate.set()
        for operation_id in ids:
            await stage.ends(operation_id)


async def test_actions_with_one_concurrency_key_exclude_each_other_over_all_operations(stage: Stage) -> None:
    running: list[int] = []
    gates = {f"disk{number}": asyncio.Event() for number in range(3)}
    stage.images.on_call = lambda: running.append(
        sum(run.spec.command == ("create",) for run in stage.world.runs.values() if run.ending is None)
    )
    async with stage.provisioner():
        ids = []
        for name, gate in gates.items():
            stage.images.thing(name, gates={"create": gate})
            manifest = f"resources: {{{name}: {{type: acme/x:1, concurrency_key: api}}}}"
            ids.append(await stage.apply(manifest, name=name))
        for _ in gates:
            await eventually(lambda: running[-1:] == [1] and bool(stage.world.running))
            for gate in gates.values():
                gate.set()
        for operation_id in ids:
            await stage.ends(operation_id)
    assert max(running) == 1


async def test_events_that_were_missed_are_made_up_for_by_a_list(stage: Stage) -> None:
    async with stage.provisioner():
        await stage.ends(await stage.apply(ONE))
        stage.server.log.pause()
        operation_id = await stage.apply(ONE)
        stage.server.log.change_history()
        stage.server.log.resume()
        await stage.ends(operation_id)


async def test_a_lease_that_is_lost_and_had_again_keeps_its_operations(stage: Stage) -> None:
    gate = asyncio.Event()
    stage.images.thing("disk", gates={"create": gate})
    async with stage.provisioner() as worker:
        operation_id = await stage.apply(ONE)
        await stage.has_called("disk", "create")
        worker.lose()
        await stage.rest()
        gate.set()
        await stage.ends(operation_id)
    assert stage.images.calls("disk") == ["init", "state", "create", "state"]


async def test_what_was_taken_away_while_the_lease_was_over_is_let_go_of(stage: Stage) -> None:
    stage.images.thing("disk", gates={"create": asyncio.Event()})
    async with stage.provisioner() as worker:
        operation_id = await stage.apply(ONE)
        await stage.has_called("disk", "create")
        await stage.steal(operation_id, engine="elsewhere")
        worker.lose()
        await stage.is_clear()


async def test_a_server_that_fails_on_one_operation_does_not_keep_the_others_back(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(actor: str, method: str, request: object) -> None:
        if method == "GetOperation" and getattr(request, "id", "") == bad:
            raise errors.Internal("a fault")

    bad = ""
    stage.server.on_call = fail
    async with stage.provisioner():
        bad = (await stage.operator.apply("bad", files={"m": ONE})).id
        await stage.ends(await stage.apply(ONE))
    assert "an operation cannot be had" in caplog.text


async def test_a_server_that_does_not_know_us_ends_the_provisioner(stage: Stage) -> None:
    async def refuse(actor: str, method: str, request: object) -> None:
        if method == "GetWork":
            raise errors.Unauthenticated("no")

    async def provision() -> None:
        async with stage.provisioner():
            await stage.apply(ONE)
            await eventually(lambda: bool(stage.server.requests("GetWork")))
            await stage.rest()

    stage.server.on_call = refuse
    with pytest.raises(BaseExceptionGroup) as caught:
        await provision()
    assert caught.value.subgroup(errors.Unauthenticated) is not None


async def test_an_engine_that_does_not_say_what_it_has_keeps_nothing_back(
    stage: Stage, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(kind: object) -> None:
        raise port.RunError(port.Reason.UNAVAILABLE, "the engine is away")

    monkeypatch.setattr(stage.runtime, "held", fail)
    async with stage.provisioner():
        await stage.ends(await stage.apply(ONE))
    assert "it is not known what runs for releases" in caplog.text


async def test_a_start_waits_until_the_lease_is_good_and_is_told_once_more(stage: Stage) -> None:
    gate = asyncio.Event()
    stage.images.thing("disk", gates={"state": gate})

    def starts() -> int:
        reports = (each for request in stage.server.requests("ReportOperation") for each in request.reports)
        return sum(each.step.name == "create" and each.step.state == pb.STATE_RUNNING for each in reports)

    async with stage.provisioner():
        operation_id = await stage.apply(ONE)
        await stage.has_called("disk", "state")
        stage.lease._ends_at = 0.0  # as after a sleep of the whole machine
        renewals = len(stage.server.requests("Renew"))
        gate.set()
        await stage.ends(operation_id)
    assert len(stage.server.requests("Renew")) > renewals
    assert starts() == 2


async def test_plugs_need_an_engine_that_is_surely_of_this_machine(stage: Stage) -> None:
    stage.runtime.is_local = False
    async with stage.provisioner():
        operation_id = await stage.apply("{plugs: {own: {path: data}}, resources: {}}")
        operation = await stage.ends(operation_id, State.FAILED)
    assert operation.cause is not None
    assert operation.cause["message"].startswith("VALIDATE: plugs: are files of the engine's machine")
