"""Applications at the command line's server, and an agent that runs their events."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

import tinkwell.client
from support.command_line import CommandLine
from support.unit_agent import PG, WEB, Agent
from tinkwell.client import Client
from tinkwell.client.unit.model import UnitStatus

T = TypeVar("T")


class Site:
    """The command line, and an agent that does what a test says."""

    def __init__(self, cli: CommandLine, folder: Path) -> None:
        self.cli = cli
        self.web = self._charm(folder, "web", WEB)
        self.pg = self._charm(folder, "pg", PG)

    def work(self, act: Callable[[Client, Agent], Awaitable[T]]) -> T:
        """Do something to the server as its client and as an agent."""

        async def connected() -> T:
            async with tinkwell.client.connect(self.cli.fake.address) as client:
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

    def say(self, unit: str, name: str, message: str = "") -> None:
        """Have a unit say how it is."""

        async def act(client: Client, agent: Agent) -> None:
            found = await client.applications.unit(unit)
            await client.units.set_status(agent.token, found.id, status=UnitStatus(name, message))

        self.work(act)

    def _charm(self, folder: Path, name: str, manifest: str) -> str:
        path = folder / name
        path.mkdir()
        (path / "charm.yaml").write_text(manifest)
        return str(path)


@pytest.fixture
def site(cli: CommandLine, tmp_path: Path) -> Site:
    return Site(cli, tmp_path)


@pytest.fixture
def deployed(site: Site) -> Site:
    """The application web has two units, pg one, and they are related."""
    site.cli.ok("app", "deploy", "web", site.web, "-u", "2", "--to", "anywhere", "--config", "title=first")
    site.cli.ok("app", "deploy", "pg", site.pg, "--to", "anywhere")
    site.run()
    site.cli.ok("app", "relate", "web", "pg")
    site.run()
    return site
