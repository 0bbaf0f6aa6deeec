"""What tests of tasks share: an application with actions, and an agent that runs its unit."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from support import application_site
from support.application_site import Site
from support.unit_site import Agent
from tinkwell.api.v1 import application_service_pb2 as pb

MANIFEST = """\
name: web
requires: {db: {interface: postgresql}}
peers: {cluster: web}
actions:
  backup:
    description: Writes a copy
    params:
      target: {type: string, default: disk}
      level: {type: integer}
    required: [level]
    additionalProperties: false
  ping: {}
"""


@dataclass
class Stage:
    """One unit that has started, and its agent."""

    site: Site
    agent: Agent
    unit: str

    async def run(self, action: str = "ping", **more: Any) -> pb.Task:
        """Ask for a task."""
        return await self.site.apps.RunTask(pb.RunTaskRequest(unit="web/0", action=action, **more))

    async def task(self, task: pb.Task) -> pb.Task:
        """Look at a task."""
        return await self.site.apps.GetTask(pb.GetTaskRequest(id=task.id))

    async def state(self, task: pb.Task) -> str:
        """Return the state of a task, and what it says."""
        found = await self.task(task)
        return f"{pb.TaskState.Name(found.state).removeprefix('TASK_STATE_')} {found.message}".rstrip()

    async def names(self) -> list[str]:
        """Return the names of the log's events of tasks."""
        found = await self.site.sql.fetch("SELECT name FROM events WHERE resource_type = 'TASK' ORDER BY revision")
        return [row["name"] for row in found]


@pytest.fixture
async def stage(database_url: str) -> AsyncIterator[Stage]:
    """A unit that has nothing due."""
    async with application_site.open_site(database_url, allows_commands=True) as site:
        await site.deploy(MANIFEST, "web")
        agent = await site.agent()
        await site.run(agent, "web/0")
        yield Stage(site, agent, (await site.unit("web/0")).id)
