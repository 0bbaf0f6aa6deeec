"""A machine runs one workflow at a time, whoever starts and ends them; the others wait."""

import asyncio
import itertools
import uuid

import asyncpg
import grpc
import pytest

from support.site import FAILED, ONE, RUNNING, SUCCEEDED, TIMEOUT, TWO, Flow, Site, action, steps, task
from support.waiting import eventually
from tinkwell.api.v1 import workflow_service_pb2 as pb

ROUNDS = 25
ON_BOTH = (task("a", action("x")), task("b", action("y"), worker="{{.device_2}}"))
ON_BOTH_BACKWARDS = (task("a", action("x"), worker="{{.device_2}}"), task("b", action("y")))


_HOLDS = "SELECT worker_id, workflow_id FROM machine_hold"


async def holds(site: Site) -> dict[str, str]:
    """Which workflow each machine belongs to."""
    return {str(worker): str(flow) for worker, flow in await site.sql.fetch(_HOLDS)}


async def due(site: Site, worker: str) -> list[str]:
    found = site.stub.GetWorkflowContexts(pb.WorkflowContextRequest(worker_id=worker))
    return [context.workflow_id async for context in found]


async def waits_for(flow: Flow) -> tuple[str, str]:
    context = await flow.site.stub.GetWorkflowContext(pb.GetWorkflowContextRequest(id=flow.id))
    return context.waits_for_workflow, context.waits_for_worker


async def starts(flow: Flow) -> bool:
    """Try to start a workflow; False where a machine of it is busy."""
    try:
        await flow.report(0, RUNNING)
    except grpc.aio.AioRpcError as error:
        if "runs on it" not in (error.details() or ""):
            raise
        return False
    return True


async def finish(flow: Flow) -> None:
    """Run a workflow whose first action runs to its end."""
    await flow.report(0, SUCCEEDED)
    await flow.succeed(*range(1, len(flow.actions)))


async def test_a_second_workflow_is_refused_with_the_one_that_has_the_machine_and_nothing_changes(site: Site) -> None:
    first, second = [await site.create(steps(2)) for _ in range(2)]
    await first.report(0, RUNNING)
    before = await site.last_revision()
    told = await second.refused(0, RUNNING)
    assert (told.code, told.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "MACHINE_BUSY")
    assert told.message == f"machine {ONE}: workflow {first.id} runs on it; another one can start when that has ended"
    assert told.metadata == {"subject": f"machine {ONE}", "worker_id": ONE, "workflow_id": first.id}
    assert await site.last_revision() == before
    assert await second.states() == ["PENDING"] * 3
    await first.report(0, SUCCEEDED)
    assert not await starts(second)


@pytest.mark.parametrize("end", [SUCCEEDED, FAILED, TIMEOUT, "cancel", "delete", "psql update", "psql delete"])
async def test_however_a_workflow_ends_the_next_one_can_start(site: Site, end: "str | pb.State.ValueType") -> None:
    first, second = [await site.create(steps(1)) for _ in range(2)]
    await first.report(0, RUNNING)
    assert await holds(site) == {ONE: first.id}
    assert not await starts(second)
    id_ = uuid.UUID(first.id)
    match end:
        case "cancel":
            await site.stub.CancelWorkflow(pb.CancelWorkflowRequest(id=first.id))
        case "delete":
            await site.stub.DeleteWorkflow(pb.DeleteWorkflowRequest(id=first.id))
        case "psql update":
            await site.sql.execute("UPDATE workflow SET state = 'CANCELLED' WHERE id = $1", id_)
        case "psql delete":
            await site.sql.execute("DELETE FROM workflow WHERE id = $1", id_)
        case state:
            assert not isinstance(state, str)
            await first.report(0, state)
    assert await holds(site) == {}
    assert await starts(second)


async def test_of_two_that_start_at_once_exactly_one_wins(site: Site) -> None:
    for _ in range(ROUNDS):
        flows = [await site.create(steps(1)) for _ in range(2)]
        started = await asyncio.gather(*map(starts, flows))
        assert sorted(started) == [False, True]
        winner, loser = (flows[started.index(is_started)] for is_started in (True, False))
        assert await holds(site) == {ONE: winner.id}
        await finish(winner)
        await site.stub.DeleteWorkflow(pb.DeleteWorkflowRequest(id=loser.id))


async def test_workflows_that_share_machines_in_opposite_order_all_end(site: Site) -> None:
    flows = [
        await site.create(*tasks) for tasks, _ in itertools.product((ON_BOTH, ON_BOTH_BACKWARDS, (steps(1),)), range(6))
    ]

    async def bring_to_an_end(flow: Flow) -> None:
        await eventually(lambda: starts(flow), deadline_seconds=60)
        await finish(flow)

    await asyncio.gather(*map(bring_to_an_end, flows))
    assert {(await flow.get()).state for flow in flows} == {SUCCEEDED}
    assert await holds(site) == {}
    machines = {flow.id: {each.worker_id for each in flow.actions} for flow in flows}
    taken: set[str] = set()
    for _, name, data in await site.recorded():
        if name.startswith("workflow.started"):
            assert not machines[data["id"]] & taken
            taken |= machines[data["id"]]
        elif name.startswith("workflow.succeeded"):
            taken -= machines[data["id"]]
    deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    assert await site.sql.fetchval(deadlocks) == 0


async def test_a_workflow_takes_all_its_machines_or_none(site: Site) -> None:
    both = await site.create(*ON_BOTH)
    on_two = await site.create(task("a", action("x"), worker="{{.device_2}}"))
    await on_two.report(0, RUNNING)
    assert not await starts(both)
    assert await holds(site) == {TWO: on_two.id}
    assert (await waits_for(both), await waits_for(on_two)) == ((on_two.id, TWO), ("", ""))
    await finish(on_two)
    assert await starts(both)
    assert await holds(site) == {ONE: both.id, TWO: both.id}


async def test_what_waits_for_a_machine_is_due_for_nobody_and_says_what_it_waits_for(site: Site) -> None:
    first, second, third = [await site.create(steps(2)) for _ in range(3)]
    assert await due(site, ONE) == [first.id, second.id, third.id]
    await second.report(0, RUNNING)
    assert await due(site, ONE) == [second.id]
    assert [await waits_for(flow) for flow in (first, second, third)] == [(second.id, ONE), ("", ""), (second.id, ONE)]
    await finish(second)
    assert await due(site, ONE) == [first.id, third.id]
    assert [await waits_for(flow) for flow in (first, second, third)] == [("", "")] * 3


async def test_a_waiting_workflow_can_be_cancelled(site: Site) -> None:
    first, second = [await site.create(steps(1)) for _ in range(2)]
    await first.report(0, RUNNING)
    await site.stub.CancelWorkflow(pb.CancelWorkflowRequest(id=second.id))
    assert await waits_for(second) == ("", "")
    assert await holds(site) == {ONE: first.id}


async def test_psql_cannot_start_a_second_one_either(site: Site) -> None:
    first, second = [await site.create(steps(1)) for _ in range(2)]
    start = "UPDATE workflow SET state = 'RUNNING' WHERE id = $1"
    await site.sql.execute(start, uuid.UUID(first.id))
    with pytest.raises(asyncpg.CheckViolationError, match=f"waits for machine {ONE}, on which workflow {first.id}"):
        await site.sql.execute(start, uuid.UUID(second.id))
