"""Work is held under leases: owners that die are followed, and what they say later is refused."""

import asyncio
import uuid
from collections.abc import Awaitable

import grpc
import pytest

from support import edge
from support.site import (
    CANCELLED,
    FAILED,
    LEASE_SECONDS,
    ONE,
    PENDING,
    RUNNING,
    SUCCEEDED,
    TIMEOUT,
    TWO,
    UNKNOWN,
    Flow,
    Site,
    action,
    steps,
    task,
)
from tinkwell.api.v1 import work_service_pb2 as wk
from tinkwell.api.v1 import workflow_service_pb2 as pb

ROUNDS = 20
Hold = tuple[str, int, bool]


async def holds(flow: Flow) -> dict[str, Hold]:
    """The machines of a workflow: the index of the action that may be there, the lease's token, whether it is alive."""
    context = await flow.site.stub.GetWorkflowContext(pb.GetWorkflowContextRequest(id=flow.id))
    index = {each.id: str(each.index) for each in flow.actions}
    return {h.worker_id: (index.get(h.action_id, ""), h.lease_token, h.is_live) for h in context.holds}


async def held_rows(site: Site) -> int:
    return int(await site.sql.fetchval("SELECT count(*) FROM machine_hold"))


async def renew(site: Site, token: int) -> list[str]:
    return list((await site.work.Renew(wk.RenewRequest(lease_token=token))).lost_workflow_ids)


async def release(site: Site, token: int, flow: Flow | None = None, *, worker_id: str = "") -> None:
    request = wk.ReleaseRequest(lease_token=token, workflow_id=flow.id if flow else "", worker_id=worker_id)
    await site.work.Release(request)


async def expire(flow: Flow) -> pb.ExpireWorkflowResponse:
    return await flow.site.stub.ExpireWorkflow(pb.ExpireWorkflowRequest(id=flow.id))


async def cancel(flow: Flow) -> None:
    await flow.site.stub.CancelWorkflow(pb.CancelWorkflowRequest(id=flow.id))


async def journal(flow: Flow) -> list[tuple[int, str]]:
    request = pb.ShowWorkflowEventsRequest(id=flow.id)
    return [(entry.state, entry.message) async for entry in flow.site.stub.ShowWorkflowEvents(request)]


async def reason_of(call: Awaitable[object]) -> str:
    return (await edge.refused(call)).reason


async def test_a_lease_comes_with_its_length_and_a_token_that_only_grows(site: Site) -> None:
    request = wk.AcquireRequest(owner="a", engine="engine")
    first = await site.work.Acquire(request)
    others = [await site.acquire(owner) for owner in ("b", "a", "a")]
    assert (first.lease_seconds, list(first.workflow_ids)) == (LEASE_SECONDS, [])
    tokens = [first.lease_token, *others]
    assert tokens == sorted(set(tokens))


async def test_of_many_that_acquire_for_one_owner_at_once_the_last_token_is_the_greatest(site: Site) -> None:
    tokens = await asyncio.gather(*(site.acquire("a") for _ in range(ROUNDS)))
    (left,) = await site.sql.fetch("SELECT token FROM lease")
    assert len(set(tokens)) == ROUNDS
    assert left["token"] == max(tokens)


@pytest.mark.parametrize(("owner", "engine", "field"), [("", "e", "owner"), ("o", "", "engine"), ("o\n", "e", "owner")])
async def test_an_owner_and_an_engine_are_needed(site: Site, owner: str, engine: str, field: str) -> None:
    told = await edge.refused(site.work.Acquire(wk.AcquireRequest(owner=owner, engine=engine)))
    assert (told.code, told.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
    assert told.message.startswith(field)


async def test_what_is_started_under_a_lease_is_held_under_it_until_its_end(site: Site) -> None:
    flow, mine = await site.create(steps(2)), await site.acquire("a")
    started = await flow.report(0, RUNNING, lease_token=mine)
    assert (started.state, started.attempt) == (RUNNING, 1)
    assert await holds(flow) == {ONE: ("0", mine, True)}
    assert (await flow.report(0, SUCCEEDED, lease_token=mine)).state == SUCCEEDED
    assert await holds(flow) == {ONE: ("", mine, True)}
    await flow.report(1, RUNNING, lease_token=mine)
    await flow.report(1, SUCCEEDED, lease_token=mine)
    assert (await flow.get()).state == SUCCEEDED
    assert await holds(flow) == {}


async def test_reports_without_a_lease_go_as_they_always_did(site: Site) -> None:
    flow = await site.create(steps(2))
    await flow.report(0, RUNNING)
    assert await holds(flow) == {ONE: ("", 0, False)}
    assert (await flow.report(0, RUNNING)).revision == 0
    # Nor does who has a lease take over what was started without one.
    repeated = await flow.report(0, RUNNING, attempt=1, lease_token=await site.acquire("a"))
    assert (repeated.revision, repeated.state) == (0, RUNNING)
    assert await holds(flow) == {ONE: ("", 0, False)}
    await flow.report(0, SUCCEEDED)
    await flow.succeed(1)
    assert await flow.states() == ["SUCCEEDED"] * 3
    assert await held_rows(site) == 0


@pytest.mark.parametrize("index", [0, 1])
async def test_of_two_owners_that_race_for_the_same_start_exactly_one_wins(site: Site, index: int) -> None:
    tokens = [await site.acquire(owner, f"engine of {owner}") for owner in ("a", "b")]
    for _ in range(ROUNDS):
        flow = await site.create(steps(2))
        await flow.succeed(*range(index))
        asked = (flow.report(index, RUNNING, attempt=1, lease_token=token) for token in tokens)
        answers = await asyncio.gather(*asked, return_exceptions=True)
        won = [not isinstance(answer, BaseException) for answer in answers]
        assert sorted(won) == [False, True]
        assert (await holds(flow))[ONE][:2] == (str(index), tokens[won.index(True)])
        loser = tokens[won.index(False)]
        assert (await flow.refused(index, RUNNING, attempt=1, lease_token=loser)).reason == "LEASE_HELD"
        await cancel(flow)
        await release(site, tokens[won.index(True)], flow)


async def test_who_holds_a_machine_between_two_actions_keeps_others_from_the_second(site: Site) -> None:
    flow, mine, other = await site.create(steps(2)), await site.acquire("a"), await site.acquire("b")
    await flow.report(0, RUNNING, lease_token=mine)
    await flow.report(0, SUCCEEDED, lease_token=mine)
    for token in (other, 0):
        told = await flow.refused(1, RUNNING, lease_token=token)
        assert (told.code, told.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "LEASE_HELD")
        assert told.metadata["worker_id"] == ONE
    await site.kill(mine)
    await flow.report(1, RUNNING, lease_token=other)
    assert await holds(flow) == {ONE: ("1", other, True)}


async def test_a_lease_that_is_over_starts_and_takes_up_nothing(site: Site) -> None:
    flow, mine = await site.create(steps(1)), await site.acquire("a")
    await site.kill(mine)
    for token in (mine, 4_711):
        assert (await flow.refused(0, RUNNING, lease_token=token)).reason == "LEASE_LOST"
    assert await flow.states() == ["PENDING"] * 2
    await renew(site, mine)
    await flow.report(0, RUNNING, lease_token=mine)
    await site.kill(mine)
    assert (await flow.refused(0, RUNNING, attempt=1, lease_token=mine)).reason == "LEASE_LOST"


@pytest.mark.parametrize("state", [SUCCEEDED, FAILED, TIMEOUT])
async def test_what_somebody_else_says_of_an_end_is_refused(site: Site, state: pb.State.ValueType) -> None:
    flow, mine, other = await site.create(steps(1)), await site.acquire("a"), await site.acquire("b")
    await flow.report(0, RUNNING, lease_token=mine)
    before = await site.last_revision()
    for token in (other, 0, 4_711):
        assert (await flow.refused(0, state, lease_token=token)).reason == "LEASE_LOST"
    assert await site.last_revision() == before
    # One that has expired is still heard, as long as nobody took the work away.
    await site.kill(mine)
    assert (await flow.report(0, state, lease_token=mine)).state == state
    for token in (mine, other, 0):
        assert (await flow.report(0, state, lease_token=token)).revision == 0


async def test_an_owner_that_comes_back_has_what_it_held_and_its_former_self_is_refused(site: Site) -> None:
    flows = [await site.create(*tasks) for tasks in ((steps(1),), (task("t", action("x"), worker="{{.device_2}}"),))]
    former = await site.acquire("a")
    for flow in flows:
        await flow.report(0, RUNNING, lease_token=former)
    back = await site.work.Acquire(wk.AcquireRequest(owner="a", engine="engine"))
    assert sorted(back.workflow_ids) == sorted(flow.id for flow in flows)
    assert await holds(flows[0]) == {ONE: ("0", back.lease_token, True)}
    assert await reason_of(site.work.Renew(wk.RenewRequest(lease_token=former))) == "LEASE_LOST"
    assert (await flows[0].refused(0, SUCCEEDED, lease_token=former)).reason == "LEASE_LOST"
    assert (await flows[0].refused(0, RUNNING, attempt=1, lease_token=former)).reason == "LEASE_LOST"
    assert (await flows[0].report(0, RUNNING, attempt=1, lease_token=back.lease_token)).revision == 0
    await flows[0].report(0, SUCCEEDED, lease_token=back.lease_token)
    assert await flows[0].states() == ["SUCCEEDED"] * 2


async def test_an_owner_that_comes_back_with_another_engine_has_lost_what_it_held(site: Site) -> None:
    flow, former = await site.create(steps(1)), await site.acquire("a", "old")
    await flow.report(0, RUNNING, lease_token=former)
    back = await site.work.Acquire(wk.AcquireRequest(owner="a", engine="new"))
    assert list(back.workflow_ids) == []
    assert await renew(site, back.lease_token) == [flow.id]
    assert await holds(flow) == {ONE: ("0", 0, False)}


async def test_on_the_same_engine_what_runs_is_taken_over(site: Site) -> None:
    flow, mine, other = await site.create(steps(1)), await site.acquire("a"), await site.acquire("b")
    await flow.report(0, RUNNING, lease_token=mine)
    assert (await flow.refused(0, RUNNING, attempt=1, lease_token=other)).reason == "LEASE_HELD"
    await site.kill(mine)
    before = await site.last_revision()
    adopted = await flow.report(0, RUNNING, attempt=1, lease_token=other)
    assert (adopted.revision, adopted.attempt, adopted.state) == (0, 1, RUNNING)
    assert await site.last_revision() == before
    assert await holds(flow) == {ONE: ("0", other, True)}
    # The former owner may come back to life, but not to its work.
    assert await renew(site, mine) == []
    assert (await flow.refused(0, SUCCEEDED, lease_token=mine)).reason == "LEASE_LOST"
    assert (await flow.refused(0, RUNNING, attempt=1, lease_token=mine)).reason == "LEASE_HELD"
    await flow.report(0, SUCCEEDED, lease_token=other)
    assert await flow.states() == ["SUCCEEDED"] * 2


@pytest.mark.parametrize("engine", ["another", None], ids=["another engine", "no lease"])
async def test_on_another_engine_what_ran_is_lost_though_the_answer_is_an_error(site: Site, engine: str | None) -> None:
    flow, mine = await site.create(steps(2)), await site.acquire("a")
    other = await site.acquire("b", engine) if engine else 0
    await flow.report(0, RUNNING, lease_token=mine)
    await site.kill(mine)
    told = await flow.refused(0, RUNNING, attempt=1, lease_token=other)
    assert told.reason == "ILLEGAL_TRANSITION"
    assert "attempt 1 is lost" in told.message
    assert await flow.states() == ["FAILED", "FAILED", "CANCELLED"]
    assert '"reason": "ACTION_LOST"' in (await flow.get()).cause
    entries = await journal(flow)
    assert [state for state, _ in entries] == [RUNNING, FAILED]
    assert entries[-1][1].startswith("lost: ")
    assert await held_rows(site) == 0


async def test_of_many_that_take_over_at_once_one_does_and_all_are_answered(site: Site) -> None:
    tokens = [await site.acquire(f"owner {n}") for n in range(4)]
    flow, dead = await site.create(steps(1)), await site.acquire("dead")
    await flow.report(0, RUNNING, lease_token=dead)
    await site.kill(dead)
    asked = (flow.report(0, RUNNING, attempt=1, lease_token=token) for token in tokens)
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert sum(not isinstance(answer, BaseException) for answer in answers) == 1
    assert await flow.states() == ["RUNNING"] * 2


async def test_a_renewal_revives_what_nobody_took_and_tells_what_others_have_lost(site: Site) -> None:
    flow, mine, other = await site.create(steps(1)), await site.acquire("a"), await site.acquire("b", "another")
    await flow.report(0, RUNNING, lease_token=mine)
    assert await renew(site, other) == []
    await site.kill(mine)
    assert await renew(site, other) == [flow.id]
    assert await renew(site, mine) == []
    assert await renew(site, other) == []
    assert (await expire(flow)).revision == 0
    assert await flow.states() == ["RUNNING"] * 2
    assert await reason_of(site.work.Renew(wk.RenewRequest(lease_token=4_711))) == "LEASE_LOST"


async def test_whoever_hears_of_a_lost_workflow_can_end_it(site: Site) -> None:
    flow, mine, other = await site.create(steps(2)), await site.acquire("a"), await site.acquire("b", "another")
    await flow.report(0, RUNNING, lease_token=mine)
    await site.kill(mine)
    (lost,) = await renew(site, other)
    assert lost == flow.id
    # While somebody may take it over, only deadlines are asked about.
    request = pb.ExpireWorkflowRequest(id=flow.id, deadlines_only=True)
    assert await site.stub.ExpireWorkflow(request) == pb.ExpireWorkflowResponse()
    before = await site.last_revision()
    assert (await expire(flow)).revision > before
    assert await flow.states() == ["FAILED", "FAILED", "CANCELLED"]
    assert (await flow.current_actions())[0].message.startswith("lost: ")
    assert await renew(site, other) == []
    assert (await expire(flow)).revision == 0


async def test_a_workflow_between_two_actions_is_not_lost_with_its_owner(site: Site) -> None:
    flow, mine, other = await site.create(steps(2)), await site.acquire("a"), await site.acquire("b", "another")
    await flow.report(0, RUNNING, lease_token=mine)
    await flow.report(0, SUCCEEDED, lease_token=mine)
    await site.kill(mine)
    assert await renew(site, other) == []
    assert (await expire(flow)).revision == 0
    await flow.report(1, RUNNING, lease_token=other)
    await flow.report(1, SUCCEEDED, lease_token=other)
    assert await flow.states() == ["SUCCEEDED"] * 3


@pytest.mark.parametrize("over", ["release", "death"])
@pytest.mark.parametrize("end", ["cancel", "delete", "psql"])
async def test_the_machine_of_a_cancelled_workflow_stays_held_until_nothing_runs_there(
    site: Site, end: str, over: str
) -> None:
    first, second = [await site.create(steps(1)) for _ in range(2)]
    mine, other = await site.acquire("a"), await site.acquire("b")
    await first.report(0, RUNNING, lease_token=mine)
    match end:
        case "cancel":
            await cancel(first)
            assert await holds(first) == {ONE: ("0", mine, True)}
        case "delete":
            await site.stub.DeleteWorkflow(pb.DeleteWorkflowRequest(id=first.id))
        case _:
            await site.sql.execute("UPDATE workflow SET state = 'CANCELLED' WHERE id = $1", uuid.UUID(first.id))
    for token in (mine, other, 0):
        told = await second.refused(0, RUNNING, lease_token=token)
        assert (told.reason, told.metadata["workflow_id"]) == ("MACHINE_BUSY", first.id)
    context = await site.stub.GetWorkflowContext(pb.GetWorkflowContextRequest(id=second.id))
    assert (context.waits_for_workflow, context.waits_for_worker) == (first.id, ONE)
    due = site.stub.GetWorkflowContexts(pb.WorkflowContextRequest(worker_id=ONE))
    assert [found.workflow_id async for found in due] == []
    await release(site, other, first, worker_id=ONE)
    assert (await second.refused(0, RUNNING, lease_token=other)).reason == "MACHINE_BUSY"
    if over == "release":
        await release(site, mine, first, worker_id=ONE)
        assert await held_rows(site) == 0
        await release(site, mine, first, worker_id=ONE)
    else:
        await site.kill(mine)
    context = await site.stub.GetWorkflowContext(pb.GetWorkflowContextRequest(id=second.id))
    assert context.waits_for_workflow == ""
    await second.report(0, RUNNING, lease_token=other)
    assert await holds(second) == {ONE: ("0", other, True)}


@pytest.mark.parametrize("end", ["cancel", "delete"])
async def test_what_a_dead_owner_left_of_an_ended_workflow_is_lost_until_somebody_asks(site: Site, end: str) -> None:
    flow, mine, other = await site.create(steps(1)), await site.acquire("a"), await site.acquire("b")
    await flow.report(0, RUNNING, lease_token=mine)
    if end == "cancel":
        await cancel(flow)
    else:
        await site.stub.DeleteWorkflow(pb.DeleteWorkflowRequest(id=flow.id))
    assert await renew(site, other) == []
    await site.kill(mine)
    assert await renew(site, other) == [flow.id]
    assert (await expire(flow)).revision == 0
    assert await renew(site, other) == []
    assert await held_rows(site) == 0
    if end == "delete":
        assert (
            await edge.refused(site.stub.ExpireWorkflow(pb.ExpireWorkflowRequest(id=flow.id)))
        ).reason == "NOT_FOUND"


@pytest.mark.parametrize(
    ("state", "hooks", "is_kept"),
    [
        (FAILED, {"on-failure": ["x"]}, True),
        (TIMEOUT, {"on-timeout": ["x"]}, True),
        (FAILED, {"on-timeout": ["x"]}, False),
        (TIMEOUT, {"on-failure": ["x"]}, False),
        (SUCCEEDED, {"on-failure": ["x"], "on-timeout": ["x"]}, False),
    ],
)
async def test_a_machine_on_which_a_hook_is_to_run_is_held_until_its_owner_releases_it(
    site: Site, state: pb.State.ValueType, hooks: dict[str, object], is_kept: bool
) -> None:
    flow, mine = await site.create(task("t", action("x", **hooks))), await site.acquire("a")
    await flow.report(0, RUNNING, lease_token=mine)
    await flow.report(0, state, lease_token=mine)
    assert await holds(flow) == ({ONE: ("0", mine, True)} if is_kept else {})
    # Without saying on which machine: all that is held of the workflow under the lease.
    await release(site, mine, flow)
    assert await held_rows(site) == 0


async def test_what_runs_by_the_servers_account_cannot_be_released(site: Site) -> None:
    flow, mine, other = await site.create(steps(2)), await site.acquire("a"), await site.acquire("b", "another")
    await flow.report(0, RUNNING, lease_token=mine)
    await release(site, mine, flow, worker_id=ONE)
    assert await holds(flow) == {ONE: ("0", mine, True)}
    await site.kill(mine)
    assert await renew(site, other) == [flow.id]


async def test_a_released_lease_is_over_at_once_but_its_engine_is_still_known(site: Site) -> None:
    flow, mine, other = await site.create(steps(1)), await site.acquire("a"), await site.acquire("b")
    await flow.report(0, RUNNING, lease_token=mine)
    await release(site, mine)
    assert await reason_of(site.work.Renew(wk.RenewRequest(lease_token=mine))) == "LEASE_LOST"
    assert await renew(site, other) == [flow.id]
    await flow.report(0, RUNNING, attempt=1, lease_token=other)
    assert await holds(flow) == {ONE: ("0", other, True)}
    # To release what there is not, or no more, changes nothing.
    await release(site, mine)
    await site.work.Release(wk.ReleaseRequest(lease_token=mine, workflow_id=UNKNOWN, worker_id=ONE))
    told = await edge.refused(site.work.Release(wk.ReleaseRequest(lease_token=mine, worker_id=ONE)))
    assert told.message.startswith("workflow_id")


async def test_each_machine_of_a_workflow_is_held_by_whoever_works_there(site: Site) -> None:
    flow = await site.create(task("a", action("x")), task("b", action("y"), worker="{{.device_2}}"))
    mine, other = await site.acquire("a", "one"), await site.acquire("b", "two")
    await flow.report(0, RUNNING, lease_token=mine)
    assert await holds(flow) == {ONE: ("0", mine, True), TWO: ("", 0, False)}
    await flow.report(0, SUCCEEDED, lease_token=mine)
    await flow.report(1, RUNNING, lease_token=other)
    assert await holds(flow) == {ONE: ("", mine, True), TWO: ("1", other, True)}
    await site.kill(mine)
    assert await renew(site, other) == []
    await cancel(flow)
    assert await holds(flow) == {TWO: ("1", other, True)}
    await release(site, other, flow, worker_id=TWO)
    assert await holds(flow) == {}
    assert (await flow.get()).state == CANCELLED


async def test_a_workflow_that_is_deleted_with_psql_frees_its_machines(site: Site) -> None:
    first, second = [await site.create(steps(1)) for _ in range(2)]
    mine = await site.acquire("a")
    await first.report(0, RUNNING, lease_token=mine)
    await site.sql.execute("DELETE FROM workflow WHERE id = $1", uuid.UUID(first.id))
    assert await held_rows(site) == 0
    await second.report(0, RUNNING, lease_token=mine)


async def test_a_deletion_that_is_undone_with_psql_takes_its_machines_back(site: Site) -> None:
    flow, mine = await site.create(steps(1)), await site.acquire("a")
    await flow.report(0, RUNNING, lease_token=mine)
    mark = "UPDATE workflow SET deleted_at = {} WHERE id = $1"
    await site.sql.execute(mark.format("now()"), uuid.UUID(flow.id))
    await site.sql.execute(mark.format("NULL"), uuid.UUID(flow.id))
    assert await holds(flow) == {ONE: ("0", mine, True)}
    await flow.report(0, SUCCEEDED, lease_token=mine)
    assert await held_rows(site) == 0


async def test_an_attempt_that_is_repeated_leaves_the_machine_to_its_owner(site: Site) -> None:
    flow = await site.create(task("t", action("x", retries=1, **{"retry-delay": 0, "on-failure": ["hook"]})))
    mine, other = await site.acquire("a"), await site.acquire("b")
    await flow.report(0, RUNNING, lease_token=mine)
    assert (await flow.report(0, FAILED, lease_token=mine)).state == PENDING
    assert await holds(flow) == {ONE: ("", mine, True)}
    assert (await flow.refused(0, RUNNING, attempt=2, lease_token=other)).reason == "LEASE_HELD"
    await flow.report(0, RUNNING, attempt=2, lease_token=mine)
    assert (await flow.refused(0, SUCCEEDED, attempt=1, lease_token=other)).reason == "ILLEGAL_TRANSITION"
    # After the last attempt there is the hook.
    assert (await flow.report(0, FAILED, attempt=2, lease_token=mine)).state == FAILED
    assert await holds(flow) == {ONE: ("0", mine, True)}


async def test_a_lost_attempt_is_repeated_by_whoever_comes_if_one_is_left(site: Site) -> None:
    flow = await site.create(task("t", action("x", retries=1, **{"retry-delay": 0})))
    mine, other = await site.acquire("a"), await site.acquire("b", "another")
    await flow.report(0, RUNNING, lease_token=mine)
    await site.kill(mine)
    assert (await expire(flow)).revision > 0
    assert await flow.states() == ["RUNNING", "PENDING"]
    assert [state for state, _ in await journal(flow)] == [RUNNING, FAILED]
    assert await renew(site, other) == []
    assert (await flow.report(0, RUNNING, lease_token=other)).attempt == 2
    assert (await flow.refused(0, SUCCEEDED, attempt=1, lease_token=mine)).reason == "ILLEGAL_TRANSITION"
    assert (await flow.refused(0, SUCCEEDED, lease_token=mine)).reason == "LEASE_LOST"
    await flow.report(0, SUCCEEDED, attempt=2, lease_token=other)
    assert await flow.states() == ["SUCCEEDED"] * 2


async def test_what_reboots_its_machine_is_not_lost_with_its_owner_but_with_its_workflow(site: Site) -> None:
    rebooting = action("x", reboot=True, timeout=600)
    flow, mine = await site.create(task("t", rebooting)), await site.acquire("a")
    await flow.report(0, RUNNING, lease_token=mine)
    await site.kill(mine)
    back = await site.acquire("b", "another engine")
    assert await renew(site, back) == []
    assert (await expire(flow)).revision == 0
    assert (await flow.report(0, RUNNING, attempt=1, lease_token=back)).revision == 0
    assert await holds(flow) == {ONE: ("0", back, True)}
    await site.sql.execute("UPDATE workflow SET state = 'CANCELLED' WHERE id = $1", uuid.UUID(flow.id))
    await site.kill(back)
    heir = await site.acquire("c")
    assert await renew(site, heir) == [flow.id]
    await expire(flow)
    assert await renew(site, heir) == []


async def test_what_was_ended_by_hand_is_not_named_as_lost(site: Site) -> None:
    flow, mine, other = await site.create(steps(2)), await site.acquire("a"), await site.acquire("b")
    await flow.report(0, RUNNING, lease_token=mine)
    await site.sql.execute("UPDATE action SET state = 'FAILED' WHERE id = $1", uuid.UUID(flow.actions[0].id))
    await site.kill(mine)
    assert await renew(site, other) == []


async def test_leases_that_have_been_dead_for_a_day_are_forgotten(site: Site) -> None:
    dead, mine = await site.acquire("dead"), await site.acquire("a")
    age = "UPDATE lease SET expires_at = clock_timestamp() - make_interval(hours => $2) WHERE token = $1"
    await site.sql.execute(age, dead, 23)
    await site.acquire("b")
    assert await site.sql.fetchval("SELECT count(*) FROM lease WHERE token = $1", dead) == 1
    await site.sql.execute(age, dead, 25)
    await site.acquire("b")
    assert {row["token"] for row in await site.sql.fetch("SELECT token FROM lease")} >= {mine}
    assert await site.sql.fetchval("SELECT count(*) FROM lease WHERE token = $1", dead) == 0
