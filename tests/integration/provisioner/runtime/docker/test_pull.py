"""How images come, on a fake engine that writes down what it is asked."""

import asyncio
import base64
import contextlib
import json
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from integration.provisioner import fake_engine
from integration.provisioner.fake_engine import FakeEngine, Request

from support.waiting import eventually
from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.runtime.docker import engine, setting
from tinkwell.provisioner.runtime.docker import runtime as docker
from tinkwell.provisioner.runtime.docker.setting import DockerSettings, PullPolicy
from tinkwell.provisioner.state_dir import state_dir

NO_HOST = "Get https://registry.invalid/v2/: dial tcp: lookup registry.invalid: no such host"
KEY = RunKey(RunKind.WORKFLOW, "w", "a", 1)
PULL = "POST /images/create"


class Site:
    """A fake engine with images and a registry behind it."""

    def __init__(self, fake: FakeEngine, directory: state_dir.StateDir) -> None:
        self.fake = fake
        self.directory = directory
        self.images: set[str] = set()
        self.created: list[str] = []
        self.pulled: list[tuple[str, dict[str, Any] | None]] = []
        self.refusal = (0, "")
        fake.serve("/containers/create", self._create)
        fake.serve("/containers/c/start", lambda request: request.answer(None, status=200))
        fake.serve("/images/create", self._pull)

    def add(self, image: str) -> None:
        """Put an image on the engine."""
        self.images.add(image)
        self.fake.serve(f"/images/{image}/json", lambda request: request.answer({"Id": image}))

    async def start(self, image: str, **settings: Any) -> None:
        """Start a run of an image, and forget it."""
        runtime = await self.connect(**settings)
        try:
            await runtime.start(spec(image))
        finally:
            await runtime.close()

    async def connect(self, **settings: Any) -> docker.DockerRuntime:
        return await docker.DockerRuntime.connect(
            self.directory, concurrency=1, settings=DockerSettings(**{"config_file": None} | settings)
        )

    def _create(self, request: Request) -> None:
        image = json.loads(request.rfile.read(int(request.headers["Content-Length"])))["Image"]
        if image in self.images:
            self.created.append(image)
            request.answer({"Id": "c"}, status=201)
        else:
            request.answer({"message": f"No such image: {image}"}, status=404)

    def _pull(self, request: Request) -> None:
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(request.path).query))
        header = request.headers.get("X-Registry-Auth")
        login = json.loads(base64.urlsafe_b64decode(header)) if header else None
        image = f"{query['fromImage']}:{query['tag']}"
        self.pulled.append((image, login))
        status, message = self.refusal
        if status >= 400:
            request.answer({"message": message}, status=status)
            return
        request.begin()
        request.chunk(b'{"status": "Pulling"}\n')
        if message:
            request.chunk(json.dumps({"error": message}).encode())  # without an end of its line
        else:
            self.add(image)
        request.end()


def wait_for_release(request: Request) -> None:
    request.server.released.wait()


def spec(image: str) -> port.RunSpec:
    return port.RunSpec(key=KEY, image=image)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Site]:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "no-config"))
    with fake_engine.running() as fake, contextlib.closing(state_dir.StateDir.open(tmp_path / "state")) as directory:
        monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{fake.server_port}")
        yield Site(fake, directory)


@pytest.mark.parametrize("policy", [PullPolicy.MISSING, PullPolicy.NEVER])
async def test_an_image_that_is_there_is_asked_for_nowhere(site: Site, policy: PullPolicy) -> None:
    site.add("busybox:v1")
    await site.start("busybox:v1", pull=policy)
    assert (site.pulled, site.created) == ([], ["busybox:v1"])
    # Creating it is the only question: looking first would cost each run a call.
    assert [call for call in site.fake.seen if "/images/" in call] == []


async def test_an_image_that_is_missing_is_pulled_once(site: Site) -> None:
    await site.start("busybox:v1")
    assert (site.pulled, site.created) == ([("busybox:v1", None)], ["busybox:v1"])


async def test_always_pulls_what_is_there(site: Site) -> None:
    site.add("busybox:v1")
    await site.start("busybox:v1", pull=PullPolicy.ALWAYS)
    assert site.pulled == [("busybox:v1", None)]


async def test_never_says_what_to_do_about_an_image_that_is_missing(site: Site) -> None:
    message = "the image busybox:v1 is not on the engine, and the pull policy is never: load it there"
    with pytest.raises(port.RunError, match=message) as caught:
        await site.start("busybox:v1", pull=PullPolicy.NEVER)
    assert caught.value.reason is port.Reason.IMAGE
    assert site.pulled == []


@pytest.mark.parametrize(
    ("refusal", "advice"),
    [
        ((404, "pull access denied for x, repository does not exist or may require 'docker login'"), "may this prov"),
        ((500, "Get https://quay.io/v2/x: unauthorized: authentication required"), "Credentials for quay.io come from"),
        ((404, "manifest for quay.io/x:v1 not found: manifest unknown"), "does quay.io have it, with this tag?"),
        ((500, NO_HOST), "is quay.io reachable from the engine's machine?"),
        ((0, "no space left on device"), "no space left on device$"),
        ((500, "connection refused: " + "x" * 5_000), r"x{480}; is quay.io reachable"),
        ((0, "unauthorized: the token has expired"), "the token has expired; does it exist, and may this"),
    ],
)
async def test_a_pull_that_fails_names_the_image_and_what_to_do(
    site: Site, refusal: tuple[int, str], advice: str
) -> None:
    site.refusal = refusal
    with pytest.raises(port.RunError, match=advice) as caught:
        await site.start("quay.io/x:v1")
    assert caught.value.reason is port.Reason.IMAGE
    assert str(caught.value).startswith("the image quay.io/x:v1 is not on the engine and cannot be pulled: ")
    assert site.created == []


async def test_always_fails_where_the_pull_does_though_the_image_is_there(site: Site) -> None:
    site.add("busybox:v1")
    site.refusal = (500, NO_HOST)
    with pytest.raises(port.RunError, match="the image busybox:v1 cannot be pulled: Get https"):
        await site.start("busybox:v1", pull=PullPolicy.ALWAYS)
    assert site.created == []


async def test_the_registry_is_put_before_names_that_name_none(site: Site) -> None:
    await site.start("busybox:v1", registry="registry.local:5000/team")
    await site.start("quay.io/busybox:v1", registry="registry.local:5000/team")
    assert site.created == ["registry.local:5000/team/busybox:v1", "quay.io/busybox:v1"]
    assert [image for image, _ in site.pulled] == site.created


async def test_a_local_image_is_taken_where_its_registry_cannot_be_reached(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.add("busybox:v1")
    site.refusal = (500, NO_HOST)
    await site.start("busybox:v1", registry="registry.invalid")
    assert site.created == ["busybox:v1"]
    assert "a local image is used" in caplog.text


async def test_a_local_image_is_not_taken_where_its_registry_refuses(site: Site) -> None:
    site.add("busybox:v1")
    site.refusal = (500, "Get https://registry.invalid/v2/: unauthorized")
    with pytest.raises(port.RunError, match="unauthorized"):
        await site.start("busybox:v1", registry="registry.invalid")
    assert site.created == []


async def test_a_login_goes_to_its_own_registry_only(site: Site) -> None:
    login = {"registry": "registry.local:5000/team", "user": "me", "password": "secret"}
    await site.start("busybox:v1", **login)
    await site.start("quay.io/busybox:v1", **login)
    await site.start("registry.local:5000/other:v1", **login)
    mine = {"username": "me", "password": "secret", "serveraddress": "registry.local:5000"}
    assert [given for _, given in site.pulled] == [mine, None, mine]


async def test_each_registry_gets_its_login_of_the_config_file(site: Site, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    auth = base64.b64encode(b"me:se:cret").decode()
    hub = {"auth": base64.b64encode(b"hub:h").decode()}
    config.write_text(json.dumps({"auths": {"quay.io": {"auth": auth}, "https://index.docker.io/v1/": hub}}))
    for image in ("quay.io/a:v1", "other.io/a:v1", "busybox:v1"):
        await site.start(image, config_file=config)
    assert [login and login.get("username") for _, login in site.pulled] == ["me", None, "hub"]
    assert site.pulled[0][1] == {"username": "me", "password": "se:cret", "serveraddress": "quay.io"}


async def test_credentials_that_cannot_be_read_are_named_before_anything_is_pulled(site: Site, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(port.RunError, match=r"x:v1 cannot be pulled: the credentials .*/config.json is no Docker con"):
        await site.start("quay.io/x:v1", config_file=tmp_path / "config.json")
    assert site.pulled == []


async def test_a_pull_is_given_up_at_once_when_it_is_cancelled(site: Site) -> None:
    """The engine sends nothing, not even headers, before the registry has answered it."""
    site.fake.serve("/images/create", wait_for_release)
    runtime = await site.connect()
    start = asyncio.ensure_future(runtime.start(spec("busybox:v1")))
    await eventually(lambda: PULL in site.fake.seen)
    async with asyncio.timeout(engine.CALL_SECONDS / 2):
        start.cancel()
        with pytest.raises(asyncio.CancelledError):
            await start
        assert await runtime.find(KEY) is None
    await runtime.close()
    site.fake.released.set()


async def test_a_registry_that_says_nothing_is_given_up(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "PULL_SILENCE_SECONDS", 0.2)
    site.fake.serve("/images/create", wait_for_release)
    with pytest.raises(port.RunError, match=r"the registry does not answer within .*; is docker.io reach"):
        await site.start("busybox:v1")
    assert site.fake.seen.count(PULL) == 1
    site.fake.released.set()


@pytest.mark.parametrize("account", [b"not json\n", b'["a list"]\n', b"x" * (engine.MAX_PROGRESS_BYTES + 1)])
async def test_an_account_of_a_pull_that_makes_no_sense_is_an_error(site: Site, account: bytes) -> None:
    def pull(request: Request) -> None:
        request.begin()
        with contextlib.suppress(OSError):
            request.chunk(account)
            request.end()

    site.fake.serve("/images/create", pull)
    with pytest.raises(
        port.RunError, match=r"the engine's progress of the pull is|has a line that is too long"
    ) as caught:
        await site.start("busybox:v1")
    assert caught.value.reason is port.Reason.IMAGE


async def test_an_image_that_is_not_there_after_its_pull_is_an_error(site: Site) -> None:
    def pull(request: Request) -> None:
        request.begin()
        request.end()

    site.fake.serve("/images/create", pull)
    with pytest.raises(port.RunError, match="does not have the image busybox:v1, though it has just been provided"):
        await site.start("busybox:v1")


def test_a_password_is_not_shown() -> None:
    assert "secret" not in repr(setting.DockerSettings(user="me", password="secret"))
