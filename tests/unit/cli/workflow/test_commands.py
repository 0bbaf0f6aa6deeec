"""The commands for workflows."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest

from support.command_line import CommandLine
from tinkwell.client import Action, ActionStatus, Hardware, LogLine, LogStream, Workflow
from tinkwell.core.event.kinds import State

ID = "6f1c2b1e-8a54-4b7e-9a53-6f3f1f0f2a11"
OTHER = "7f1c2b1e-8a54-4b7e-9a53-6f3f1f0f2a11"
WORKER = "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94"
START = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
LONG_AGO = START.replace(year=2001)
TEMPLATE = """version: "0.1"
name: hello
tasks:
  - name: greet
    worker: "{{.device_1}}"
    actions:
      - {name: hello, image: hello-world}
"""


def action(index: int, name: str, **fields: object) -> Action:
    action_id = f"a0000000-0000-4000-8000-{index:012d}"
    base = {"workflow_id": ID, "task_name": "os", "worker_id": WORKER}
    return Action(id=action_id, index=index, name=name, **(base | fields))  # type: ignore[arg-type]


@pytest.fixture
def running(cli: CommandLine) -> CommandLine:
    """A workflow of which one action is done and the other runs."""
    done = {"state": State.SUCCEEDED, "exit_code": 0, "started_at": START, "finished_at": START + timedelta(seconds=4)}
    resources = [
        Workflow(
            id=ID,
            template_name="hello",
            state=State.RUNNING,
            total_actions=2,
            completed_actions=1,
            hardware={"device_1": "x"},
        ),
        action(0, "disk", attempt=1, **done),
        action(1, "kexec", attempt=2, state=State.RUNNING, started_at=START, message="on its way"),
    ]
    for resource in resources:
        cli.do(lambda server, resource=resource: server.put(resource))  # type: ignore[misc]
    return cli


@pytest.mark.parametrize(
    "devices",
    [
        ("-r", '{"device_1": "52:54:00:10:00:03"}'),
        ("--device", "device_1=52:54:00:10:00:03"),
        ("-r", "{}", "--device", "device_1=52:54:00:10:00:03"),
    ],
)
def test_a_workflow_is_created_for_devices_given_in_either_way(cli: CommandLine, devices: tuple[str, ...]) -> None:
    network = {"interfaces": [{"dhcp": {"mac": "52:54:00:10:00:03"}}]}
    cli.do(lambda server: server.put(Hardware(id=WORKER, network=network)))
    cli.ok("template", "create", "-", stdin=TEMPLATE)
    workflow_id = cli.ok("workflow", "create", "-t", "hello", *devices).strip()
    found = cli.json("workflow", "get", workflow_id)
    assert found["hardware"] == {"device_1": "52:54:00:10:00:03"}
    assert found["total_actions"] == 1


def test_a_device_that_is_given_twice_is_a_usage_error(cli: CommandLine) -> None:
    stderr = cli.fails("workflow", "create", "-t", "x", "-r", '{"a": "b"}', "--device", "a=c", code=2)
    assert "the device a is given twice" in stderr


def test_devices_that_are_no_object_are_a_usage_error(cli: CommandLine) -> None:
    assert "must be a JSON object" in cli.fails("workflow", "create", "-t", "x", "-r", "[]", code=2)


def test_a_workflow_is_shown_field_by_field(running: CommandLine) -> None:
    lines = dict(line.split(maxsplit=1) for line in running.ok("workflow", "get", ID).splitlines())
    assert lines["STATE"] == "RUNNING"
    assert lines["DEVICES"] == "device_1=x"
    assert "FINISHED" not in lines


def test_a_recovery_shows_what_it_recovers_and_what_recovers_it(running: CommandLine) -> None:
    cause = {"reason": "ACTION_FAILED", "message": "no", "recovery": {"template": "last", "workflow_id": OTHER}}
    recovery = Workflow(
        id=ID, state=State.FAILED, version=9, recovers=OTHER, on_failure="last", on_timeout="late", cause=cause
    )
    running.do(lambda server: server.put(recovery))
    lines = [line.split("  ") for line in running.ok("workflow", "get", ID).splitlines()]
    fields = {line[0]: line[-1].strip() for line in lines}
    assert (fields["RECOVERS"], fields["ON FAILURE"], fields["ON TIMEOUT"]) == (OTHER, "last", "late")
    assert fields["CAUSE"] == f"ACTION_FAILED: no, recovered by {OTHER}"
    found = running.json("workflow", "get", ID)
    assert (found["recovers"], found["on_failure"], found["cause"]) == (OTHER, "last", cause)


def test_workflows_are_listed_by_state(running: CommandLine) -> None:
    running.do(lambda server: server.put(Workflow(id=OTHER, template_name="hello", state=State.FAILED)))
    assert [item["id"] for item in running.json("workflow", "list")] == [ID, OTHER]
    assert [item["id"] for item in running.json("workflow", "list", "--state", "failed", "--state", "TIMEOUT")] == [
        OTHER
    ]
    header, row, _ = running.ok("workflow", "list").splitlines()
    assert header.split() == ["ID", "TEMPLATE", "STATE", "ACTIONS", "CREATED"]
    assert row.split()[:3] == [ID, "hello", "RUNNING"]


def test_the_state_shows_progress_and_every_action(running: CommandLine) -> None:
    fields, table = running.ok("workflow", "state", ID).split("\n\n")
    assert "ACTIONS   1 of 2 done (50%)" in fields
    assert "CURRENT   os/kexec RUNNING" in fields
    header, first, second = table.splitlines()
    assert header.split() == ["INDEX", "TASK", "ACTION", "STATE", "ATTEMPT", "SECONDS", "EXIT", "MESSAGE"]
    assert first.split() == ["0", "os", "disk", "SUCCEEDED", "1", "4.0", "0", "-"]
    assert second.split(maxsplit=7) == ["1", "os", "kexec", "RUNNING", "2", "-", "-", "on its way"]


def test_the_state_shows_when_an_action_is_repeated(running: CommandLine) -> None:
    due = datetime.now(UTC) + timedelta(hours=2)
    failed = {"attempt": 1, "retries": 3, "exit_code": 28, "retry_at": due, "message": "no space"}
    running.do(lambda server: server.put(action(1, "kexec", **failed)))
    fields, table = running.ok("workflow", "state", ID).split("\n\n")
    assert "CURRENT   os/kexec PENDING" in fields
    row = table.splitlines()[2]
    assert "PENDING    1 of 4" in row
    assert row.endswith(("retries in 2h00m: no space", "retries in 1h59m: no space"))
    (_, repeated) = running.json("workflow", "state", ID)["actions"]
    assert (repeated["retries"], repeated["retry_delay_seconds"], repeated["reboots"]) == (3, 0, False)
    assert "retry_at" in repeated
    assert "wait_seconds" not in repeated


def test_the_state_says_which_workflow_it_waits_for(running: CommandLine) -> None:
    assert "WAITS FOR" not in running.ok("workflow", "state", ID)
    running.do(lambda server: server.put(Workflow(id=OTHER, template_name="hello", total_actions=1)))
    running.do(lambda server: server.put(Action("other", OTHER, 0, "os", "disk", worker_id=WORKER)))
    assert f"WAITS FOR  workflow {ID} on machine {WORKER}" in running.ok("workflow", "state", OTHER)


def test_the_state_names_the_workers_where_there_are_several(running: CommandLine) -> None:
    running.do(lambda server: server.put(action(2, "other", worker_id=OTHER)))
    rows = running.ok("workflow", "state", ID).split("\n\n")[1].splitlines()
    assert [row.split()[3] for row in rows] == ["WORKER", WORKER, WORKER, OTHER]


def test_the_state_as_json_is_the_context_with_its_actions(running: CommandLine) -> None:
    found = running.json("workflow", "state", ID)
    assert (found["completed_actions"], found["current_action"]) == (1, "kexec")
    assert [item["state"] for item in found["actions"]] == ["SUCCEEDED", "RUNNING"]


def test_the_journal_is_a_table_a_list_or_lines(running: CommandLine) -> None:
    entries = [
        ActionStatus(ID, "a", "os", "disk", WORKER, State.RUNNING, 1, message="Started execution", created_at=START),
        ActionStatus(ID, "a", "os", "disk", WORKER, State.FAILED, 1, 4.25, "no space", 28, START),
    ]
    running.do(lambda server: server.world.journal.extend(entries))
    rows = [line.split(maxsplit=8) for line in running.ok("workflow", "events", ID).splitlines()]
    time = "2026-11-20T12:00:00Z"
    assert rows[1] == [time, "os", "disk", WORKER, "RUNNING", "1", "-", "-", "Started execution"]
    assert rows[2] == [time, "os", "disk", WORKER, "FAILED", "1", "4.2", "28", "no space"]
    assert [entry["state"] for entry in running.json("workflow", "events", ID)] == ["RUNNING", "FAILED"]
    lines = running.ok("workflow", "events", ID, "-o", "jsonl").splitlines()
    assert [json.loads(line)["seconds"] for line in lines] == [0.0, 4.25]


@pytest.fixture
def with_logs(running: CommandLine) -> CommandLine:
    first, second = action(0, "disk").id, action(1, "kexec").id
    lines = [
        LogLine(first, 1, 1, "copied", task_name="os", action_name="disk"),
        LogLine(second, 1, 1, "oops \x1b[31mred", LogStream.STDERR, task_name="os", action_name="kexec"),
        LogLine(second, 2, 1, "", task_name="os", action_name="kexec"),
    ]
    running.do(lambda server: server.world.lines.update({ID: lines}))
    return running


def test_logs_name_the_action_before_each_line(with_logs: CommandLine) -> None:
    expected = "os/disk  | copied\nos/kexec | oops \x1b[31mred\nos/kexec#2 | \n"
    assert with_logs.ok("workflow", "logs", ID) == expected


def test_logs_without_prefix_are_what_was_printed(with_logs: CommandLine) -> None:
    assert with_logs.ok("workflow", "logs", ID, "--no-prefix") == "copied\noops \x1b[31mred\n\n"


def test_logs_as_json_lines_have_all_that_is_known(with_logs: CommandLine) -> None:
    lines = [json.loads(line) for line in with_logs.ok("workflow", "logs", ID, "-o", "jsonl").splitlines()]
    assert [(line["attempt"], line["stream"]) for line in lines] == [(1, "STDOUT"), (1, "STDERR"), (2, "STDOUT")]


def test_followed_logs_end_with_the_workflow(with_logs: CommandLine) -> None:
    finished = Workflow(id=ID, template_name="hello", state=State.FAILED)
    with_logs.do(lambda server: server.put(finished))
    assert len(with_logs.ok("workflow", "logs", ID, "-f").splitlines()) == 3


def test_the_document_is_printed_as_it_is_stored(running: CommandLine) -> None:
    versions = [(b'{"a":1.10}', b'{"by":"x"}'), (b'{"a":2}', b"{}")]
    running.do(lambda server: server.world.documents.update({ID: versions}))
    assert running.ok("workflow", "data", ID, "--version", "1") == '{"a":1.10}\n'
    assert running.ok("workflow", "data", ID) == '{"a":2}\n'
    assert running.json("workflow", "data", ID) == {"a": 2}
    assert running.ok("workflow", "data", ID, "--metadata", "--version", "1", "-o", "yaml") == "by: x\n"
    assert running.ok("workflow", "data", ID, "--latest-version") == "2\n"


def test_a_workflow_without_a_document_is_a_failure(running: CommandLine) -> None:
    assert running.fails("workflow", "data", ID) == f"Error: workflow {ID} has no data\n"
    assert running.ok("workflow", "data", ID, "--latest-version") == "0\n"


def test_cancelling_says_whether_it_changed_anything(running: CommandLine) -> None:
    assert running.ok("workflow", "cancel", ID, "--reason", "enough").startswith(f"{ID}  cancelled  revision ")
    assert running.ok("workflow", "cancel", ID) == f"{ID}  was cancelled before\n"
    assert "enough" in running.ok("workflow", "get", ID)


def test_a_workflow_is_deleted(running: CommandLine) -> None:
    assert running.ok("workflow", "delete", ID).startswith(f"{ID}  deleted  revision ")
    assert running.fails("workflow", "get", ID) == f"Error: workflow {ID} does not exist\n"


def test_a_watch_of_a_workflow_shows_its_actions_too(running: CommandLine) -> None:
    running.do(lambda server: server.put(Workflow(id=OTHER)))
    printed = running.ok("workflow", "watch", ID, "--count", "3", "-o", "jsonl")
    assert [json.loads(line)["resource_type"] for line in printed.splitlines()] == ["WORKFLOW", "ACTION", "ACTION"]


def test_what_ended_long_ago_is_told_and_deleted_only_when_that_is_wanted(running: CommandLine) -> None:
    running.do(lambda server: server.put(Workflow(id=OTHER, state=State.SUCCEEDED, finished_at=LONG_AGO)))
    told = running.run("workflow", "prune")
    assert re.search(r"^workflows +1$", told.stdout, re.MULTILINE)
    assert told.stderr == "nothing was deleted; --yes does it\n"
    assert running.json("workflow", "prune", "--older-than", "30000d")["workflows"] == 0
    done = running.run("workflow", "prune", "--older-than", "1d", "--yes")
    assert re.search(r"^workflows +1$", done.stdout, re.MULTILINE)
    assert done.stderr == ""
    assert running.fails("workflow", "get", OTHER) == f"Error: workflow {OTHER} does not exist\n"
    assert running.ok("workflow", "get", ID)
    assert running.json("workflow", "prune", "--yes") == {
        **dict.fromkeys(("workflows", "actions", "log_lines", "reports", "hardware", "templates"), 0),
        "is_applied": True,
    }


def test_a_time_without_a_unit_is_refused(running: CommandLine) -> None:
    assert "has no unit" in running.fails("workflow", "prune", "--older-than", "30", code=2)
