"""Where no engine answers, nothing is left open: neither by the runtime nor by the tests that look for an engine."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from docker import APIClient
from integration.provisioner import engine_image, fake_engine
from integration.provisioner.fake_engine import FakeEngine, Request

from support.waiting import eventually
from tinkwell.provisioner.runtime.docker import engine, setting
from tinkwell.provisioner.runtime.docker.connection import connection


def sockets() -> set[str]:
    """The sockets that this process has open."""
    found = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the folder's own
            found.add(str(descriptor.readlink()))
    return {name for name in found if name.startswith("socket:")}


async def nothing_more_is_open_than(before: set[str]) -> None:
    await eventually(lambda: sockets() <= before)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "engine.sock"


def leave_dead(path: Path) -> None:
    """Leave a socket behind that nobody listens to any more."""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))


@pytest.mark.parametrize(
    ("prepare", "words"), [(lambda path: None, "No such file or directory"), (leave_dead, "Connection refused")]
)
async def test_a_local_socket_that_nobody_answers_is_said_and_left_closed(
    path: Path, prepare: Callable[[Path], None], words: str
) -> None:
    prepare(path)
    before = sockets()
    with pytest.raises(engine.Unreachable, match=rf"^{path}: {words}$"):
        await engine.Engine.connect(streams=1, settings=setting.DockerSettings(host=f"unix://{path}"))
    await nothing_more_is_open_than(before)


@pytest.fixture(params=["unix", "tcp"])
def fake(request: pytest.FixtureRequest, path: Path) -> Iterator[FakeEngine]:
    with fake_engine.running(path=path if request.param == "unix" else None) as fake:
        yield fake


async def connect(fake: FakeEngine, *, answer_seconds: int = 30) -> engine.Engine:
    settings = setting.DockerSettings(host=fake.url)
    return await engine.Engine.connect(streams=1, answer_seconds=answer_seconds, settings=settings)


@pytest.mark.parametrize(
    ("answer", "words"), [({"name": "a cake shop"}, "ApiVersion"), ({"ApiVersion": "1.10"}, "API versions below")]
)
async def test_what_is_no_engine_of_today_is_said_and_its_connection_closed(
    fake: FakeEngine, answer: dict[str, str], words: str
) -> None:
    fake.serve("/version", lambda request: request.answer(answer))
    before = sockets()
    # As long as the error is there, so is all that it came through, and no destructor closes anything.
    with pytest.raises(engine.Unreachable, match=words) as held:
        await connect(fake)
    await nothing_more_is_open_than(before)
    assert held.value.__traceback__ is not None


@pytest.mark.parametrize("fake", ["unix"], indirect=True)
async def test_an_engine_that_is_not_ready_is_said_and_its_connection_closed(fake: FakeEngine) -> None:
    fake.serve("/version", lambda request: request.answer({"message": "not yet"}, status=503))
    before = sockets()
    with pytest.raises(engine.Unreachable, match="503 Server Error") as held:
        await connect(fake)
    await nothing_more_is_open_than(before)
    assert held.value.__traceback__ is not None


async def test_an_engine_that_is_silent_is_given_up_and_left_closed(fake: FakeEngine) -> None:
    def wait(_: Request) -> None:
        fake.released.wait()

    fake.serve("/version", wait)
    before = sockets()
    with pytest.raises(engine.Unreachable, match=r"no answer within 1 s|Read timed out"):
        await connect(fake, answer_seconds=1)
    fake.released.set()
    await nothing_more_is_open_than(before)


async def test_a_client_that_is_opened_when_nobody_waits_for_it_any_more_is_closed(
    fake: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []
    open_client = connection.open_client

    def noting(*arguments: Any, **options: Any) -> APIClient:
        opened.append(open_client(*arguments, **options))
        return opened[-1]

    def answer_late(request: Request) -> None:
        fake.released.wait()
        request.answer({"ApiVersion": "1.41"})

    monkeypatch.setattr(connection, "open_client", noting)
    fake.serve("/version", answer_late)
    before = sockets()
    connecting = asyncio.ensure_future(connect(fake))
    await eventually(lambda: "GET /version" in fake.seen)
    connecting.cancel()
    fake.released.set()
    with pytest.raises(asyncio.CancelledError):
        await connecting
    assert len(opened) == 1
    await nothing_more_is_open_than(before)


async def test_no_try_of_an_engine_that_has_gone_away_leaves_a_socket_open(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "PATIENCE_SECONDS", 0.2)
    before = sockets()
    with fake_engine.running(path=path) as fake:
        found = await connect(fake)
        fake.serve("/images/busybox/json", Request.break_off)
    with pytest.raises(engine.Unreachable, match="Connection refused") as held:
        await found.image_id("busybox")
    await nothing_more_is_open_than(before)
    assert held.value.__traceback__ is not None
    found.close()


@pytest.mark.parametrize("prepare", [lambda path: None, leave_dead])
async def test_tests_that_want_an_engine_are_skipped_and_leave_nothing_open(
    path: Path, prepare: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(path)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    before = sockets()
    with pytest.raises(pytest.skip.Exception, match="no Docker Engine answers") as held:
        engine_image.engine_or_skip().__enter__()
    await nothing_more_is_open_than(before)
    assert held.value.__traceback__ is not None
