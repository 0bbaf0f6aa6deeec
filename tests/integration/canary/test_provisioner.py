"""No secret is in what a provisioner and an agent write of a server or a registry that refuses them."""

import base64
import json
import uuid
from collections.abc import AsyncIterator, Iterator

import pytest
from integration.canary.conftest import Cage
from integration.provisioner import fake_engine
from integration.provisioner.fake_engine import FakeEngine, Request

from support import canary
from support import server as servers
from support.waiting import eventually
from tinkwell import client
from tinkwell.client import Client, State

MACHINE = str(uuid.uuid4())
TOKEN = canary.named("token")
PASSWORD = canary.named("registry-password")
TEMPLATE = """
version: "0.1"
name: pulling
tasks:
  - name: only
    worker: "{{.device_1}}"
    actions:
      - {name: only, image: team/tool:v1, timeout: 60}
"""
COMMANDS = {"provisioner": ("provisioner", "--agent-for", "all"), "agent": ("agent", "--id", MACHINE)}


@pytest.fixture
def engine() -> Iterator[FakeEngine]:
    """An engine without images, and with a registry behind it that repeats the login which it does not take."""

    def create(request: Request) -> None:
        request.rfile.read(int(request.headers["Content-Length"]))
        request.answer({"message": "No such image"}, status=404)

    def refuse(request: Request) -> None:
        login = json.loads(base64.urlsafe_b64decode(request.headers["X-Registry-Auth"]))
        secret = login.get("password") or login.get("identitytoken")
        assert secret == PASSWORD
        request.answer({"message": f"unauthorized: {login} of https://me:{secret}@registry.test/v2/"}, status=500)

    with fake_engine.running() as fake:
        fake.serve("/containers/json", lambda request: request.answer([]))
        fake.serve("/containers/create", create)
        fake.serve("/images/create", refuse)
        yield fake


@pytest.fixture
async def guarded(database_url: str) -> AsyncIterator[servers.Server]:
    async with servers.running(database_url, tokens={"alice": TOKEN}) as server:
        yield server


@pytest.fixture
async def operator(guarded: servers.Server) -> AsyncIterator[Client]:
    async with client.connect(guarded.address, token=TOKEN) as connected:
        yield connected


def settings(cage: Cage, server: str, *, token: str = TOKEN) -> dict[str, str]:
    return {
        "TINKWELL_SERVER": server,
        "TINKWELL_TOKEN": token,
        "TINKWELL_LOG_LEVEL": "debug",
        "TINKWELL_PROVISIONER_STATE_DIR": str(cage.path / "state"),
        "DOCKER_CONFIG": str(cage.path),
    }


@pytest.mark.parametrize(("command", "place"), [("provisioner", "option"), ("agent", "auths"), ("agent", "token")])
async def test_a_registry_that_refuses_a_login_tells_it_to_nobody(
    cage: Cage, guarded: servers.Server, operator: Client, engine: FakeEngine, command: str, place: str
) -> None:
    await operator.hardware.push({"id": MACHINE})
    await operator.templates.create(TEMPLATE)
    workflow = await operator.workflows.create("pulling", {"device_1": MACHINE})
    logins = {
        "auths": {"auth": base64.b64encode(f"me:{PASSWORD}".encode()).decode()},
        "token": {"identitytoken": PASSWORD},
    }
    (cage.path / "config.json").write_text(json.dumps({"auths": {"registry.test": logins.get(place, {})}}))
    own = {"TINKWELL_DOCKER_REGISTRY_USER": "me", "TINKWELL_DOCKER_REGISTRY_PASSWORD": PASSWORD}
    known = {
        **settings(cage, guarded.address),
        "TINKWELL_DOCKER_HOST": f"tcp://127.0.0.1:{engine.server_port}",
        "TINKWELL_DOCKER_REGISTRY": "registry.test",
        **(own if place == "option" else {}),
    }

    async def has_failed() -> bool:
        return (await operator.workflows.get(workflow.id)).state is State.FAILED

    async with cage.running(*COMMANDS[command], "--runtime", "docker", **known) as running:
        await eventually(has_failed, deadline_seconds=60, interval_seconds=0.05)
        assert await running.stop() == 0
    assert "an image is pulled" in running.output
    (action,) = await operator.workflows.actions(workflow.id)
    assert "unauthorized: " in action.message
    assert canary.lines_with(action.message) == []
    assert cage.escaped == []


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_token_that_a_server_does_not_know_is_not_told(
    cage: Cage, guarded: servers.Server, command: str
) -> None:
    known = settings(cage, guarded.address, token=canary.named("wrong-token"))
    code, output = await cage.run(*COMMANDS[command], "--runtime", "process", **known)
    assert (code, "the token is not known" in output) == (1, True)
    assert cage.escaped == []


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_server_that_does_not_answer_is_told_of_without_the_token(cage: Cage, command: str) -> None:
    async with cage.running(*COMMANDS[command], "--runtime", "process", **settings(cage, "127.0.0.1:1")) as running:
        await running.line("WARNING .*127.0.0.1:1", deadline_seconds=60)
        assert await running.stop() == 0
    assert cage.escaped == []


@pytest.mark.parametrize("host", ["tcp://me:{}@127.0.0.1:1", "ssh://me:{}@127.0.0.1", "nonsense://me:{}@h"])
async def test_an_engine_that_is_named_with_a_password_is_told_of_without_it(cage: Cage, host: str) -> None:
    known = settings(cage, "127.0.0.1:1") | {"DOCKER_HOST": host.format(canary.named("engine-password"))}
    code, output = await cage.run("provisioner", "--runtime", "docker", **known)
    assert (code, "Error: " in output, "Traceback" in output) == (1, True, False)
    assert cage.escaped == []
