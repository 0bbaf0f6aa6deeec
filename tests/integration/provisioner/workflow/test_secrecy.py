"""What an action that runs as a process gets to know of who runs it."""

import asyncio
import contextlib
import dataclasses
import os
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from support import other_account
from support.waiting import eventually
from tinkwell.client import testing
from tinkwell.client.workflow.model import Action, Workflow
from tinkwell.core.event.kinds import State

MACHINE = str(uuid.UUID(int=1))
TOKEN = "a-token-of-the-provisioner"
# It looks into all processes, and then at the memory of the provisioner.
SCRIPT = f"""#!/bin/sh
if grep -qsa {TOKEN} /proc/[0-9]*/environ; then echo environment; exit 3; fi
for process in /proc/[0-9]*; do
  grep -qsazx tinkwell.provisioner $process/cmdline || continue
  if head -c 0 $process/mem 2>/dev/null; then echo memory; exit 4; fi
done
"""

pytestmark = other_account.as_root


@pytest.fixture
async def server() -> AsyncIterator[testing.FakeServer]:
    async with testing.FakeServer() as server:
        yield server


@pytest.fixture
def folder() -> Iterator[Path]:
    with other_account.folder() as folder:
        entry_point = folder / "images" / "look" / "run"
        entry_point.parent.mkdir(parents=True)
        entry_point.write_text(SCRIPT)
        entry_point.chmod(0o755)
        (folder / "home").mkdir()
        yield folder


@contextlib.asynccontextmanager
async def provisioner(
    folder: Path, server: testing.FakeServer, *arguments: str, account: str | None = None
) -> AsyncIterator[None]:
    """Run a provisioner, as another account if one is given."""
    options = ["--server", server.address, "--runtime", "process", "--state-dir", str(folder / "home" / "state")]
    options += ["--process-images", str(folder / "images"), "--agent-for", "all", *arguments]
    places = [path for path in sys.path if path.endswith("site-packages") or (Path(path) / "tinkwell").is_dir()]
    if account is not None:
        other_account.skip_unless_it_imports("tinkwell.provisioner.app", places)
    environment = {"PATH": os.defpath, "TINKWELL_TOKEN": TOKEN, "PYTHONPATH": ":".join(places)}
    who: dict[str, Any] = (
        {} if account is None else {"user": account, "group": other_account.found().gid, "extra_groups": []}
    )
    program = sys.executable if account is None else other_account.python()
    process = await asyncio.create_subprocess_exec(
        program, "-m", "tinkwell.provisioner", *options, env=environment, cwd="/", **who
    )
    try:
        yield
    finally:
        process.terminate()
        async with asyncio.timeout(30):
            await process.wait()


async def look(server: testing.FakeServer) -> tuple[State, list[str]]:
    """Have an action look around; return how it has ended, and what it has said."""
    workflow = server.put(Workflow(str(uuid.uuid4()), total_actions=1))
    looking = Action(str(uuid.uuid4()), image="look", worker_id=MACHINE)
    server.put(dataclasses.replace(looking, workflow_id=workflow.id, index=0, task_name="task", name="look"))
    ends = (State.SUCCEEDED, State.FAILED)
    await eventually(lambda: server.world.find(Workflow, workflow.id).state in ends, deadline_seconds=60)
    said = [line.text for line in server.world.lines.get(workflow.id, [])]
    return server.world.find(Workflow, workflow.id).state, said


async def test_an_action_of_the_provisioner_s_own_account_reads_neither_environment_nor_memory(
    server: testing.FakeServer, folder: Path
) -> None:
    other = other_account.found()
    os.chown(folder / "home", other.uid, other.gid)
    async with provisioner(folder, server, account=other.name):
        assert await look(server) == (State.SUCCEEDED, [])


async def test_an_action_of_another_account_does_not_either(server: testing.FakeServer, folder: Path) -> None:
    async with provisioner(folder, server, "--process-user", other_account.NAME):
        assert await look(server) == (State.SUCCEEDED, [])
