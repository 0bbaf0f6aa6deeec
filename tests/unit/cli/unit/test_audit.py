"""`tinkwell unit audit` of a log that is empty, that has lost its beginning, and that shows what may not be."""

import dataclasses
import json

from unit.cli.unit.conftest import Site

from support.command_line import CommandLine
from tinkwell.client import testing
from tinkwell.core.event.kinds import EventType, ResourceType
from tinkwell.core.value.document import JsonObject


def _forget(deployed: Site, application: str) -> None:
    """Let the log lose the event that tells of a unit's start."""

    def forge(fake: testing.FakeServer) -> None:
        log = deployed.cli.fake.log
        wanted = [
            each
            for each in log.events
            if each.data.get("kind") == "start"
            and each.data["state"] == "COMMITTED"
            and str(each.data["unit"]).startswith(f"{application}/")
        ]
        log.events.remove(wanted[0])

    deployed.cli.do(forge)


def test_an_empty_log_is_legal(cli: CommandLine) -> None:
    report = cli.json("unit", "audit")
    assert (report["units"], report["violations"], report["whole"]) == (0, [], True)


def test_an_audit_of_what_is_left_of_a_log_says_that_it_is_not_all(deployed: Site) -> None:
    oldest = deployed.cli.fake.log.events[-1].revision
    deployed.cli.do(lambda fake: fake.compact(oldest))
    assert "all that began before the oldest kept event is left out" in deployed.cli.ok("unit", "audit")
    report = deployed.cli.json("unit", "audit")
    assert (report["violations"], report["whole"]) == ([], False)


def test_a_violation_is_told_as_json_with_its_revision(deployed: Site) -> None:
    _forget(deployed, "web")
    said = deployed.cli.run("unit", "audit", "-o", "json")
    assert said.exit_code == 1
    found = json.loads(said.stdout)["violations"]
    assert {"invariant", "subject", "revision", "text"} == set(found[0])
    assert all(each["subject"].startswith("web/") for each in found)
    assert all(each["revision"] > 0 for each in found)


def test_names_choose_what_is_told(deployed: Site) -> None:
    _forget(deployed, "web")
    assert "no violations" in deployed.cli.ok("unit", "audit", "pg")
    assert deployed.cli.run("unit", "audit", "web").exit_code == 1
    other = {"web/0": 0, "web/1": 0}
    for name in other:
        other[name] = deployed.cli.run("unit", "audit", name).exit_code
    assert sorted(other.values()) == [0, 1]


def _append(deployed: Site, resource_type: ResourceType, event_type: EventType, data: JsonObject) -> None:
    """Let the log have an entry about something of web, which begins as its last one."""

    def forge(fake: testing.FakeServer) -> None:
        last = next(each for each in reversed(fake.log.events) if str(each.data.get("unit", "")).startswith("web/"))
        merged = data if resource_type is not last.resource_type else {**last.data, **data}
        id_ = str(merged.get("name") or merged.get("ordinal"))
        fake.log.append(
            dataclasses.replace(
                last, resource_type=resource_type, event_type=event_type, resource_id=f"forged {id_}", data=merged
            )
        )

    deployed.cli.do(forge)


def test_tasks_are_judged(deployed: Site) -> None:
    for name in ("one", "two"):
        task: JsonObject = {"unit": "web/0", "name": name}
        _append(deployed, ResourceType.TASK, EventType.CREATED, {**task, "state": "PENDING"})
        _append(deployed, ResourceType.TASK, EventType.TASK_STARTED, {**task, "state": "RUNNING"})
    assert "task two: another task was running" in deployed.cli.run("unit", "audit").stderr


def test_events_of_secrets_are_judged_by_whose_these_are(deployed: Site) -> None:
    secret: JsonObject = {
        "name": "9m4e2mr0ui3e8a215n4g",
        "namespace": "default",
        "owner": "pg",
        "rotation": "DAILY",
        "latest": 1,
    }
    _append(deployed, ResourceType.SECRET, EventType.CREATED, secret)
    for state in ("RUNNING", "COMMITTED"):
        told: JsonObject = {
            "kind": "secret-rotate",
            "state": state,
            "ordinal": 99,
            "secret": {"id": secret["name"], "revision": 0},
        }
        _append(
            deployed,
            ResourceType.UNIT_EVENT,
            EventType[f"UNIT_EVENT_{'STARTED' if state == 'RUNNING' else state}"],
            told,
        )
    said = deployed.cli.run("unit", "audit").stderr
    assert "the secret is not its own, nor its application's while it leads" in said
