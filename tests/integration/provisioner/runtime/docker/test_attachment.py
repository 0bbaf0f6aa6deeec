"""What is attached to containers, on an engine that does what a test says: input, answers, and how they break off."""

import asyncio
import contextlib
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import trustme
from integration.provisioner import fake_engine
from integration.provisioner.fake_engine import FakeEngine, Request

from support.waiting import eventually
from tinkwell.client.workflow.model import LogStream
from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.runtime import output, output_mark, port
from tinkwell.provisioner.runtime.docker import engine, setting
from tinkwell.provisioner.runtime.docker import run as docker_run
from tinkwell.provisioner.state_dir import state_dir

KEY = RunKey(RunKind.RELEASE, "r", "s", 1)
STDOUT, STDERR = LogStream.STDOUT, LogStream.STDERR
SECONDS = 20
MUCH = b"0123456789abcdef" * 131_072  # 2 MiB


class Box:
    """The container `c` of an engine: what it has been given, and what it says."""

    def __init__(self, fake: FakeEngine) -> None:
        self.fake = fake
        self.given: list[bytes] = []
        self.says: Callable[[Request], None] = lambda _: None
        # It takes its input; where it does not, it holds the connection up.
        self.takes = True
        self.is_started = threading.Event()
        fake.serve("/containers/c/attach", self._attach)
        fake.serve("/containers/c/start", self._start)
        fake.serve("/containers/c/kill", lambda request: request.answer({}))
        fake.serve("/containers/c", lambda request: request.answer({}))
        fake.serve_state("c", "exited")

    @property
    def seen(self) -> list[str]:
        return [each.replace("/containers/c", "") for each in self.fake.seen if "/containers/c" in each]

    def _start(self, request: Request) -> None:
        self.is_started.set()
        request.answer({})

    def _attach(self, request: Request) -> None:
        streams = parse_qs(urlsplit(request.path).query).keys() - {"stream"}
        self.fake.seen[-1] += "".join(f" {name}" for name in sorted(streams))
        request.upgrade()
        if streams != {"stdin"}:
            self.is_started.wait(SECONDS)
            self.says(request)
        elif self.takes:
            if isinstance(request.connection, ssl.SSLSocket):
                # An end without a goodbye is an error then, as it is to engines.
                setattr(request.connection, "suppress_ragged_eofs", False)  # noqa: B010  (it has no type)
            self.given.append(request.rfile.read())
            self.fake.released.wait(SECONDS)
        else:
            self.fake.released.wait(SECONDS)


def frames(*said: tuple[LogStream, bytes]) -> bytes:
    return b"".join(output.frame(stream, payload) for stream, payload in said)


def saying(*said: tuple[LogStream, bytes], cut: int = 0) -> Callable[[Request], None]:
    """Return what says this, and leaves so many bytes at the end unsaid."""
    whole = frames(*said)
    return lambda request: _ignore(request.wfile.write(whole[: len(whole) - cut]))


def _ignore(_: object) -> None:
    pass


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[state_dir.StateDir]:
    with contextlib.closing(state_dir.StateDir.open(tmp_path / "state")) as directory:
        yield directory


@pytest.fixture
def marks(directory: state_dir.StateDir) -> output_mark.MarkFolder:
    return output_mark.MarkFolder(directory)


@pytest.fixture
def box() -> Iterator[Box]:
    with fake_engine.running() as fake:
        yield Box(fake)


@pytest.fixture
async def run(box: Box, marks: output_mark.MarkFolder) -> AsyncIterator[docker_run.DockerRun]:
    found = await engine.Engine.connect(streams=4, settings=setting.DockerSettings(host=box.fake.url))
    yield docker_run.DockerRun(KEY, "c", found, marks)
    box.fake.released.set()
    found.close()


async def lines(run: docker_run.DockerRun) -> list[tuple[int, LogStream, str]]:
    async with asyncio.timeout(SECONDS), contextlib.aclosing(run.lines()) as reading:
        return [(line.number, line.stream, line.text) async for line in reading]


async def wait(run: docker_run.DockerRun) -> port.Exit:
    async with asyncio.timeout(SECONDS):
        return await run.wait()


async def test_output_is_attached_before_input_and_both_before_the_start(box: Box, run: docker_run.DockerRun) -> None:
    await run.start(stdin=b"x", answer_bytes=10)
    await wait(run)
    assert box.seen[:3] == ["POST /attach stderr stdout", "POST /attach stdin", "POST /start"]


async def test_a_run_that_gets_and_answers_nothing_is_attached_to_nothing(box: Box, run: docker_run.DockerRun) -> None:
    await run.start()
    assert box.seen == ["POST /start"]


def tls(path: Path) -> tuple[ssl.SSLContext, Path]:
    """Return what an engine has that talks TLS, and the folder of a client of it."""
    authority, folder = trustme.CA(), path / "certs"
    folder.mkdir()
    client = authority.issue_cert("tinkwell@example.com")
    authority.cert_pem.write_to_path(folder / "ca.pem")
    client.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    client.private_key_pem.write_to_path(folder / "key.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context, folder


@pytest.mark.parametrize("way", ["tcp", "unix", "tls"])
async def test_input_arrives_whole_and_then_ends_while_the_engine_may_still_write(
    tmp_path: Path, marks: output_mark.MarkFolder, way: str
) -> None:
    context, certs = tls(tmp_path) if way == "tls" else (None, None)
    with fake_engine.running(context, path=tmp_path / "engine.sock" if way == "unix" else None) as fake:
        box = Box(fake)
        settings = setting.DockerSettings(host=fake.url, cert_dir=certs)
        found = await engine.Engine.connect(streams=4, settings=settings)
        run = docker_run.DockerRun(KEY, "c", found, marks)
        box.says = saying((STDOUT, b"answer"))
        await run.start(stdin=MUCH, answer_bytes=10)
        await eventually(lambda: box.given == [MUCH])
        await eventually(lambda: marks.is_fed(KEY))
        await wait(run)
        assert await run.answer() == b"answer"
        found.close()


async def test_frames_are_put_together_however_they_come(box: Box, run: docker_run.DockerRun) -> None:
    said = frames((STDOUT, b'{"a"'), (STDERR, b"on"), (STDOUT, b""), (STDERR, b"e\ntwo"), (STDOUT, b": 1}"))

    def say(request: Request) -> None:
        for byte in said:
            request.wfile.write(bytes((byte,)))

    box.says = say
    await run.start(answer_bytes=100)
    assert await lines(run) == [(1, STDERR, "one"), (2, STDERR, "two")]
    await wait(run)
    assert await run.answer() == b'{"a": 1}'


async def test_an_answer_that_is_too_long_is_a_reason_to_kill_once_and_its_rest_is_taken_meanwhile(
    box: Box, run: docker_run.DockerRun
) -> None:
    is_taken = threading.Event()

    def say(request: Request) -> None:
        for _ in range(10_000):  # more than a connection holds
            request.wfile.write(frames((STDOUT, bytes(1000))))
        is_taken.set()

    def kill(request: Request) -> None:
        assert is_taken.wait(SECONDS)
        request.answer({})

    box.says = say
    box.fake.serve("/containers/c/kill", kill)
    await run.start(answer_bytes=1500)
    await wait(run)
    assert is_taken.is_set()
    with pytest.raises(port.RunError, match="more than 1,500 bytes") as caught:
        await run.answer()
    assert caught.value.reason is port.Reason.ANSWER
    assert box.seen.count("POST /kill") == 1


async def test_an_answer_that_breaks_off_in_the_midst_of_a_frame_is_lost(box: Box, run: docker_run.DockerRun) -> None:
    box.says = saying((STDOUT, b"1234"), cut=1)
    await run.start(answer_bytes=10)
    await wait(run)
    with pytest.raises(port.RunError, match="broke off") as caught:
        await run.answer()
    assert caught.value.reason is port.Reason.LOST


async def test_an_answer_that_ends_before_its_container_is_lost(
    box: Box, run: docker_run.DockerRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docker_run, "END_SECONDS", 0.05)
    box.says = saying((STDOUT, b"1234"))
    box.fake.serve_state("c", "running")
    box.fake.serve("/containers/c/wait", _wait_in_vain)
    await run.start(answer_bytes=10)
    waiting = asyncio.ensure_future(wait(run))
    await eventually(lambda: box.seen.count("GET /json") > 2)
    box.fake.serve_state("c", "exited")
    assert (await waiting).code == 3
    with pytest.raises(port.RunError, match="broke off"):
        await run.answer()


def _wait_in_vain(request: Request) -> None:
    request.begin()
    request.server.released.wait(0.1)
    request.end()


async def test_output_that_does_not_end_with_its_container_is_cut_off(
    box: Box, run: docker_run.DockerRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docker_run, "WAIT_SECONDS", 0.05)
    box.says = lambda request: _ignore(request.server.released.wait())
    await run.start(answer_bytes=10)
    assert (await wait(run)).code == 3
    with pytest.raises(port.RunError, match="broke off"):
        await run.answer()


async def test_lines_that_are_given_up_can_be_read_again(box: Box, run: docker_run.DockerRun) -> None:
    go = threading.Event()

    def say(request: Request) -> None:
        request.wfile.write(frames((STDERR, b"one\n")))
        go.wait(SECONDS)
        request.wfile.write(frames((STDERR, b"two\n")))

    box.says = say
    await run.start(answer_bytes=10)
    async with contextlib.aclosing(run.lines()) as reading:
        assert (await anext(reading)).text == "one"
    again = asyncio.ensure_future(lines(run))
    await asyncio.sleep(0)
    go.set()
    assert await again == [(1, STDERR, "one"), (2, STDERR, "two")]


async def test_of_more_lines_than_are_wanted_the_first_and_the_last_are_kept(
    box: Box, run: docker_run.DockerRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "HEAD_LINES", 10)
    monkeypatch.setattr(output, "MAX_LINES", 20)
    box.says = saying(*[(STDERR, b"x" * 99 + b"\n")] * 5000, (STDERR, b"why\n"), (STDOUT, b"end"))
    await run.start(answer_bytes=10)
    await wait(run)
    assert await run.answer() == b"end"
    said = [text for _, _, text in await lines(run)]
    assert (len(said), said[-1]) == (21, "why")


async def test_a_container_that_takes_no_input_holds_nobody_up_and_has_not_been_fed(
    box: Box, run: docker_run.DockerRun
) -> None:
    box.takes = False
    box.fake.serve_state("c", "exited", takes_input=True)
    box.says = saying((STDOUT, b"done"))
    await run.start(stdin=MUCH * 8, answer_bytes=10)
    assert (await wait(run)).code == 3
    assert await run.answer() == b"done"
    assert not await run.was_fed()


async def test_closing_the_engine_ends_the_threads_of_what_is_attached(box: Box, marks: output_mark.MarkFolder) -> None:
    box.takes = False
    box.says = lambda request: _ignore(request.server.released.wait())
    found = await engine.Engine.connect(streams=4, settings=setting.DockerSettings(host=box.fake.url))
    run = docker_run.DockerRun(KEY, "c", found, marks)
    await run.start(stdin=MUCH * 8, answer_bytes=10)
    before = {each for each in threading.enumerate() if each.name.startswith("docker-stream")}
    assert len(before) >= 2
    found.close()
    await eventually(lambda: not any(each.is_alive() for each in before))


async def test_an_engine_that_does_not_let_itself_be_attached_to_leaves_nothing_behind(
    box: Box, run: docker_run.DockerRun
) -> None:
    box.fake.serve("/containers/c/attach", lambda request: request.answer({}))
    with pytest.raises(port.RunError, match="the container did not start: the engine does not attach the connection"):
        await run.start(stdin=b"x")
    assert box.seen == ["POST /attach", "DELETE "]


async def test_a_container_whose_creator_died_is_not_started_without_its_input(
    box: Box, run: docker_run.DockerRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docker_run, "CREATOR_SECONDS", 0.05)
    box.fake.serve_state("c", "created", started=False, takes_input=True)
    assert not await run.was_fed()
    with pytest.raises(port.RunError, match="never ran") as caught:
        await wait(run)
    assert caught.value.reason is port.Reason.LOST
    assert "POST /start" not in box.seen


async def test_what_was_said_to_somebody_else_is_neither_read_nor_answered(box: Box, run: docker_run.DockerRun) -> None:
    box.fake.serve_state("c", "exited", log="none")
    assert await lines(run) == []
    assert (await wait(run)).code == 3
    with pytest.raises(port.RunError, match="because the process that started it is gone") as caught:
        await run.answer()
    assert caught.value.reason is port.Reason.LOST
    assert run.image_id == "sha256:1"


async def test_whether_a_run_was_fed_is_noted_for_who_comes_next_until_it_is_removed(
    box: Box, run: docker_run.DockerRun, marks: output_mark.MarkFolder
) -> None:
    assert await run.was_fed()
    box.fake.serve_state("c", "running", takes_input=True)
    found = docker_run.DockerRun(KEY, "c", run._engine, marks)
    assert not await found.was_fed()
    marks.note_fed(KEY)
    assert await found.was_fed()
    await found.remove()
    assert not await found.was_fed()
