"""What becomes of all that a run has started: whatever it does to get away, it ends with the run."""

import asyncio
import ctypes
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from integration.provisioner.process_harness import ProcessHarness, is_alive, pid_in, start_waiting
from unit.provisioner.conformance import new_key, texts, wait

from support.waiting import eventually
from tinkwell.core.value.run_key import RunKind
from tinkwell.provisioner.runtime import open_file, port
from tinkwell.provisioner.runtime.process import identity, offspring, supervisor

PR_GET_DUMPABLE = 3
# A process in a session of its own whose parent is dead, and one whose parent lives.
ORPHAN = "( setsid sh -c 'echo $$ > orphan; exec sleep 1000' & ); until [ -s orphan ]; do sleep 0.01; done"
CHILD = "setsid sh -c 'echo $$ > child; exec sleep 1000' & until [ -s child ]; do sleep 0.01; done"


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[ProcessHarness]:
    harness = ProcessHarness(tmp_path)
    yield harness
    await harness.close()


async def started(harness: ProcessHarness, *scripts: str, end: str = "sleep 1000") -> tuple[port.Run, list[int]]:
    """Start a run that has started processes, and return these, too."""
    key, run = await start_waiting(harness, "; ".join((*scripts, "echo ready", end)))
    names = [name for script, name in ((ORPHAN, "orphan"), (CHILD, "child")) if script in scripts]
    pids = [int((harness.files / key.owner / name).read_text()) for name in names]
    return run, pids


async def test_a_session_of_its_own_does_not_outlive_the_kill(harness: ProcessHarness) -> None:
    run, pids = await started(harness, ORPHAN, CHILD)
    assert all(map(is_alive, pids))
    await run.kill()
    assert not any(map(is_alive, pids))
    assert (await wait(run)).code == 137


async def test_a_session_of_its_own_does_not_outlive_the_end_of_the_entry_point(harness: ProcessHarness) -> None:
    run, pids = await started(harness, ORPHAN, CHILD, end="exit 5")
    assert (await wait(run)).code == 5
    assert not any(map(is_alive, pids))


async def test_many_that_start_others_while_they_are_killed_end_as_well(harness: ProcessHarness) -> None:
    # Each of them leaves its session to a new one and ends, over and over.
    script = "echo $$ >> pids; ( setsid sh $0 & ); exec sleep 0.02"
    key, run = await start_waiting(
        harness, f"echo '{script}' > again; for i in 1 2 3 4 5; do ( setsid sh again & ); done; echo ready; sleep 1000"
    )
    pids = harness.files / key.owner / "pids"
    await eventually(lambda: pids.exists() and len(pids.read_text().split()) > 20)
    await run.kill()
    # What of a number that was given to somebody else: it would have to be a sleep, too.
    left = [pid for pid in map(int, pids.read_text().split()) if b"again" in command_line(pid)]
    assert left == []


def is_stopped(pid: int) -> bool:
    return ") T " in Path(f"/proc/{pid}/stat").read_text()


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


async def test_a_run_that_lost_its_supervisor_takes_along_what_descends_from_it(harness: ProcessHarness) -> None:
    run, pids = await started(harness, CHILD)
    entry_point = pid_in(harness, run.key, "process")
    os.kill(pid_in(harness, run.key, "shim"), signal.SIGKILL)
    with pytest.raises(port.RunError, match="supervisor died"):
        await wait(run)
    await eventually(lambda: not any(map(is_alive, [entry_point, *pids])))


async def test_a_tree_of_nobody_is_killed_without_anybody_else(harness: ProcessHarness) -> None:
    bystander = await asyncio.create_subprocess_exec("sleep", "1000")
    name = identity.of(bystander.pid)
    for other in ("", name.replace(str(bystander.pid), "1"), f"{name}0"):
        offspring.kill_tree(other)
    assert is_alive(bystander.pid)
    assert not is_stopped(bystander.pid)
    offspring.kill_tree(name)
    assert await bystander.wait() == -signal.SIGKILL


async def test_a_supervisor_keeps_no_dead_processes_of_its_run(harness: ProcessHarness) -> None:
    key, run = await start_waiting(harness, "for i in 1 2 3; do ( setsid true & ); done; echo ready; sleep 1000")
    shim = pid_in(harness, key, "shim")
    children = Path(f"/proc/{shim}/task/{shim}/children")
    await eventually(lambda: children.read_text().split() == [str(pid_in(harness, key, "process"))])
    await run.kill()


async def test_a_supervisor_knows_nothing_of_who_has_started_it(
    harness: ProcessHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINKWELL_TOKEN", "a token of the provisioner")
    spec = harness.spec(new_key(kind=RunKind.RELEASE), "tr '\\0' '\\n' < /proc/$PPID/environ; echo end")
    found = await texts(await harness.runtime.start(spec))
    assert found[-1] == "end"
    assert [text for text in found if "TINKWELL" in text or "token" in text] == []


async def test_a_run_may_open_as_many_files_as_the_provisioner_might_before_it_asked_for_more(
    harness: ProcessHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_file, "AT_START", 300)
    found = await texts(await harness.runtime.start(harness.spec(new_key(), "ulimit -Sn")))
    assert found == ["300"]


def test_whoever_starts_runs_hides_what_it_knows_first(harness: ProcessHarness) -> None:
    assert ctypes.CDLL(None).prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0


# Programs of supervisors that die at once, told by SIGKILL: before a process is recorded, and after it has begun.
DIES_BEFORE = """
import os, signal, sys
from tinkwell.provisioner.runtime.process import spawn

def record(pid):
    print(pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

spawn.spawn(["/bin/sh", "-c", 'echo begun > "$0"; sleep 1000', sys.argv[1]], {}, out=1, err=2, record=record)
"""
DIES_AFTER = """
import os, signal, sys
from pathlib import Path
from tinkwell.provisioner.runtime.process import shim, spawn

begin = spawn.spawn

def begin_and_die(*arguments, **options):
    Path(sys.argv[1]).write_text(str(begin(*arguments, **options)))
    os.kill(os.getpid(), signal.SIGKILL)

spawn.spawn = begin_and_die
sys.exit(shim.main(sys.argv[2:]))
"""


async def test_a_process_never_begins_without_a_supervisor_that_knows_it(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": ":".join(sys.path)}
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", DIES_BEFORE, str(tmp_path / "begun"), stdout=asyncio.subprocess.PIPE, env=environment
    )
    said = await asyncio.wait_for(parent.stdout.readline(), 30) if parent.stdout else b""
    await parent.wait()
    await eventually(lambda: not is_alive(int(said)))
    assert not (tmp_path / "begun").exists()


async def test_what_a_supervisor_has_begun_that_dies_at_once_is_ended_before_that_is_told(
    harness: ProcessHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = f"import sys; sys.path[:0] = {sys.path!r}\n"
    note = tmp_path / "pid"
    monkeypatch.setattr(
        supervisor, "command", lambda _, directory: [sys.executable, "-c", paths + DIES_AFTER, str(note), directory]
    )
    with pytest.raises(port.RunError, match="the entry point did not start: its supervisor died"):
        await harness.runtime.start(harness.spec(new_key(), "sleep 1000"))
    await eventually(lambda: command_line(int(note.read_text())) == b"")
    assert not await harness.runtime.held(RunKind.WORKFLOW)
