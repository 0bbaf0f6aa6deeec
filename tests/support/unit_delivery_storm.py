"""Storms over PostgreSQL: operators and agents do at random what they may, at the same time, and agents fail at it.

What units were told is read from the log alone, and judged by all invariants.
"""

import asyncio
import contextlib
import dataclasses
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from support.waiting import eventually
from tinkwell.core import errors
from tinkwell.core.charm.record import Charm, Endpoint, Manifest, Option, OptionType, Role, Storage
from tinkwell.core.unit.effect import BagEdit, Effects
from tinkwell.core.unit.invariant.audit import audit
from tinkwell.core.unit.kinds import CharmKind, Owner, Profile
from tinkwell.core.value.document import JsonObject
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.lease.service.operations import LeaseService
from tinkwell.server.unit.service.agent.service import AgentService
from tinkwell.server.unit.service.agent.serving import Offer
from tinkwell.server.unit.service.delivery.record import Grant, NoEvent, Why
from tinkwell.server.unit.service.request.request import Deploy, Refresh, Removal, Units
from tinkwell.server.unit.service.request.resolving import UnitRequest
from tinkwell.server.unit.service.request.service import ApplicationService
from tinkwell.server.unit.store.request import charm as charms

NAMES = ("web", "pg", "cache")
_TRIES = 200


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the log."""

    revision: int
    resource_type: str
    event_type: str
    resource_id: str
    parent_id: str
    data: JsonObject


def charm(number: int) -> Charm:
    """A charm that may be related to itself in other applications, and to its peers."""
    endpoints = [
        Endpoint(name="serve", role=Role.PROVIDES, interface="any"),
        Endpoint(name="use", role=Role.REQUIRES, interface="any"),
        Endpoint(name="cluster", role=Role.PEER, interface="any-cluster"),
    ]
    manifest = Manifest(
        name="any",
        kind=CharmKind.SCRIPTS,
        endpoints={each.name: each for each in endpoints},
        storages={"data": Storage(name="data", minimum=0, maximum=2)},
        options={"workers": Option(name="workers", type=OptionType.INT, default=1)},
    )
    return Charm(digest=f"sha256:{number:064x}", manifest=manifest, size=0)


class Storm:
    """One storm: `requests` of operators, beside agents that never rest until those have ended."""

    def __init__(self, database: Database, leases: LeaseService, *, seed: int) -> None:
        self.database = database
        self.agents = AgentService(database, interval_seconds=1)
        self.applications = ApplicationService(database, self.agents.reaping.run)
        self._leases = leases
        self._random = random.Random(seed)
        self._is_over = False
        self._acts = 0
        self._tokens: dict[str, int] = {}

    async def run(self, *, requests: int) -> list[str]:
        """Let it pass and come to rest, then remove everything; return every violation, and what is left."""
        await self._prepare()
        async with asyncio.TaskGroup() as tasks:
            for owner in ("one", "two"):
                tasks.create_task(self._agent(owner), name=owner)
            tasks.create_task(self._operator(requests), name="operator")
        await self._settle()
        found = audit(await self._entries(), is_at_rest=True)
        if found:
            return [*map(str, found)]
        await self._clear()
        return [*map(str, audit(await self._entries(), is_at_rest=True)), *await self._left()]

    async def _prepare(self) -> None:
        async def work(transaction: Transaction) -> None:
            for number in (1, 2):
                await charms.insert(transaction, charm(number))

        await self.database.write(work, actor="storm")
        for owner in ("one", "two"):
            await self._acquire(owner)

    async def _acquire(self, owner: str) -> None:
        self._tokens[owner] = (await self._leases.acquire(owner=owner, engine=owner, actor=owner)).token
        offer = Offer(kinds=[CharmKind.SCRIPTS], is_anywhere=True)
        async for _, is_created in self.agents.serving.watch(offer, self._tokens[owner], actor=owner):
            if is_created:
                break

    # Operators.

    async def _operator(self, requests: int) -> None:
        try:
            for _ in range(requests):
                await self._request()
                # Agents do some of it before there is more.
                done = self._acts + self._random.randint(0, 16)
                await eventually(lambda done=done: self._acts >= done, deadline_seconds=60)  # type: ignore[misc]
        finally:
            self._is_over = True

    async def _request(self) -> None:
        chosen: Sequence[tuple[int, Callable[[], Awaitable[object]]]] = (
            (5, self._deploy),
            (4, self._add_unit),
            (3, self._remove_unit),
            (1, self._remove),
            (6, self._relate),
            (3, self._unrelate),
            (4, self._configure),
            (1, self._refresh),
            (2, self._attach),
            (2, self._detach),
            (2, self._resolve),
            (1, self._ask),
            (1, self.agents.rounds.run_once),
        )
        (make,) = self._random.choices([each for _, each in chosen], [weight for weight, _ in chosen])
        # What is asked for at random often makes no sense.
        with contextlib.suppress(errors.NotFound, errors.AlreadyExists, errors.IllegalTransition, errors.InvalidField):
            await make()

    async def _deploy(self) -> None:
        profile = self._random.choice([Profile.LITERAL, Profile.JUJU])
        units = Units(count=self._random.randint(1, 3), is_anywhere=True)
        name = self._random.choice(NAMES)
        asked = Deploy(name=name, charm=charm(1).digest, profile=profile, units=units)
        await self.applications.deploying.deploy(asked, actor="storm")

    async def _add_unit(self) -> None:
        units = Units(count=1, is_anywhere=True, storages=[("data", self._random.randint(0, 1))])
        await self.applications.deploying.add_units("", self._random.choice(NAMES), units, actor="storm")

    async def _remove_unit(self) -> None:
        asked = Removal(force=self._random.random() < 0.2, keep_storage=self._random.random() < 0.3)
        await self.applications.removing.remove_unit("", await self._unit(), asked, actor="storm")

    async def _remove(self) -> None:
        await self.applications.removing.remove("", self._random.choice(NAMES), Removal(), actor="storm")

    async def _relate(self) -> None:
        one, other = self._random.sample(NAMES, 2)
        await self.applications.relating.relate("", f"{one}:serve", f"{other}:use", actor="storm")

    async def _unrelate(self) -> None:
        found = await self.database.fetch("SELECT number FROM relation WHERE NOT is_peer AND life = 'ALIVE'")
        if found:
            number = self._random.choice(found)["number"]
            await self.applications.relating.unrelate("", "", "", number, actor="storm")

    async def _configure(self) -> None:
        text = json.dumps({"workers": self._random.randint(1, 9)})
        await self.applications.changing.set_config("", self._random.choice(NAMES), text, actor="storm")

    async def _refresh(self) -> None:
        digest = charm(self._random.choice([1, 2])).digest
        asked = Refresh(application=self._random.choice(NAMES), charm=digest)
        await self.applications.changing.refresh(asked, actor="storm")

    async def _attach(self) -> None:
        await self.applications.storing.attach("", await self._unit(), "data", actor="storm")

    async def _detach(self) -> None:
        found = await self.database.fetch("SELECT name FROM storage WHERE unit_id IS NOT NULL")
        if found:
            await self.applications.storing.detach("", self._random.choice(found)["name"], actor="storm")

    async def _resolve(self) -> None:
        skips = self._random.random() < 0.3
        await self.applications.resolving.resolve("", await self._unit(), skip=skips, actor="storm")

    async def _ask(self) -> None:
        asked = self._random.choice(list(UnitRequest))
        await self.applications.resolving.request("", await self._unit(), asked, actor="storm")

    async def _unit(self) -> str:
        found = await self.database.fetch("SELECT name FROM unit WHERE life <> 'DEAD'")
        return self._random.choice(found)["name"] if found else "web/0"

    # Agents.

    async def _agent(self, owner: str) -> None:
        grants: dict[str, Grant] = {}
        while not self._is_over:
            self._acts += 1
            found = await self.database.fetch("SELECT id::text AS id FROM unit")
            if not found or self._random.random() < 0.02:
                await asyncio.sleep(0.002)
            if found:
                await self._act(owner, self._random.choice(found)["id"], grants)

    async def _act(self, owner: str, unit_id: str, grants: dict[str, Grant]) -> None:
        chance = self._random.random()
        try:
            if chance < 0.03:
                await self._acquire(owner)
            elif chance < 0.06:
                await self._expire(owner)
            elif unit_id in grants:
                await self._end(owner, grants[unit_id], grants)
            else:
                self._keep(unit_id, await self._next(owner, unit_id), grants)
        except (errors.LeaseLost, errors.LeaseHeld, errors.NotFound, errors.IllegalTransition, errors.CommitRefused):
            grants.pop(unit_id, None)

    async def _next(self, owner: str, unit_id: str) -> Grant | NoEvent:
        return await self.agents.granting.next_event(unit_id, self._tokens[owner], actor=owner)

    def _keep(self, unit_id: str, found: Grant | NoEvent, grants: dict[str, Grant]) -> None:
        grants.pop(unit_id, None)
        if isinstance(found, Grant):
            grants[unit_id] = found

    async def _expire(self, owner: str) -> None:
        seconds = self._random.choice([0, 40])
        await self.database.fetch(
            "UPDATE lease SET expires_at = clock_timestamp() - make_interval(secs => $2) WHERE token = $1",
            self._tokens[owner],
            float(seconds),
        )
        if self._random.random() < 0.7:
            await self._acquire(owner)

    async def _end(self, owner: str, grant: Grant, grants: dict[str, Grant]) -> None:
        committing, event = self.agents.committing, grant.granted
        assert event is not None  # a storm asks for no tasks
        chance, token = self._random.random(), self._tokens[owner]
        known = {"lease_token": token, "actor": owner}
        if chance < 0.08:
            found = await committing.fail(event.id, event.attempt, message="storm", is_lost=False, **known)  # type: ignore[arg-type]
            await self.database.fetch("UPDATE unit_event SET retry_at = clock_timestamp() WHERE state = 'ERROR'")
        elif chance < 0.12:
            found = await committing.fail(event.id, event.attempt, message="storm", is_lost=True, **known)  # type: ignore[arg-type]
        else:
            effects = self._effects(grant)
            found = await committing.commit(event.id, event.attempt, effects, **known)  # type: ignore[arg-type]
            if chance > 0.9:
                found = await committing.commit(event.id, event.attempt, effects, **known)  # type: ignore[arg-type]
        self._keep(grant.unit_id, found, grants)

    def _effects(self, grant: Grant) -> Effects:
        bags: list[BagEdit] = []
        for relation in grant.relations:
            if self._random.random() < 0.15:
                edits = {"key": str(self._random.randint(0, 3))}
                bags.append(BagEdit(relation=relation.number, owner=Owner.UNIT, edits=edits))
            if grant.leads_seconds > 30 and self._random.random() < 0.1:
                edits = {"key": str(self._random.randint(0, 3))}
                bags.append(BagEdit(relation=relation.number, owner=Owner.APPLICATION, edits=edits))
        return Effects(term=grant.term, bags=tuple(bags))

    # The end.

    async def _settle(self) -> None:
        """Let one agent take all units through what is due, without a fault, until nothing is.

        It is at rest once a round has added nothing to the log: asking for a unit's next event may elect a unit that
        was asked before it.
        """
        await self.database.fetch("UPDATE lease SET expires_at = clock_timestamp() - interval '1 hour'")
        await self._acquire("last")
        for _ in range(_TRIES):
            before = await self._newest()
            await self.agents.rounds.run_once()
            await self.database.fetch("UPDATE unit_event SET retry_at = clock_timestamp() WHERE state = 'ERROR'")
            found = await self.database.fetch("SELECT id::text AS id FROM unit ORDER BY name")
            is_in_error = any([await self._drain(row["id"]) for row in found])
            if not is_in_error and await self._newest() == before:
                return
        raise AssertionError("it does not come to rest")

    async def _clear(self) -> None:
        """Remove all applications, and let them go."""
        for name in NAMES:
            with contextlib.suppress(errors.NotFound):
                await self.applications.removing.remove("", name, Removal(), actor="storm")
        await self._settle()
        await self.agents.reaping.run(actor="storm")

    async def _left(self) -> list[str]:
        """Name what is there though nothing is to be there; storages that are kept may be."""
        found = await self.database.fetch(
            """
            SELECT 'application ' || name AS what FROM application UNION ALL SELECT 'unit ' || name FROM unit
             UNION ALL SELECT 'relation ' || number FROM relation
             UNION ALL SELECT 'storage ' || name FROM storage WHERE unit <> ''
            """
        )
        return [f"{row['what']} is left" for row in found]

    async def _drain(self, unit_id: str) -> bool:
        """Take one unit through what is due; True if it is left in error."""
        found = await self._next("last", unit_id)
        while isinstance(found, Grant):
            event = found.granted
            assert event is not None  # a storm asks for no tasks
            await self.agents.committing.commit(
                event.id, event.attempt, Effects(), lease_token=self._tokens["last"], actor="last"
            )
            found = await self._next("last", unit_id)
        return found.why is Why.IN_ERROR

    async def _newest(self) -> int:
        (row,) = await self.database.fetch("SELECT coalesce(max(revision), 0) AS revision FROM events")
        return int(row["revision"])

    async def _entries(self) -> list[Entry]:
        rows = await self.database.fetch(
            """
            SELECT revision, resource_type::text, event_type::text, coalesce(resource_id::text, '') AS resource_id,
                   coalesce(parent_id::text, '') AS parent_id, data::text AS data
              FROM events ORDER BY revision
            """
        )
        return [Entry(**dict(row) | {"data": json.loads(row["data"])}) for row in rows]

    async def counts(self) -> Counter[str]:
        """Return how often what happened to unit events."""
        return Counter(entry.event_type for entry in await self._entries())
