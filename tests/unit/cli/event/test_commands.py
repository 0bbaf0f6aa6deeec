"""Watching and publishing."""

import json

import pytest

from support.command_line import CommandLine
from tinkwell.client import Hardware
from tinkwell.core.event.kinds import EventType

ID = "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94"


def emit(cli: CommandLine, *names: str) -> None:
    for name in names:
        cli.do(lambda server, name=name: server.emit(EventType.CUSTOM, name=name, data={"of": name}))  # type: ignore[misc]


def names(text: str) -> list[str]:
    return [json.loads(line)["name"] for line in text.splitlines()]


def test_an_event_is_published_and_watched(cli: CommandLine) -> None:
    printed = cli.ok(
        "events", "publish", "rack.door_opened", "--data", '{"rack": "r1", "kg": 1.50}', "--resource-id", ID
    )
    assert printed.endswith("  revision 1\n")
    event = json.loads(cli.ok("events", "watch", "--count", "1", "-o", "json"))
    assert event["id"] == printed.split()[0]
    assert (event["name"], event["resource_id"], event["data"]) == ("rack.door_opened", ID, {"rack": "r1", "kg": 1.5})


def test_each_event_says_who_caused_it(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "alice")
    cli.ok("events", "publish", "a.b")
    [call] = cli.do(lambda server: server.calls)
    assert call.metadata["x-tinkwell-actor"] == "alice"


def test_a_watch_ends_after_so_many_events(cli: CommandLine) -> None:
    emit(cli, "a.a", "a.b", "a.c")
    assert names(cli.ok("events", "watch", "--count", "2", "-o", "jsonl")) == ["a.a", "a.b"]


def test_a_watch_ends_after_an_event_of_a_type(cli: CommandLine) -> None:
    emit(cli, "a.a")
    machine = cli.do(lambda server: server.put(Hardware(id=ID)))
    cli.do(lambda server: server.remove(machine))
    emit(cli, "a.b")
    printed = names(cli.ok("events", "watch", "--until", "deleted", "-o", "jsonl"))
    assert printed == ["a.a", "hardware.created", "hardware.deleted"]


@pytest.mark.parametrize(
    ("conditions", "wanted"),
    [
        (("--from-revision", "2"), ["hardware.created", "a.b"]),
        (("--name", "a.b"), ["a.b"]),
        (("--name", "a.b", "--name", "a.a"), ["a.a", "a.b"]),
        (("--event-type", "created"), ["hardware.created"]),
        (("--resource-type", "hardware"), ["hardware.created"]),
        (("--resource-type", "Hardware", "--resource-id", ID), ["hardware.created"]),
        (("--since", "1h", "--resource-type", "custom"), ["a.a", "a.b"]),
    ],
)
def test_a_watch_selects_what_it_is_asked_for(cli: CommandLine, conditions: tuple[str, ...], wanted: list[str]) -> None:
    emit(cli, "a.a")
    cli.do(lambda server: server.put(Hardware(id=ID)))
    emit(cli, "a.b")
    assert names(cli.ok("events", "watch", *conditions, "--count", str(len(wanted)), "-o", "jsonl")) == wanted


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--since", "5m", "--now"), "--since and --now are different places to begin"),
        (("--from-revision", "1", "--since", "5m"), "--since and --from-revision are different places"),
        (("--from-revision", "-1"), "-1"),
        (("--since", "5"), "'5' has no unit; write 5s, 5m, 5h or 5d"),
        (("--resource-id", ID), "--resource-id needs a --resource-type"),
        (("--event-type", "workflow-tmeout"), "did you mean WORKFLOW_TIMEOUT?"),
        (("--event-type", "created", "--until", "deleted"), "--until DELETED cannot happen"),
        (("--count", "0"), "0"),
        (("-o", "xml"), "'xml'"),
    ],
)
def test_a_watch_that_makes_no_sense_is_a_usage_error(cli: CommandLine, options: tuple[str, ...], message: str) -> None:
    stderr = cli.fails("events", "watch", *options, code=2)
    assert stderr.startswith("Usage: tinkwell events watch [OPTIONS]\nTry 'tinkwell events watch")
    assert message in stderr.splitlines()[-1]
    assert not cli.do(lambda server: server.calls)


def test_a_revision_that_is_gone_is_answered_with_the_oldest_kept(cli: CommandLine) -> None:
    emit(cli, *("a.a",) * 5)
    cli.do(lambda server: server.compact(4))
    stderr = cli.fails("events", "watch", "--from-revision", "2")
    assert stderr == (
        "Error: revision 2 is no longer kept; the oldest kept revision is 4; "
        "begin there with --from-revision, or with --since\n"
    )


def test_a_revision_beyond_the_end_is_a_failure(cli: CommandLine) -> None:
    assert cli.fails("events", "watch", "--from-revision", "99").startswith("Error: ")


@pytest.mark.parametrize("name", ["workflow.started", "hardware.x"])
def test_a_built_in_name_cannot_be_published(cli: CommandLine, name: str) -> None:
    assert cli.fails("events", "publish", name).startswith("Error: name")
