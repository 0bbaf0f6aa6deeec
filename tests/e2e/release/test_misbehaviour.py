"""Images that do what none should do: each ends as it should, within bounds, and leaves nothing behind."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from e2e.release.conftest import Run

from support import release_stack
from support.release_stack import Outcome, Stack
from tinkwell.client import State

IMAGES = {"tinkwell-resource/misbehave:v1": release_stack.EXAMPLES / "resources" / "misbehave"}
MEBIBYTE = 1024**2
MOST_MEMORY = 170 * MEBIBYTE
MOST_DISK = 40 * MEBIBYTE
MOST_LINES = 10 * MEBIBYTE
# What is written in floods: more than the bounds of disk, and of memory beyond what a provisioner has at rest (84 MiB),
# together. As many as 1024 take a minute.
FLOOD = int(os.environ.get("FLOOD_MEBIBYTES", "160")) * MEBIBYTE
# One flood is of many short lines, the others are of fewer, since each line that is kept is a row.
WIDE = 1000
# Some 2 MiB once it is evaluated; a file of a manifest may have less.
LARGE = dict.fromkeys(("one", "two"), "{{ 'x' * 1000000 }}")


@dataclass(frozen=True)
class Case:
    """What a misbehaviour comes to: the end of the node, words of its message, and the end of the step it is about."""

    became: str
    message: str = ""
    step: State = State.SUCCEEDED
    config: dict[str, Any] = field(default_factory=dict)
    timeouts: dict[str, int] = field(default_factory=dict)


CASES = {
    "init-exit-3": Case("failed", "init FAILED (exit 3)", State.FAILED),
    "init-garbage": Case("failed", "its standard output must be one JSON object", State.FAILED),
    "init-two-documents": Case("failed", "something follows the JSON document", State.FAILED),
    "init-never": Case("failed", "init TIMEOUT", State.TIMEOUT, timeouts={"state": 2}),
    "init-flood-stdout": Case("failed", "more than 1,048,576 bytes", State.FAILED),
    "state-exit-7": Case("failed", "state FAILED (exit 7)", State.FAILED),
    "state-garbage": Case("failed", "state breaks the protocol", State.FAILED),
    "state-two-documents": Case("failed", "something follows the JSON document", State.FAILED),
    "state-never": Case("failed", "state TIMEOUT", State.TIMEOUT, timeouts={"state": 4}),
    "state-ignores-sigterm": Case("failed", "state TIMEOUT", State.TIMEOUT, timeouts={"state": 4}),
    "state-flood-stdout": Case("failed", "more than 1,048,576 bytes", State.FAILED),
    "state-flood-stderr": Case("changed", config={"bytes": FLOOD, "width": WIDE}),
    "state-unread": Case("changed", config=LARGE),
    "state-forks": Case("changed"),
    "state-workspace": Case("changed", config={"bytes": 60 * MEBIBYTE}),
    "state-never-valid": Case("failed", "it is still STALE after its actions"),
    "action-exit-7": Case("failed", "action make FAILED (exit 7)", State.FAILED),
    "action-garbage": Case("failed", "it is still STALE after its actions"),
    "action-never": Case("failed", "action make TIMEOUT", State.TIMEOUT, timeouts={"action": 2}),
    "action-flood-stdout": Case("changed", config={"bytes": FLOOD}),
    "action-flood-stderr": Case("changed", config={"bytes": 60 * MEBIBYTE, "width": WIDE}),
    "action-unread": Case("changed", config=LARGE),
    "action-forks": Case("changed"),
}


def manifest(name: str, case: Case) -> dict[str, Any]:
    resource = {"type": "tinkwell-resource/misbehave:v1", "config": case.config, "timeouts": case.timeouts}
    return {"plugs": {"files": {"path": "files"}}, "resources": {name: resource}}


def rounds() -> list[list[str]]:
    """What is tried at once: what waits for its time, what ends soon, and each by itself of what takes a lot."""
    waiting = [name for name, case in CASES.items() if case.timeouts]
    large = [name for name, case in CASES.items() if case.config or "flood" in name or "forks" in name]
    return [waiting, [name for name in CASES if name not in (*waiting, *large)], *([name] for name in large)]


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_each_ends_as_it_should_within_little_memory_and_disk(run: Run) -> None:
    async with run(IMAGES) as stack:
        for names in rounds():
            async with watched(stack, names):
                outcomes = await asyncio.gather(*(stack.apply(name, manifest(name, CASES[name])) for name in names))
            for name, outcome in zip(names, outcomes, strict=True):
                await check(stack, name, outcome)
            assert leftovers(stack) == [], names


async def check(stack: Stack, name: str, outcome: Outcome) -> None:
    """Hold what became of a resource to what is said of its case."""
    node, case = outcome.nodes[name], CASES[name]
    assert outcome.became == {name: case.became}, (name, node.message, outcome.operation.cause)
    assert case.message in node.message, (name, node.message)
    assert len(node.message) < 1000, name
    if case.step is not State.SUCCEEDED:
        assert outcome.broken(name).state is case.step, (name, node.steps)
    printed = await stack.printed(outcome.operation, name)
    assert sum(map(len, printed)) < len(node.steps) * MOST_LINES, name


async def test_a_removal_that_fails_is_told_and_repeated(run: Run) -> None:
    name = "destroy-exit-2"
    async with run(IMAGES) as stack:
        assert (await stack.apply("release", manifest(name, Case("changed")))).became == {name: "changed"}
        failed = await stack.uninstall("release")
        assert failed.operation.state is State.FAILED
        assert "destroy FAILED (exit 2)" in failed.nodes[name].message
        again = await stack.uninstall("release")
        assert again.became == {name: "failed"}
        assert (await stack.resources("release"))[name].status == "VALID"


@contextlib.asynccontextmanager
async def watched(stack: Stack, names: list[str]) -> AsyncIterator[None]:
    """Hold what is done meanwhile to the bounds of memory and disk; of the workspace, once it is gone."""
    most = 0

    async def measure() -> None:
        nonlocal most
        while True:
            most = max(most, await asyncio.to_thread(size, stack.state_dir))
            await asyncio.sleep(0.05)

    measuring = asyncio.create_task(measure())
    try:
        yield
    finally:
        measuring.cancel()
        await asyncio.gather(measuring, return_exceptions=True)
    if not (stack.is_process and "state-workspace" in names):
        assert most < MOST_DISK, f"{names} take {most:,} bytes"
    assert size(stack.state_dir) < MEBIBYTE, names
    assert memory(stack.provisioner.pid) < MOST_MEMORY, names


def size(folder: Path) -> int:
    """The bytes that files of a folder take on the disk; what goes meanwhile counts as nothing."""
    found = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            found += path.lstat().st_blocks * 512
    return found


def memory(pid: int) -> int:
    """The most memory that a process has had, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def leftovers(stack: Stack) -> list[str]:
    """The processes and the runs that are left of a process runtime."""
    runs = stack.state_dir / "runs"
    found = [path.name for path in runs.iterdir()] if runs.exists() else []
    for path in Path("/proc").glob("[0-9]*/environ") if stack.is_process else ():
        with contextlib.suppress(OSError):
            if str(stack.state_dir).encode() in path.read_bytes() and path.parent.name != str(stack.provisioner.pid):
                found.append(path.parent.name)
    return found
