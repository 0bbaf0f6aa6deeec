"""`run` and `exec`: what units are asked, and what is said of what came of it."""

import json

import pytest
from unit.juju.stage import JujuLine, Site

from support.unit_agent import Agent
from tinkwell.client import Client, Grant
from tinkwell.core.unit.effect import NO_EFFECTS, Effects, TaskOutcome
from tinkwell.core.unit.kinds import TaskState

BACKUP = ("run", "web/0", "backup", "target=/srv")


@pytest.fixture
def web(site: Site) -> Site:
    """The application web with two units."""

    async def deploy(client: Client, agent: Agent) -> None:
        await client.applications.deploy("web", site.web, units=2, anywhere=True)
        await agent.run()

    site.work(deploy)
    return site


def end(site: Site, outcome: TaskOutcome) -> None:
    """Let all tasks that wait end so."""

    async def act(_: Client, agent: Agent) -> None:
        def ended(_: Grant) -> tuple[TaskOutcome, Effects]:
            return outcome, NO_EFFECTS

        agent.actions = {"backup": ended, "": ended}
        await agent.run()

    site.work(act)


def asked(juju: JujuLine, *words: str) -> str:
    """Ask for something in the background, and return the id of its task."""
    (task,) = background(juju, *words).values()
    return task


def background(juju: JujuLine, *words: str) -> dict[str, str]:
    """Ask for something in the background, and return the ids of tasks by the units that were asked."""
    found = json.loads(juju.ok(words[0], "--background", "--format", "json", *words[1:]))
    return {unit: each["id"] for unit, each in found.items()}


def test_an_action_in_the_background_is_asked_for_and_shown_later(juju: JujuLine, web: Site) -> None:
    task = asked(juju, *BACKUP)
    assert juju.json("show-task", task)["status"] == "pending"
    end(web, TaskOutcome(state=TaskState.SUCCEEDED, result='{"path": "/srv/1", "return-code": 0}'))
    found = juju.json("show-task", task, "--watch")
    assert (found["id"], found["unit"], found["status"]) == (task, "web/0", "completed")
    assert found["results"] == {"path": "/srv/1", "return-code": 0}
    assert {*found["timing"]} == {"enqueued", "started", "completed"}


def test_parameters_come_from_a_file_and_over_it_from_the_command_line(juju: JujuLine, web: Site) -> None:
    file = juju.folder / "params.yaml"
    file.write_text("target: /a\nlevel: 7\n")
    asked(juju, "run", "web/leader", "backup", "--params", str(file), "target=/b")
    (found,) = juju.json("operations").values()
    assert found["action"] == {"name": "backup", "parameters": {"target": "/b", "level": 7}}


def test_a_parameter_that_begins_like_the_name_of_a_file_is_none(juju: JujuLine, web: Site) -> None:
    asked(juju, "run", "web/0", "backup", "target=@home")
    (found,) = juju.json("operations").values()
    assert found["action"]["parameters"]["target"] == "@home"


def test_what_is_not_done_in_time_is_said_and_goes_on(juju: JujuLine, web: Site) -> None:
    sentence = "ERROR timed out waiting for results from:\n - unit web/0\n - unit web/1\n"
    assert juju.fails("run", "web/0", "web/1", "backup", "target=/srv", "--wait", "50ms") == sentence
    assert [each["status"] for each in juju.json("operations").values()] == ["pending", "pending"]


@pytest.mark.parametrize(
    ("words", "sentence", "code"),
    [
        (
            ("web/0", "backu", "target=x"),
            'action "backu" not defined for unit "web/0": the charm has no such action; ',
            1,
        ),
        (("web/7", "backup", "target=x"), 'unit "web/7" not found (not found)', 1),
        (("web/0", "backup"), "parameters.target: must be given", 1),
        (("web/0", "backup", "target"), 'expected "key=value", got "target"', 2),
        (("web/0", "backup", "a=1", "a.b=1"), "a.b: a already has a value that is not an object", 2),
        (("backup",), '"backup" is not the name of a unit; write one such as web/0, or web/leader', 2),
        (("web/0", "web/1"), "no action specified", 2),
        (("web/0", "backup", "--params", "/nothing"), "/nothing: No such file or directory", 1),
    ],
)
def test_what_cannot_be_run_is_told(
    juju: JujuLine, web: Site, words: tuple[str, ...], sentence: str, code: int
) -> None:
    assert f"ERROR {sentence}" in juju.fails("run", *words, code=code)


def test_a_task_is_cancelled(juju: JujuLine, web: Site) -> None:
    task = asked(juju, *BACKUP)
    assert juju.json("cancel-task", task)[task]["status"] == "cancelled"
    assert "message" in juju.json("show-task", task)


def test_operations_are_chosen_by_what_they_are(juju: JujuLine, web: Site) -> None:
    first = asked(juju, *BACKUP)
    end(web, TaskOutcome(state=TaskState.FAILED, message="the disk is full"))
    second = asked(juju, "run", "web/1", "backup", "target=/srv")
    assert [*juju.json("operations")] == [second, first]
    assert [*juju.json("operations", "--limit", "1")] == [second]
    assert [*juju.json("operations", "--units", "web/0")] == [first]
    assert [*juju.json("operations", "--status", "failed,aborted")] == [first]
    assert juju.json("operations", "--actions", "other") == {}
    header, row, _ = juju.ok("operations").splitlines()
    assert header.split() == ["ID", "Status", "Started", "Finished", "Unit", "Summary"]
    assert row.endswith("web/1  backup run on web/1")


def test_actions_are_listed_with_their_schemas(juju: JujuLine, web: Site) -> None:
    assert juju.json("actions", "web") == {"backup": "Write everything into a file"}
    assert juju.json("actions", "web", "--schema")["backup"]["required"] == ["target"]


def test_one_word_is_a_line_for_the_shell_and_several_are_a_command(juju: JujuLine, web: Site) -> None:
    asked(juju, "exec", "--unit", "web/0", "--", "echo a; ls -l")
    asked(juju, "exec", "--unit", "web/0", "ls", "-l", "--", "a b")
    found = web.work(_arguments)
    assert found == [("ls", "-l", "--", "a b"), ("bash", "-c", "echo a; ls -l")]


async def _arguments(client: Client, _: Agent) -> list[tuple[str, ...]]:
    return [each.arguments async for each in client.applications.tasks("web")]


def test_a_command_is_for_units_and_applications(juju: JujuLine, web: Site) -> None:
    assert [*background(juju, "exec", "--application", "web", "--unit", "web/1", "true")] == ["web/1", "web/0"]


def test_a_unit_that_is_not_there_is_told_of_and_nothing_else_is_written(juju: JujuLine, web: Site) -> None:
    result = juju.run("exec", "--format", "json", "--unit", "web/9", "--", "true")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == 'the operation failed to schedule any tasks:\nunit "web/9" not found\n'


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("exec", "--machine", "0", "true"), "--machine: machines run no commands here; name a unit, such as web/0"),
        (("exec", "--all", "true"), "--all: machines run no commands here; name a unit, such as web/0"),
        (("exec", "true"), "you must specify a target with --unit or --application"),
        (("exec", "--unit", "web", "true"), '"web" is not the name of a unit; write one such as web/0, or web/leader'),
        (("ssh", "0", "true"), '"0": machines run no commands here; name a unit, such as web/0'),
        (("ssh", "ubuntu@web/0", "true"), '"ubuntu@": there are no logins; commands run as the account of the agent'),
        (("ssh", "web/0"), "there are no logins; give a command"),
        (("ssh", "web/0", "-i", "key", "true"), "-i: there are no logins, and no options of OpenSSH for them"),
        (("ssh", "--container", "c", "web/0", "true"), "--container: there are no containers"),
    ],
)
def test_what_runs_no_commands_says_so(juju: JujuLine, web: Site, words: tuple[str, ...], sentence: str) -> None:
    assert juju.fails(*words, code=2) == f"ERROR {sentence}\n"


def test_what_came_of_tasks_is_written_as_it_was_asked_for(juju: JujuLine, web: Site) -> None:
    task = asked(juju, *BACKUP)
    end(web, TaskOutcome(state=TaskState.SUCCEEDED, result='{"a": {"b": "c"}}'))
    text = juju.ok("show-task", task)
    assert "results:\n  a:\n    b: c\n" in text
    assert json.loads(juju.ok("show-task", task, "--format", "json"))["results"] == {"a": {"b": "c"}}
