"""The engine's client, on engines that misbehave."""

import asyncio
import contextlib
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import trustme
from integration.provisioner import fake_engine
from integration.provisioner.fake_engine import FakeEngine, Request

from support.waiting import eventually
from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.runtime import output, output_mark, port
from tinkwell.provisioner.runtime.docker import engine, label, setting, stream
from tinkwell.provisioner.runtime.docker import run as docker_run
from tinkwell.provisioner.runtime.docker import runtime as docker
from tinkwell.provisioner.state_dir import state_dir

KEY = RunKey(RunKind.WORKFLOW, "w", "a", 1)
RUNNING, EXITED = "running", "exited"


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeEngine]:
    with fake_engine.running() as fake:
        monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{fake.server_port}")
        yield fake


@pytest.fixture
async def found(fake: FakeEngine) -> AsyncIterator[engine.Engine]:
    found = await engine.Engine.connect(streams=4)
    yield found
    found.close()


def frame(text: str, *, second: int = 1) -> bytes:
    payload = f"2026-01-01T00:00:{second:02}.000000000Z {text}".encode()
    return b"\x01\0\0\0" + len(payload).to_bytes(4) + payload


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[state_dir.StateDir]:
    with contextlib.closing(state_dir.StateDir.open(tmp_path)) as directory:
        yield directory


@pytest.fixture
def run(found: engine.Engine, directory: state_dir.StateDir) -> docker_run.DockerRun:
    return docker_run.DockerRun(KEY, "c", found, output_mark.MarkFolder(directory))


async def texts(run: docker_run.DockerRun) -> list[str]:
    async with asyncio.timeout(20), contextlib.aclosing(run.lines()) as lines:
        return [line.text async for line in lines]


async def test_a_pull_that_fails_in_the_middle_fails(fake: FakeEngine, found: engine.Engine) -> None:
    def pull(request: Request) -> None:
        request.begin()
        request.chunk(b'{"status": "Pulling"}\r\n{"sta')
        request.chunk(b'tus": "x"}\r\n{"error": "disk is full", "errorDetail": {}}\r\n')
        request.end()

    fake.serve("/images/create", pull)
    with pytest.raises(engine.Refused, match="disk is full"):
        await found.pull("busybox:latest")


async def test_a_pull_that_breaks_off_fails(fake: FakeEngine, found: engine.Engine) -> None:
    def pull(request: Request) -> None:
        request.begin()
        request.chunk(b'{"status": "Pulling"}\r\n')
        request.break_off()

    fake.serve("/images/create", pull)
    with pytest.raises(engine.Refused, match="the pull broke off"):
        await found.pull("busybox")


async def test_a_pull_that_succeeds_returns(fake: FakeEngine, found: engine.Engine) -> None:
    def pull(request: Request) -> None:
        assert "fromImage=quay.io%2Fproject%2Fimage&tag=v1" in request.path
        request.begin()
        request.chunk(b'{"status": "done"}\r\n')
        request.end()

    fake.serve("/images/create", pull)
    await found.pull("quay.io/project/image:v1")


async def test_a_log_that_breaks_off_is_read_again_and_nothing_is_doubled(
    fake: FakeEngine, run: docker_run.DockerRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docker_run, "REOPEN_SECONDS", 0.0)
    tries = []

    def logs(request: Request) -> None:
        tries.append(request)
        request.begin()
        request.chunk(frame("one\ntw"))
        if len(tries) == 1:
            request.break_off()
        else:
            request.chunk(frame("o\nthree", second=2))
            request.end()

    fake.serve("/containers/c/logs", logs)
    fake.serve_state("c", EXITED)
    assert await texts(run) == ["one", "two", "three"]
    assert len(tries) == 2


async def test_a_log_that_never_ends_ends_soon_after_its_container(
    fake: FakeEngine, run: docker_run.DockerRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "END_SILENCE_SECONDS", 0.05)

    def logs(request: Request) -> None:
        request.begin()
        request.chunk(frame("last\n"))
        fake.released.wait()

    fake.serve("/containers/c/logs", logs)
    fake.serve_state("c", EXITED)
    lines, ending = await asyncio.gather(texts(run), run.wait())
    assert lines == ["last"]
    assert (ending.code, ending.seconds) == (3, 2.25)


async def test_a_reader_that_gives_up_frees_its_thread_at_once(fake: FakeEngine, run: docker_run.DockerRun) -> None:
    def logs(request: Request) -> None:
        request.begin()
        request.chunk(frame("one\n"))
        fake.released.wait()

    fake.serve("/containers/c/logs", logs)
    for _ in range(10):  # more than there are threads
        async with asyncio.timeout(5), contextlib.aclosing(run.lines()) as lines:
            assert (await anext(lines)).text == "one"


async def test_a_reader_that_is_slow_holds_the_engine_back(fake: FakeEngine, run: docker_run.DockerRun) -> None:
    written = []

    def logs(request: Request) -> None:
        request.begin()
        with contextlib.suppress(OSError):
            for number in range(2000):
                request.chunk(frame("x" * 16_000 + "\n"))
                written.append(number)
        request.end()

    fake.serve("/containers/c/logs", logs)
    async with contextlib.aclosing(run.lines()) as lines:
        await anext(lines)
        for _ in range(200):
            before = len(written)
            await asyncio.to_thread(fake.released.wait, 0.02)
            if before and before == len(written):
                break
        assert len(written) < 1500


async def test_calls_are_repeated_while_the_engine_is_restarted(fake: FakeEngine, found: engine.Engine) -> None:
    tries = []

    def answer(request: Request) -> None:
        tries.append(request)
        if len(tries) < 3:
            request.break_off()
        else:
            request.answer({"Id": "i"})

    fake.serve("/images/busybox/json", answer)
    assert await found.image_id("busybox") == "i"
    assert len(tries) == 3


async def test_a_stream_that_was_read_to_its_end_leaves_its_connection_to_others(
    fake: FakeEngine, found: engine.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last thing that a reader does comes when the next request may already be under way on the same connection."""
    cut, was_asked = stream.Stream._cut, threading.Event()

    def answer_late(request: Request) -> None:
        was_asked.set()
        fake.released.wait(20)
        request.answer({"Id": "i"})

    def cut_late(read: stream.Stream) -> None:
        asking = threads.submit(found._client.inspect_image, "busybox")
        assert was_asked.wait(20)
        cut(read)
        fake.released.set()
        assert asking.result(20) == {"Id": "i"}

    def say(request: Request) -> None:
        request.begin()
        request.chunk(frame("all"))
        request.end()

    fake.serve("/images/busybox/json", answer_late)
    fake.serve("/containers/c/logs", say)
    monkeypatch.setattr(stream.Stream, "_cut", cut_late)
    with ThreadPoolExecutor(1) as threads:
        async with contextlib.aclosing((await found.logs("c", follow=True)).chunks()) as chunks:
            assert b"".join([chunk async for chunk in chunks]) == frame("all")


async def test_a_container_whose_creation_the_engine_did_not_answer_is_started(
    fake: FakeEngine, found: engine.Engine, directory: state_dir.StateDir
) -> None:
    made: list[dict[str, Any]] = []

    def create(request: Request) -> None:
        asked = request.document()
        if made:
            request.answer({"message": "the name is taken"}, status=409)
            return
        made.append(asked)
        fake.serve_state("tinkwell-a-1", "created", started=False, labels=asked["Labels"])
        request.break_off()

    fake.serve("/containers/create", create)
    fake.serve("/containers/tinkwell-a-1/start", lambda request: request.answer({}))
    runtime = docker.DockerRuntime(found, directory)
    await runtime.start(port.RunSpec(key=KEY, image="busybox"))
    assert fake.seen.count("POST /containers/create") == 2
    assert fake.seen.count("POST /containers/tinkwell-a-1/start") == 1


async def test_a_container_that_somebody_else_has_created_is_left_to_that_one(
    fake: FakeEngine, found: engine.Engine, directory: state_dir.StateDir
) -> None:
    runtime = docker.DockerRuntime(found, directory)
    labels = label.labels_of(KEY, instance="other", others={label.CREATION: "another"})
    fake.serve_state("tinkwell-a-1", "created", started=False, labels=labels)

    def refuse(request: Request) -> None:
        request.document()
        request.answer({"message": "the name is taken"}, status=409)

    fake.serve("/containers/create", refuse)
    await runtime.start(port.RunSpec(key=KEY, image="busybox"))
    assert "POST /containers/tinkwell-a-1/start" not in fake.seen


async def test_an_engine_that_does_not_come_back_is_given_up(
    fake: FakeEngine, found: engine.Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(engine, "PATIENCE_SECONDS", 0.2)
    fake.serve("/containers/tinkwell-a-1/json", Request.break_off)
    with contextlib.closing(state_dir.StateDir.open(tmp_path)) as directory:
        runtime = docker.DockerRuntime(found, directory)
        with pytest.raises(port.RunError, match="the Docker Engine does not answer") as caught:
            await runtime.find(KEY)
    assert caught.value.reason is port.Reason.UNAVAILABLE


async def test_a_kill_is_not_held_up_by_streams(
    fake: FakeEngine, found: engine.Engine, run: docker_run.DockerRun
) -> None:
    """All threads for streams are taken, and a call of another kind still answers."""

    def hang(request: Request) -> None:
        request.begin()
        fake.released.wait()

    fake.serve("/containers/c/logs", hang)
    fake.serve("/containers/c/kill", lambda request: request.answer({}))
    readers = [asyncio.ensure_future(texts(run)) for _ in range(6)]
    await eventually(lambda: fake.seen.count("GET /containers/c/logs") >= 4)
    async with asyncio.timeout(5):
        await found.kill("c")
    for reader in readers:
        reader.cancel()
    await asyncio.gather(*readers, return_exceptions=True)


async def test_what_the_engine_says_is_the_message(fake: FakeEngine, found: engine.Engine) -> None:
    fake.serve("/containers/c/start", lambda request: request.answer({"message": "no such luck"}, status=500))
    with pytest.raises(engine.Refused, match="no such luck") as caught:
        await found.start("c")
    assert caught.value.status == 500


async def test_no_engine_is_said_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    with contextlib.closing(state_dir.StateDir.open(tmp_path)) as directory:
        with pytest.raises(port.RunError, match=r"the Docker Engine does not answer: /.*/no.sock: No such") as caught:
            await docker.DockerRuntime.connect(directory, concurrency=1)
        assert caught.value.reason is port.Reason.UNAVAILABLE


async def test_a_container_that_ran_out_of_memory_says_so(fake: FakeEngine, run: docker_run.DockerRun) -> None:
    fake.serve_state("c", EXITED, is_out_of_memory=True)
    assert (await run.wait()).note == "out of memory"


async def test_an_end_that_the_engine_explains_is_explained(fake: FakeEngine, run: docker_run.DockerRun) -> None:
    fake.serve_state("c", EXITED, error="the disk went away")
    assert (await run.wait()).note == "the disk went away"


async def test_a_container_that_is_removed_before_it_ran_has_not_succeeded(
    fake: FakeEngine, run: docker_run.DockerRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its exit code is 0, as long as it can be seen."""
    fake.serve_state("c", "removing", started=False)
    waiting = asyncio.ensure_future(run.wait())
    await eventually(lambda: fake.seen.count("GET /containers/c/json") > 2)
    assert not waiting.done()
    del fake.handlers["/containers/c/json"]
    with pytest.raises(port.RunError) as caught:
        await waiting
    assert caught.value.reason is port.Reason.LOST


@pytest.fixture
def certs(tmp_path: Path) -> tuple[trustme.CA, Path]:
    """An authority, and the folder of a client that it knows."""
    authority = trustme.CA()
    folder = tmp_path / "certs"
    folder.mkdir()
    client = authority.issue_cert("tinkwell@example.com")
    authority.cert_pem.write_to_path(folder / "ca.pem")
    client.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    client.private_key_pem.write_to_path(folder / "key.pem")
    return authority, folder


def engine_tls(authority: trustme.CA, name: str) -> ssl.SSLContext:
    """Return what an engine has that asks its clients for certificates."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    authority.configure_trust(context)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


async def test_an_engine_is_reached_by_tls_and_its_streams_can_be_given_up(
    certs: tuple[trustme.CA, Path], directory: state_dir.StateDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, folder = certs
    # Whom this machine trusts for the web is of no account.
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(folder / "cert.pem"))

    def logs(request: Request) -> None:
        request.begin()
        request.chunk(frame("one\n"))
        request.server.released.wait()

    with fake_engine.running(engine_tls(authority, "127.0.0.1")) as fake:
        fake.serve("/containers/c/logs", logs)
        fake.serve_state("c", RUNNING)
        settings = setting.DockerSettings(host=f"tcp://127.0.0.1:{fake.server_port}", cert_dir=folder)
        found = await engine.Engine.connect(streams=2, settings=settings)
        for _ in range(5):  # more than there are threads
            run = docker_run.DockerRun(KEY, "c", found, output_mark.MarkFolder(directory))
            async with asyncio.timeout(20), contextlib.aclosing(run.lines()) as lines:
                assert (await anext(lines)).text == "one"
        found.close()


async def test_an_engine_whose_certificate_is_for_another_host_is_refused(certs: tuple[trustme.CA, Path]) -> None:
    authority, folder = certs
    with fake_engine.running(engine_tls(authority, "other.example.com")) as fake:
        settings = setting.DockerSettings(host=f"tcp://127.0.0.1:{fake.server_port}", cert_dir=folder)
        with pytest.raises(engine.Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
            await engine.Engine.connect(streams=1, settings=settings)


async def test_a_file_that_tls_needs_and_lacks_is_named(certs: tuple[trustme.CA, Path]) -> None:
    _, folder = certs
    (folder / "key.pem").unlink()
    settings = setting.DockerSettings(host="tcp://127.0.0.1:1", cert_dir=folder)
    with pytest.raises(engine.Unreachable, match=r"TLS to the engine needs .*/certs, and key.pem is missing"):
        await engine.Engine.connect(streams=1, settings=settings)


async def test_an_address_of_no_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(engine.Unreachable, match="carrier://pigeon"):
        await engine.Engine.connect(streams=1, settings=setting.DockerSettings(host="carrier://pigeon"))


async def test_of_a_log_whose_beginning_was_forgotten_after_it_was_read_only_the_end_is_read_again(
    fake: FakeEngine, run: docker_run.DockerRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "HEAD_LINES", 2)
    fake.serve_state("c", RUNNING)
    asked = []

    def logs(request: Request) -> None:
        asked.append(request)
        if len(asked) == 2:
            assert "follow=1" not in request.path
        fake.serve_state("c", EXITED)
        request.begin()
        request.chunk(frame("one\ntwo\nthree\nfour\n", second=len(asked)))
        request.end()

    fake.serve("/containers/c/logs", logs)
    assert await texts(run) == [
        *("one", "two", "[the output is long; its last lines follow when it has ended]"),
        f"[{docker_run.FORGOTTEN}]",
        *("one", "two", "three", "four"),
    ]
    assert len(asked) == 2
