"""Charms that misbehave: their event ends as it should, warm and cold, and the agent goes on with the next one."""

import asyncio
import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import real_agent, tiny_charm, warm
from support.unit_server import UnitServer
from support.waiting import eventually
from tinkwell.core.charm.package import NewFile
from tinkwell.core.unit import limit
from tinkwell.provisioner.runtime.process import identity
from tinkwell.provisioner.unit import script

DEADLINE_SECONDS = 60.0
PROGRAM = """\
#!/usr/bin/env python3
import os, ops
if os.environ["JUJU_HOOK_NAME"] != "install":
    raise SystemExit(0)
"""


@pytest.fixture(params=[False, True], ids=["cold", "warm"])
def is_warm(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[bool]:
    """Whether events are forked; then all of them must have been."""
    forked = warm.wait_for_servers(monkeypatch)
    yield request.param
    assert bool(forked) == request.param


def _server(text: str) -> UnitServer:
    """Make a server whose charm does this when it is installed, and nothing at what comes after it."""
    server = UnitServer(["install", "start"], {})
    server.deploy(
        [
            NewFile("metadata.yaml", b"name: web\nsummary: a\ndescription: b\n"),
            NewFile("dispatch", tiny_charm.DISPATCH, True),
            NewFile("src/charm.py", (PROGRAM + text).encode(), True),
            # They are quicker to load than the real ones.
            NewFile("venv/ops/__init__.py", b"import json, logging, sqlite3\n"),
            NewFile("venv/yaml.py", b""),
        ]
    )
    return server


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos._exit(0)\n",
        "import threading, time\nthreading.Thread(target=time.sleep, args=(0.3,)).start()\n",
        "import os\nos.closerange(0, 256)\n",
        "import os\nos.write(1, b'x' * 3_000_000)\n",
        "import os\nos.write(1, b'\\xff\\x00' * 1000 + b'\\n')\n",
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(30)\n",
    ],
    ids=["_exit", "threads", "closes its files", "one long line", "no text", "leaves a daemon"],
)
async def test_what_succeeds_in_its_own_way_is_a_success(tmp_path: Path, is_warm: bool, text: str) -> None:
    server = _server(text)
    async with real_agent.serving(server, tmp_path / "units", is_cold=not is_warm):
        await eventually(lambda: server.is_over, deadline_seconds=DEADLINE_SECONDS)
    assert server.state.committed == [("install", 1), ("start", 1)]


@pytest.mark.parametrize(
    "text, reason",
    [
        ("import os\nos._exit(3)\n", "exit 3"),
        ("raise ValueError('no')\n", "exit 1"),
        ("import os\nos.close(2)\nos.abort()\n", ""),
    ],
    ids=["_exit", "raises", "aborts"],
)
async def test_what_fails_in_its_own_way_is_a_failure_or_lost(
    tmp_path: Path, is_warm: bool, text: str, reason: str
) -> None:
    server = _server(text)
    async with real_agent.serving(server, tmp_path / "units", is_cold=not is_warm):
        await eventually(
            lambda: bool(server.state.failures) or server.state.lost > 1, deadline_seconds=DEADLINE_SECONDS
        )
    assert not server.state.committed
    assert server.state.failures == ([reason] if reason else [])


async def test_who_ignores_being_asked_to_end_is_killed(
    tmp_path: Path, is_warm: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "TERM_SECONDS", 0.2)
    server = _server("import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(60)\n")
    server.timeout_seconds = 1.0
    async with real_agent.serving(server, tmp_path / "units", is_cold=not is_warm):
        await eventually(lambda: bool(server.state.failures), deadline_seconds=DEADLINE_SECONDS)
    assert server.state.failures == ["it took longer than 1 s, and was ended"]


async def test_of_endless_lines_the_first_are_kept(tmp_path: Path, is_warm: bool) -> None:
    server = _server("for _ in range(30_000):\n    print('more')\n")
    async with real_agent.serving(server, tmp_path / "units", is_cold=not is_warm):
        await eventually(lambda: server.is_over, deadline_seconds=DEADLINE_SECONDS)
    assert len(server.state.lines) == limit.LOG_LINES_PER_EVENT


async def test_a_state_that_is_no_file_any_more_fails_the_event(tmp_path: Path, is_warm: bool) -> None:
    server = _server("import os\nos.mkfifo('.unit-state.db')\n")
    async with real_agent.serving(server, tmp_path / "units", is_cold=not is_warm):
        await eventually(lambda: bool(server.state.failures), deadline_seconds=DEADLINE_SECONDS)
    what = "the state file of the charm, or the outcome of the event, cannot be used"
    assert server.state.failures == [f"{what}: .unit-state.db is no plain file any more"]


@pytest.mark.parametrize("starts_cold", [True, False])
async def test_an_agent_ends_the_fork_servers_that_a_dead_one_has_left(tmp_path: Path, starts_cold: bool) -> None:
    left = await asyncio.create_subprocess_exec("sleep", "3600")
    try:
        (tmp_path / "units/servers").mkdir(parents=True)
        (tmp_path / "units/servers/1").write_text(identity.of(left.pid))
        async with real_agent.serving(_server(""), tmp_path / "units", is_cold=starts_cold):
            assert await asyncio.wait_for(left.wait(), DEADLINE_SECONDS) == -signal.SIGKILL
    finally:
        with contextlib.suppress(ProcessLookupError):
            left.kill()
