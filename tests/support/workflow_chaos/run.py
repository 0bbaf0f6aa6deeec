"""One run: servers, provisioners and agents are started, workflows come, everything is killed, and it is judged."""

import asyncio
import contextlib
import dataclasses
import itertools
import logging
import os
import random
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import asyncpg

from support.chaos import archive as log_archive
from support.chaos.cluster import Cluster
from support.chaos.deck import Deck
from support.chaos.server import Server
from support.history import record
from support.history import verdict as log_verdict
from support.history.record import Violation
from support.waiting import eventually
from support.workflow_chaos import archive, report, scenario
from support.workflow_chaos.audience import Audience
from support.workflow_chaos.author import Author
from support.workflow_chaos.fault import Faults, Kind
from support.workflow_chaos.journal import Journal
from support.workflow_chaos.worker import Site, Worker
from support.workflow_history import verdict
from support.workflow_history.record import History

_RESYNC_SECONDS = 10
# Of the time of the faults, which may last longer when some are late: those that befall a run need one.
_CREATION_SHARE = 1.1
_STANDSTILL_SECONDS = 120
_LEFTOVER_SECONDS = 60
_PROGRESS_SECONDS = 30

logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a run is to be. Each of the `kinds` of faults is injected at least `rounds` times, however long that takes.

    `provisioners` serve all machines but one for each of the `agents`; actions take `pace` times as long as usual. All
    files go to the directory, which must be one that PostgreSQL can use as a state directory; the history goes to
    `output` if it is to be kept, or if something was violated.
    """

    seed: int
    seconds: float
    rounds: int
    directory: Path
    output: Path
    workflows: int = 200
    machines: int = 20
    provisioners: int = 3
    agents: int = 6
    lease_seconds: float = 5.0
    pace: float = 1.0
    kinds: Sequence[Kind] = tuple(Kind)
    is_kept: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """What was found, how often each kind of fault was injected, and both told for people."""

    violations: Sequence[Violation]
    injected: Counter[Kind]
    text: str


async def run(options: Options) -> Result:
    """Run, and return what was found. Must be called in the main thread, as PostgreSQL is started."""
    return await _Run(options).run()


class _Run:
    def __init__(self, options: Options) -> None:
        self._options = options
        self._chance = random.Random(options.seed)
        bin_dir = Path(os.environ["PG_BIN"]) if os.environ.get("PG_BIN") else None
        self._cluster = Cluster(options.directory, bin_dir=bin_dir)
        self._journal = Journal(options.directory)
        self._machines = scenario.machines(self._chance, options.machines)
        self._errands = scenario.errands(
            self._chance,
            self._machines,
            options.workflows,
            over_seconds=options.seconds * _CREATION_SHARE,
            pace=options.pace,
        )

    async def run(self) -> Result:
        self._journal.create()
        await self._cluster.start()
        try:
            logger.info("PostgreSQL runs")
            async with self._servers() as servers:
                logger.info("the servers run")
                async with self._sites(servers) as sites:
                    return await self._disturb(servers, sites)
        finally:
            await self._cluster.stop()

    async def _disturb(self, servers: Sequence[Server], sites: Sequence[Site]) -> Result:
        audience = Audience(servers, chance=self._derived())
        faults = Faults(
            self._cluster, servers, sites, chance=self._derived(), lease_seconds=self._options.lease_seconds
        )
        deck = Deck(
            self._options.kinds,
            faults.inject,
            chance=self._derived(),
            seconds=self._options.seconds,
            rounds=self._options.rounds,
        )
        async with asyncio.TaskGroup() as watchers, _author(servers) as author:
            tasks = [watchers.create_task(consumer.run(), name=consumer.name) for consumer in audience.residents]
            tasks.append(watchers.create_task(self._observe(servers, deck, author), name="observer"))
            await author.prepare(self._machines, self._errands)
            async with asyncio.TaskGroup() as chaos:
                chaos.create_task(author.run(self._errands), name="author")
                chaos.create_task(deck.deal(), name="deck")
            logger.info("no more faults; everything may come to its end")
            began = asyncio.get_running_loop().time()
            history, log = await self._settle(audience, sites)
            settled = asyncio.get_running_loop().time() - began
            violations = verdict.judge(history) + log_verdict.judge_watchers(log)
            violations += _complaints(servers, sites, author, deck)
            for task in tasks:
                task.cancel()
        workers = [worker for site in sites for worker in site.workers]
        told = report.tell(
            deck,
            servers,
            workers,
            history,
            audience.records,
            violations,
            seed=self._options.seed,
            settled_seconds=settled,
        )
        if violations or self._options.is_kept:
            archive.write(history, audience.records, self._options.output)
        return Result(violations, deck.injected, told)

    async def _settle(self, audience: Audience, sites: Sequence[Site]) -> tuple[History, record.History]:
        """Wait until all workflows have ended, nothing is left and everybody knows, or the patience is over."""
        connection = await asyncpg.connect(self._cluster.url, timeout=10, command_timeout=60)
        try:
            with contextlib.suppress(TimeoutError):
                await self._calm_down(connection, sites)
            last = await connection.fetchval("SELECT coalesce(max(revision), 0) FROM events")
            with contextlib.suppress(TimeoutError):
                await eventually(lambda: audience.has_arrived(last), deadline_seconds=60, interval_seconds=0.1)
            history_id = await connection.fetchval("SELECT history_id::text FROM event_history")
            history = History(
                [errand.plan for errand in self._errands],
                await archive.read_events(connection),
                await archive.read_statuses(connection),
                self._journal.read(),
                await self._leftovers(connection, sites),
            )
        finally:
            await connection.close(timeout=10)
        rows = await log_archive.read_rows(self._cluster.url)
        return history, record.History(history_id, rows, [], audience.records)

    async def _calm_down(self, connection: asyncpg.Connection, sites: Sequence[Site]) -> None:
        """Wait until all workflows have ended and nothing is left of them; raises `TimeoutError` when nothing moves."""
        unfinished = await archive.count_unfinished(connection)
        while unfinished:
            before = unfinished

            async def is_fewer() -> bool:
                return await archive.count_unfinished(connection) < before  # noqa: B023  (ends in this turn)

            await eventually(is_fewer, deadline_seconds=_STANDSTILL_SECONDS, interval_seconds=0.25)
            unfinished = await archive.count_unfinished(connection)
        logger.info("all workflows have ended")

        async def is_quiet() -> bool:
            return not await self._leftovers(connection, sites)

        await eventually(is_quiet, deadline_seconds=_LEFTOVER_SECONDS, interval_seconds=0.25)
        logger.info("nothing is left of them")

    async def _leftovers(self, connection: asyncpg.Connection, sites: Sequence[Site]) -> list[str]:
        return [
            *await archive.read_holds(connection),
            *(f"a run is kept: {path.name}" for site in sites for path in site.runs()),
            *(f"a run is alive on machine {machine}" for machine in self._journal.alive()),
        ]

    @contextlib.asynccontextmanager
    async def _servers(self) -> AsyncIterator[list[Server]]:
        settings = {"TINKWELL_LEASE_SECONDS": str(self._options.lease_seconds)}
        servers = [
            Server(name, self._options.directory, self._cluster.url, settings=settings) for name in ("one", "two")
        ]
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(server.run(), name=server.name) for server in servers]
            try:
                for server in servers:
                    await server.ready.wait()
                yield servers
            finally:
                for task in running:
                    task.cancel()

    @contextlib.asynccontextmanager
    async def _sites(self, servers: Sequence[Server]) -> AsyncIterator[list[Site]]:
        """Run provisioners that share a state directory, and agents with one of their own each."""
        sites = self._make_sites(servers)
        workers = [worker for site in sites for worker in site.workers]
        try:
            async with asyncio.TaskGroup() as tasks:
                running = [tasks.create_task(worker.run(), name=worker.name) for worker in workers]
                try:
                    yield sites
                finally:
                    for task in running:
                        task.cancel()
        finally:
            for site in sites:
                site.kill_runs()

    def _make_sites(self, servers: Sequence[Server]) -> list[Site]:
        options = self._options
        shared, own = self._machines[options.agents :], self._machines[: options.agents]
        serves = [argument for machine in shared for argument in ("--agent-for", machine)]
        directory = options.directory / "shared"
        provisioners = [
            self._make_worker(f"provisioner-{number}", servers, directory, "provisioner", *serves)
            for number in range(options.provisioners)
        ]
        sites = [Site(directory, provisioners)]
        for number, machine in enumerate(own):
            directory = options.directory / f"own-{number}"
            agent = self._make_worker(f"agent-{number}", servers, directory, "agent", "--id", machine)
            sites.append(Site(directory, [agent]))
        return sites

    def _make_worker(self, name: str, servers: Sequence[Server], state_dir: Path, *command: str) -> Worker:
        """Make a worker that knows one server, or both."""
        known = self._chance.sample(servers, self._chance.randint(1, len(servers)))
        where = ("--server", ",".join(server.address for server in known), "--state-dir", str(state_dir))
        how = ("--runtime", "process", "--process-images", str(self._journal.images))
        arguments = (*command, *where, *how, "--resync-seconds", str(_RESYNC_SECONDS))
        return Worker(name, self._options.directory, arguments)

    async def _observe(self, servers: Sequence[Server], deck: Deck[Kind], author: Author) -> None:
        for second in itertools.count():
            for server in servers:
                server.measure()
            if second % _PROGRESS_SECONDS == 0:
                faults, created = deck.injected.total(), author.created
                logger.info("after %d s: %d faults, %d workflows created", second, faults, created)
            await asyncio.sleep(1)

    def _derived(self) -> random.Random:
        return random.Random(self._chance.getrandbits(64))


@contextlib.asynccontextmanager
async def _author(servers: Sequence[Server]) -> AsyncIterator[Author]:
    author = Author(",".join(server.address for server in servers))
    try:
        yield author
    finally:
        await author.close()


def _complaints(servers: Sequence[Server], sites: Sequence[Site], author: Author, deck: Deck[Kind]) -> list[Violation]:
    """What nobody's records show: processes that ended badly, calls that were answered with a fault, and faults that
    did not happen.
    """
    found = [Violation("P1", server.name, text) for server in servers for text in server.complaints]
    found += [
        Violation("P1", worker.name, text) for site in sites for worker in site.workers for text in worker.complaints
    ]
    found += [Violation("P1", "chaos", text) for text in deck.shortfalls]
    return found + [Violation("P1", "author", text) for text in author.complaints]
