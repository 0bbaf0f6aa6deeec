"""What every server answers about what is past its time: run against the real one and the fake that users test with."""

import datetime

import pytest

from support.client_conformance import workflow_of
from tinkwell.client import Client, LogLine, Pruned, State, errors


async def what_has_ended_is_forgotten_once_that_is_wanted(client: Client) -> None:
    workflow_id, worker_id = await workflow_of(client)
    assert await client.workflows.prune(0) == Pruned()
    first, _ = await client.workflows.actions(workflow_id)
    await client.workflows.append_logs(workflow_id, [LogLine(first.id, attempt=1, number=1, text="a line")])
    for state in (State.RUNNING, State.FAILED):
        await client.workflows.report(workflow_id, action_id=first.id, worker_id=worker_id, state=state)
    assert await client.workflows.prune() == Pruned()
    assert await client.workflows.prune(datetime.timedelta(hours=1), apply=True) == Pruned()
    expected = Pruned(workflows=1, actions=2, log_lines=1, reports=2)
    assert await client.workflows.prune(0) == expected
    assert (await client.workflows.get(workflow_id)).state is State.FAILED
    async with client.workflows.watch(now=True) as events:
        assert await client.workflows.prune(0, apply=True) == expected
        assert [(await anext(events)).name for _ in range(3)] == ["workflow.deleted", *["action.deleted"] * 2]
    for left in (client.workflows.get, client.workflows.actions):
        with pytest.raises(errors.NotFound):
            await left(workflow_id)
    assert await client.workflows.prune(0, apply=True) == Pruned()


async def what_is_held_is_not_forgotten(client: Client) -> None:
    workflow_id, worker_id = await workflow_of(client)
    lease = await client.work.acquire(f"owner {workflow_id}", "engine")
    first, _ = await client.workflows.actions(workflow_id)
    await client.workflows.report(
        workflow_id, action_id=first.id, worker_id=worker_id, state=State.RUNNING, lease_token=lease.token
    )
    await client.workflows.cancel(workflow_id)
    assert await client.workflows.prune(0, apply=True) == Pruned()
    await client.work.release(lease.token)
    assert (await client.workflows.prune(0, apply=True)).workflows == 1


async def a_time_that_cannot_be_is_refused(client: Client) -> None:
    for seconds in (-1, float("nan")):
        with pytest.raises(errors.InvalidField, match="older_than_seconds"):
            await client.workflows.prune(seconds, apply=True)


CHECKS = (
    what_has_ended_is_forgotten_once_that_is_wanted,
    what_is_held_is_not_forgotten,
    a_time_that_cannot_be_is_refused,
)
