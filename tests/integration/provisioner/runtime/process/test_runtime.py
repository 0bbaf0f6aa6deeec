"""The process runtime: the conformance suite, and what is its own."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import pytest
from integration.provisioner.process_harness import ProcessHarness, is_alive, pid_in, start_waiting
from unit.provisioner import conformance, workspace_conformance
from unit.provisioner.conformance import new_key, texts, wait

from support.waiting import eventually
from tinkwell.core.value.run_key import RunKind
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.runtime.process import identity, shim
from tinkwell.provisioner.runtime.process import runtime as process
from tinkwell.provisioner.state_dir import state_dir


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[ProcessHarness]:
    harness = ProcessHarness(tmp_path)
    yield harness
    await harness.close()


class TestConformance(conformance.RuntimeConformance, workspace_conformance.WorkspaceConformance):
    pass


async def test_killing_kills_the_children_too(harness: ProcessHarness) -> None:
    key, run = await start_waiting(harness, "sleep 1000 & echo $! > child; echo ready; wait")
    child = int((harness.files / key.owner / "child").read_text())
    assert is_alive(child)
    await run.kill()
    await eventually(lambda: not is_alive(child))


async def test_the_end_of_the_entry_point_is_the_end_of_what_it_left_behind(harness: ProcessHarness) -> None:
    key, run = await start_waiting(harness, "sleep 1000 & echo $! > child; echo ready; exit 5")
    assert (await wait(run)).code == 5
    child = int((harness.files / key.owner / "child").read_text())
    await eventually(lambda: not is_alive(child))


async def test_a_run_that_lost_its_supervisor_is_lost_and_killed(harness: ProcessHarness) -> None:
    key, run = await start_waiting(harness, "echo ready; sleep 1000")
    process_id = pid_in(harness, key, "process")
    os.kill(pid_in(harness, key, "shim"), signal.SIGKILL)
    with pytest.raises(port.RunError, match="supervisor died") as caught:
        await wait(run)
    assert caught.value.reason is port.Reason.LOST
    await eventually(lambda: not is_alive(process_id))
    assert await texts(run) == ["ready"]


async def test_a_stranger_with_the_same_pid_is_not_killed(harness: ProcessHarness) -> None:
    key, run = await start_waiting(harness, "echo ready; sleep 1000")
    await run.kill()
    stranger = await asyncio.create_subprocess_exec("sleep", "1000")
    try:
        for name in ("shim", "process"):
            boot, _, started = (harness.directory.run_dir(key) / name).read_text().split()
            (harness.directory.run_dir(key) / name).write_text(f"{boot} {stranger.pid} {started}")
        assert (await wait(run)).code == 137
        await run.kill()
        await run.remove()
        assert stranger.returncode is None
        assert is_alive(stranger.pid)
    finally:
        stranger.kill()
        await stranger.wait()


async def test_the_environment_holds_nothing_of_the_provisioner_s_but_where_its_programs_are(
    harness: ProcessHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_PROVISIONER", "yes")
    monkeypatch.setenv("PATH", "/usr/bin:/bin:/opt/more")
    run = await harness.runtime.start(harness.spec(new_key(), "env", environment=("A=1",)))
    found = dict(text.split("=", 1) for text in await texts(run))
    assert found.keys() - {"PWD", "SHLVL", "_", "OLDPWD"} == {"A", "PATH", "WORKFLOW_DIR"}
    assert found["PATH"] == "/usr/bin:/bin:/opt/more"
    other = await harness.runtime.start(harness.spec(new_key(), "env", environment=("PATH=/usr/bin",)))
    assert "PATH=/usr/bin" in await texts(other)


async def test_an_entry_point_may_have_the_other_name(harness: ProcessHarness) -> None:
    harness.add_image("other", "#!/bin/sh\necho here\n")
    (harness.images / "other" / "run").rename(harness.images / "other" / "entrypoint")
    run = await harness.runtime.start(harness.spec_of(new_key(), image="other:v1"))
    assert await texts(run) == ["here"]


@pytest.mark.parametrize("spoil", ["mode", "folder"])
async def test_a_file_that_cannot_be_executed_is_no_image(harness: ProcessHarness, spoil: str) -> None:
    entry_point = harness.images / "shell" / "run"
    if spoil == "mode":
        entry_point.chmod(0o644)
    else:
        entry_point.unlink()
        entry_point.mkdir()
    with pytest.raises(port.RunError, match="holds no executable file named run"):
        await harness.runtime.start(harness.spec(new_key(), "true"))


async def test_without_a_folder_of_images_the_message_names_the_option(harness: ProcessHarness) -> None:
    runtime = process.ProcessRuntime(harness.directory, None)
    with pytest.raises(port.RunError, match="--process-images names no folder for shell"):
        await runtime.start(harness.spec_of(new_key(), image="shell"))
    await runtime.close()


async def test_what_cannot_be_an_argument_fails_the_start(harness: ProcessHarness) -> None:
    with pytest.raises(port.RunError, match="did not start: embedded null byte"):
        await harness.runtime.start(harness.spec(new_key(), "echo \0"))


async def test_a_state_directory_that_cannot_be_written_fails_the_start(harness: ProcessHarness) -> None:
    runs = harness.directory.path / "runs"
    runs.rmdir()
    with pytest.raises(port.RunError, match="cannot use its files") as caught:
        await harness.runtime.start(harness.spec(new_key(), "true"))
    assert caught.value.reason is port.Reason.UNAVAILABLE
    runs.mkdir()


async def test_a_run_whose_supervisor_was_never_started_is_lost(harness: ProcessHarness) -> None:
    key = new_key()
    harness.directory.create_run(key, {shim.SPEC: json.dumps({"key": asdict(key)}).encode()})
    assert await harness.runtime.held(RunKind.WORKFLOW) == {key}
    run = await harness.runtime.find(key)
    assert run is not None
    with pytest.raises(port.RunError) as caught:
        await wait(run)
    assert caught.value.reason is port.Reason.LOST


@pytest.mark.parametrize("reads", range(2))
async def test_a_run_that_is_removed_while_it_is_killed_takes_nobody_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads: int
) -> None:
    bystander = await asyncio.create_subprocess_exec("sleep", "1000", start_new_session=True)
    killed, records = list[int](), [identity.of(bystander.pid)] * reads

    def read(_run: process.ProcessRun, name: str) -> str:
        return records.pop() if name == "process" and records else ""

    monkeypatch.setattr(process.ProcessRun, "_recorded", read)
    monkeypatch.setattr(os, "killpg", lambda group, _number: killed.append(group))
    with ThreadPoolExecutor(1) as threads:
        await process.ProcessRun(new_key(), tmp_path, threads).kill()
    assert killed == [bystander.pid][:reads]
    if not reads:
        assert is_alive(bystander.pid)
        bystander.kill()
    assert await bystander.wait() == -signal.SIGKILL


async def test_what_a_run_gets_and_answers_is_read_by_nobody_else_and_its_input_is_gone_at_once(
    harness: ProcessHarness,
) -> None:
    key = new_key(kind=RunKind.RELEASE)
    run = await harness.runtime.start(harness.spec(key, "cat; echo ready >&2; sleep 1000", stdin=b"x", answer_bytes=9))
    assert await conformance.first_line(run) == "ready"
    folder = harness.directory.run_dir(key)
    assert folder.stat().st_mode & 0o777 == 0o700
    files = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert files == dict.fromkeys(("spec.json", "shim", "process", "output", "answer"), 0o600)
    await run.kill()
    assert await run.answer() == b"x"


async def test_an_answer_is_read_by_who_adopts_the_run_too(harness: ProcessHarness) -> None:
    key = new_key(kind=RunKind.RELEASE)
    await harness.runtime.start(harness.spec(key, "echo answered", answer_bytes=100))
    await harness.restart()
    run = await harness.runtime.find(key)
    assert run is not None
    assert (await wait(run)).code == 0
    assert await run.answer() == b"answered\n"


async def test_a_run_that_was_not_asked_has_no_answer(harness: ProcessHarness) -> None:
    run = await harness.runtime.start(harness.spec(new_key(), "echo hello"))
    await wait(run)
    with pytest.raises(port.RunError, match="not asked") as caught:
        await run.answer()
    assert caught.value.reason is port.Reason.LOST


async def test_a_run_without_mounts_begins_in_an_empty_folder_that_goes_with_it(harness: ProcessHarness) -> None:
    key = new_key(kind=RunKind.RELEASE)
    spec = port.RunSpec(key=key, image="shell", command=("pwd; ls -A; touch here",))
    run = await harness.runtime.start(spec)
    assert await texts(run) == [str(harness.directory.run_dir(key) / "workspace")]
    await run.remove()
    assert not harness.directory.run_dir(key).exists()


@pytest.mark.parametrize("entrypoint", ["/bin/absent", "../other/run", "/", "/bin"])
async def test_an_entry_point_that_is_no_file_of_the_image_fails_the_start(
    harness: ProcessHarness, entrypoint: str
) -> None:
    harness.add_image("other", "#!/bin/sh\n")
    harness.spec_with_entry_point(new_key())
    with pytest.raises(port.RunError, match="holds no executable file") as caught:
        await harness.runtime.start(harness.spec_of(new_key(), image="shell", entrypoint=entrypoint))
    assert caught.value.reason is port.Reason.ENTRY_POINT


async def test_an_image_is_another_one_when_a_file_of_it_has_changed(harness: ProcessHarness) -> None:
    (harness.images / "shell" / "nowhere").symlink_to("absent")
    before = await harness.runtime.image_id("shell:v1")
    assert before.startswith("sha256:")
    assert await harness.runtime.image_id("registry.example/shell") == before
    harness.add_image("shell", "#!/bin/sh\n", file="lib/more")
    after = await harness.runtime.image_id("shell")
    assert after != before
    os.utime(harness.images / "shell" / "lib" / "more", ns=(1, 1))
    assert await harness.runtime.image_id("shell") not in (before, after)


async def test_who_has_slept_while_a_run_began_finds_that_it_has(
    harness: ProcessHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "START_SECONDS", 0.0)
    monkeypatch.setattr(process, "LATE_SECONDS", 30.0)
    assert await texts(await harness.runtime.start(harness.spec(new_key(), "echo began"))) == ["began"]


async def test_a_run_that_does_not_begin_in_time_does_not_begin_at_all(
    harness: ProcessHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("START_SECONDS", "LATE_SECONDS"):
        monkeypatch.setattr(process, name, 0.0)
    spec = harness.spec(new_key(), "sleep 1000")
    with pytest.raises(port.RunError, match="did not start within 0 s") as caught:
        await harness.runtime.start(spec)
    assert caught.value.reason is port.Reason.UNAVAILABLE
    assert list((harness.directory.path / "runs").iterdir()) == []


async def test_a_run_does_not_begin_once_somebody_has_removed_it(harness: ProcessHarness) -> None:
    spec = harness.spec(new_key(kind=RunKind.RELEASE), "touch $WORKFLOW_DIR/began")

    def remove_first() -> bool:
        state_dir.remove_run(harness.directory.run_dir(spec.key))
        return True

    with pytest.raises(port.RunError, match="did not start"):
        await harness.runtime.start(spec, remove_first)
    assert await harness.runtime.find(spec.key) is None


async def test_a_run_that_begins_while_it_is_removed_is_killed(
    harness: ProcessHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await harness.runtime.start(harness.spec(new_key(kind=RunKind.RELEASE), "sleep 1000"))
    recorded = (harness.directory.run_dir(run.key) / "process").read_text("ascii")
    pid = int(recorded.split()[1])
    assert identity.of(pid) == recorded

    async def see_nothing() -> None:
        """Do as somebody does who looks before the supervisor has begun."""

    monkeypatch.setattr(run, "kill", see_nothing)
    await run.remove()
    assert identity.of(pid) == ""
    assert list((harness.directory.path / "runs").iterdir()) == []


async def test_a_run_whose_supervisor_was_never_started_has_not_got_its_input(harness: ProcessHarness) -> None:
    key = new_key(kind=RunKind.RELEASE)
    described = {"key": asdict(key), "answer_bytes": 0}
    assert harness.directory.create_run(key, {shim.SPEC: json.dumps(described).encode()})
    run = await harness.runtime.find(key)
    assert run is not None
    assert not await run.was_fed()
    await run.remove()
    assert await harness.runtime.find(key) is None


@pytest.mark.parametrize("spoilt", ["", "{", "{}", '{"key": {"kind": "release"}}', '{"key": {"kind": "other"}}'])
async def test_a_folder_that_does_not_say_whose_it_is_keeps_the_other_runs_known(
    harness: ProcessHarness, spoilt: str, caplog: pytest.LogCaptureFixture
) -> None:
    key, spoilt_key = new_key(), new_key()
    for each in (key, spoilt_key):
        await wait(await harness.runtime.start(harness.spec(each, "true")))
    (harness.directory.run_dir(spoilt_key) / shim.SPEC).write_text(spoilt)
    assert await harness.runtime.held(key.kind) == {key}
    assert "does not say which run it is of" in caplog.text
