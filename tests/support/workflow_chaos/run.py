"""One run: servers, provisioners and agents are started, workflows come, everything is killed, and it is judged."""

import asyncio
import contextlib
import dataclasses
import logging
import os
import random
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import asyncpg

from support.chaos import archive as log_archive
from support.chaos import stage
from support.chaos.cluster import Cluster
from support.chaos.deck import Deck
from support.chaos.injury import Injuries
from support.chaos.server import Server
from support.chaos.spectators import Spectators
from support.chaos.stage import Result
from support.chaos.worker import Site, Worker
from support.history import record
from support.history import verdict as log_verdict
from support.waiting import eventually
from support.workflow_chaos import archive, report, scenario
from support.workflow_chaos.author import Author
from support.workflow_chaos.fault import Faults, Kind
from support.workflow_chaos.journal import Journal
from support.workflow_chaos.pruner import Pruner
from support.workflow_history import verdict
from support.workflow_history.record import History

_RESYNC_SECONDS = 10
# Servers forget by themselves, too.
_FORGETFUL = {"TINKWELL_WORKFLOW_RETENTION_SECONDS": "60", "TINKWELL_RETENTION_INTERVAL_SECONDS": "5"}
# Of the time of the faults, which may last longer when some are late: those that befall a run need one.
_CREATION_SHARE = 1.1
_READY = "workflows are watched"
_TYPES = frozenset({"WORKFLOW", "ACTION"})
_ENDS = frozenset({"workflow.succeeded", "workflow.failed", "workflow.timeout", "workflow.cancelled"})

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


async def run(options: Options) -> Result[Kind]:
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

    async def run(self) -> Result[Kind]:
        self._journal.provide()
        await self._cluster.start()
        try:
            logger.info("PostgreSQL runs")
            lease_seconds = self._options.lease_seconds
            await archive.keep_statuses(self._cluster.url)
            async with stage.serving(
                self._options.directory, self._cluster.url, lease_seconds=lease_seconds, more=_FORGETFUL
            ) as servers:
                logger.info("the servers run")
                sites = self._make_sites(servers)
                async with stage.working(sites):
                    return await self._disturb(servers, sites)
        finally:
            await self._cluster.stop()

    async def _disturb(self, servers: Sequence[Server], sites: Sequence[Site]) -> Result[Kind]:
        audience = Spectators(servers, resource_types=_TYPES, names=_ENDS, chance=self._derived())
        injuries = Injuries(
            self._cluster, servers, sites, chance=self._derived(), lease_seconds=self._options.lease_seconds
        )
        deck = Deck(
            self._options.kinds,
            Faults(injuries, sites).inject,
            chance=self._derived(),
            seconds=self._options.seconds,
            rounds=self._options.rounds,
        )
        async with _author(servers) as author, _pruner(servers, self._derived()) as pruner:
            observer = stage.Observer(
                servers, lambda: f"{deck.injected.total()} faults, {author.created} workflows created"
            )
            async with stage.running([*audience.residents, observer, pruner]):
                await author.prepare(self._machines, self._errands)
                async with asyncio.TaskGroup() as chaos:
                    chaos.create_task(author.run(self._errands), name="author")
                    chaos.create_task(deck.deal(), name="deck")
                logger.info("no more faults; everything may come to its end")
                began = asyncio.get_running_loop().time()
                history, log = await self._settle(audience, sites, pruner)
                settled = asyncio.get_running_loop().time() - began
                violations = verdict.judge(history) + log_verdict.judge_watchers(log)
                violations += stage.complaints(
                    servers, sites, [*author.complaints, *pruner.complaints], deck.shortfalls
                )
        told = report.tell(
            deck,
            servers,
            stage.workers_of(sites),
            history,
            audience.records,
            pruner,
            violations,
            seed=self._options.seed,
            settled_seconds=settled,
        )
        if violations or self._options.is_kept:
            archive.write(history, audience.records, self._options.output)
        return Result(violations, deck.injected, told)

    async def _settle(
        self, audience: Spectators, sites: Sequence[Site], pruner: Pruner
    ) -> tuple[History, record.History]:
        """Wait until all workflows have ended, all is forgotten and everybody knows, or the patience is over."""
        connection = await asyncpg.connect(self._cluster.url, timeout=10, command_timeout=60)
        try:
            is_calm = await stage.calm_down(
                lambda: archive.count_unfinished(connection), lambda: self._leftovers(connection, sites)
            )
            leftovers = await self._leftovers(connection, sites)
            if is_calm:
                with contextlib.suppress(TimeoutError):
                    await pruner.finish()
                leftovers += await archive.read_remains(connection)
            last = await connection.fetchval("SELECT coalesce(max(revision), 0) FROM events")
            with contextlib.suppress(TimeoutError):
                await eventually(lambda: audience.has_arrived(last), deadline_seconds=60, interval_seconds=0.1)
            history_id = await connection.fetchval("SELECT history_id::text FROM event_history")
            history = History(
                [errand.plan for errand in self._errands],
                await archive.read_events(connection),
                await archive.read_statuses(connection),
                self._journal.read(),
                leftovers,
            )
        finally:
            await connection.close(timeout=10)
        rows = await log_archive.read_rows(self._cluster.url)
        return history, record.History([record.Era(history_id, rows)], [], audience.records)

    async def _leftovers(self, connection: asyncpg.Connection, sites: Sequence[Site]) -> list[str]:
        return [
            *await archive.read_holds(connection),
            *(f"a run is kept: {path.name}" for site in sites for path in site.runs()),
            *(f"a run is alive on machine {machine}" for machine in self._journal.alive()),
        ]

    def _make_sites(self, servers: Sequence[Server]) -> list[Site]:
        """Make provisioners that share a state directory, and agents with one of their own each."""
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
        where = (*stage.known_servers(servers, self._chance), "--state-dir", str(state_dir))
        how = ("--runtime", "process", "--process-images", str(self._journal.images))
        arguments = (*command, *where, *how, "--resync-seconds", str(_RESYNC_SECONDS))
        return Worker(name, self._options.directory, arguments, ready=_READY)

    def _derived(self) -> random.Random:
        return random.Random(self._chance.getrandbits(64))


@contextlib.asynccontextmanager
async def _author(servers: Sequence[Server]) -> AsyncIterator[Author]:
    author = Author(",".join(server.address for server in servers))
    try:
        yield author
    finally:
        await author.close()


@contextlib.asynccontextmanager
async def _pruner(servers: Sequence[Server], chance: random.Random) -> AsyncIterator[Pruner]:
    pruner = Pruner(",".join(server.address for server in servers), chance=chance)
    try:
        yield pruner
    finally:
        await pruner.close()
