"""Juju's command line with a fake server, and an agent that runs the events of its applications."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from click.testing import CliRunner, Result

import tinkwell.client
from support.command_line import CommandLine
from support.unit_agent import PG, WEB, Agent
from tinkwell.client import Client
from tinkwell.juju.main import main

T = TypeVar("T")


class JujuLine(CommandLine):
    """The `tinkwell-juju` command in this process, and a fake server for it."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def run(
        self,
        *args: str,
        stdin: str | bytes | None = None,
        env: Mapping[str, str | None] | None = None,
    ) -> Result:
        """Run the command line to its end."""
        own = {"TINKWELL_SERVER": self.fake.address, "JUJU_DATA": str(self.folder), "JUJU_MODEL": None}
        return CliRunner().invoke(main, args, input=stdin, env={**own, **(env or {})})

    def ok(self, *args: str, stdin: str | bytes | None = None) -> str:
        """Run a command line that must succeed; gives its output, without what it says about its work."""
        result = self.run(*args, stdin=stdin)
        assert result.exit_code == 0, result.output
        return result.stdout

    def notes(self, *args: str) -> str:
        """Run a command line that must succeed; gives what it says about its work."""
        result = self.run(*args)
        assert result.exit_code == 0, result.output
        return result.stderr

    def json(self, *args: str) -> Any:
        """Run a command line with `--format json`; gives what it printed, which must be one line."""
        (line,) = self.ok(*args, "--format", "json").splitlines()
        return json.loads(line)


class Site:
    """The command line, two charms, and an agent that does what a test says."""

    def __init__(self, juju: JujuLine, folder: Path) -> None:
        self.juju = juju
        self.web = self.charm(folder, "web", WEB)
        self.pg = self.charm(folder, "pg", PG)

    def work(self, act: Callable[[Client, Agent], Awaitable[T]]) -> T:
        """Do something to the server as its client and as an agent."""

        async def connected() -> T:
            async with tinkwell.client.connect(self.juju.fake.address) as client:
                return await act(client, await Agent.enter(client))

        return asyncio.run(connected())

    def run(self) -> list[tuple[str, str]]:
        """Run all that is due; gives which events of which units that was."""

        async def act(_: Client, agent: Agent) -> list[tuple[str, str]]:
            await agent.run()
            return agent.told

        return self.work(act)

    def fail(self, event: str, message: str) -> None:
        """Run all that is due, but let one kind of event fail."""

        async def act(_: Client, agent: Agent) -> None:
            agent.handlers[event] = lambda _: message
            await agent.run()

        self.work(act)

    def charm(self, folder: Path, name: str, manifest: str) -> str:
        """Write the folder of a charm, and give its path."""
        path = folder / name
        path.mkdir()
        (path / "charm.yaml").write_text(manifest)
        return str(path)
