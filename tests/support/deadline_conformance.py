"""What every server answers about deadlines: run against the real one and against the fake that users test with."""

import functools
from collections.abc import Awaitable, Callable

from support.client_conformance import MAC, TEMPLATE, machine
from support.waiting import eventually
from tinkwell.client import Client, State
from tinkwell.client.workflow.model import Expired, Reported

Report = Callable[..., Awaitable[Reported]]


async def workflow_of(client: Client, template: str) -> tuple[str, Report]:
    """Create a workflow of a template, and give its id and how to report on its first action."""
    await client.hardware.push(pushed := machine())
    await client.templates.create(template)
    workflow_id = (await client.workflows.create("two-steps", {"device_1": MAC})).id
    report = functools.partial(
        client.workflows.report, workflow_id, task_name="provision", action_name="wipe", worker_id=str(pushed["id"])
    )
    return workflow_id, report


def is_about(seconds: float | None, expected: float) -> bool:
    return seconds is not None and expected - 20 < seconds <= expected


async def a_running_action_tells_how_long_it_may_take(client: Client) -> None:
    workflow_id, report = await workflow_of(client, TEMPLATE)
    assert await client.workflows.expire(workflow_id) == Expired(0, None)
    for _ in range(2):
        assert is_about((await report(state=State.RUNNING)).remaining_seconds, 60)
    actions = (await client.workflows.context(workflow_id, with_actions=True)).actions
    assert is_about(actions[0].remaining_seconds, 60)
    assert actions[1].remaining_seconds is None
    expired = await client.workflows.expire(workflow_id)
    assert expired.revision == 0
    # Who reports under no lease has longer to say how it ended.
    assert is_about(expired.remaining_seconds, 90)
    ended = await report(state=State.SUCCEEDED)
    assert ended.remaining_seconds is None
    # Between two actions the workflow's own limit is left.
    assert is_about((await client.workflows.expire(workflow_id)).remaining_seconds, 600)


async def the_limit_of_a_workflow_holds_for_its_actions(client: Client) -> None:
    workflow_id, report = await workflow_of(client, TEMPLATE.replace("global_timeout: 600", "global_timeout: 30"))
    assert is_about((await report(state=State.RUNNING)).remaining_seconds, 30)
    (action, _) = await client.workflows.actions(workflow_id)
    assert is_about(action.remaining_seconds, 30)


async def an_action_without_a_limit_has_no_deadline(client: Client) -> None:
    limitless = TEMPLATE.replace("global_timeout: 600\n", "").replace(", timeout: 60", "")
    workflow_id, report = await workflow_of(client, limitless)
    assert (await report(state=State.RUNNING)).remaining_seconds is None
    assert await client.workflows.expire(workflow_id) == Expired(0, None)


async def a_deadline_that_is_past_ends_an_action_when_anybody_asks(client: Client) -> None:
    workflow_id, report = await workflow_of(client, TEMPLATE.replace("timeout: 60}", "timeout: 1}", 1))
    lease = await client.work.acquire(f"owner {workflow_id}", "engine")
    await report(state=State.RUNNING, lease_token=lease.token)
    expired: list[Expired] = []

    async def ask() -> bool:
        expired.append(await client.workflows.expire(workflow_id))
        return expired[-1].revision > 0

    await eventually(ask)
    assert all(0 < (each.remaining_seconds or 0) <= 2 for each in expired[:-1])
    assert expired[-1].remaining_seconds is None
    assert await client.workflows.expire(workflow_id) == Expired(0, None)
    workflow = await client.workflows.get(workflow_id)
    assert (workflow.state, (workflow.cause or {})["reason"]) == (State.TIMEOUT, "ACTION_TIMEOUT")
    assert [action.state for action in await client.workflows.actions(workflow_id)] == [State.TIMEOUT, State.CANCELLED]
    journal = [(each.action_name, each.state) async for each in client.workflows.events(workflow_id)]
    assert journal == [("wipe", State.RUNNING), ("wipe", State.TIMEOUT)]


async def the_deadline_of_a_workflow_ends_it_between_two_actions(client: Client) -> None:
    workflow_id, report = await workflow_of(client, TEMPLATE.replace("global_timeout: 600", "global_timeout: 1"))
    for state in (State.RUNNING, State.SUCCEEDED):
        await report(state=state)

    async def ask() -> bool:
        return (await client.workflows.expire(workflow_id)).revision > 0

    await eventually(ask)
    workflow = await client.workflows.get(workflow_id)
    assert (workflow.state, (workflow.cause or {})["reason"]) == (State.TIMEOUT, "GLOBAL_TIMEOUT")


async def what_is_left_of_the_time_decides_whether_an_attempt_is_repeated(client: Client) -> None:
    again = TEMPLATE.replace("timeout: 60}", "timeout: 60, retries: 1, retry-delay: 60}", 1)
    _, report = await workflow_of(client, again.replace("global_timeout: 600", "global_timeout: 30"))
    await report(state=State.RUNNING)
    assert (await report(state=State.FAILED)).state is State.FAILED


CHECKS = (
    a_running_action_tells_how_long_it_may_take,
    the_limit_of_a_workflow_holds_for_its_actions,
    an_action_without_a_limit_has_no_deadline,
    a_deadline_that_is_past_ends_an_action_when_anybody_asks,
    the_deadline_of_a_workflow_ends_it_between_two_actions,
    what_is_left_of_the_time_decides_whether_an_attempt_is_repeated,
)
