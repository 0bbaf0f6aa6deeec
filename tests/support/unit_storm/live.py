"""One storm over a real server and PostgreSQL: agents and operators at the same time, judged by what the log tells.

What happens is drawn from a seed; in which order it meets in the database differs from run to run.
"""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import grpc
import grpc.aio

from support import edge
from support.application_site import Site
from support.unit_site import Agent, bag
from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.api.v1 import unit_service_pb2 as unit_pb
from tinkwell.core.unit.invariant import Violation, audit
from tinkwell.core.unit.kinds import Profile
from tinkwell.core.unit.world import LogEntry

MANIFEST = """\
name: {name}
provides: {{up: link}}
requires: {{down: link}}
peers: {{cluster: cluster}}
storage: {{data: {{multiple: {{range: 1-3}}}}}}
config:
  options:
    size: {{type: int, default: {version}}}
"""
NAMES = ("web", "pg", "ops")
MOST_UNITS = 4
AGENTS = 3
# What an operator or an agent may be answered by chance: what it asks for is gone, refused or taken by then.
_EXPECTED = {
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.ALREADY_EXISTS,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.ABORTED,
}
_REQUESTS = (
    pb.UNIT_REQUEST_PREPARE_UPGRADE,
    pb.UNIT_REQUEST_FINISH_UPGRADE,
    pb.UNIT_REQUEST_COLLECT_METRICS,
)


@dataclass
class LiveStorm:
    """Operators and agents over a site. `answers` counts how calls were answered."""

    site: Site
    seed: int
    profile: Profile
    steps: int = 40
    answers: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._chance = random.Random(f"{self.profile} {self.seed}")
        self._is_over = False
        self._looking = asyncio.Lock()
        self._charms: dict[str, list[str]] = {}
        self._requests: Sequence[tuple[Callable[[], Awaitable[object]], int]] = (
            (self._deploy, 5),
            (self._add_unit, 6),
            (self._relate, 8),
            (self._unrelate, 3),
            (self._set_config, 4),
            (self._refresh, 2),
            (self._remove_unit, 4),
            (self._remove, 1),
            (self._storage, 3),
            (self._request, 3),
            (self._tick, 3),
            (self._resolve, 3),
        )

    async def run(self) -> list[Violation]:
        """Let it happen, let all come to rest, remove everything; return every violation."""
        for name in NAMES:
            charms = [await self.site.charm(MANIFEST.format(name=name, version=version)) for version in (1, 2, 3)]
            self._charms[name] = [charm.digest for charm in charms]
        await self._deploy()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._operate(), name="operators")
            for number in range(AGENTS):
                group.create_task(self._serve(number), name=f"agent {number}")
        await self._settle()
        found = audit(await self.entries(), is_at_rest=True)
        if not found:
            for name in NAMES:
                await self._try(self.site.apps.Remove(pb.RemoveRequest(application=name)))
            await self._settle()
            found = audit(await self.entries(), is_at_rest=True)
            assert await self.site.left() == {}
        return found

    async def entries(self) -> list[LogEntry]:
        """Return the log as Watch shows it."""
        rows = await self._fetch(
            """
            SELECT revision, resource_type, event_type, resource_id::text AS resource_id, parent_id::text AS parent_id,
                   data::text AS data
              FROM events ORDER BY revision
            """
        )
        return [
            LogEntry(
                row["revision"],
                row["resource_type"],
                row["event_type"],
                row["resource_id"] or "",
                row["parent_id"] or "",
                json.loads(row["data"]),
            )
            for row in rows
        ]

    async def _fetch(self, query: str, *arguments: object) -> list[asyncpg.Record]:
        """Look at the database, or change it, beside the server; one at a time, as there is one connection."""
        async with self._looking:
            rows: list[asyncpg.Record] = await self.site.sql.fetch(query, *arguments)
            return rows

    async def _try(self, call: Awaitable[Any]) -> Any:
        """Await a call; None if it is refused by chance."""
        try:
            answer = await call
        except grpc.aio.AioRpcError as error:
            refusal = edge.refusal(error)
            assert refusal.code in _EXPECTED, f"{refusal.code}: {refusal.message}"
            self.answers[refusal.reason] += 1
            return None
        self.answers["OK"] += 1
        return answer

    # Agents

    async def _serve(self, number: int) -> None:
        """Run events of whatever units there are, until operators are done; now and then begin another lease."""
        agent = await self.site.agent(f"agent {number}", **self._offer)
        while not self._is_over:
            for unit_id in await self._unit_ids():
                await self._work(agent, unit_id)
            if self._chance.random() < 0.05:
                await self._expire(agent)
                agent = await self.site.agent(f"agent {number}", **self._offer)
        await self._expire(agent)

    @property
    def _offer(self) -> Mapping[str, Any]:
        return {"is_anywhere": True}

    async def _expire(self, agent: Agent) -> None:
        """Let an agent's lease be over for longer than a leader lives on."""
        await self._fetch(
            "UPDATE lease SET expires_at = clock_timestamp() - interval '60 s' WHERE token = $1", agent.token
        )

    async def _unit_ids(self) -> list[str]:
        rows = await self._fetch("SELECT id::text AS id FROM unit WHERE life <> 'DEAD'")
        ids = [row["id"] for row in rows]
        self._chance.shuffle(ids)
        if not ids:
            await asyncio.sleep(0.01)
        return ids

    async def _work(self, agent: Agent, unit_id: str) -> bool:
        """Run what a unit is granted, and all that follows; return whether there was anything."""
        found = await self._try(agent.next(unit_id))
        is_busy = False
        while found is not None and found.HasField("grant"):
            is_busy = True
            match self._chance.random():
                case chance if chance < 0.04:
                    found = await self._try(agent.fail(unit_id))
                case chance if chance < 0.08:
                    found = await self._try(agent.fail(unit_id, is_lost=True))
                case chance if chance < 0.1:
                    # It is forgotten, and found again by who asks next.
                    return True
                case _:
                    found = await self._try(agent.commit(unit_id, **self._effects(found.grant)))
        return is_busy

    def _effects(self, grant: unit_pb.Grant) -> dict[str, Any]:
        if self._chance.random() > 0.12 or not grant.relations:
            return {}
        edits = []
        for relation in self._chance.sample([*grant.relations], min(2, len(grant.relations))):
            edits.append(bag(relation.number, key=str(self._chance.randrange(3))))
            if grant.leadership.is_leader and self._chance.random() < 0.4:
                edits.append(bag(relation.number, is_application=True, key=str(self._chance.randrange(3))))
        return {"bags": edits, "term": grant.leadership.term}

    async def _settle(self) -> None:
        """Let one agent run everything that is due, until nothing is."""
        async with asyncio.timeout(120):
            is_busy = True
            while is_busy:
                is_busy = False
                await self._fetch("UPDATE lease SET expires_at = clock_timestamp() - interval '60 s'")
                await self._fetch("UPDATE unit_event SET retry_at = clock_timestamp() WHERE state = 'ERROR'")
                agent = await self.site.agent("the last one", **self._offer)
                rows = await self._fetch("SELECT id::text AS id FROM unit WHERE life <> 'DEAD' ORDER BY id")
                for row in rows:
                    is_busy |= await self._work_all(agent, row["id"])
        await self.site.agents.reaping.run(actor="")

    async def _work_all(self, agent: Agent, unit_id: str) -> bool:
        found = await self._try(agent.next(unit_id))
        is_busy = False
        while found is not None and found.HasField("grant"):
            is_busy = True
            found = await self._try(agent.commit(unit_id))
        return is_busy

    # Operators

    async def _operate(self) -> None:
        try:
            for _ in range(self.steps):
                requests, weights = zip(*self._requests, strict=True)
                await self._chance.choices(requests, weights)[0]()
                await asyncio.sleep(self._chance.random() * 0.1)
        finally:
            self._is_over = True

    def _name(self) -> str:
        return self._chance.choice(NAMES)

    async def _unit(self) -> str:
        rows = await self._fetch("SELECT name FROM unit WHERE life <> 'DEAD' ORDER BY name")
        return str(self._chance.choice([row["name"] for row in rows] or ["web/0"]))

    async def _deploy(self) -> None:
        name = self._name()
        request = pb.DeployRequest(
            name=name,
            charm=self._charms[name][0],
            units=self._chance.randrange(3),
            is_anywhere=True,
            profile=pb.UnitProfile.Value(f"UNIT_PROFILE_{self.profile}"),
        )
        await self._try(self.site.apps.Deploy(request))

    async def _add_unit(self) -> None:
        name = self._name()
        rows = await self._fetch("SELECT FROM unit WHERE name LIKE $1 || '/%'", name)
        if len(rows) < MOST_UNITS:
            request = pb.AddUnitsRequest(application=name, units=1, is_anywhere=True)
            await self._try(self.site.apps.AddUnits(request))

    async def _relate(self) -> None:
        first, second = self._chance.sample(NAMES, 2)
        await self._try(self.site.apps.Relate(pb.RelateRequest(first=f"{first}:up", second=f"{second}:down")))

    async def _unrelate(self) -> None:
        rows = await self._fetch("SELECT number FROM relation ORDER BY number")
        number = self._chance.choice([row["number"] for row in rows] or [1])
        await self._try(self.site.apps.Unrelate(pb.UnrelateRequest(number=number)))

    async def _set_config(self) -> None:
        config = json.dumps({"size": self._chance.randrange(5)})
        await self._try(self.site.apps.SetConfig(pb.SetConfigRequest(application=self._name(), config=config)))

    async def _refresh(self) -> None:
        name = self._name()
        request = pb.RefreshRequest(application=name, charm=self._chance.choice(self._charms[name]))
        await self._try(self.site.apps.Refresh(request))

    async def _remove_unit(self) -> None:
        forced, kept = self._chance.random() < 0.3, self._chance.random() < 0.3
        request = pb.RemoveUnitRequest(unit=await self._unit(), force=forced, keep_storage=kept)
        await self._try(self.site.apps.RemoveUnit(request))

    async def _remove(self) -> None:
        request = pb.RemoveRequest(application=self._name(), force=self._chance.random() < 0.2)
        await self._try(self.site.apps.Remove(request))

    async def _storage(self) -> None:
        rows = await self._fetch("SELECT name FROM storage ORDER BY name")
        storage = self._chance.choice([row["name"] for row in rows] or ["data/0"])
        if self._chance.random() < 0.5:
            await self._try(self.site.apps.Detach(pb.DetachRequest(storage=storage)))
        else:
            await self._try(self.site.apps.Attach(pb.AttachRequest(unit=await self._unit(), storage=storage)))

    async def _request(self) -> None:
        request = pb.RequestRequest(unit=await self._unit(), request=self._chance.choice(_REQUESTS))
        await self._try(self.site.apps.Request(request))

    async def _tick(self) -> None:
        await self._fetch("UPDATE unit SET next_tick_at = clock_timestamp() WHERE next_tick_at IS NOT NULL")

    async def _resolve(self) -> None:
        rows = await self._fetch(
            "SELECT u.name FROM unit_event e JOIN unit u ON u.id = e.unit_id WHERE e.state = 'ERROR' ORDER BY u.name"
        )
        unit = self._chance.choice([row["name"] for row in rows] or ["web/0"])
        await self._try(self.site.apps.Resolve(pb.ResolveRequest(unit=unit, skip=self._chance.random() < 0.4)))
