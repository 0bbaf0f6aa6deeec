"""The command lines."""

import uuid
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias
from unittest import mock

import click
import pytest
from click.testing import CliRunner, Result

from support import other_account
from tinkwell.client import errors
from tinkwell.core.process_log import setup
from tinkwell.core.workflow.decide import ALL_WORKERS
from tinkwell.provisioner.app import commands, main
from tinkwell.provisioner.release import driver
from tinkwell.provisioner.runtime.docker import setting
from tinkwell.provisioner.state_dir import state_dir

ID = str(uuid.uuid4())
Invoke: TypeAlias = Callable[..., tuple[Result, Any]]


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Run a command; what it would do is returned as settings instead."""
    seen: list[main.Settings] = []

    async def run(settings: main.Settings) -> None:
        seen.append(settings)

    monkeypatch.setattr(main, "run", run)
    monkeypatch.setattr(main, "gc", mock.Mock())  # the tests' own process is to be looked at as ever
    monkeypatch.setattr(setup, "set_up", lambda level: None)

    def call(
        command: click.Command, *arguments: str, env: dict[str, str] | None = None, obj: object = None
    ) -> tuple[Result, Any]:
        result = CliRunner().invoke(command, arguments, env=env or {}, obj=obj)
        return result, seen[-1] if seen else None

    return call


def test_no_worker_is_served_unless_it_is_named(invoke: Invoke) -> None:
    result, settings = invoke(commands.provisioner)
    assert result.exit_code == 0
    assert settings.serves == frozenset()


def test_workers_are_named_by_their_ids(invoke: Invoke) -> None:
    other = uuid.uuid4()
    _, settings = invoke(commands.provisioner, "--agent-for", ID, "--agent-for", str(other).upper())
    assert settings.serves == {ID, str(other)}


def test_all_workers_are_served_when_asked(invoke: Invoke) -> None:
    _, settings = invoke(commands.provisioner, "--agent-for", "all")
    assert settings.serves is ALL_WORKERS


def test_only_a_provisioner_gives_machines_a_default_template(invoke: Invoke) -> None:
    _, settings = invoke(commands.provisioner, "--default-template", "welcome")
    assert settings.default_template == "welcome"
    _, settings = invoke(commands.agent, "--id", ID, env={"TINKWELL_DEFAULT_TEMPLATE": "welcome"})
    assert settings.default_template is None


def test_no_release_is_served_unless_its_namespace_is_named(invoke: Invoke) -> None:
    _, settings = invoke(commands.provisioner, "--plug", "data=/srv")
    assert settings.releases is None
    _, settings = invoke(commands.agent, "--id", ID, env={"TINKWELL_RELEASES": "all"})
    assert settings.releases is None


def test_what_releases_may_use_is_said_by_options(invoke: Invoke) -> None:
    arguments = ["--releases", "prod", "--releases", "test", "--release-concurrency", "3"]
    arguments += ["--plug", "data=/srv:ro,ns=prod", "--plug", "own=/own", "--image-allow", "acme/.*"]
    _, settings = invoke(commands.provisioner, *arguments)
    releases = settings.releases
    assert (releases.namespaces, releases.concurrency) == ({"prod", "test"}, 3)
    assert [grant.name for grant in releases.plugs] == ["data", "own"]
    assert [pattern.pattern for pattern in releases.images.allowed] == ["acme/.*"]
    _, settings = invoke(commands.provisioner, "--releases", "all", "--releases", "prod")
    assert settings.releases.namespaces is driver.ALL_NAMESPACES


@pytest.mark.parametrize("arguments", [("--agent-for", "me"), ("--concurrency", "0"), ("--runtime", "podman")])
def test_a_wrong_option_is_a_usage_error(invoke: Invoke, arguments: tuple[str, ...]) -> None:
    result, settings = invoke(commands.provisioner, *arguments)
    assert (result.exit_code, settings) == (2, None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--releases", "No Name"), "No Name"),
        (("--plug", "data"), "is not a plug"),
        (("--image-allow", "("), "is no regular expression"),
        (("--release-concurrency", "0"), "0 is not in the range"),
    ],
)
def test_an_option_for_releases_that_makes_no_sense_is_a_usage_error(
    invoke: Invoke, arguments: tuple[str, ...], message: str
) -> None:
    result, settings = invoke(commands.provisioner, *arguments)
    assert (result.exit_code, settings) == (2, None)
    assert message in " ".join(result.output.replace("│", " ").split())


def test_an_agent_serves_one_machine(invoke: Invoke) -> None:
    _, settings = invoke(commands.agent, "--id", ID)
    assert settings.serves == {ID}
    result, _ = invoke(commands.agent, "--id", "all")
    assert result.exit_code == 2
    result, _ = invoke(commands.agent)
    assert result.exit_code == 2


def test_options_come_from_the_environment_too(invoke: Invoke, tmp_path: Path) -> None:
    env = {
        "TINKWELL_SERVER": "there:1",
        "TINKWELL_TOKEN": "secret",
        "TINKWELL_RUNTIME": "process",
        "TINKWELL_PROVISIONER_STATE_DIR": str(tmp_path),
        "TINKWELL_CONCURRENCY": "3",
        "TINKWELL_PROCESS_IMAGES": "images",
        "TINKWELL_AGENT_FOR": f"{ID} {uuid.uuid4()}",
    }
    _, settings = invoke(commands.provisioner, env=env)
    assert (settings.server, settings.token, settings.runtime) == ("there:1", "secret", main.RuntimeName.PROCESS)
    assert (settings.state_dir, settings.concurrency, str(settings.process_images)) == (tmp_path, 3, "images")
    assert ID in settings.serves
    assert len(settings.serves) == 2


def test_connection_options_before_the_subcommand_count_and_those_behind_it_win(invoke: Invoke) -> None:
    before = SimpleNamespace(
        server="before:1", token="t", tls=False, tls_ca=None, tls_cert=None, tls_key=None, tls_server_name=None
    )
    _, settings = invoke(commands.provisioner, obj=before, env={"TINKWELL_SERVER": "environment:1"})
    assert (settings.server, settings.token) == ("before:1", "t")
    _, settings = invoke(commands.provisioner, "--server", "behind:1", obj=before)
    assert settings.server == "behind:1"


def test_any_option_of_tls_asks_for_it(invoke: Invoke) -> None:
    assert invoke(commands.provisioner)[1].tls is None
    assert invoke(commands.provisioner, "--tls")[1].tls is not None
    assert invoke(commands.provisioner, "--tls-ca", "ca.pem")[1].tls.ca == "ca.pem"


def test_the_state_directory_has_a_place_by_default(invoke: Invoke, tmp_path: Path) -> None:
    _, settings = invoke(commands.provisioner, env={"XDG_STATE_HOME": str(tmp_path)})
    assert settings.state_dir == tmp_path / "tinkwell" / "provisioner"


@pytest.mark.parametrize("error", [state_dir.StateError("it is taken"), errors.Unauthenticated("no token")])
def test_what_an_operator_must_mend_is_one_sentence_and_exit_code_1(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    async def fail(_: object) -> None:
        raise error

    monkeypatch.setattr(main, "run", fail)
    result, _ = invoke(commands.provisioner)
    assert result.exit_code == 1
    assert str(error) in result.output
    assert "Traceback" not in result.output


def test_containers_are_limited_in_nothing_and_may_do_little_unless_it_is_said(invoke: Invoke) -> None:
    for command in (commands.provisioner, commands.agent):
        _, settings = invoke(command, *(("--id", ID) if command is commands.agent else ()))
        assert settings.docker == setting.DockerSettings()
        assert not settings.docker.is_privileged


def test_options_for_containers_come_from_the_environment_too(invoke: Invoke) -> None:
    env = {
        "TINKWELL_DOCKER_HOST": "tcp://engine:2376",
        "TINKWELL_DOCKER_CERT_PATH": "certs",
        "TINKWELL_DOCKER_PULL": "never",
        "TINKWELL_DOCKER_REGISTRY": "registry:5000/team/",
        "TINKWELL_DOCKER_REGISTRY_USER": "me",
        "TINKWELL_DOCKER_REGISTRY_PASSWORD": "secret",
        "TINKWELL_DOCKER_CONFIG": "config.json",
        "TINKWELL_DOCKER_PRIVILEGED": "true",
        "TINKWELL_DOCKER_MEMORY": "1.5g",
        "TINKWELL_DOCKER_CPUS": "0.5",
        "TINKWELL_DOCKER_PIDS": "100",
        "TINKWELL_DOCKER_LOG_SIZE": "10MiB",
    }
    result, _ = invoke(commands.provisioner, env=env)
    assert "'1.5g' is not a size; write it as 512m or 2g" in result.output
    _, settings = invoke(commands.provisioner, env=env | {"TINKWELL_DOCKER_MEMORY": "2g"})
    assert settings.docker == setting.DockerSettings(
        host="tcp://engine:2376",
        cert_dir=Path("certs"),
        pull=setting.PullPolicy.NEVER,
        registry="registry:5000/team",
        user="me",
        password="secret",
        config_file=Path("config.json"),
        is_privileged=True,
        memory_bytes=2 * 1024**3,
        cpus=0.5,
        pids=100,
        log_bytes=10 * 1024**2,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--docker-registry", "https://quay.io"), "is no registry"),
        (("--docker-registry", "quay"), "would not be taken for a host"),
        (("--docker-registry", "team/images"), "would not be taken for a host"),
        (("--docker-registry-user", "me"), "go together"),
        (("--docker-registry-password", "p"), "go together"),
        (("--docker-memory", "1k"), "is less than"),
        (("--docker-pull", "sometimes"), "sometimes"),
    ],
)
def test_an_option_for_containers_that_makes_no_sense_is_a_usage_error(
    invoke: Invoke, arguments: tuple[str, ...], message: str
) -> None:
    result, settings = invoke(commands.provisioner, *arguments, env={"COLUMNS": "200"})
    assert (result.exit_code, settings) == (2, None)
    assert message in result.output


def test_processes_run_as_the_account_that_is_named(invoke: Invoke) -> None:
    _, settings = invoke(commands.provisioner)
    assert settings.process_user is None
    result, _ = invoke(commands.provisioner, "--process-user", "no-such-account")
    assert result.exit_code == 2
    assert "'no-such-account' is no account of this machine" in " ".join(result.output.split())


@other_account.as_root
def test_root_may_name_another_account(invoke: Invoke) -> None:
    _, settings = invoke(commands.agent, "--id", ID, env={"TINKWELL_PROCESS_USER": other_account.NAME})
    assert settings.process_user == other_account.found()


def test_units_are_run_where_that_is_asked_for(invoke: Invoke) -> None:
    _, settings = invoke(commands.provisioner)
    assert not settings.serves_units
    for command in ((commands.provisioner, "--units"), (commands.agent, "--id", ID, "--units")):
        _, settings = invoke(*command)
        assert settings.serves_units


@other_account.as_root
def test_units_may_be_run_as_another_account(invoke: Invoke) -> None:
    _, settings = invoke(commands.provisioner, "--units", "--process-user", other_account.NAME)
    assert settings.process_user is not None
    assert (settings.serves_units, settings.process_user.name) == (True, other_account.NAME)
