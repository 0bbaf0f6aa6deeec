"""What every server answers about leases: run against the real one and against the fake that users test with."""

import functools

import pytest

from support.client_conformance import MAC, workflow_of
from tinkwell.client import Client, State, errors


async def work_is_held_under_a_lease_which_fences_a_former_owner(client: Client) -> None:
    workflow_id, worker_id = await workflow_of(client)
    owner = f"owner {workflow_id}"
    former = await client.work.acquire(owner, "engine")
    assert (former.workflow_ids, former.seconds > 0) == ((), True)
    report = functools.partial(
        client.workflows.report, workflow_id, task_name="provision", action_name="wipe", worker_id=worker_id
    )
    started = await report(state=State.RUNNING, lease_token=former.token)
    assert (started.attempt, started.state) == (1, State.RUNNING)
    (hold,) = (await client.workflows.context(workflow_id)).holds
    assert (hold.worker_id, hold.lease_token, hold.is_live) == (worker_id, former.token, True)
    assert hold.action_id == (await client.workflows.actions(workflow_id))[0].id
    heir = await client.work.acquire(owner, "engine")
    assert heir.token > former.token
    assert heir.workflow_ids == (workflow_id,)
    other = await client.work.acquire(f"{owner} too", "engine")
    with pytest.raises(errors.LeaseHeld) as held:
        await report(state=State.RUNNING, attempt=1, lease_token=other.token)
    assert held.value.worker_id == worker_id
    for token in (former.token, other.token, 0):
        with pytest.raises(errors.LeaseLost):
            await report(state=State.SUCCEEDED, lease_token=token)
    with pytest.raises(errors.LeaseLost):
        await client.work.renew(former.token)
    assert (await client.work.renew(heir.token)).lost_workflow_ids == ()
    await client.work.release(heir.token)
    assert workflow_id in (await client.work.renew(other.token)).lost_workflow_ids
    adopted = await report(state=State.RUNNING, attempt=1, lease_token=other.token)
    assert (adopted.revision, adopted.attempt) == (0, 1)
    assert (await report(state=State.SUCCEEDED, lease_token=other.token)).state is State.SUCCEEDED


async def a_machine_is_held_after_a_cancellation_until_it_is_released(client: Client) -> None:
    first, worker_id = await workflow_of(client)
    second = (await client.workflows.create("two-steps", {"device_1": MAC})).id
    start = functools.partial(
        client.workflows.report, task_name="provision", action_name="wipe", worker_id=worker_id, state=State.RUNNING
    )
    lease = await client.work.acquire(f"owner {first}", "engine")
    await start(first, lease_token=lease.token)
    await client.work.release(lease.token, workflow_id=first, worker_id=worker_id)
    await client.workflows.cancel(first)
    with pytest.raises(errors.MachineBusy) as caught:
        await start(second, lease_token=lease.token)
    assert caught.value.held_by == first
    await client.work.release(lease.token, workflow_id=first)
    assert (await client.workflows.context(first)).holds == ()
    await start(second, lease_token=lease.token)


async def what_is_lost_on_another_engine_fails(client: Client) -> None:
    workflow_id, worker_id = await workflow_of(client)
    report = functools.partial(
        client.workflows.report, workflow_id, task_name="provision", action_name="wipe", worker_id=worker_id
    )
    mine, other = [await client.work.acquire(f"{name} {workflow_id}", name) for name in ("here", "there")]
    await report(state=State.RUNNING, lease_token=mine.token)
    assert (await client.workflows.expire(workflow_id)).revision == 0
    await client.work.release(mine.token)
    with pytest.raises(errors.IllegalTransition, match="lost"):
        await report(state=State.RUNNING, attempt=1, lease_token=other.token)
    lost = await client.workflows.get(workflow_id)
    assert (lost.state, (lost.cause or {}).get("reason")) == (State.FAILED, "ACTION_LOST")
    assert (await client.workflows.context(workflow_id)).holds == ()


CHECKS = (
    work_is_held_under_a_lease_which_fences_a_former_owner,
    a_machine_is_held_after_a_cancellation_until_it_is_released,
    what_is_lost_on_another_engine_fails,
)
