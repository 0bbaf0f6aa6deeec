"""Whatever is wrong with a fork server, the event is started instead; and a server never outlives its agent."""

import asyncio
import contextlib
import errno
import logging
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from unit.provisioner.unit.warm.stage import DEADLINE_SECONDS, DIGEST, OPS, PYTHON, Stage, environment, until_dead

from support.waiting import eventually
from tinkwell.provisioner.runtime.process import identity
from tinkwell.provisioner.unit.script import Ending
from tinkwell.provisioner.unit.warm import pool as pools
from tinkwell.provisioner.unit.warm import server as servers

# It says who its parent is: a fork server, or the agent.
WHO = "import os\nprint(os.getppid())\n"


@pytest.fixture(autouse=True)
def pause(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Have pauses end by no clock, however slow the machine is, and all lines of the log be written."""
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(pools, "FIRST_PAUSE_SECONDS", 3600.0)


async def _parent(stage: Stage) -> int:
    """Have the program run, which must succeed, and return whose child it was."""
    stage.lines.clear()
    assert await stage.run(stage.script()) == Ending(), stage.lines
    return int(stage.lines[0][1])


def _warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [getattr(each, "cause", "") for each in caplog.records if each.levelno == logging.WARNING]


async def test_the_first_event_is_started_and_the_next_ones_are_forked(tmp_path: Path) -> None:
    stage = Stage(tmp_path, WHO)
    async with stage.pool.serving():
        assert await _parent(stage) == os.getpid()
        await eventually(lambda: stage.server is not None, deadline_seconds=DEADLINE_SECONDS)
        assert [await _parent(stage) for _ in range(3)] == [stage.pid] * 3
        pid = stage.pid
    assert not identity.of(pid)
    assert list((tmp_path / "servers").iterdir()) == []


@pytest.mark.parametrize(
    "ops, cause",
    [
        ("raise ValueError('no such thing')\n", "ops cannot be loaded: ValueError: no such thing"),
        ("import sys\nsys.exit(0)\n", "ops cannot be loaded: SystemExit: 0"),
        ("import os\nos._exit(3)\n", "its process has ended"),
        ("print('a notice')\n", "ops says something when it is loaded: a notice"),
    ],
    ids=["raises", "exits", "ends", "says something"],
)
async def test_an_ops_that_cannot_be_loaded_before(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, ops: str, cause: str
) -> None:
    stage = Stage(tmp_path, ops=ops)
    stage.write("src/charm.py", f"#!/usr/bin/env python3\n{WHO}")
    async with stage.pool.serving():
        assert await _parent(stage) == os.getpid()
        await eventually(lambda: bool(_warnings(caplog)), deadline_seconds=DEADLINE_SECONDS)
        assert await _parent(stage) == os.getpid()
        await eventually(lambda: not stage.pool._servers, deadline_seconds=DEADLINE_SECONDS)
    assert _warnings(caplog) == [cause]


@pytest.mark.parametrize(
    "ops, cause",
    [
        ("import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n", "it has threads"),
        ("import os\ndef fail():\n    raise OSError('no more')\nos.fork = fail\n", "it cannot fork: no more"),
        ("import os\nos.fork = lambda: 1\n", "process 1 is none of its children"),
        ("import os\nos.fork = lambda: 2 ** 22 + 1\n", "it names no child: "),
        ("import os\nos.fork = lambda: os._exit(1)\n", "its process has ended"),
        ("import os\ndef fail():\n    raise RuntimeError\nos.fork = fail\n", "its process has ended"),
    ],
    ids=["threads", "no fork", "a stranger", "nobody", "ends", "raises"],
)
async def test_a_server_that_cannot_fork_is_given_up_for_a_while(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, ops: str, cause: str
) -> None:
    stage = Stage(tmp_path, WHO, ops=OPS + ops)
    async with stage.serving():
        assert await _parent(stage) == os.getpid()
        (said,) = _warnings(caplog)
        assert said.startswith(cause)
        assert stage.server is None
        assert await _parent(stage) == os.getpid()
        assert stage.server is None
        stage.write("venv/ops/__init__.py", OPS)
        next(iter(stage.pool._places.values())).next_try_at = 0.0
        await stage.warm()
        assert await _parent(stage) == stage.pid


async def test_a_server_that_does_not_answer_is_given_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(tmp_path, WHO)
    async with stage.serving():
        pid = stage.pid
        os.kill(pid, signal.SIGSTOP)
        monkeypatch.setattr(servers, "ANSWER_SECONDS", 0.2)
        monkeypatch.setattr(servers, "END_SECONDS", 0.2)
        assert await _parent(stage) == os.getpid()
        await until_dead(pid)
    assert _warnings(caplog) == ["it has not answered within 0 s"]


async def test_who_waits_for_a_server_that_is_given_up_hears_so_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it waits at is nobody else's meanwhile, for the loop would take the next with its number for the same."""
    stage = Stage(tmp_path, WHO)
    loop = asyncio.get_running_loop()
    async with stage.serving():
        (server,) = stage.pool._servers
        number = server._socket.fileno()
        os.kill(stage.pid, signal.SIGSTOP)
        monkeypatch.setattr(servers, "END_SECONDS", 0.2)
        monkeypatch.setattr(servers, "ANSWER_SECONDS", 3600.0)
        asking = asyncio.create_task(stage.pool.fork(stage.script(), DIGEST, stage.python))
        await eventually(lambda: number in loop._selector.get_map(), deadline_seconds=DEADLINE_SECONDS)  # type: ignore[attr-defined]
        stage.pool.retain((), changed=tmp_path)
        assert await asyncio.wait_for(asking, DEADLINE_SECONDS) is None
        assert number not in loop._selector.get_map()  # type: ignore[attr-defined]
        await eventually(lambda: not stage.pool._servers, deadline_seconds=DEADLINE_SECONDS)


async def test_one_that_was_killed_is_given_up(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(tmp_path, WHO)
    async with stage.serving():
        os.kill(stage.pid, signal.SIGKILL)
        await until_dead(stage.pid)
        assert await _parent(stage) == os.getpid()
    assert len(_warnings(caplog)) == 1


async def test_an_event_that_runs_when_its_server_dies_is_lost_and_killed(tmp_path: Path) -> None:
    text = "import os, time\nif os.fork() == 0:\n    time.sleep(60)\nprint(os.getpid(), flush=True)\ntime.sleep(60)\n"
    stage = Stage(tmp_path, text)
    async with stage.serving():
        running = asyncio.create_task(stage.run(stage.script()))
        await eventually(lambda: bool(stage.lines), deadline_seconds=DEADLINE_SECONDS)
        os.kill(stage.pid, signal.SIGKILL)
        ending = await running
        assert (ending.signal, ending.is_late, ending.is_stopped) == (signal.SIGKILL, False, False)
        await until_dead(int(stage.lines[0][1]))


async def test_a_charm_that_kills_its_servers_has_them_less_and_less_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What it finds there otherwise is this process.
    text = "import os\nif os.getppid() != {}:\n    os.kill(os.getppid(), 9)\n"
    stage, pauses = Stage(tmp_path, text.format(os.getpid())), list[float]()
    monkeypatch.setattr(pools, "FIRST_PAUSE_SECONDS", 100.0)
    async with stage.serving():
        for _ in range(3):
            assert (await stage.run(stage.script())).signal == signal.SIGKILL
            now = asyncio.get_running_loop().time()
            assert await stage.run(stage.script()) == Ending()
            (place,) = stage.pool._places.values()
            pauses.append(place.next_try_at - now)
            place.next_try_at = 0.0
            await stage.warm()
    assert pauses[1] >= 200.0
    assert pauses[2] >= 400.0


@pytest.mark.parametrize(
    "name, text",
    [("src/json.py", ""), ("lib/ops/__init__.py", OPS), ("src/sitecustomize.py", ""), ("lib/random/x.txt", "")],
)
async def test_a_charm_with_a_module_in_the_place_of_one_that_is_loaded_is_started(
    tmp_path: Path, name: str, text: str
) -> None:
    stage = Stage(tmp_path, WHO)
    async with stage.serving():
        (stage.charm / name).parent.mkdir(exist_ok=True)
        stage.write(name, text)
        assert await _parent(stage) == os.getpid()
        if name.startswith("lib"):
            shutil.rmtree((stage.charm / name).parent)
        else:
            (stage.charm / name).unlink()
        assert await _parent(stage) == stage.pid


async def test_packages_that_change_are_loaded_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(tmp_path, "print(ops.version)\n", ops=OPS + "version = 1\n")
    async with stage.serving():
        assert await stage.run(stage.script()) == Ending()
        stage.write("venv/ops/__init__.py", OPS + "version = 'two'\n")
        assert await stage.run(stage.script()) == Ending()
    assert [line for _, line in stage.lines] == ["1", "two"]
    assert "is another one than was loaded" in _warnings(caplog)[0]


async def test_an_environment_that_is_too_long_is_started(tmp_path: Path) -> None:
    stage = Stage(tmp_path, WHO)
    async with stage.serving():
        long = {f"LONG_{number}": "x" * 100_000 for number in range(3)}
        assert await stage.run(stage.script(environment=long)) == Ending()
        assert stage.lines == [("STDOUT", str(os.getpid()))]
        assert await _parent(stage) == stage.pid


async def test_a_python_that_is_another_one_is_started(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    python = tmp_path / "python3"
    python.write_text("one")
    stage = Stage(tmp_path / "unit", WHO, ops=f"{OPS}import sys\nsys.executable = {str(python)!r}\n")
    async with stage.serving():
        assert await _parent(stage) == stage.pid
        python.write_text("another")
        assert await _parent(stage) == os.getpid()
    assert _warnings(caplog) == [f"{python} is another one than was loaded"]


@pytest.mark.parametrize("name", ["more.pth", "sitecustomize.py"])
async def test_what_is_new_among_packages_for_each_start_is_started(tmp_path: Path, name: str) -> None:
    shared = environment(tmp_path / "shared")
    stage = Stage(tmp_path / "unit", WHO, shared=shared)
    async with stage.serving():
        assert await _parent(stage) == stage.pid
        (shared / f"lib/python3.{sys.version_info.minor}/site-packages" / name).write_text("import os\n")
        assert await _parent(stage) == os.getpid()


async def test_a_child_that_is_gone_before_it_begins_is_no_matter_of_its_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, original, gone = Stage(tmp_path, WHO), os.pidfd_open, list[int]()

    def open_handle(pid: int) -> int:
        if not gone:
            gone.append(pid)
            raise ProcessLookupError
        return original(pid)

    async with stage.serving():
        (server,) = stage.pool._servers
        monkeypatch.setattr(os, "pidfd_open", open_handle)
        assert await _parent(stage) == os.getpid()
        assert (len(gone), server.children) == (1, 0)


async def test_who_is_cancelled_while_it_asks_how_its_child_has_ended_lets_go_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, is_asked = Stage(tmp_path), asyncio.Event()

    async def status(_server: servers.Server, _pid: int) -> int | None:
        is_asked.set()
        await asyncio.Event().wait()
        return None

    monkeypatch.setattr(servers.Server, "status", status)
    async with stage.serving():
        (server,) = stage.pool._servers
        running = asyncio.create_task(stage.run(stage.script()))
        await asyncio.wait_for(is_asked.wait(), DEADLINE_SECONDS)
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
        assert server.children == 0


async def test_without_pipes_there_is_no_fork_and_none_is_left_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, original, made = Stage(tmp_path, WHO), os.pipe, list[tuple[int, int]]()

    def pipe() -> tuple[int, int]:
        if len(made) == 2:
            raise OSError(errno.EMFILE, "Too many open files")
        made.append(original())
        return made[-1]

    async with stage.serving():
        with monkeypatch.context() as patch:
            patch.setattr(os, "pipe", pipe)
            assert await stage.pool.fork(stage.script(), DIGEST, stage.python) is None
        for handle in (handle for each in made for handle in each):
            with pytest.raises(OSError, match="Bad file"):
                os.fstat(handle)
        assert await _parent(stage) == stage.pid


async def test_many_run_beside_each_other(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "import os, sys\nprint(os.environ['N'])\nsys.exit(int(os.environ['N']))\n")
    async with stage.serving():
        endings = await asyncio.gather(*(stage.run(stage.script(environment={"N": str(n)})) for n in range(16)))
    assert [ending.code for ending in endings] == list(range(16))
    assert sorted(int(line) for _, line in stage.lines) == list(range(16))


async def test_who_is_cancelled_before_its_fork_leaves_nothing(tmp_path: Path) -> None:
    stage = Stage(tmp_path, WHO)
    async with stage.serving():
        for _ in range(20):
            running = asyncio.create_task(stage.run(stage.script()))
            await asyncio.sleep(0)
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running
        assert await _parent(stage) == stage.pid
        children = Path(f"/proc/{stage.pid}/task/{stage.pid}/children")
        await eventually(
            lambda: all(_is_zombie(pid) for pid in children.read_text().split()), deadline_seconds=DEADLINE_SECONDS
        )


def _is_zombie(pid: str) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


async def test_an_upgrade_ends_the_former_charms_server(tmp_path: Path) -> None:
    stage = Stage(tmp_path, WHO)
    async with stage.serving():
        pid = stage.pid
        stage.pool.retain({DIGEST}, changed=tmp_path)
        assert stage.server is not None
        stage.pool.retain({"sha256:2"}, changed=tmp_path)
        await until_dead(pid)
        await stage.warm()
        pid = stage.pid
        stage.pool.retain({DIGEST}, changed=stage.charm)
        await until_dead(pid)


async def test_who_is_idle_ends_and_those_used_last_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(pools, "MAX_SERVERS", 2)
    stage = Stage(tmp_path, WHO)
    fork = stage.pool.fork
    async with stage.serving():
        assert await fork(stage.script(), "sha256:2", PYTHON) is None
        assert await fork(stage.script(), "sha256:3", PYTHON) is None
        # All places are taken by who was there a moment ago.
        assert [key.digest for key in stage.pool._places] == [DIGEST, "sha256:2"]
        await eventually(lambda: len(stage.pool._servers) == 2, deadline_seconds=DEADLINE_SECONDS)
        await eventually(lambda: not any(each.is_used for each in stage.pool._places.values()), deadline_seconds=60.0)
        monkeypatch.setattr(pools, "BUSY_SECONDS", 0.0)
        assert await fork(stage.script(), "sha256:3", PYTHON) is None
        assert [key.digest for key in stage.pool._places] == ["sha256:2", "sha256:3"]
        monkeypatch.setattr(pools, "IDLE_SECONDS", 0.0)
        await eventually(lambda: not stage.pool._servers, deadline_seconds=DEADLINE_SECONDS)


@contextlib.asynccontextmanager
async def _left(stage: Stage) -> AsyncIterator[int]:
    """Have a server that a dead agent has left, whose socket somebody holds still."""
    async with stage.serving():
        pid = stage.pid
        yield pid


async def test_what_a_dead_agent_has_left_is_ended_by_the_next(tmp_path: Path) -> None:
    stage = Stage(tmp_path, WHO)
    async with _left(stage) as pid:
        other = pools.Pool(tmp_path / "servers", tmp_path / "tools/fork_server.py")
        async with other.serving():
            await until_dead(pid)
            assert list((tmp_path / "servers").iterdir()) == []


async def test_it_ends_with_its_agent(tmp_path: Path) -> None:
    stage = Stage(tmp_path, WHO)
    async with stage.serving():
        pid = stage.pid
        (server,) = stage.pool._servers
        server._socket.close()  # as the system does for a process that is killed
        await until_dead(pid)


async def test_units_share_the_server_of_an_environment_that_they_share(tmp_path: Path) -> None:
    shared = environment(tmp_path / "shared")
    first, second = (Stage(tmp_path / name, f"{WHO}print(os.getcwd())\n", shared=shared) for name in ("one", "two"))
    second.pool = first.pool
    async with first.serving():
        for stage in (first, second):
            assert await _parent(stage) == first.pid
            assert stage.lines[1] == ("STDOUT", str(stage.charm))
