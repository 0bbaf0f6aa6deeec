"""The commands for tasks: actions and commands that units are asked to run, and what came of them."""

from concurrent import futures

import pytest
from unit.cli.unit.conftest import Site

from support.unit_agent import DONE, Agent
from support.waiting import eventually
from tinkwell.client import Client, Grant
from tinkwell.core.unit.effect import NO_EFFECTS, Effects, TaskOutcome
from tinkwell.core.unit.kinds import TaskState


def run_by(site: Site, outcome: TaskOutcome) -> None:
    """Run all that is due; tasks end so."""

    async def act(_: Client, agent: Agent) -> None:
        def end(_: Grant) -> tuple[TaskOutcome, Effects]:
            return outcome, NO_EFFECTS

        agent.actions = {"backup": end, "": end}
        await agent.run()

    site.work(act)


def run_once_asked(site: Site, outcome: TaskOutcome) -> None:
    """Run what is due as `run_by`, once there is a task."""

    async def wait(client: Client, _: Agent) -> None:
        async def is_asked() -> bool:
            return bool([each async for each in client.applications.tasks("web")])

        await eventually(is_asked, deadline_seconds=20)

    site.work(wait)
    run_by(site, outcome)


def asked(site: Site, *words: str) -> str:
    """Ask web/0 for a backup, and return the id of the task."""
    made: str = site.cli.json("unit", "run", "web/0", "backup", *words)["id"]
    return made


def test_the_actions_of_an_application_are_listed(deployed: Site) -> None:
    header, row = deployed.cli.ok("app", "actions", "web").splitlines()
    assert header.split() == ["ACTION", "PARAMETERS", "DESCRIPTION"]
    assert row.split(maxsplit=3) == ["backup", "target", "[level]", "Write everything into a file"]
    assert deployed.cli.json("app", "actions", "web")[0]["parameters"]["required"] == ["target"]


def test_an_action_is_asked_for_with_parameters_as_the_charm_has_them(deployed: Site) -> None:
    said = deployed.cli.ok("unit", "run", "web/0", "backup", "target=/srv", "level=7")
    assert said.startswith("web/0: backup is requested; tinkwell task show ")
    (found,) = deployed.cli.json("task", "list", "web/0")
    assert (found["state"], found["parameters"]) == ("PENDING", {"target": "/srv", "level": 7})
    run_by(deployed, TaskOutcome(state=TaskState.SUCCEEDED, result='{"path": "/srv/1"}'))
    shown = deployed.cli.ok("task", "show", found["id"])
    assert "STATE      SUCCEEDED" in shown
    assert "\nRESULT\npath: /srv/1\n" in shown
    assert "\nPARAMETERS\ntarget: /srv\nlevel: 7\n" in shown


def test_a_fraction_of_a_second_is_no_time_that_nobody_has_given(deployed: Site) -> None:
    asked(deployed, "target=/srv", "--timeout", "300ms")
    assert deployed.cli.json("task", "list", "web/0")[0]["timeout_seconds"] == 1


def test_parameters_are_read_from_a_file_and_completed(deployed: Site) -> None:
    given = '{"target": "/a", "level": 9}'
    result = deployed.cli.run("unit", "run", "web/leader", "backup", "target=/b", "--file", "-", stdin=given)
    assert result.exit_code == 0, result.output
    task = asked(deployed, "target=c")
    rows = deployed.cli.json("task", "list", "web")
    assert [each["parameters"] for each in rows] == [{"target": "c", "level": 3}, {"target": "/b", "level": 9}]
    assert rows[0]["id"] == task


@pytest.mark.parametrize(
    ("words", "sentence", "code"),
    [
        (("web/0", "backup"), "parameters.target: must be given", 1),
        (("web/0", "backup", "target=", "x=1"), "parameters.x: there is no such parameter", 1),
        (
            ("web/0", "backup", "target=", "level=x"),
            'parameters.level: must be a whole number, and not the text "x"',
            1,
        ),
        (("web/0", "backu"), "action: the charm has no such action; did you mean backup?", 1),
        (("web/7", "backup", "target="), "unit web/7 does not exist", 1),
        (("web/0", "backup", "target"), "'target' is not KEY=VALUE, such as target=/srv/backup", 2),
        (("web/0", "backup", "a=1", "a.b=1"), "a.b: a already has a value that is not an object", 2),
        (("web/0",), "name an action of web/0; tinkwell app actions lists them", 2),
        (("web/0", "backup", "--application", "web"), "go with a program, such as web.py:Web", 2),
        (("web.py", "backup"), "'web.py' is not the name of a unit, such as web/0, and only units run actions", 2),
        (("web.py:Web",), "--application says whose units web.py:Web serves", 2),
    ],
)
def test_what_cannot_be_run_is_told(deployed: Site, words: tuple[str, ...], sentence: str, code: int) -> None:
    assert sentence in deployed.cli.fails("unit", "run", *words, code=code)


def test_a_task_that_waits_is_cancelled_at_once(deployed: Site) -> None:
    task = asked(deployed, "target=")
    assert deployed.cli.ok("task", "cancel", task) == f"{task}: is cancelled\n"
    assert "STATE      CANCELLED" in deployed.cli.ok("task", "show", task, "--wait")


def test_one_that_has_ended_stays_so(deployed: Site) -> None:
    task = asked(deployed, "target=")
    run_by(deployed, DONE)
    assert "it is SUCCEEDED already" in deployed.cli.fails("task", "cancel", task)


@pytest.mark.parametrize(
    ("words", "outcome", "code", "said"),
    [
        (("run", "web/0", "backup", "target=/srv"), DONE, 0, ""),
        (
            ("run", "web/0", "backup", "target=/srv"),
            TaskOutcome(state=TaskState.SUCCEEDED, result='{"path": "/srv/1"}'),
            0,
            "path: /srv/1\n",
        ),
        (
            ("run", "web/0", "backup", "target=/srv"),
            TaskOutcome(state=TaskState.FAILED, message="the disk is full"),
            1,
            "Error: web/0: backup has failed: the disk is full; see tinkwell task show ",
        ),
        (
            ("exec", "web/0", "--", "ls", "/srv"),
            TaskOutcome(
                state=TaskState.SUCCEEDED, result='{"stdout": "a\\nb\\n", "stderr": "odd\\n", "return-code": 0}'
            ),
            0,
            "a\nb\n",
        ),
        (
            ("exec", "web/0", "--", "ls", "/srv"),
            TaskOutcome(state=TaskState.TIMEOUT, result='{"stderr": "odd\\n"}'),
            1,
            "odd\nError: web/0: ls /srv has taken too long; see tinkwell task show ",
        ),
    ],
)
def test_the_end_of_a_task_is_waited_for_and_told(
    deployed: Site, words: tuple[str, ...], outcome: TaskOutcome, code: int, said: str
) -> None:
    command, *rest = words
    with futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(run_once_asked, deployed, outcome)
        result = deployed.cli.run("unit", command, "--wait", *rest)
        running.result(30)
    assert result.exit_code == code
    assert said in (result.stdout if code == 0 else result.stderr)


def test_one_is_told_why_a_task_has_not_succeeded(deployed: Site) -> None:
    task = asked(deployed, "target=")
    run_by(deployed, TaskOutcome(state=TaskState.FAILED, message="the disk is full"))
    row = deployed.cli.ok("task", "list", "web").splitlines()[1]
    assert row.split()[:4] == [task, "web/0", "backup", "FAILED"]
    assert row.endswith("the disk is full")


def test_a_command_is_shown_as_it_was_typed(deployed: Site) -> None:
    deployed.cli.ok("unit", "exec", "web/0", "--", "sh", "-c", "echo 'a b'")
    row = deployed.cli.ok("task", "list", "web/0").splitlines()[1]
    assert """sh -c 'echo '\\''a b'\\'''""" in row
    assert deployed.cli.json("task", "list", "web/0")[0]["arguments"] == ["sh", "-c", "echo 'a b'"]
    assert "is not the name of a unit" in deployed.cli.fails("unit", "exec", "web", "--", "ls", code=2)
