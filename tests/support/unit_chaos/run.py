"""One run: servers and agents are started, operators ask for much, everything is killed, and the log is judged.

It is one long storm, or many short ones after each other, each with a seed and a namespace of its own.
"""

import contextlib
import dataclasses
import logging
import os
import random
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from support.chaos import report, stage
from support.chaos.cluster import Cluster
from support.chaos.server import Server
from support.chaos.stage import Result
from support.chaos.worker import Site, Worker
from support.history.record import Violation
from support.unit_chaos import telling
from support.unit_chaos.fault import Kind
from support.unit_chaos.storm import Scene, Storm, broken
from support.unit_chaos.witness import Witness
from tinkwell import client
from tinkwell.core.unit.invariant import gather
from tinkwell.server.secret import keys

# The machines that each state directory serves, and how many agents share it. The last one is for units on none.
SITES: Sequence[tuple[int, int]] = ((1, 2), (1, 1), (0, 1))
# A short storm has so many of the kinds of faults.
KINDS_A_STORM = 4
_READY = "the provisioner begins"

logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a run is to be. Each of the `kinds` of faults is injected at least `rounds` times, however long that takes.

    With `storms` there are so many, of `seconds` each, which have a few of the kinds each.
    All files go to the directory, which must be one that PostgreSQL can use as a state directory.
    """

    seed: int
    seconds: float
    rounds: int
    directory: Path
    storms: int = 0
    lease_seconds: float = 5.0
    pause_seconds: float = 0.3
    kinds: Sequence[Kind] = tuple(Kind)


async def run(options: Options) -> Result[Kind]:
    """Run, and return what was found. Must be called in the main thread, as PostgreSQL is started."""
    return await _Run(options).run()


class _Run:
    def __init__(self, options: Options) -> None:
        self._options = options
        self._chance = random.Random(options.seed)
        bin_dir = Path(os.environ["PG_BIN"]) if os.environ.get("PG_BIN") else None
        self._cluster = Cluster(options.directory, bin_dir=bin_dir)
        self._machines = [str(uuid.UUID(int=number + 1)) for number, (count, _) in enumerate(SITES) if count]
        self._storms: list[Storm] = []

    async def run(self) -> Result[Kind]:
        await self._cluster.start()
        sealing = self._options.directory / "secret.keys"
        keys.create(sealing)
        try:
            options = self._options
            async with (
                stage.serving(
                    options.directory,
                    self._cluster.url,
                    lease_seconds=options.lease_seconds,
                    more={"TINKWELL_SECRET_KEYS": str(sealing), "TINKWELL_ALLOW_EXEC": "true"},
                ) as servers,
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
        options, witness = self._options, Witness(connected)
        scene = Scene(
            cluster=self._cluster,
            servers=servers,
            sites=sites,
            connected=connected,
            witness=witness,
            machines=self._machines,
            lease_seconds=options.lease_seconds,
            pause_seconds=options.pause_seconds,
        )
        observer = stage.Observer(servers, self._progress)
        async with stage.running([witness, observer]):
            violations = await (self._storm_often(scene) if options.storms else self._storm_once(scene))
        for storm in self._storms:
            violations += stage.complaints((), (), storm.operator.complaints, storm.deck.shortfalls)
        violations += stage.complaints(servers, sites, (), ())
        injured = Counter[Kind]()
        for storm in self._storms:
            injured += storm.deck.injected
        lines = (
            *telling.storms(self._storms, options.kinds),
            *telling.log(witness.events),
            *(line for server in servers for line in report.server_lines(server)),
            *(line for worker in stage.workers_of(sites) for line in report.worker_lines(worker)),
            *report.findings(violations, options.seed),
        )
        return Result(violations, injured, "\n".join(lines))

    async def _storm_once(self, scene: Scene) -> list[Violation]:
        options = self._options
        storm = Storm(
            scene, options.kinds, chance=self._chance, seconds=options.seconds, rounds=options.rounds, namespace=""
        )
        self._storms.append(storm)
        return await storm.rage()

    async def _storm_often(self, scene: Scene) -> list[Violation]:
        """Let each storm leave nothing behind; in the end, each is judged once more by the log of them all."""
        options, found = self._options, list[Violation]()
        for number in range(options.storms):
            chance = random.Random(f"{options.seed}/{number}")
            kinds = chance.sample(options.kinds, min(KINDS_A_STORM, len(options.kinds)))
            namespace = f"storm-{number + 1}"
            await scene.connected.namespaces.set(namespace)
            storm = Storm(scene, kinds, chance=chance, seconds=options.seconds, rounds=1, namespace=namespace)
            self._storms.append(storm)
            wrong = await storm.rage()
            wrong += await storm.clear()
            logger.info("%s", telling.storm(storm, namespace, len(wrong)))
            found += wrong
        for storm in self._storms:
            found += broken(gather(scene.witness.events, namespace=storm.namespace, is_at_rest=True))
        return found

    def _progress(self) -> str:
        faults = sum(storm.deck.injected.total() for storm in self._storms)
        requests = sum(storm.operator.asked.total() for storm in self._storms)
        return f"{len(self._storms)} storms, {faults} faults, {requests} requests"

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
