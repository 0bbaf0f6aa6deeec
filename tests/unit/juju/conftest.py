"""Juju's command line with a fake server, and with applications there."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.juju.stage import JujuLine, Site

from support.unit_agent import Agent
from tinkwell.client import Client


@pytest.fixture
def juju(tmp_path: Path) -> Iterator[JujuLine]:
    folder = tmp_path / "juju"
    folder.mkdir()
    with JujuLine(folder) as command_line:
        yield command_line


@pytest.fixture
def site(juju: JujuLine, tmp_path: Path) -> Site:
    return Site(juju, tmp_path)


@pytest.fixture
def deployed(site: Site) -> Site:
    """The application web has two units, pg one, and they are related."""

    async def deploy(client: Client, agent: Agent) -> None:
        options = {"title": "first"}
        await client.applications.deploy("web", site.web, units=2, config=options, anywhere=True, profile="JUJU")
        await client.applications.deploy("pg", site.pg, anywhere=True, profile="JUJU")
        await agent.run()
        await client.applications.relate("web", "pg")
        await agent.run()

    site.work(deploy)
    return site
