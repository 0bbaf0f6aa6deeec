"""The command line of automation."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from click.testing import CliRunner

from tinkwell.client import errors
from tinkwell.core.process_log import setup
from tinkwell.provisioner.app import commands as provisioner_commands
from tinkwell.provisioner.app import main as provisioner_main
from tinkwell.provisioner.automation import commands, main
from tinkwell.provisioner.automation.effect import attempt

RULES = """
name: set
rules:
  - name: one
    on: {event_type: WORKFLOW_TIMEOUT}
    do: {command: {argv: [x], environment: [AUTOMATION_SECRET]}}
"""
BEFORE = SimpleNamespace(
    server="before:1", token="t", tls=False, tls_ca=None, tls_cert=None, tls_key=None, tls_server_name=None
)


@pytest.fixture
def rules(tmp_path: Path) -> str:
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    return str(path)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What would be run."""
    settings: list[Any] = []

    async def run(wanted: object) -> None:
        settings.append(wanted)

    monkeypatch.setattr(main, "run_until_signal", run)
    monkeypatch.setattr(provisioner_main, "run", run)
    monkeypatch.setattr(provisioner_main, "gc", mock.Mock())
    monkeypatch.setattr(setup, "set_up", lambda level: None)
    return settings


def test_rules_are_run_with_what_the_environment_holds(rules: str, seen: list[Any], tmp_path: Path) -> None:
    env = {
        "AUTOMATION_SECRET": "s",
        "TINKWELL_SERVER": "there:1",
        "TINKWELL_AUTOMATION": rules,
        "XDG_STATE_HOME": str(tmp_path),
    }
    assert CliRunner().invoke(commands.automation, ["run"], env=env).exit_code == 0
    (settings,) = seen
    assert (settings.server, settings.tls) == ("there:1", None)
    assert settings.state_dir == tmp_path / "tinkwell" / "provisioner"
    assert settings.rules.rules[0].action.environment == {"AUTOMATION_SECRET": "s"}


def test_connection_options_before_the_command_count_and_those_behind_it_win(rules: str, seen: list[Any]) -> None:
    words, env = ["run", "--rules", rules], {"AUTOMATION_SECRET": "s", "TINKWELL_SERVER": "environment:1"}
    CliRunner().invoke(commands.automation, words, env=env, obj=BEFORE)
    CliRunner().invoke(commands.automation, [*words, "--server", "behind:1", "--tls"], env=env, obj=BEFORE)
    assert [(each.server, each.token, each.tls is None) for each in seen] == [
        ("before:1", "t", True),
        ("behind:1", "t", False),
    ]


def test_what_an_operator_must_mend_is_told_and_ends_with_1(
    rules: str, seen: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = CliRunner().invoke(commands.automation, ["run", "--rules", rules])
    assert result.exit_code == 1
    assert "AUTOMATION_SECRET is not set" in " ".join(result.output.split())

    async def fail(_: object) -> None:
        raise errors.Unauthenticated("no token")

    monkeypatch.setattr(main, "run_until_signal", fail)
    result = CliRunner().invoke(commands.automation, ["run", "--rules", rules], env={"AUTOMATION_SECRET": "s"})
    assert result.exit_code == 1
    assert "no token" in result.output
    assert not seen


def test_checking_needs_no_secrets_and_prints_the_rules(rules: str) -> None:
    result = CliRunner().invoke(commands.automation, ["check", rules])
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "set: 1 rule, position automation_set",
        "one:",
        "  on WORKFLOW_TIMEOUT",
        "  do run x, once",
    ]


def test_a_wrong_file_stops_a_provisioner_before_it_begins(rules: str, seen: list[Any]) -> None:
    provisioner = provisioner_commands.provisioner
    assert CliRunner().invoke(provisioner, ["--automation", rules]).exit_code == 1
    assert not seen
    assert CliRunner().invoke(provisioner, ["--automation", rules], env={"AUTOMATION_SECRET": "s"}).exit_code == 0
    assert seen[0].beside is not None


def line(key: str, outcome: str = "DONE", *, attempt: int = 1, is_given_up: bool = False) -> str:
    told = {"time": "2026-01-01T00:00:00.000Z", "rule": "one", "key": key, "revision": 7, "resource": "r"}
    tried = {"target": "x", "attempt": attempt, "outcome": outcome, "detail": "why", "seconds": 0.1}
    return json.dumps(told | tried | {"given_up": is_given_up})


def write_log(directory: Path) -> None:
    folder = directory / "automation"
    folder.mkdir()
    (folder / "set.1.jsonl").write_text("\n".join([line("a", "FAILED"), line("b", "FAILED", is_given_up=True), ""]))
    torn = line("c")[:40] + line("c")
    (folder / "set.jsonl").write_text(
        "\n".join([torn, "7", line("c", "HOPELESS", is_given_up=True), line("a", attempt=2)])
    )


def test_the_last_try_at_each_effect_is_printed(tmp_path: Path) -> None:
    write_log(tmp_path)
    words = ["deliveries", "set", "--state-dir", str(tmp_path)]
    assert CliRunner().invoke(commands.automation, words).output.splitlines() == [
        "2026-01-01T00:00:00.000Z  b  x  FAILED  why  attempt 1  given up",
        "2026-01-01T00:00:00.000Z  c  x  HOPELESS  why  attempt 1  given up",
        "2026-01-01T00:00:00.000Z  a  x  DONE  why  attempt 2",
    ]
    failed = CliRunner().invoke(commands.automation, [*words, "--failed", "-o", "jsonl"]).output.splitlines()
    assert [json.loads(each)["key"] for each in failed] == ["b", "c"]
    assert CliRunner().invoke(commands.automation, ["deliveries", "other", "--state-dir", str(tmp_path)]).output == ""


def test_what_receivers_and_servers_say_is_not_obeyed_by_a_terminal(tmp_path: Path) -> None:
    folder = tmp_path / "automation"
    folder.mkdir()
    (folder / "set.jsonl").write_text(line("a", "\x1b]0;t\x07\x9b2J\u202e\n", is_given_up=True) + "\n")
    words = ["deliveries", "set", "--state-dir", str(tmp_path)]
    shown = CliRunner().invoke(commands.automation, words).output
    assert "\\x1b]0;t\\x07\\x9b2J\\u202e\\n" in shown
    assert len(shown.splitlines()) == 1
    told = CliRunner().invoke(commands.automation, [*words, "-o", "jsonl"]).output.removesuffix("\n")
    assert told.isprintable()
    assert json.loads(told)["outcome"] == "\x1b]0;t\x07\x9b2J\u202e\n"


def test_all_that_failed_for_good_is_delivered_again_or_what_is_named(
    rules: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[tuple[str, ...]] = []

    async def redeliver(_: object, keys: tuple[str, ...]) -> AsyncGenerator[tuple[str, attempt.Attempt], None]:
        asked.append(keys)
        for key in keys:
            yield key, attempt.done("HTTP 204") if key == "b" else attempt.failed("HTTP 503")

    monkeypatch.setattr(main, "redeliver", redeliver)
    monkeypatch.setattr(setup, "set_up", lambda level: None)
    write_log(tmp_path)
    words = ["redeliver", "--rules", rules, "--state-dir", str(tmp_path)]
    results = [
        CliRunner().invoke(commands.automation, [*words, *more], env={"AUTOMATION_SECRET": "s"})
        for more in (["--failed"], ["b"], [], ["b", "--failed"])
    ]
    assert asked == [("b", "c"), ("b",)]
    assert [result.exit_code for result in results] == [1, 0, 2, 2]
    assert results[0].output.splitlines() == ["b DONE HTTP 204", "c FAILED HTTP 503"]
