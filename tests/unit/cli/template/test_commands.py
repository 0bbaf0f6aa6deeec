"""The commands for templates."""

from pathlib import Path

import pytest

from support.command_line import CommandLine
from tinkwell.core.template import template
from tinkwell.core.value import document

EXAMPLES = Path(__file__).parents[4] / "examples"

GOOD = """version: "0.1"
name: hello
global_timeout: 600
tasks:
  - name: greet
    worker: "{{.device_1}}"
    actions:
      - name: hello
        image: hello-world
      - name: bye
        image: hello-world
"""
BAD = GOOD.replace("image: hello-world", "image: Hello World").replace("name: greet", 'name: ""')


@pytest.fixture
def good(tmp_path: Path) -> str:
    path = tmp_path / "hello.yaml"
    path.write_text(GOOD)
    return str(path)


def test_creating_prints_the_id(cli: CommandLine, good: str) -> None:
    template_id = cli.ok("template", "create", good).strip()
    assert cli.json("template", "get", template_id)["name"] == "hello"
    assert cli.json("template", "get", "hello")["id"] == template_id


def test_a_template_comes_from_standard_input_under_another_name(cli: CommandLine) -> None:
    cli.ok("template", "create", "-", "--name", "other", stdin=GOOD)
    assert [item["name"] for item in cli.json("template", "list")] == ["other"]


def test_the_yaml_comes_back_as_it_was_written(cli: CommandLine, good: str) -> None:
    cli.ok("template", "create", good)
    assert cli.ok("template", "get", "hello", "--data") == GOOD


def test_a_list_is_filtered_by_name_and_has_no_yaml(cli: CommandLine) -> None:
    for name in ("ubuntu_focal", "ubuntu_jammy", "debian"):
        cli.ok("template", "create", "-", "--name", name, stdin=GOOD)
    found = cli.json("template", "list", "--name", "UBUNTU*")
    assert [item["name"] for item in found] == ["ubuntu_focal", "ubuntu_jammy"]
    assert "data" not in found[0]
    header, *rows = cli.ok("template", "list").splitlines()
    assert header.split() == ["ID", "NAME", "VERSION", "CREATED", "UPDATED"]
    assert [row.split()[1] for row in rows] == ["ubuntu_focal", "ubuntu_jammy", "debian"]


@pytest.mark.parametrize("command", [("create",), ("update", "hello")])
def test_yaml_that_is_refused_is_told_with_its_places(
    cli: CommandLine, good: str, tmp_path: Path, command: tuple[str, ...]
) -> None:
    cli.ok("template", "create", good)
    bad = tmp_path / "bad.yaml"
    bad.write_text(BAD)
    lines = cli.fails("template", *command, str(bad)).splitlines()
    assert [line.partition(f"{bad}:")[2][:4] for line in lines] == ["5:11", "9:16", "11:1"]
    assert lines[0].startswith(f"Error: {bad}:5:11: tasks[0].name: ")


def test_the_yaml_and_the_name_are_updated(cli: CommandLine, good: str) -> None:
    template_id = cli.ok("template", "create", good).strip()
    assert cli.ok("template", "update", "hello", good) == f"{template_id}  version 1  unchanged\n"
    longer = f"{GOOD}# nothing more\n"
    updated = cli.ok("template", "update", "hello", "-", stdin=longer)
    assert updated == f"{template_id}  version 2  revision 2\n"
    assert cli.json("template", "update", template_id, "--name", "new")["version"] == 3
    assert cli.json("template", "get", "new")["data"] == longer


def test_an_update_of_nothing_is_a_usage_error(cli: CommandLine) -> None:
    assert "give a FILE" in cli.fails("template", "update", "hello", code=2)


def test_templates_are_deleted_by_id_or_name(cli: CommandLine, good: str) -> None:
    template_id = cli.ok("template", "create", good).strip()
    cli.ok("template", "create", "-", "--name", "other", stdin=GOOD)
    result = cli.run("template", "delete", "nope", template_id, "other")
    assert result.exit_code == 1
    assert [line.split()[0] for line in result.stdout.splitlines()] == [template_id, "other"]
    assert result.stderr == "Error: template nope does not exist\n"
    assert cli.json("template", "list") == []


def test_validating_needs_no_server(cli: CommandLine, good: str) -> None:
    result = cli.run("template", "validate", good, env={"TINKWELL_SERVER": "localhost:1"})
    assert (result.exit_code, result.stdout) == (0, f"{good}: hello, 1 task, 2 actions\n")


def test_the_examples_are_templates_with_what_they_say_of_retries_and_recovery(cli: CommandLine) -> None:
    names = ("demo/template.yaml", "recovery/recovery.yaml", "retry/install.yaml", "retry/rescue.yaml")
    files = [str(EXAMPLES / name) for name in names]
    told = cli.ok("template", "validate", *files).splitlines()
    assert told[2:] == [f"{files[2]}: install, 1 task, 2 actions", f"{files[3]}: rescue, 1 task, 2 actions"]
    devices: document.JsonObject = {"device_1": "52:54:00:10:00:03"}
    rendered = template.render(Path(files[2]).read_text(), devices)
    assert (rendered.template.on_failure, rendered.template.on_timeout) == ("rescue", "rescue")
    assert [(action.retries, action.retry_delay_seconds) for action in rendered.actions] == [(3, 10), (0, 5)]
    assert [action.reboots for action in rendered.actions] == [False, True]


def test_validating_tells_of_every_file(cli: CommandLine, good: str, tmp_path: Path) -> None:
    bad, empty = tmp_path / "bad.yaml", tmp_path / "empty.yaml"
    bad.write_text("version: '0.1'\nname: [\n")
    empty.write_text(" \n")
    result = cli.run("template", "validate", str(bad), good, str(empty), "/nowhere")
    assert result.exit_code == 1
    assert result.stdout.startswith(good)
    first, second, third = result.stderr.splitlines()
    assert first.startswith(f"Error: {bad}:3:1: ")
    assert second == f"Error: {empty} is empty"
    assert third == "Error: /nowhere: No such file or directory"


def test_a_template_that_is_too_big_is_not_sent(cli: CommandLine) -> None:
    stderr = cli.fails("template", "create", "-", stdin="#" * (1024 * 1024 + 1))
    assert stderr == "Error: standard input is larger than 1 MiB, which is the most allowed here\n"


def test_a_template_is_watched_by_its_name(cli: CommandLine, good: str) -> None:
    template_id = cli.ok("template", "create", good).strip()
    assert template_id in cli.ok("template", "watch", "hello", "--count", "1")
