"""Actions and commands, by jubilant: what came of them, and what is refused."""

import jubilant
import pytest
from integration.juju import stage
from integration.juju.stage import SITE, Place

# Each question starts a process, and each event several; a loaded machine takes minutes for a module.
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def site(juju: jubilant.Juju) -> jubilant.Juju:
    juju.deploy(SITE)
    stage.wait(juju, jubilant.all_active)
    stage.settle(juju)
    return juju


def test_an_action_answers(site: jubilant.Juju) -> None:
    task = site.run("site/0", "greet", {"name": "Ann", "times": 3, "how": {"loud": True}})
    assert task.status == "completed"
    assert task.results == {"greeting": {"text": "Hello Ann", "times": "3"}, "loud": "True"}
    assert (task.return_code, task.log, task.stdout) == (0, ["greets Ann"], "said to Ann\n")
    # YAML quotes an id that begins as a number does.
    assert site.cli("show-task", task.id).splitlines()[0].replace('"', "") == f"id: {task.id}"


def test_whoever_leads_is_asked(site: jubilant.Juju) -> None:
    task = site.run("site/leader", "greet", {"name": "Bob"})
    assert task.results["greeting"] == {"text": "Hello Bob", "times": "1"}


def test_an_action_that_says_that_it_fails_has_failed(site: jubilant.Juju) -> None:
    with pytest.raises(jubilant.TaskError) as caught:
        site.run("site/0", "refuse")
    task = caught.value.task
    assert (task.status, task.message, task.results) == ("failed", "not today", {"reason": "mood"})


def test_an_action_that_crashes_has_failed(site: jubilant.Juju) -> None:
    with pytest.raises(jubilant.TaskError) as caught:
        site.run("site/0", "crash")
    assert (caught.value.task.return_code, caught.value.task.stderr) == (3, "something is wrong\n")


def test_what_is_not_there_cannot_be_run(site: jubilant.Juju) -> None:
    with pytest.raises(ValueError, match=r'action "gret" not defined for unit "site/0": .* did you mean greet'):
        site.run("site/0", "gret")
    with pytest.raises(ValueError, match='unit "site/7" not found'):
        site.run("site/7", "greet", {"name": "Ann"})


def test_parameters_that_the_charm_cannot_take_are_refused(site: jubilant.Juju) -> None:
    with pytest.raises(jubilant.CLIError) as caught:
        site.run("site/0", "greet", {"name": "Ann", "times": "often"})
    assert stage.error_of(caught) == 'parameters.times: must be a whole number, and not the text "often"'


def test_what_lingers_is_not_waited_for_and_is_cancelled(site: jubilant.Juju) -> None:
    with pytest.raises(TimeoutError, match="timed out waiting for action"):
        site.run("site/0", "linger", wait=0.5)
    (task, *_) = site.cli("operations", "--actions", "linger").splitlines()[1].split()
    site.cli("cancel-task", task)
    assert "status: cancelled\n" in site.cli("show-task", task, "--wait", "60s")


def test_a_command_answers(site: jubilant.Juju) -> None:
    task = site.exec("echo hello; config-get title; echo oh >&2", unit="site/0")
    assert (task.stdout, task.stderr, task.return_code) == ("hello\nWelcome\n", "oh\n", 0)
    assert site.exec("echo", "a  b", "$HOME", unit="site/leader").stdout == "a  b $HOME\n"
    assert site.ssh("site/0", "echo", "a  b", "$JUJU_UNIT_NAME") == "a b site/0\n"


def test_a_command_that_fails_has_failed(site: jubilant.Juju) -> None:
    with pytest.raises(jubilant.TaskError) as caught:
        site.exec("echo so; exit 4", unit="site/0")
    assert (caught.value.task.return_code, caught.value.task.stdout) == (4, "so\n")
    with pytest.raises(ValueError, match='unit "site/8" not found'):
        site.exec("true", unit="site/8")
    with pytest.raises(TimeoutError, match="timed out waiting for command"):
        site.exec("sleep 5", unit="site/0", wait=0.3)


def test_commands_are_refused_where_the_server_does_not_allow_them(
    site: jubilant.Juju, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINKWELL_SERVER", place.strict_address)
    with pytest.raises(jubilant.CLIError) as caught:
        site.exec("true", unit="site/0")
    assert stage.error_of(caught).endswith(
        "this server runs no commands on units; set TINKWELL_ALLOW_EXEC to allow them"
    )
    with pytest.raises(jubilant.CLIError) as caught:
        site.exec("true", machine=0)
    assert "machines run no commands here" in stage.error_of(caught)
