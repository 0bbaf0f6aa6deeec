"""The docker runtime on a real engine: the conformance suite, and what is its own."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from docker import APIClient
from integration.provisioner import engine_image
from unit.provisioner import conformance, workspace_conformance
from unit.provisioner.conformance import Program, new_key, read, texts, wait

from support.waiting import eventually
from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.runtime.docker import label, setting
from tinkwell.provisioner.runtime.docker import run as docker_run
from tinkwell.provisioner.runtime.docker import runtime as docker
from tinkwell.provisioner.state_dir import state_dir

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def client() -> Iterator[APIClient]:
    with engine_image.engine_or_skip() as client:
        yield client


class DockerHarness:
    def __init__(self, directory: state_dir.StateDir, runtime: docker.DockerRuntime) -> None:
        self.directory = directory
        self.runtime = runtime
        self.files = directory.path / "files"

    @classmethod
    async def open(cls, path: Path) -> Self:
        directory = state_dir.StateDir.open(path)
        return cls(directory, await docker.DockerRuntime.connect(directory, concurrency=4, fed_concurrency=4))

    async def restart(self) -> None:
        await self.runtime.close()
        self.directory.close()
        self.directory = state_dir.StateDir.open(self.directory.path)
        self.runtime = await docker.DockerRuntime.connect(self.directory, concurrency=4, fed_concurrency=4)

    def spec(self, key: RunKey, program: Program, **fields: Any) -> port.RunSpec:
        return self.spec_of(key, command=("/bin/sh", "-c", str(program)), **fields)

    def spec_without_image(self, key: RunKey) -> port.RunSpec:
        return self.spec_of(key, image=f"registry.invalid/absent-{uuid.uuid4()}:v1", command=("true",))

    def spec_without_entry_point(self, key: RunKey) -> port.RunSpec:
        return self.spec_of(key, command=("no-such-command",))

    def spec_with_entry_point(self, key: RunKey, *command: str) -> port.RunSpec:
        return self.spec_of(key, entrypoint="/bin/echo", command=("other", *command))

    def spec_of(self, key: RunKey, *, image: str = engine_image.IMAGE, **fields: Any) -> port.RunSpec:
        return conformance.spec_of(self.runtime, self.files, key, image=image, **fields)

    async def close(self) -> None:
        for key in [key for kind in RunKind for key in await self.runtime.held(kind)]:
            run = await self.runtime.find(key)
            assert run is not None
            await run.remove()
        await self.runtime.close()
        self.directory.close()


@pytest.fixture
async def harness(client: APIClient, tmp_path: Path) -> AsyncIterator[DockerHarness]:
    harness = await DockerHarness.open(tmp_path)
    yield harness
    await harness.close()


class TestConformance(conformance.RuntimeConformance, workspace_conformance.WorkspaceConformance):
    pass


def inspect(client: APIClient, key: RunKey) -> dict[str, Any]:
    found: dict[str, Any] = client.inspect_container(label.container_name(key))
    return found


def labels_of(key: RunKey, instance: str) -> dict[str, str]:
    return {
        "tinkwell.managed": "true",
        "tinkwell.instance": instance,
        "tinkwell.workflow": key.owner,
        "tinkwell.action": key.run,
        "tinkwell.attempt": str(key.attempt),
    }


def create(client: APIClient, key: RunKey, labels: dict[str, str]) -> str:
    """Create a container of a run's name, and start nothing."""
    name = label.container_name(key)
    return str(client.create_container(engine_image.IMAGE, ["true"], name=name, labels=labels)["Id"])


async def start(harness: DockerHarness, script: str, **fields: Any) -> tuple[RunKey, docker_run.DockerRun]:
    key = new_key()
    run = await harness.runtime.start(harness.spec_of(key, command=("/bin/sh", "-c", script), **fields))
    assert isinstance(run, docker_run.DockerRun)
    return key, run


async def test_a_container_says_whose_it_is(harness: DockerHarness, client: APIClient) -> None:
    key, run = await start(harness, "sleep 1000", labels={"task": "disk & boot"})
    labels = inspect(client, key)["Config"]["Labels"]
    assert labels.pop("tinkwell.creation")
    assert labels == {
        "tinkwell.managed": "true",
        "tinkwell.instance": harness.directory.instance,
        "tinkwell.workflow": key.owner,
        "tinkwell.action": key.run,
        "tinkwell.attempt": "1",
        "tinkwell.release": "",
        "tinkwell.step": "",
        "tinkwell.hook": "",
        "tinkwell.task": "disk & boot",
    }
    await run.remove()


async def test_a_container_is_what_the_action_says(harness: DockerHarness, client: APIClient, tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "file").write_text("from outside")
    key, run = await start(
        harness,
        "cat /data/file; echo; echo kept > $WORKFLOW_DIR/result",
        volumes=(f"{tmp_path}/given:/data:ro",),
        environment=("A=1",),
    )
    assert (await wait(run)).code == 0
    assert await texts(run) == ["from outside"]
    found = inspect(client, key)
    files = harness.files / key.owner
    assert (files / "result").read_text() == "kept\n"
    assert found["HostConfig"]["Binds"] == [f"{files}:/workflow", f"{tmp_path}/given:/data:ro"]
    assert not found["HostConfig"]["Privileged"]
    assert found["HostConfig"]["PidMode"] == ""
    assert not found["Config"]["Tty"]
    assert "A=1" in found["Config"]["Env"]


async def test_the_host_s_processes_are_seen_only_when_asked_for(harness: DockerHarness, client: APIClient) -> None:
    key, run = await start(harness, "true", pid="host")
    assert (await wait(run)).code == 0
    assert inspect(client, key)["HostConfig"]["PidMode"] == "host"


async def test_containers_are_privileged_only_when_asked_for(
    harness: DockerHarness, client: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Not every machine that runs tests may start one, but its engine says what it would have started.
    monkeypatch.setattr(docker_run.DockerRun, "start", _do_nothing)
    runtime = await docker.DockerRuntime.connect(
        harness.directory, concurrency=1, settings=setting.DockerSettings(is_privileged=True)
    )
    key = new_key()
    await runtime.start(harness.spec_of(key, command=("true",)))
    assert inspect(client, key)["HostConfig"]["Privileged"]
    await runtime.close()


async def _do_nothing(_: object, **__: object) -> None:
    pass


@pytest.mark.parametrize("volume", ["nonsense", "/tmp:relative", "/a:/b:what"])
async def test_a_volume_that_the_engine_refuses_fails_the_start(harness: DockerHarness, volume: str) -> None:
    key = new_key()
    with pytest.raises(port.RunError, match="the engine refuses the container: inv") as caught:
        await harness.runtime.start(harness.spec_of(key, command=("true",), volumes=(volume,)))
    assert caught.value.reason is port.Reason.SPECIFICATION
    assert await harness.runtime.find(key) is None


async def test_an_image_that_cannot_be_pulled_is_named(harness: DockerHarness) -> None:
    with pytest.raises(port.RunError, match=r"the image registry.invalid/absent:v1 is not on the engine and cannot be"):
        await harness.runtime.start(harness.spec_of(new_key(), image="registry.invalid/absent:v1"))


async def test_a_container_that_somebody_removed_is_lost(harness: DockerHarness, client: APIClient) -> None:
    _, run = await start(harness, "echo ready; sleep 1000")
    seen: list[str] = []

    async def read() -> None:
        async for line in run.lines():
            seen.append(line.text)  # noqa: PERF401  (the test looks at it meanwhile)

    waiting, reading = asyncio.ensure_future(wait(run)), asyncio.ensure_future(read())
    await eventually(lambda: seen == ["ready"])
    client.remove_container(run.container, force=True)
    with pytest.raises(port.RunError) as caught:
        await waiting
    assert caught.value.reason is port.Reason.LOST
    await reading
    assert seen == ["ready"]
    await run.remove()


async def test_a_container_that_was_created_but_not_started_is_started_by_who_adopts_it(
    harness: DockerHarness, client: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docker_run, "CREATOR_SECONDS", 0.3)
    monkeypatch.setattr(docker_run.DockerRun, "start", _die)
    key = new_key()
    spec = harness.spec(key, Program.COUNT)
    with pytest.raises(KeyboardInterrupt):
        await harness.runtime.start(spec)
    assert inspect(client, key)["State"]["Status"] == "created"
    monkeypatch.undo()
    run = await harness.runtime.find(key)
    assert run is not None
    lines, ending = await asyncio.gather(texts(run), wait(run))
    assert (lines, ending.code) == (["x"], 0)


async def _die(_: object, **__: object) -> None:
    raise KeyboardInterrupt


async def test_a_container_that_was_created_but_not_started_can_be_removed(
    harness: DockerHarness, client: APIClient
) -> None:
    key = new_key()
    create(client, key, labels_of(key, harness.directory.instance))
    run = await harness.runtime.find(key)
    assert run is not None
    await run.kill()
    await run.remove()
    assert await harness.runtime.find(key) is None


async def test_only_containers_of_this_state_directory_are_held(
    harness: DockerHarness, client: APIClient, tmp_path: Path
) -> None:
    key, _ = await start(harness, "true")
    other = await DockerHarness.open(tmp_path / "other")
    assert key in await harness.runtime.held(RunKind.WORKFLOW)
    assert await other.runtime.held(RunKind.WORKFLOW) == frozenset()
    assert await other.runtime.find(key) is not None
    await other.close()


async def test_many_runs_at_once_do_not_starve_each_other(harness: DockerHarness) -> None:
    runs = await asyncio.gather(*(start(harness, f"echo {n}; sleep 0.2; echo {n}; exit {n}") for n in range(8)))
    results = await asyncio.gather(*(asyncio.gather(texts(run), wait(run)) for _, run in runs))
    assert [(lines, ending.code) for lines, ending in results] == [([str(n), str(n)], n) for n in range(8)]


async def test_a_reader_that_is_behind_when_the_container_ends_still_gets_everything(harness: DockerHarness) -> None:
    """Engines were seen to end a followed log early for such a reader."""
    _, run = await start(harness, "yes 0123456789012345678901234567890123456789 | head -n 45000")
    numbers: list[int] = []
    async with contextlib.aclosing(run.lines()) as lines:
        async for line in lines:
            if not numbers:
                await wait(run)
            numbers.append(line.number)
    assert numbers == list(range(1, 45_001))


async def test_a_container_that_is_somebody_else_s_is_left_alone_though_it_has_the_name(
    harness: DockerHarness, client: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docker_run, "CREATOR_SECONDS", 0.3)
    key, other = new_key(), new_key()
    for labels in ({}, {"tinkwell.managed": "true"}, labels_of(other, harness.directory.instance)):
        container = create(client, key, labels)
        try:
            assert await harness.runtime.find(key) is None
            with pytest.raises(
                port.RunError, match=r"that is not this run; remove it \(docker rm -f tinkwell-"
            ) as caught:
                await harness.runtime.start(harness.spec_of(key, command=("true",)))
            assert caught.value.reason is port.Reason.UNAVAILABLE
            assert client.inspect_container(container)["State"]["Status"] == "created"
        finally:
            client.remove_container(container)


async def test_labels_that_make_no_run_are_passed_over(harness: DockerHarness, client: APIClient) -> None:
    keys = [new_key() for _ in range(3)]
    labels = [labels_of(key, harness.directory.instance) for key in keys]
    labels[0]["tinkwell.attempt"] = "first"
    del labels[1]["tinkwell.workflow"]
    containers = [create(client, key, each) for key, each in zip(keys, labels, strict=True)]
    try:
        assert await harness.runtime.held(RunKind.WORKFLOW) == {keys[2]}
    finally:
        for container in containers:
            client.remove_container(container)


async def test_a_container_gets_no_more_of_the_machine_than_it_may(harness: DockerHarness, client: APIClient) -> None:
    settings = setting.DockerSettings(memory_bytes=64 * 1024 * 1024, cpus=0.5, pids=20, log_bytes=1_000_000)
    runtime = await docker.DockerRuntime.connect(harness.directory, concurrency=1, settings=settings)
    key = new_key()
    run = await runtime.start(harness.spec_of(key, command=("true",)))
    host = inspect(client, key)["HostConfig"]
    assert (host["Memory"], host["MemorySwap"], host["NanoCpus"], host["PidsLimit"]) == (
        64 * 1024 * 1024,
        64 * 1024 * 1024,
        500_000_000,
        20,
    )
    assert host["LogConfig"] == {"Type": "json-file", "Config": {"max-size": "500000", "max-file": "2"}}
    await wait(run)
    await runtime.close()


async def test_without_limits_a_container_has_none(harness: DockerHarness, client: APIClient) -> None:
    key, _ = await start(harness, "true")
    host = inspect(client, key)["HostConfig"]
    assert (host["Memory"], host["NanoCpus"], host["PidsLimit"] or 0) == (0, 0, 0)


async def test_output_that_the_engine_forgot_unread_is_noted_and_the_rest_keeps_its_order(
    harness: DockerHarness,
) -> None:
    settings = setting.DockerSettings(log_bytes=200_000)
    runtime = await docker.DockerRuntime.connect(harness.directory, concurrency=1, settings=settings)
    script = "echo 0; until [ -e $WORKFLOW_DIR/resume ]; do sleep 0.05; done; seq 1 20000; exit 5"
    key = new_key()
    run = await runtime.start(harness.spec_of(key, command=("/bin/sh", "-c", script)))
    lines: list[tuple[int, str]] = []
    async with contextlib.aclosing(run.lines()) as reading:
        async for line in reading:
            if not lines:
                ((harness.files / key.owner) / "resume").touch()
                assert (await wait(run)).code == 5
            lines.append((line.number, line.text))
    assert lines[0] == (1, "0")
    check_forgotten(lines[1:])
    # Who adopts it numbers the same lines in the same way.
    await harness.restart()
    adopted = await harness.runtime.find(key)
    assert adopted is not None
    again = [(number, text) for number, _, text in await read(adopted)]
    assert again == lines[[text.startswith("[") for _, text in lines].index(True) :]
    await adopted.remove()
    assert list((harness.directory.path / "logs").iterdir()) == []
    await runtime.close()


def check_forgotten(lines: list[tuple[int, str]]) -> None:
    """Check that lines follow each other, with a note where some are missing, to the last."""
    numbers = [number for number, _ in lines]
    assert numbers == sorted(set(numbers))
    note = next(place for place, (_, text) in enumerate(lines) if text.startswith("["))
    assert lines[note][1] == f"[{docker_run.FORGOTTEN}]"
    rest = [int(text) for _, text in lines[note + 1 :]]
    assert rest == list(range(rest[0], 20_001))
    assert rest[0] > 1


async def test_marks_of_runs_that_are_gone_are_swept(harness: DockerHarness) -> None:
    key, run = await start(harness, "echo x")
    assert await texts(run) == ["x"]
    folder = harness.directory.path / "logs"
    (folder / f"{uuid.uuid4()}.1").write_text("{}")
    assert len(list(folder.iterdir())) == 2
    await harness.runtime.held(RunKind.WORKFLOW)
    assert [path.name for path in folder.iterdir()] == [f"{key.run}.1"]


async def test_a_container_of_a_step_is_bounded_and_says_whose_it_is(harness: DockerHarness, client: APIClient) -> None:
    key = new_key(kind=RunKind.RELEASE)
    script = "grep NoNewPrivs /proc/self/status; pwd"
    spec = harness.spec_of(key, command=("/bin/sh", "-c", script), workdir="/tmp", labels={"name": "shop"})
    run = await harness.runtime.start(spec)
    assert await texts(run) == ["NoNewPrivs:\t1", "/tmp"]
    found = inspect(client, key)
    assert (found["Config"]["Labels"]["tinkwell.release"], found["Config"]["Labels"]["tinkwell.name"]) == (
        key.owner,
        "shop",
    )
    assert (found["HostConfig"]["Memory"], found["HostConfig"]["PidsLimit"]) == (512 * 1024 * 1024, 256)
    assert not found["HostConfig"]["Privileged"]
    assert found["Name"] == f"/tinkwell-{key.run}-1"


async def test_a_mount_that_is_read_only_cannot_be_written(harness: DockerHarness, tmp_path: Path) -> None:
    mount = port.Mount(source=str(tmp_path), target="/data", read_only=True)
    _, run = await start(harness, "touch /data/x", mounts=(mount,))
    assert (await wait(run)).code == 1


async def test_what_a_run_gets_and_answers_is_nowhere_in_the_engine(harness: DockerHarness, client: APIClient) -> None:
    secret = uuid.uuid4().hex
    key = new_key(kind=RunKind.RELEASE)
    spec = harness.spec(key, Program.ECHO, stdin=secret.encode(), answer_bytes=100)
    run = await harness.runtime.start(spec)
    await wait(run)
    assert await run.answer() == secret.encode()
    found = inspect(client, key)
    assert secret not in repr(found)
    assert found["HostConfig"]["LogConfig"]["Type"] == "none"
    assert found["LogPath"] == ""


async def test_the_death_of_who_gives_input_is_the_end_of_the_input_and_who_comes_next_knows_of_it(
    harness: DockerHarness,
) -> None:
    key = new_key(kind=RunKind.RELEASE)
    script = "echo begun; until [ -e $WORKFLOW_DIR/resume ]; do sleep 0.05; done; wc -c"
    spec = harness.spec_of(key, command=("/bin/sh", "-c", script), stdin=conformance.MUCH)
    first = await harness.runtime.start(spec)
    assert await conformance.first_line(first) == "begun"
    await harness.restart()
    run = await harness.runtime.find(key)
    assert run is not None
    assert not await run.was_fed()
    (harness.files / key.owner / "resume").touch()
    assert (await wait(run)).code == 0
    _, counted = await texts(run)
    assert 0 < int(counted) < len(conformance.MUCH)


async def test_who_finds_a_run_that_was_asked_by_another_has_neither_its_answer_nor_its_lines(
    harness: DockerHarness,
) -> None:
    key = new_key(kind=RunKind.RELEASE)
    first = await harness.runtime.start(harness.spec(key, Program.ECHO, stdin=b"x", answer_bytes=10))
    await wait(first)
    await harness.restart()
    run = await harness.runtime.find(key)
    assert run is not None
    assert (await wait(run)).code == 0
    assert await texts(run) == []
    with pytest.raises(port.RunError) as caught:
        await run.answer()
    assert caught.value.reason is port.Reason.LOST
    assert run.image_id == await harness.runtime.image_id(engine_image.IMAGE)


async def test_a_run_that_closes_its_output_and_goes_on_has_answered(harness: DockerHarness) -> None:
    script = "echo said; exec >&- 2>&-; sleep 0.5; exit 6"
    _, run = await start(harness, script, stdin=b"", answer_bytes=10)
    assert (await wait(run)).code == 6
    assert await run.answer() == b"said\n"


async def test_a_run_that_closes_its_input_and_goes_on_is_left_in_peace(harness: DockerHarness) -> None:
    _, run = await start(harness, "exec <&-; sleep 0.5; echo done", stdin=conformance.MUCH, answer_bytes=10)
    assert (await wait(run)).code == 0
    assert await run.answer() == b"done\n"


async def test_a_run_that_forks_without_end_is_bounded(harness: DockerHarness) -> None:
    key = new_key(kind=RunKind.RELEASE)
    script = "for n in $(seq 1000); do sleep 1000 & done; echo never"
    run = await harness.runtime.start(harness.spec_of(key, command=("/bin/sh", "-c", script), stdin=b""))
    assert (await wait(run)).code != 0
    assert "never" not in await texts(run)


async def test_many_calls_at_once_do_not_starve_each_other(harness: DockerHarness) -> None:
    specs = [harness.spec(new_key(), Program.ECHO, stdin=b"%d" % n, answer_bytes=10) for n in range(4)]
    runs = await asyncio.gather(*map(harness.runtime.start, specs))
    await asyncio.gather(*map(wait, runs))
    assert [await run.answer() for run in runs] == [b"%d" % n for n in range(4)]
