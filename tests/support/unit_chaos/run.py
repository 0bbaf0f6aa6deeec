"""One run: servers and agents are started, operators ask for much, everything is killed, and the log is judged."""

import asyncio
import contextlib
import dataclasses
import logging
import os
import random
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import asyncpg

from support.chaos import report, stage
from support.chaos.cluster import Cluster
from support.chaos.deck import Deck
from support.chaos.injury import Injuries
from support.chaos.server import Server
from support.chaos.stage import Result
from support.chaos.worker import Site, Worker
from support.history.record import Violation
from support.unit_chaos.fault import Faults, Kind
from support.unit_chaos.scenario import Operator
from support.waiting import eventually
from tinkwell import client
from tinkwell.client import Event, errors
from tinkwell.core.event.kinds import EventType, ResourceType
from tinkwell.core.unit.invariant import audit

# The machines that each state directory serves, and how many agents share it. The last one is for units on none.
SITES: Sequence[tuple[int, int]] = ((1, 2), (1, 1), (0, 1))
_READY = "the provisioner begins"
_TYPES = (
    ResourceType.APPLICATION,
    ResourceType.UNIT,
    ResourceType.UNIT_EVENT,
    ResourceType.RELATION,
    ResourceType.STORAGE,
)
_REST_SECONDS = 300.0
_QUIET_SECONDS = 1.0

logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a run is to be. Each of the `kinds` of faults is injected at least `rounds` times, however long that takes.

    All files go to the directory, which must be one that PostgreSQL can use as a state directory.
    """

    seed: int
    seconds: float
    rounds: int
    directory: Path
    lease_seconds: float = 5.0
    pause_seconds: float = 0.3
    kinds: Sequence[Kind] = tuple(Kind)


async def run(options: Options) -> Result[Kind]:
    """Run, and return what was found. Must be called in the main thread, as PostgreSQL is started."""
    return await _Run(options).run()


class _Witness:
    """Reads the log through Watch, from its beginning on, over lost connections."""

    name = "witness"

    def __init__(self, connected: client.Client) -> None:
        self.events: list[Event] = []
        self.seen = 0
        self._client = connected

    async def run(self) -> None:
        """Read until cancelled."""
        watch = self._client.applications.watch(resource_types=_TYPES, from_revision=1)
        async with watch as events:
            async for event in events:
                self.events.append(event)
                self.seen = event.revision


class _Run:
    def __init__(self, options: Options) -> None:
        self._options = options
        self._chance = random.Random(options.seed)
        bin_dir = Path(os.environ["PG_BIN"]) if os.environ.get("PG_BIN") else None
        self._cluster = Cluster(options.directory, bin_dir=bin_dir)
        self._machines = [str(uuid.UUID(int=number + 1)) for number, (count, _) in enumerate(SITES) if count]

    async def run(self) -> Result[Kind]:
        await self._cluster.start()
        try:
            options = self._options
            async with (
                stage.serving(options.directory, self._cluster.url, lease_seconds=options.lease_seconds) as servers,
                self._connected(servers) as connected,
            ):
                for machine in self._machines:
                    await connected.hardware.push({"id": machine})
                sites = self._make_sites(servers)
                async with stage.working(sites):
                    return await self._disturb(servers, sites, connected)
        finally:
            await self._cluster.stop()

    async def _disturb(
        self, servers: Sequence[Server], sites: Sequence[Site], connected: client.Client
    ) -> Result[Kind]:
        options, witness = self._options, _Witness(connected)
        operator = Operator(
            connected, machines=self._machines, chance=self._derived(), pause_seconds=options.pause_seconds
        )
        injuries = Injuries(self._cluster, servers, sites, chance=self._derived(), lease_seconds=options.lease_seconds)
        faults = Faults(injuries, sites, chance=self._derived())
        deck = Deck(
            options.kinds, faults.inject, chance=self._derived(), seconds=options.seconds, rounds=options.rounds
        )
        observer = stage.Observer(servers, lambda: f"{deck.injected.total()} faults, {operator.asked.total()} requests")
        async with stage.running([witness, observer]):
            async with stage.running([operator]):
                await deck.deal()
            logger.info("no more faults; everything may come to rest")
            began = asyncio.get_running_loop().time()
            is_at_rest = await self._rest(operator, witness, sites)
            settled = asyncio.get_running_loop().time() - began
        violations = stage.complaints(servers, sites, operator.complaints, deck.shortfalls)
        if not is_at_rest:
            violations.append(Violation("P1", "chaos", f"it did not come to rest within {_REST_SECONDS:.0f} s"))
        violations += [
            Violation(each.invariant, each.subject, str(each)) for each in audit(witness.events, is_at_rest=is_at_rest)
        ]
        text = self._tell(deck, servers, sites, operator, witness, violations, settled)
        return Result(violations, deck.injected, text)

    async def _rest(self, operator: Operator, witness: _Witness, sites: Sequence[Site]) -> bool:
        """Wait until nothing is due any more, nothing is left of units that are gone, and all of it was seen."""

        async def is_resting() -> bool:
            try:
                if not await operator.settle():
                    return False
                last = await self._last_revision()
                await asyncio.sleep(_QUIET_SECONDS)
                is_over = await operator.settle() and last == await self._last_revision() == witness.seen
                return is_over and _folders(sites) <= await operator.unit_ids()
            except errors.Error:
                return False

        try:
            await eventually(is_resting, deadline_seconds=_REST_SECONDS, interval_seconds=0.5)
        except TimeoutError:
            return False
        return True

    async def _last_revision(self) -> int:
        connection = await asyncpg.connect(self._cluster.url, timeout=10, command_timeout=60)
        try:
            types = [each.value for each in _TYPES]
            query = "SELECT coalesce(max(revision), 0) FROM events WHERE resource_type::text = ANY ($1::text[])"
            return int(await connection.fetchval(query, types))
        finally:
            await connection.close(timeout=10)

    def _make_sites(self, servers: Sequence[Server]) -> list[Site]:
        """Make agents, some of which share a state directory and machines."""
        sites = list[Site]()
        machines, number = iter(self._machines), 0
        for count, agents in SITES:
            directory = self._options.directory / f"site-{len(sites)}"
            served = [option for _ in range(count) for option in ("--agent-for", next(machines))]
            workers = []
            for _ in range(agents):
                where = (*stage.known_servers(servers, self._chance), "--state-dir", str(directory), *served)
                arguments = ("provisioner", "--units", "--runtime", "process", *where, "--resync-seconds", "10")
                workers.append(Worker(f"agent-{number}", self._options.directory, arguments, ready=_READY))
                number += 1
            sites.append(Site(directory, workers))
        return sites

    @contextlib.asynccontextmanager
    async def _connected(self, servers: Sequence[Server]) -> AsyncIterator[client.Client]:
        addresses = ",".join(server.address for server in servers)
        async with client.connect(addresses, actor="operator") as connected:
            yield connected

    def _tell(
        self,
        deck: Deck[Kind],
        servers: Sequence[Server],
        sites: Sequence[Site],
        operator: Operator,
        witness: _Witness,
        violations: Sequence[Violation],
        settled: float,
    ) -> str:
        ends = Counter(
            str(event.event_type) for event in witness.events if event.resource_type is ResourceType.UNIT_EVENT
        )
        committed = ends[EventType.UNIT_EVENT_COMMITTED]
        return "\n".join(
            (
                *report.faults(deck),
                "",
                f"requests   {report.counted(operator.asked)}; {operator.refused} made no sense",
                f"events     {committed} committed; {report.counted(ends)}",
                f"log        {len(witness.events)} events seen by Watch",
                f"settled    {settled:.0f} s after the last fault",
                *(line for server in servers for line in report.server_lines(server)),
                *(line for worker in stage.workers_of(sites) for line in report.worker_lines(worker)),
                *report.findings(violations, self._options.seed),
            )
        )

    def _derived(self) -> random.Random:
        return random.Random(self._chance.getrandbits(64))


def _folders(sites: Sequence[Site]) -> set[str]:
    """Return the ids of units that have a folder."""
    return {path.name for site in sites for path in (site.state_dir / "units/units").glob("*")}
