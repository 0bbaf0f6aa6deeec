"""What every server answers about leases: run against the real one and against the fake that users test with."""

import functools

import pytest

from support.client_conformance import MAC, TEMPLATE, machine, workflow_of
from tinkwell.client import Client, State, errors
from tinkwell.client.workflow.model import Expired, MachineHold, Report, Reported


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


async def two_workers(client: Client, template: str = TEMPLATE) -> tuple[list[str], list[str]]:
    """Create two workflows whose actions are on two machines, and give their ids and those of the machines."""
    machines = [machine(), machine("52:54:00:10:00:04", "192.168.56.44")]
    for pushed in machines:
        await client.hardware.push(pushed)
    second_task = """\
  - name: finish
    worker: "{{.device_2}}"
    actions: [{name: boot, image: boot, timeout: 60}]
"""
    await client.templates.create(template + second_task)
    devices = {"device_1": MAC, "device_2": "52:54:00:10:00:04"}
    workflow_ids = [(await client.workflows.create("two-steps", devices)).id for _ in range(2)]
    return workflow_ids, [str(pushed["id"]) for pushed in machines]


async def a_workflow_holds_all_of_its_machines_from_its_start_to_its_end(client: Client) -> None:
    (first, second), (one, other) = await two_workers(client)
    assert (await client.workflows.context(first)).holds == ()
    lease = await client.work.acquire(f"owner {first}", "engine")
    report = functools.partial(client.workflows.report, task_name="provision", worker_id=one, lease_token=lease.token)
    await report(first, action_name="wipe", state=State.RUNNING)
    wipe = (await client.workflows.actions(first))[0].id
    expected = {MachineHold(one, wipe, lease.token, True), MachineHold(other)}
    assert set((await client.workflows.context(first)).holds) == expected
    await report(first, action_name="wipe", state=State.SUCCEEDED)
    assert {hold.action_id for hold in (await client.workflows.context(first)).holds} == {""}
    with pytest.raises(errors.MachineBusy):
        await report(second, action_name="wipe", state=State.RUNNING)
    await client.workflows.cancel(first)
    assert (await client.workflows.context(first)).holds == ()
    await report(second, action_name="wipe", state=State.RUNNING)


async def what_an_owner_that_is_dead_has_left_keeps_nobody_from_starting(client: Client) -> None:
    (first, second), (one, _) = await two_workers(client)
    report = functools.partial(client.workflows.report, task_name="provision", action_name="wipe", worker_id=one)
    lease = await client.work.acquire(f"owner {first}", "engine")
    await report(first, state=State.RUNNING, lease_token=lease.token)
    await client.workflows.cancel(first)
    assert [hold.worker_id for hold in (await client.workflows.context(first)).holds] == [one]
    await client.work.release(lease.token)
    await report(second, state=State.RUNNING)
    assert (await client.workflows.context(first)).holds == ()


async def between_two_attempts_nothing_is_on_the_machine(client: Client) -> None:
    again = TEMPLATE.replace("timeout: 60}", "timeout: 60, retries: 1, retry-delay: 60, on-failure: [echo]}", 1)
    (first, _), (one, other) = await two_workers(client, again)
    report = functools.partial(client.workflows.report, task_name="provision", action_name="wipe", worker_id=one)
    lease = await client.work.acquire(f"owner {first}", "engine")
    for state in (State.RUNNING, State.FAILED):
        await report(first, state=state, lease_token=lease.token)
    expected = {MachineHold(one, "", lease.token, True), MachineHold(other)}
    assert set((await client.workflows.context(first)).holds) == expected


async def whether_what_is_lost_ends_now_is_up_to_who_asks(client: Client) -> None:
    workflow_id, worker_id = await workflow_of(client)
    mine, other = [await client.work.acquire(f"{name} {workflow_id}", "engine") for name in ("me", "other")]
    await client.workflows.report(
        workflow_id,
        task_name="provision",
        action_name="wipe",
        worker_id=worker_id,
        state=State.RUNNING,
        lease_token=mine.token,
    )
    await client.work.release(mine.token)
    assert workflow_id in (await client.work.renew(other.token)).lost_workflow_ids
    assert (await client.workflows.expire(workflow_id, deadlines_only=True)).revision == 0
    assert (await client.workflows.expire(workflow_id)).revision > 0
    lost = await client.workflows.get(workflow_id)
    assert (lost.state, (lost.cause or {}).get("reason")) == (State.FAILED, "ACTION_LOST")
    journal = [(each.action_name, each.state) async for each in client.workflows.events(workflow_id)]
    assert journal == [("wipe", State.RUNNING), ("wipe", State.FAILED)]
    assert workflow_id not in (await client.work.renew(other.token)).lost_workflow_ids


async def what_a_deleted_workflow_has_left_is_let_go_once_its_owner_is_dead(client: Client) -> None:
    workflow_id, worker_id = await workflow_of(client)
    mine, other = [await client.work.acquire(f"{name} {workflow_id}", "engine") for name in ("me", "other")]
    await client.workflows.report(
        workflow_id,
        task_name="provision",
        action_name="wipe",
        worker_id=worker_id,
        state=State.RUNNING,
        lease_token=mine.token,
    )
    await client.workflows.delete(workflow_id)
    with pytest.raises(errors.NotFound):
        await client.workflows.expire(workflow_id)
    await client.work.release(mine.token)
    assert workflow_id in (await client.work.renew(other.token)).lost_workflow_ids
    assert await client.workflows.expire(workflow_id) == Expired(0, None)
    assert workflow_id not in (await client.work.renew(other.token)).lost_workflow_ids
    with pytest.raises(errors.NotFound):
        await client.workflows.expire(workflow_id)


async def an_action_that_reboots_its_machine_is_bounded_by_its_timeout_alone(client: Client) -> None:
    await client.hardware.push(pushed := machine())
    await client.templates.create(TEMPLATE.replace("timeout: 60}", "timeout: 60, reboot: true}", 1))
    workflow_id = (await client.workflows.create("two-steps", {"device_1": MAC})).id
    mine, other = [await client.work.acquire(f"{name} {workflow_id}", name) for name in ("here", "there")]
    report = functools.partial(
        client.workflows.report,
        workflow_id,
        task_name="provision",
        action_name="wipe",
        worker_id=str(pushed["id"]),
        state=State.RUNNING,
    )
    await report(lease_token=mine.token)
    await client.work.release(mine.token)
    assert workflow_id not in (await client.work.renew(other.token)).lost_workflow_ids
    assert (await client.workflows.expire(workflow_id)).revision == 0
    adopted = await report(attempt=1, lease_token=other.token)
    assert (adopted.revision, adopted.state) == (0, State.RUNNING)


async def reports_that_come_together_each_come_to_what_they_would_alone(client: Client) -> None:
    workflow_id, worker_id = await workflow_of(client)
    wipe, write = [action.id for action in await client.workflows.actions(workflow_id)]
    lease = await client.work.acquire(f"owner {workflow_id}", "engine")

    def said(action_id: str, state: State, lease_token: int = lease.token) -> Report:
        return Report(
            workflow_id=workflow_id,
            action_id=action_id,
            worker_id=worker_id,
            state=state,
            attempt=1,
            lease_token=lease_token,
        )

    started, refused = await client.workflows.report_together([said(wipe, State.RUNNING), said(write, State.RUNNING)])
    assert isinstance(started, Reported)
    assert (started.attempt, started.state) == (1, State.RUNNING)
    assert started.revision > 0
    assert isinstance(refused, errors.IllegalTransition)
    (foreign,) = await client.workflows.report_together([said(wipe, State.SUCCEEDED, 0)])
    assert isinstance(foreign, errors.LeaseLost)
    ended, followed = await client.workflows.report_together([said(wipe, State.SUCCEEDED), said(write, State.RUNNING)])
    assert isinstance(ended, Reported)
    assert isinstance(followed, Reported)
    assert (ended.state, followed.state) == (State.SUCCEEDED, State.RUNNING)
    (again,) = await client.workflows.report_together([said(write, State.RUNNING)])
    assert isinstance(again, Reported)
    assert (again.revision, again.remaining_seconds is not None) == (0, True)


CHECKS = (
    a_workflow_holds_all_of_its_machines_from_its_start_to_its_end,
    what_an_owner_that_is_dead_has_left_keeps_nobody_from_starting,
    between_two_attempts_nothing_is_on_the_machine,
    whether_what_is_lost_ends_now_is_up_to_who_asks,
    what_a_deleted_workflow_has_left_is_let_go_once_its_owner_is_dead,
    an_action_that_reboots_its_machine_is_bounded_by_its_timeout_alone,
    reports_that_come_together_each_come_to_what_they_would_alone,
    work_is_held_under_a_lease_which_fences_a_former_owner,
    a_machine_is_held_after_a_cancellation_until_it_is_released,
    what_is_lost_on_another_engine_fails,
)
