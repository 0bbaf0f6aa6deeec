"""An agent that does what a test says, and the charms that it runs."""

import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import cast

from tinkwell.client import Client, Grant, NoEvent, Unit
from tinkwell.core.charm import package
from tinkwell.core.charm.package import NewFile
from tinkwell.core.unit.effect import NO_EFFECTS, Effects, TaskOutcome
from tinkwell.core.unit.kinds import TaskState

WEB = """\
name: web
summary: Serves a page
requires:
  db: {interface: sql}
peers:
  cluster: {interface: web}
config:
  options:
    workers: {type: int, default: 2, minimum: 1}
    title: {type: string}
storage:
  data: {type: filesystem, multiple: {range: 0-}}
actions:
  backup:
    description: Write everything into a file
    params:
      target: {type: string}
      level: {type: integer, default: 3, minimum: 1}
    required: [target]
    additionalProperties: false
"""
PG = """\
name: pg
provides:
  db: {interface: sql}
"""

Handler = Callable[[Grant], Effects | str]
Action = Callable[[Grant], tuple[TaskOutcome, Effects]]
DONE = TaskOutcome(state=TaskState.SUCCEEDED)


def charm(manifest: str, **files: str) -> bytes:
    """Pack a charm of scripts."""
    hooks = [NewFile(f"hooks/{name}", text.encode(), is_executable=True) for name, text in files.items()]
    return package.pack([NewFile("charm.yaml", manifest.encode()), *hooks])


class Agent:
    """Runs the events of units, also of those on no machine: a handler gives effects, or why it has failed."""

    def __init__(self, client: Client, token: int, machines: Sequence[str]) -> None:
        self.client = client
        self.token = token
        self.machines = machines
        self.told: list[tuple[str, str]] = []
        self.handlers: dict[str, Handler] = {}
        self.actions: dict[str, Action] = {}

    @classmethod
    async def enter(
        cls, client: Client, owner: str = "agent", *, engine: str = "here", machines: Sequence[str] = ()
    ) -> "Agent":
        """Begin a lease, and say what it serves."""
        agent = cls(client, (await client.work.acquire(owner, engine)).token, machines)
        await agent.unit_ids()
        return agent

    async def unit_ids(self) -> tuple[str, ...]:
        """Say what it serves, and return the units that are named at first."""
        wakes = self.client.units.wakes(self.token, kinds=["SCRIPTS"], machines=self.machines, anywhere=True)
        async with contextlib.aclosing(cast(AsyncGenerator[tuple[str, ...], None], wakes)) as found:
            return await anext(found)

    def events(self, unit: str) -> list[str]:
        """Return the names of the events that were run for a unit."""
        return [event for name, event in self.told if name == unit]

    async def run(self) -> None:
        """Run everything that is due for any unit, until nothing is."""
        is_idle = False
        while not is_idle:
            is_idle = True
            async for unit in self.client.applications.units():
                # A test on a busy machine may take longer than a lease lives.
                await self.client.work.renew(self.token)
                is_idle = not await self.run_unit(unit) and is_idle

    async def run_unit(self, unit: Unit) -> bool:
        """Run what is due for a unit; whether anything was."""
        following = await self.client.units.next_event(self.token, unit.id)
        has_run = False
        while isinstance(following, Grant) or following.due_in_seconds == 0.0:
            if isinstance(following, NoEvent):
                following = await self.client.units.next_event(self.token, unit.id)
                continue
            has_run = True
            following = await self.run_grant(following)
        return has_run

    async def run_grant(self, grant: Grant) -> Grant | NoEvent:
        """Run one event, or one task, which is told by the name of its action."""
        if grant.task is not None:
            return await self.run_task(grant, grant.task.name)
        self.told.append((grant.unit, grant.event.name))
        handler = self.handlers.get(grant.event.name)
        left = handler(grant) if handler is not None else NO_EFFECTS
        event = grant.event
        if isinstance(left, str):
            return await self.client.units.fail(self.token, event.id, event.attempt, left)
        return await self.client.units.commit(self.token, event.id, event.attempt, left)

    async def run_task(self, grant: Grant, name: str) -> Grant | NoEvent:
        """Run one task."""
        self.told.append((grant.unit, f"task {name}"))
        action = self.actions.get(name)
        outcome, left = action(grant) if action is not None else (DONE, NO_EFFECTS)
        return await self.client.units.commit(self.token, grant.event.id, 1, left, task=outcome)


async def deploy(client: Client, *names: str, units: int = 1, config: Mapping[str, object] | None = None) -> Agent:
    """Deploy web, pg or both, and run their setup."""
    agent = await Agent.enter(client)
    for name in names:
        manifest = {"web": WEB, "pg": PG}[name]
        await client.applications.deploy(name, charm(manifest), units=units, anywhere=True, config=config)
    await agent.run()
    return agent
