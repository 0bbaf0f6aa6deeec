"""Many who ask at once while agents run: each is answered or refused for a reason, and nothing is left in the end."""

import asyncio
import json
import random
from collections.abc import Awaitable, Callable

import grpc.aio

from support import edge
from support.application_site import PG, WEB, Site
from support.unit_site import Agent
from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.core.unit.invariant import audit
from tinkwell.core.unit.world.state import LogEntry

# What a request may be refused for by what others have asked for meanwhile.
_REASONS = {
    "LEASE_LOST",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "ILLEGAL_TRANSITION",
    "ENDPOINT_MISMATCH",
    "UNIT_IN_ERROR",
    "LOST_RACE",
}
_APPLICATIONS = ("web", "web-two", "pg", "pg-two")
_REQUESTS = 30
_ASKERS = 4


async def test_many_ask_at_once(site: Site) -> None:
    agent = await site.agent()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(run_all(site, agent), name="agent")
        await asyncio.gather(*(ask(site, random.Random(seed)) for seed in range(_ASKERS)))
        running.cancel()
    for name in _APPLICATIONS:
        await answered(site.apps.Remove(pb.RemoveRequest(application=name)))
    async with asyncio.timeout(120):
        while units := await listed(site):
            await agent.run(*units)
            await site.agents.rounds.run_once()
    assert not await site.left()
    assert audit(await entries(site), is_at_rest=True) == []


async def entries(site: Site) -> list[LogEntry]:
    """Return the log as a watcher has it."""
    return [
        LogEntry(
            revision=row["revision"],
            resource_type=row["resource_type"],
            event_type=row["event_type"],
            resource_id=str(row["resource_id"]),
            parent_id=str(row["parent_id"] or ""),
            data=json.loads(row["data"]),
        )
        for row in await site.sql.fetch("SELECT * FROM events ORDER BY revision")
    ]


async def ask(site: Site, chance: random.Random) -> None:
    """Ask for one thing after another."""
    for _ in range(_REQUESTS):
        await answered(chance.choice(_ASKED)(site, chance))


async def answered(call: Awaitable[object]) -> None:
    """Wait for the answer; a refusal must be one that others can have caused."""
    try:
        await call
    except grpc.aio.AioRpcError as error:
        refused = edge.refusal(error)
        if not refused.details or refused.reason not in _REASONS:
            raise AssertionError(refused) from error


async def run_all(site: Site, agent: Agent) -> None:
    """Run what is due to units, one after another; a unit may be gone, and an event may be somebody else's."""
    while True:
        for unit_id in await listed(site):
            try:
                if (await agent.next(unit_id)).HasField("grant"):
                    await agent.commit(unit_id)
            except grpc.aio.AioRpcError as error:
                if (refused := edge.refusal(error)).reason not in _REASONS:
                    raise AssertionError(refused) from error


async def listed(site: Site) -> list[str]:
    """The ids of all units."""
    return [each.id async for each in site.apps.ListUnits(pb.ListUnitsRequest())]


async def deploy(site: Site, chance: random.Random) -> None:
    name = chance.choice(_APPLICATIONS)
    await site.deploy(PG if name.startswith("pg") else WEB, name, chance.randint(0, 2))


async def add(site: Site, chance: random.Random) -> None:
    request = pb.AddUnitsRequest(application=chance.choice(_APPLICATIONS), units=1, is_anywhere=True)
    await site.apps.AddUnits(request)


async def relate(site: Site, chance: random.Random) -> None:
    await site.apps.Relate(pb.RelateRequest(first=chance.choice(_APPLICATIONS), second=chance.choice(_APPLICATIONS)))


async def unrelate(site: Site, chance: random.Random) -> None:
    request = pb.UnrelateRequest(first=chance.choice(_APPLICATIONS), second=chance.choice(_APPLICATIONS))
    await site.apps.Unrelate(request)


async def remove_unit(site: Site, chance: random.Random) -> None:
    name = f"{chance.choice(_APPLICATIONS)}/{chance.randint(0, 3)}"
    await site.apps.RemoveUnit(pb.RemoveUnitRequest(unit=name, force=chance.random() < 0.5))


async def remove(site: Site, chance: random.Random) -> None:
    request = pb.RemoveRequest(application=chance.choice(_APPLICATIONS), force=chance.random() < 0.3)
    await site.apps.Remove(request)


async def configure(site: Site, chance: random.Random) -> None:
    config = f'{{"workers": {chance.randint(1, 9)}}}'
    await site.apps.SetConfig(pb.SetConfigRequest(application=chance.choice(_APPLICATIONS[:2]), config=config))


async def attach(site: Site, chance: random.Random) -> None:
    name = f"{chance.choice(_APPLICATIONS[:2])}/{chance.randint(0, 3)}"
    await site.apps.Attach(pb.AttachRequest(unit=name, storage="data"))


async def detach(site: Site, chance: random.Random) -> None:
    await site.apps.Detach(pb.DetachRequest(storage=f"data/{chance.randint(0, 9)}"))


_ASKED: tuple[Callable[[Site, random.Random], Awaitable[None]], ...] = (
    deploy,
    deploy,
    add,
    relate,
    relate,
    unrelate,
    remove_unit,
    remove,
    configure,
    attach,
    detach,
)
