"""Rules in a file, run by a process of their own against a real server and a real receiver."""

import contextlib
import json
import signal
import sys
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import standardwebhooks

from support import process
from support.receiver import SECRET, Receiver
from support.waiting import eventually
from tinkwell.client import Client, State, errors

SECONDS = 60
EXAMPLES = Path(__file__).parents[3] / "examples"
FOLLOWED = "events are followed"
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


class Place:
    """Where automations run: a folder for their files and logs, a server, and a receiver."""

    def __init__(self, path: Path, server_address: str, receiver: Receiver) -> None:
        self.path = path
        self.receiver = receiver
        self._server = server_address
        self._count = 0

    def file(self, text: str) -> Path:
        path = self.path / "rules.yaml"
        path.write_text(text)
        return path

    @contextlib.asynccontextmanager
    async def running(
        self, rules: Path, *arguments: str, module: str = "tinkwell.provisioner.automation", is_live: bool = True
    ) -> AsyncIterator[process.Process]:
        """Run rules until the block ends; it begins once they follow events."""
        self._count += 1
        words = arguments or ("run", "--rules", str(rules))
        environment = {"TINKWELL_WEBHOOK_URL": self.receiver.url, "TINKWELL_WEBHOOK_SECRET": SECRET}
        options = ("--server", self._server, "--state-dir", str(self.path / "state"))
        async with process.running(
            "-m",
            module,
            *words,
            *options,
            program=sys.executable,
            log=self.path / f"{self._count}.log",
            environment=environment,
        ) as running:
            if is_live:
                await running.line(FOLLOWED, deadline_seconds=SECONDS)
            yield running

    def deliveries(self, name: str = "test") -> list[dict[str, object]]:
        path = self.path / "state" / "automation" / f"{name}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
async def place(tmp_path: Path, server_address: str) -> AsyncIterator[Place]:
    async with Receiver().running() as receiver:
        yield Place(tmp_path, server_address, receiver)


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


async def caught_up(client: Client, name: str, revision: int) -> None:
    """Wait until a position has reached a revision."""

    async def has_reached() -> bool:
        return (await client.events.position(name)).revision >= revision

    await eventually(has_reached, deadline_seconds=SECONDS)


async def test_the_example_recovers_and_tells_though_it_is_killed_between_an_effect_and_its_commit(
    client: Client, place: Place
) -> None:
    rules, receiver = EXAMPLES / "automation" / "recovery.yaml", place.receiver
    await client.templates.create((EXAMPLES / "recovery" / "recovery.yaml").read_text())
    workflow = await start_workflow(client, "slow")
    receiver.may_answer.clear()
    async with place.running(rules) as automation:
        await report(client, workflow, State.RUNNING, State.TIMEOUT)
        await eventually(lambda: bool(receiver.requests), deadline_seconds=SECONDS)

        async def has_recovered() -> bool:
            return bool(await recoveries(client))

        await eventually(has_recovered, deadline_seconds=SECONDS)
        await automation.stop(signal.SIGKILL)
    assert (await client.events.position("automation_recovery")).revision > 0
    receiver.may_answer.set()
    later = await start_workflow(client, "slow")
    await report(client, later, State.RUNNING, State.TIMEOUT)
    async with place.running(rules) as automation:
        await eventually(lambda: len(receiver.requests) >= 3, deadline_seconds=SECONDS)
        marker = await client.events.publish("test.marker")
        await caught_up(client, "automation_recovery", marker.revision)
        assert await automation.stop() == 0
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


async def test_what_was_done_is_not_done_again_by_the_next(client: Client, place: Place) -> None:
    rules = place.file(HOOK)
    async with place.running(rules) as automation:
        first = await client.events.publish("rack.door_opened", data={"rack": 5})
        await caught_up(client, "automation_test", first.revision)
        assert await automation.stop() == 0
    second = await client.events.publish("rack.door_opened")
    async with place.running(rules):
        await caught_up(client, "automation_test", second.revision)
    assert place.receiver.keys == [f"{published.id}:test:hook" for published in (first, second)]
    assert place.receiver.requests[0].json["data"]["data"] == {"rack": 5}
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        standardwebhooks.Webhook(SECRET).verify(b"{}", dict(place.receiver.requests[0].headers))


async def test_of_two_processes_the_first_stops_by_itself(client: Client, place: Place) -> None:
    rules = place.file(HOOK)
    async with place.running(rules) as first, place.running(rules):
        # Nothing has happened that would make it look at its position.
        assert await first.wait(deadline_seconds=SECONDS) == 0
        assert "the rules run elsewhere" in first.output
        published = await client.events.publish("rack.door_opened")
        await caught_up(client, "automation_test", published.revision)
    assert place.receiver.keys == [f"{published.id}:test:hook"]


async def test_a_failing_receiver_is_tried_again_and_one_that_refuses_is_not(client: Client, place: Place) -> None:
    place.receiver.statuses = [503, 204, 400, 302]
    async with place.running(place.file(HOOK)):
        for _ in range(3):
            published = await client.events.publish("rack.door_opened")
            await caught_up(client, "automation_test", published.revision)
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


async def test_no_request_goes_to_a_private_address_unless_it_is_allowed(client: Client, place: Place) -> None:
    place.receiver.url = place.receiver.url.replace("127.0.0.1", "localhost")
    async with place.running(place.file(HOOK.replace("allow_private: true", "allow_private: false"))) as automation:
        published = await client.events.publish("rack.door_opened")
        await caught_up(client, "automation_test", published.revision)
        assert "has no public address" in automation.output
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


async def test_a_command_gets_the_event_and_its_key_and_is_tried_again(client: Client, place: Place) -> None:
    kept = place.path / "kept"
    async with place.running(place.file(COMMAND.replace("FILE", str(kept)))):
        published = await client.events.publish("rack.door_opened", data={"rack": 5})
        await caught_up(client, "automation_test", published.revision)
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
    client: Client, place: Place
) -> None:
    rules = place.file(EXPECT)
    stuck, good = [await start_workflow(client, "slow") for _ in range(2)]
    async with place.running(rules) as automation:
        for workflow in (stuck, good):
            await report(client, workflow, State.RUNNING)
        marker = await client.events.publish("test.marker")
        await caught_up(client, "automation_test", marker.revision)
        held = await client.events.position("automation_test_stuck")
        assert held.revision < marker.revision
        await automation.stop(signal.SIGKILL)
    await report(client, good, State.SUCCEEDED)
    async with place.running(rules):
        await eventually(lambda: bool(place.receiver.requests), deadline_seconds=SECONDS)
        marker = await client.events.publish("test.marker")
        await caught_up(client, "automation_test_stuck", marker.revision)
    assert [request.json for request in place.receiver.requests] == [{"text": f"{stuck} is stuck", "total": 1}]


async def test_the_provisioner_runs_rules_beside_its_driver(client: Client, place: Place) -> None:
    rules = place.file(HOOK)
    words = ("--automation", str(rules), "--runtime", "process")
    async with place.running(rules, *words, module="tinkwell.provisioner") as provisioner:
        published = await client.events.publish("rack.door_opened")
        await caught_up(client, "automation_test", published.revision)
        assert await provisioner.stop() == 0
    assert place.receiver.keys == [f"{published.id}:test:hook"]
