"""A charm with an ops of its own, which is quick to load, and programs of it that are started or forked."""

import asyncio
import contextlib
import functools
import os
import sys
import venv
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from support.waiting import eventually
from tinkwell.provisioner.runtime.process import identity
from tinkwell.provisioner.unit.script import Ending, Script
from tinkwell.provisioner.unit.tool import installation
from tinkwell.provisioner.unit.warm.pool import Pool

DEADLINE_SECONDS = 60.0
DIGEST = "sha256:1"
PLAIN = '#!/bin/sh\nJUJU_DISPATCH_PATH="${JUJU_DISPATCH_PATH:-$0}" PYTHONPATH=lib:venv \\\n  exec ./src/charm.py\n'
WHOLE = """\
#!/bin/sh
dispatch_path="$(dirname $(realpath $0))"
python_path="${dispatch_path}/venv/bin/python"
if [ ! -e "${python_path}" ]; then
    mkdir -p "${dispatch_path}/venv/bin"
    ln -s $(which python3) "${python_path}"
fi

# Where modules are.
export PYTHONPATH="${dispatch_path}/lib:${dispatch_path}/src"

export LD_LIBRARY_PATH="${dispatch_path}/usr/lib:${dispatch_path}/lib:${dispatch_path}/usr/lib/$(uname -m)-linux-gnu"

exec "${python_path}" "${dispatch_path}/src/charm.py"
"""
OPS = "import json, logging, random, sqlite3, subprocess, threading\n"
PYTHON = Path(os.path.realpath(sys.executable)).parent


class Stage:
    """A unit's folder. `text` is its charm's program, and `ops` what it imports under that name.

    `shared` is an environment that other units of the charm have, too, with its packages; see `environment`.
    """

    def __init__(
        self, folder: Path, text: str = "", *, ops: str = OPS, dispatch: str = PLAIN, shared: Path | None = None
    ) -> None:
        self.charm = folder / "charm"
        self.python = PYTHON if shared is None else shared / "bin"
        self.pool = Pool(folder / "servers", installation.install_server(self._made(folder / "tools")))
        self.lines: list[tuple[str, str]] = []
        # It is set by the first line, where there is one.
        self.stop: asyncio.Event | None = None
        for each in ("src", "lib", *([] if shared else ["venv/ops", "venv/bin"])):
            (self.charm / each).mkdir(parents=True)
        self.write("src/charm.py", "#!/usr/bin/env python3\nimport ops\n" + text)
        self.write("dispatch", dispatch)
        if shared is not None:
            (self.charm / "venv").symlink_to(shared)
            return
        # The second form of a dispatch has no packages of a folder that is not Python's own.
        self.write("src/ops.py" if dispatch == WHOLE else "venv/ops/__init__.py", ops)
        (self.charm / "venv/bin/python").symlink_to(PYTHON / "python3")

    def write(self, name: str, text: str) -> None:
        """Write a file of the charm."""
        path = self.charm / name
        path.write_text(text)
        path.chmod(0o755)

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Have fork servers, the charm's among them, until the block ends."""
        async with self.pool.serving():
            await self.warm()
            yield

    async def warm(self) -> None:
        """Wait until the charm has a fork server."""
        assert await self.pool.fork(self.script(), DIGEST, self.python) is None
        await eventually(lambda: self.server is not None, deadline_seconds=DEADLINE_SECONDS)

    @property
    def server(self) -> object:
        """The charm's fork server; None where it has none."""
        return next((place.server for place in self.pool._places.values()), None)

    @property
    def pid(self) -> int:
        """The number of the only fork server that there is."""
        (name,) = [path.read_text() for path in (self.charm.parent / "servers").iterdir()]
        return int(name.split()[1])

    def script(
        self, *, is_warm: bool = True, timeout_seconds: float = 30.0, environment: Mapping[str, str] | None = None
    ) -> Script:
        """Return how the charm's program is run."""
        return Script(
            argv=[str(self.charm / "dispatch")],
            environment={
                "PATH": f"{self.python}:/usr/bin:/bin",
                "HOME": "/root",
                "LANG": "C.UTF-8",
                "JUJU_DISPATCH_PATH": "hooks/install",
                **(environment or {}),
            },
            folder=self.charm,
            record=self.charm.parent / "process",
            timeout_seconds=timeout_seconds,
            stop=self.stop,
            fork=functools.partial(self.pool.fork, digest=DIGEST, python=self.python) if is_warm else None,
        )

    async def run(self, script: Script) -> Ending:
        """Run a program to its end."""
        return await script.run(self.hear)

    async def hear(self, stream: str, line: str) -> None:
        """Take a line."""
        self.lines.append((stream, line))
        if self.stop is not None:
            self.stop.set()

    def _made(self, folder: Path) -> Path:
        folder.mkdir(parents=True)
        return folder


def environment(folder: Path) -> Path:
    """Make a virtual environment with that ops in it."""
    venv.create(folder, symlinks=True)
    path = folder / f"lib/python3.{sys.version_info.minor}/site-packages/ops"
    path.mkdir()
    (path / "__init__.py").write_text(OPS)
    return folder


async def until_dead(pid: int) -> None:
    """Wait for a process's end."""
    await eventually(lambda: not identity.of(pid), deadline_seconds=DEADLINE_SECONDS)
