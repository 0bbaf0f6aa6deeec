"""Rules in a file, run by a process of their own against a real server and a real receiver."""

import contextlib
import json
import signal
import uuid
from pathlib import Path

import pytest
import standardwebhooks

from support import automation
from support.receiver import SECRET
from support.waiting import eventually
from tinkwell.client import Client, State, errors

EXAMPLES = Path(__file__).parents[3] / "examples"
TEMPLATE = """
version: "0.1"
name: {name}
tasks:
  - name: only
    worker: "{{{{.device_1}}}}"
    actions:
      - {{name: only, image: examples/nothing, timeout: 60}}
"""
HOOK = """
name: test
rules:
  - name: hook
    on: {name: rack.door_opened}
    do: {webhook: {url_env: TINKWELL_WEBHOOK_URL, secret_env: TINKWELL_WEBHOOK_SECRET, allow_private: true}}
"""


async def start_workflow(client: Client, name: str) -> str:
    """Start a workflow on a machine of its own."""
    machine = str(uuid.uuid4())
    await client.hardware.push({"id": machine})
    with contextlib.suppress(errors.AlreadyExists):
        await client.templates.create(TEMPLATE.format(name=name))
    return (await client.workflows.create(name, {"device_1": machine})).id


async def report(client: Client, workflow: str, *states: State) -> None:
    (action,) = await client.workflows.actions(workflow)
    for state in states:
        await client.workflows.report(workflow, action_id=action.id, worker_id=action.worker_id, state=state)


async def recoveries(client: Client) -> list[str]:
    return [found.id async for found in client.workflows.list() if found.template_name == "recovery"]


async def test_the_example_recovers_and_tells_though_it_is_killed_between_an_effect_and_its_commit(
    client: Client, place: automation.Place
) -> None:
    rules, receiver = EXAMPLES / "automation" / "recovery.yaml", place.receiver
    await client.templates.create((EXAMPLES / "recovery" / "recovery.yaml").read_text())
    workflow = await start_workflow(client, "slow")
    receiver.may_answer.clear()
    async with place.running(rules) as running:
        await report(client, workflow, State.RUNNING, State.TIMEOUT)
        await eventually(lambda: bool(receiver.requests), deadline_seconds=automation.SECONDS)

        async def has_recovered() -> bool:
            return bool(await recoveries(client))

        await eventually(has_recovered, deadline_seconds=automation.SECONDS)
        await running.stop(signal.SIGKILL)
    assert (await client.events.position("automation_recovery")).revision > 0
    receiver.may_answer.set()
    later = await start_workflow(client, "slow")
    await report(client, later, State.RUNNING, State.TIMEOUT)
    async with place.running(rules) as running:
        await eventually(lambda: len(receiver.requests) >= 3, deadline_seconds=automation.SECONDS)
        marker = await client.events.publish("test.marker")
        await automation.caught_up(client, "automation_recovery", marker.revision)
        assert await running.stop() == 0
    for request in receiver.requests:
        request.verify()
    # Different resources do not wait for each other.
    first, again = (request for request in receiver.requests if request.json["subject"] == workflow)
    (other,) = (request for request in receiver.requests if request.json["subject"] == later)
    assert first.key == again.key != other.key
    assert first.json == again.json
    assert other.json["type"] == "tinkwell.workflow.timeout"
    assert other.json["data"]["data"]["cause"]
    assert other.key == f"{other.json['id']}:recovery:tell"
    assert len(await recoveries(client)) == 2


async def test_what_was_done_is_not_done_again_by_the_next(client: Client, place: automation.Place) -> None:
    rules = place.file(HOOK)
    async with place.running(rules) as running:
        first = await client.events.publish("rack.door_opened", data={"rack": 5})
        await automation.caught_up(client, "automation_test", first.revision)
        assert await running.stop() == 0
    second = await client.events.publish("rack.door_opened")
    async with place.running(rules):
        await automation.caught_up(client, "automation_test", second.revision)
    assert place.receiver.keys == [f"{published.id}:test:hook" for published in (first, second)]
    assert place.receiver.requests[0].json["data"]["data"] == {"rack": 5}
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        standardwebhooks.Webhook(SECRET).verify(b"{}", dict(place.receiver.requests[0].headers))


async def test_of_two_processes_the_first_stops_by_itself(client: Client, place: automation.Place) -> None:
    rules = place.file(HOOK)
    async with place.running(rules) as first, place.running(rules):
        # Nothing has happened that would make it look at its position.
        assert await first.wait(deadline_seconds=automation.SECONDS) == 0
        assert "the rules run elsewhere" in first.output
        published = await client.events.publish("rack.door_opened")
        await automation.caught_up(client, "automation_test", published.revision)
    assert place.receiver.keys == [f"{published.id}:test:hook"]


async def test_a_failing_receiver_is_tried_again_and_one_that_refuses_is_not_until_somebody_asks_for_it(
    client: Client, place: automation.Place
) -> None:
    place.receiver.statuses = [503, 204, 400, 302]
    rules = place.file(HOOK)
    async with place.running(rules):
        for _ in range(3):
            published = await client.events.publish("rack.door_opened")
            await automation.caught_up(client, "automation_test", published.revision)
    keys = place.receiver.keys
    assert len(keys) == 4
    assert keys[0] == keys[1]
    told = [(each["attempt"], each["outcome"], each["detail"], each["given_up"]) for each in place.deliveries()]
    assert told == [
        (1, "FAILED", "HTTP 503", False),
        (2, "DONE", "HTTP 204", False),
        (1, "HOPELESS", "HTTP 400", True),
        (1, "HOPELESS", "HTTP 302; redirects are not followed", True),
    ]
    words = ("redeliver", "--rules", str(place.path / "rules.yaml"))
    for more, code in (([f"{published.id}:test:another"], 1), (["--failed"], 0)):
        async with place.running(rules, *words, *more, is_live=False) as command:
            assert await command.wait(deadline_seconds=automation.SECONDS) == code, command.output
    assert command.output.count(" DONE HTTP 204\n") == 2
    assert place.receiver.keys[4:] == place.receiver.keys[2:4]
    assert [(each["attempt"], each["outcome"]) for each in place.deliveries()[4:]] == [(2, "DONE")] * 2
    for request in place.receiver.requests:
        request.verify()
    assert [request.body for request in place.receiver.requests[4:]] == [
        request.body for request in place.receiver.requests[2:4]
    ]


async def test_no_request_goes_to_a_private_address_unless_it_is_allowed(
    client: Client, place: automation.Place
) -> None:
    place.receiver.url = place.receiver.url.replace("127.0.0.1", "localhost")
    async with place.running(place.file(HOOK.replace("allow_private: true", "allow_private: false"))) as running:
        published = await client.events.publish("rack.door_opened")
        await automation.caught_up(client, "automation_test", published.revision)
        assert "has no public address" in running.output
    assert place.receiver.requests == []


COMMAND = """
name: test
rules:
  - name: keep
    on: {name: rack.door_opened}
    do:
      command:
        argv: [/bin/sh, -c, 'echo "$TINKWELL_IDEMPOTENCY_KEY" >> FILE; cat >> FILE; [ "$TINKWELL_WEBHOOK_SECRET" ] || exit 1; [ $(wc -l < FILE) -gt 1 ]']
        attempts: 5
        environment: [TINKWELL_WEBHOOK_SECRET]
"""  # noqa: E501


async def test_a_command_gets_the_event_and_its_key_and_is_tried_again(client: Client, place: automation.Place) -> None:
    kept = place.path / "kept"
    async with place.running(place.file(COMMAND.replace("FILE", str(kept)))):
        published = await client.events.publish("rack.door_opened", data={"rack": 5})
        await automation.caught_up(client, "automation_test", published.revision)
    assert kept.read_text().count(f"{published.id}:test:keep") == 2
    event = json.loads(kept.read_text().splitlines()[-1])
    assert (event["id"], event["data"]) == (published.id, {"rack": 5})
    assert [each["detail"] for each in place.deliveries()] == ["exited with code 1", "exited with code 0"]


EXPECT = """
name: test
rules:
  - name: stuck
    expect:
      after: {on: {event_type: WORKFLOW_STARTED}}
      event: {on: {event_type: WORKFLOW_SUCCEEDED}}
      within: 10s
    do:
      webhook:
        url_env: TINKWELL_WEBHOOK_URL
        allow_private: true
        body: {text: "{{ event.resource_id }} is stuck", total: "{{ event.data.total_actions }}"}
"""


async def test_what_does_not_come_is_told_once_though_the_process_that_expected_it_is_killed(
    client: Client, place: automation.Place
) -> None:
    rules = place.file(EXPECT)
    stuck, good = [await start_workflow(client, "slow") for _ in range(2)]
    async with place.running(rules) as running:
        for workflow in (stuck, good):
            await report(client, workflow, State.RUNNING)
        marker = await client.events.publish("test.marker")
        await automation.caught_up(client, "automation_test", marker.revision)
        held = await client.events.position("automation_test_stuck")
        assert held.revision < marker.revision
        await running.stop(signal.SIGKILL)
    await report(client, good, State.SUCCEEDED)
    async with place.running(rules):
        await eventually(lambda: bool(place.receiver.requests), deadline_seconds=automation.SECONDS)
        marker = await client.events.publish("test.marker")
        await automation.caught_up(client, "automation_test_stuck", marker.revision)
    assert [request.json for request in place.receiver.requests] == [{"text": f"{stuck} is stuck", "total": 1}]


async def test_the_provisioner_runs_rules_beside_its_driver(client: Client, place: automation.Place) -> None:
    rules = place.file(HOOK)
    words = ("--automation", str(rules), "--runtime", "process")
    async with place.running(rules, *words, module="tinkwell.provisioner") as provisioner:
        published = await client.events.publish("rack.door_opened")
        await automation.caught_up(client, "automation_test", published.revision)
        assert await provisioner.stop() == 0
    assert place.receiver.keys == [f"{published.id}:test:hook"]
