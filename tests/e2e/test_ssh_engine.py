"""An engine by ssh: real containers by a real login, and what is said where there is no way in."""

import asyncio
import contextlib
import shutil
import socket
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import docker as sdk
import pytest
import pytest_asyncio
from e2e import scene, ssh_host
from integration.provisioner import engine_image

from support.waiting import eventually
from tinkwell.client import Client, State
from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.runtime.docker import runtime as docker
from tinkwell.provisioner.runtime.docker import setting
from tinkwell.provisioner.runtime.docker.connection import ssh
from tinkwell.provisioner.state_dir import state_dir

pytestmark = [
    pytest.mark.ssh,
    pytest.mark.skipif(not ssh_host.IS_INSTALLED, reason="needs OpenSSH's client and server, which are not installed"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def host(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ssh_host.Host]:
    async with ssh_host.running(tmp_path_factory.mktemp("ssh")) as host:
        yield host


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[state_dir.StateDir]:
    with contextlib.closing(state_dir.StateDir.open(tmp_path)) as directory:
        yield directory


async def connect(directory: state_dir.StateDir, url: str, config: Path) -> docker.DockerRuntime:
    settings = setting.DockerSettings(host=url, ssh_config=config)
    async with asyncio.timeout(60):
        return await docker.DockerRuntime.connect(directory, concurrency=2, fed_concurrency=2, settings=settings)


async def refusal(directory: state_dir.StateDir, url: str, config: Path) -> str:
    with pytest.raises(port.RunError) as caught:
        await connect(directory, url, config)
    assert caught.value.reason is port.Reason.UNAVAILABLE
    return str(caught.value)


@pytest.mark.docker
async def test_a_workflow_runs_on_an_engine_by_ssh(
    engine: sdk.APIClient,
    client: Client,
    machines: dict[str, str],
    server_address: str,
    tmp_path: Path,
    host: ssh_host.Host,
) -> None:
    options = ("--docker-host", host.url, "--docker-ssh-config", str(host.config()))
    async with scene.provisioner(server_address, tmp_path, options=options):
        steps = (scene.action("one", "echo one; echo two >&2"), scene.action("two", "cat /data/greeting"))
        (tmp_path / "greeting").write_text("hello\n")
        workflow = await scene.create(client, scene.task("only", "device_1", tmp_path, *steps))
        assert await scene.finished(client, workflow) is State.SUCCEEDED
        assert host.logins()
    assert sorted([line.text async for line in client.workflows.logs(workflow)]) == ["hello", "one", "two"]
    # What it has left behind there and here is over with it.
    await eventually(lambda: not host.logins())


@pytest.mark.docker
async def test_output_goes_on_where_it_was_when_a_login_has_broken_off(
    engine: sdk.APIClient, directory: state_dir.StateDir, tmp_path: Path, host: ssh_host.Host
) -> None:
    script = "echo one; until [ -e /data/go ]; do sleep 0.05; done; echo two"
    spec = port.RunSpec(
        key=RunKey(RunKind.WORKFLOW, str(uuid.uuid4()), str(uuid.uuid4()), 1),
        image=engine_image.IMAGE,
        command=("/bin/sh", "-c", script),
        volumes=(f"{tmp_path}:/data",),
    )
    runtime = await connect(directory, host.url, host.config())
    try:
        run = await runtime.start(spec)
        waiting = asyncio.ensure_future(run.wait())
        async with asyncio.timeout(60), contextlib.aclosing(run.lines()) as lines:
            assert (await anext(lines)).text == "one"
            host.throw_out()
            (tmp_path / "go").touch()
            assert [line.text async for line in lines] == ["two"]
            assert (await waiting).code == 0
        await run.remove()
    finally:
        await runtime.close()
    await eventually(lambda: not host.logins())


@pytest.mark.docker
@pytest.mark.parametrize("answer_bytes", [0, 100])
async def test_input_arrives_whole_and_ends(
    engine: sdk.APIClient, directory: state_dir.StateDir, host: ssh_host.Host, answer_bytes: int
) -> None:
    given = b"0123456789abcdef" * 65_536  # 1 MiB
    key = RunKey(RunKind.RELEASE, str(uuid.uuid4()), str(uuid.uuid4()), 1)
    spec = port.RunSpec(key=key, image=engine_image.IMAGE, command=("wc", "-c"), stdin=given, answer_bytes=answer_bytes)
    runtime = await connect(directory, host.url, host.config())
    try:
        run = await runtime.start(spec)
        async with asyncio.timeout(60):
            assert (await run.wait()).code == 0
            lines = [line.text async for line in run.lines()]
        said = await run.answer() if answer_bytes else lines[0]
        assert int(said) == len(given)
        await eventually(run.was_fed)
        await run.remove()
    finally:
        await runtime.close()
    await eventually(lambda: not host.logins())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"known": "empty"}, "Host key verification failed.; its key is not known here: check it, and put it into"),
        ({"known": "outdated"}, "Host key verification failed.; its key is another one than before: find out why"),
        ({"key": "stranger"}, "Permission denied (publickey).; no key of this user opens it: put a public key into"),
        ({"key": "restricted"}, "no-such-program: not found; the program docker must be in the PATH that commands"),
    ],
)
async def test_a_host_that_lets_nobody_in_is_said_with_what_to_do(
    directory: state_dir.StateDir, host: ssh_host.Host, options: dict[str, str], words: str
) -> None:
    config = host.config(**options)
    said = await refusal(directory, host.url, config)
    assert said.startswith("the Docker Engine does not answer: ")
    assert words in said.replace("command not found", "not found")  # shells differ
    await eventually(lambda: not host.logins())


@pytest.mark.skipif(shutil.which("docker") is None, reason="needs the program docker, which is not installed")
async def test_a_host_that_has_no_engine_says_what_its_docker_program_says(
    directory: state_dir.StateDir, host: ssh_host.Host, tmp_path: Path
) -> None:
    said = await refusal(directory, f"{host.url}{tmp_path}/no.sock", host.config())
    assert f"{tmp_path}/no.sock" in said
    assert "docker version work?" in said


async def test_a_host_that_nobody_answers_for_is_said_at_once(
    directory: state_dir.StateDir, host: ssh_host.Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        url = f"ssh://127.0.0.1:{silent.getsockname()[1]}"
        assert "Connection refused" in await refusal(directory, url, host.config())
        silent.listen()
        monkeypatch.setattr(ssh, "CONNECT_SECONDS", 1)
        assert "timed out" in await refusal(directory, url, host.config())


async def test_without_a_program_called_ssh_it_is_said_what_to_install(
    directory: state_dir.StateDir, host: ssh_host.Host, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = host.config()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "install OpenSSH's client" in await refusal(directory, host.url, config)
