"""A chart of three batches of things, brought about step by step, and what the events tell of that."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.chart_stage import Files, chart, packed, thing
from support.release_stage import SECONDS, Stage
from tinkwell.client import OperationHandle
from tinkwell.core.event.kinds import ResourceType, State
from tinkwell.core.release.kinds import NodeKind, NodeState, NodeTask
from tinkwell.core.release.walk import BEGUN

Things = Mapping[str, Any]


def three(text: str = "one", *, a: Things | None = None, b: Things | None = None, own: Things | None = None) -> Files:
    """Give a chart `shop` of which `b` comes after `a`, and the chart itself after `b`; each has a thing of its name.

    The arguments are what else is in each, or what is there in the place of these things.
    """
    first = chart("a", {"a": thing("a", text), **(a or {})})
    second = chart("b", {"b": thing("b", text), **(b or {})})
    return chart(
        "shop",
        {"own": thing("own", text), **(own or {})},
        subcharts={"a": first, "b": second},
        dependencies={"b": {"depends-on": ["a"]}},
        waits_for=("b",),
    )


async def install(stage: Stage, files: Files, **options: Any) -> OperationHandle:
    """Begin to install a chart as `shop`."""
    values = {"global": {"folder": str(stage.folder)}}
    return await stage.client.releases.install("shop", packed(files), values=values, **options)


async def upgrade(stage: Stage, files: Files, **options: Any) -> OperationHandle:
    """Begin to upgrade `shop`."""
    return await stage.client.releases.upgrade("shop", packed(files), **options)


async def told(stage: Stage, operation_id: str) -> list[tuple[str, NodeState, NodeTask]]:
    """Return what the nodes of an operation became but events, in the order of the event log, up to its end."""
    found: list[tuple[str, NodeState, NodeTask]] = []
    types = [ResourceType.NODE, ResourceType.OPERATION]
    async with (
        asyncio.timeout(SECONDS),
        stage.client.releases.watch(from_revision=1, resource_types=types) as watch,
    ):
        async for event in watch:
            data = event.data
            if event.resource_id == operation_id and State(data["state"]).is_final:
                return found
            is_node = event.resource_type is ResourceType.NODE and data["kind"] != NodeKind.EVENT
            if is_node and data["operation_id"] == operation_id:
                found.append((data["path"], NodeState(data["state"]), NodeTask(data["task"])))
    raise AssertionError("the watch ended")


async def order(stage: Stage, operation_id: str, task: NodeTask = NodeTask.INSTALL) -> list[str]:
    """Return the resources that an operation began with, in the order in which it did."""
    events = await told(stage, operation_id)
    return [path for path, state, what in events if state in BEGUN and what is task and ":" in path]


async def tinkwell(stage: Stage, *arguments: str) -> tuple[int, str]:
    """Run the command to its end; returns its exit code, and what it printed."""
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("tinkwell")),
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "TINKWELL_SERVER": stage.address, "NO_COLOR": "1"},
    )
    try:
        async with asyncio.timeout(SECONDS):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, output.decode()


def archive_file(stage: Stage, files: Files) -> str:
    """Write the archive of a chart, and return its path."""
    file = stage.path / "chart.tgz"
    file.write_bytes(packed(files))
    return str(file)
