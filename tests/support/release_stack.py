"""Releases of real resource images: a provisioner as a process, what it is to bring about, and what comes of it."""

import contextlib
import json
import os
import sys
import urllib.parse
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from support import process
from tinkwell.client import Client, Node, Operation, ReleaseFailed, Step
from tinkwell.client.release.model import OperationOptions, Resource
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeKind, NodeState, StepKind
from tinkwell.server.app.dev import binaries

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
# The images of the examples, under the names that their manifests give them.
IMAGES = EXAMPLES / "demo" / "images"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an operation came to, and its nodes with their steps by path, in the order of the plan."""

    operation: Operation
    nodes: Mapping[str, Node]

    @property
    def became(self) -> dict[str, str]:
        """What became of each chart, resource and hook: `changed`, `unchanged`, `removed`, `left`, `failed` or `skipped`."""
        return {path: _word(node) for path, node in self.nodes.items() if node.kind is not NodeKind.EVENT}

    def steps(self, path: str) -> list[str]:
        """What was called of a resource, such as `STATE state` or `ACTION create-role`, in order."""
        return [f"{step.kind} {step.name}" for step in self.nodes[path].steps]

    def actions(self, path: str) -> list[str]:
        """The actions of a resource, in order."""
        return [step.name for step in self.nodes[path].steps if step.kind is StepKind.ACTION]

    def broken(self, path: str) -> Step:
        """The step by which a node has failed."""
        return next(step for step in self.nodes[path].steps if step.state not in (State.SUCCEEDED, State.PENDING))


def _word(node: Node) -> str:
    if node.state is NodeState.READY:
        return "changed" if node.changed else "unchanged"
    return node.state.lower()


class Stack:
    """A server, and a provisioner for it with its state directory; `is_process` says which runtime that has."""

    def __init__(self, client: Client, provisioner: process.Process, state_dir: Path, *, is_process: bool) -> None:
        self.client = client
        self.provisioner = provisioner
        self.state_dir = state_dir
        self.is_process = is_process

    async def apply(
        self,
        name: str,
        manifest: object,
        variables: Mapping[str, Any] | None = None,
        **options: Unpack[OperationOptions],
    ) -> Outcome:
        """Apply a manifest, given as JSON, as a text, or as several of these, and wait for the end."""
        handle = await self.client.releases.apply(name, files=_files(manifest), variables=variables or {}, **options)
        return await self.outcome(await self._end(handle))

    async def install(
        self,
        name: str,
        chart: Path | bytes,
        values: Mapping[str, Any] | None = None,
        **options: Unpack[OperationOptions],
    ) -> Outcome:
        """Install a chart, and wait for the end."""
        handle = await self.client.releases.install(name, chart, values=values or {}, **options)
        return await self.outcome(await self._end(handle))

    async def upgrade(
        self,
        name: str,
        chart: Path | bytes,
        values: Mapping[str, Any] | None = None,
        **options: Unpack[OperationOptions],
    ) -> Outcome:
        """Upgrade to a chart, and wait for the end."""
        handle = await self.client.releases.upgrade(name, chart, values=values or {}, **options)
        return await self.outcome(await self._end(handle))

    async def uninstall(self, name: str) -> Outcome:
        """Uninstall a release, and wait for the end."""
        return await self.outcome(await self._end(await self.client.releases.uninstall(name)))

    async def outcome(self, operation: Operation) -> Outcome:
        """Look at what became of an operation's resources."""
        return Outcome(operation, {node.path: node async for node in self.client.releases.nodes(operation.id)})

    async def resources(self, name: str) -> dict[str, Resource]:
        """The resources of a release, by path."""
        return {found.path: found async for found in self.client.releases.resources(name)}

    async def state(self, name: str, path: str) -> dict[str, Any]:
        """The state of a resource as it was seen last."""
        found = (await self.resources(name))[path].state
        assert found is not None
        return found

    async def printed(self, operation: Operation, path: str) -> list[str]:
        """What the calls of a resource printed, but for their answers."""
        return [line.text async for line in self.client.releases.logs(operation.id, path=path)]

    async def _end(self, handle: Any) -> Operation:
        try:
            ended: Operation = await handle.result()
        except ReleaseFailed as failure:
            return failure.operation
        return ended


def _files(manifest: object) -> dict[str, str]:
    parts = manifest if isinstance(manifest, list) else [manifest]
    texts = [part if isinstance(part, str) else json.dumps(part) for part in parts]
    return {f"{number}.yaml": text for number, text in enumerate(texts)}


@contextlib.asynccontextmanager
async def running(
    client: Client,
    server_address: str,
    folder: Path,
    *,
    images: Path | None = IMAGES,
    options: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[Stack]:
    """Run a provisioner for the releases of a server: of processes, or where `images` are None, of containers."""
    runtime = ("--runtime", "docker") if images is None else ("--runtime", "process", "--process-images", str(images))
    command = ("provisioner", "--server", server_address, "--releases", "all", "--state-dir", str(folder / "state"))
    found = {"PATH": path(), **(environment or {})}
    async with process.running(
        *command, *runtime, *options, log=folder / "provisioner.log", environment=found
    ) as provisioner:
        await provisioner.line("releases are watched")
        yield Stack(client, provisioner, folder / "state", is_process=images is not None)


def path() -> str:
    """The PATH on which the programs are that images call: `python3`, `tinkwell`, and `psql`."""
    programs = binaries.find(Path(os.environ["PG_BIN"]) if os.environ.get("PG_BIN") else None).directory
    return os.pathsep.join([str(Path(sys.executable).parent), str(programs), os.environ["PATH"]])


def postgres(database_url: str) -> dict[str, Any]:
    """The `server` of the images for PostgreSQL, for the cluster of a URL."""
    parts = urllib.parse.urlsplit(database_url)
    query = dict(urllib.parse.parse_qsl(parts.query))
    found = {
        "host": query.get("host") or parts.hostname,
        "port": int(query.get("port") or parts.port or 5432),
        "user": urllib.parse.unquote(parts.username or ""),
        "password": urllib.parse.unquote(parts.password or ""),
        "database": parts.path.lstrip("/"),
    }
    return {key: value for key, value in found.items() if value}


def link_images(folder: Path, images: Mapping[str, Path]) -> Path:
    """Make a folder of images for the process runtime, of folders that are elsewhere, by the images' names."""
    for name, found in images.items():
        link = folder / name.partition(":")[0]
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(found, target_is_directory=True)
    return folder
