"""One run: servers and provisioners are started, releases come, everything is killed, and it is judged."""

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
from support.release_chaos import archive, report, scenario
from support.release_chaos.author import Author
from support.release_chaos.fault import Faults, Kind
from support.release_chaos.journal import Journal
from support.release_history import verdict
from support.release_history.record import History
from support.waiting import eventually

# How many provisioners share each of the state directories, which are engines.
ENGINES = (2, 1)
_RESYNC_SECONDS = 10
# Of the time of the faults, so that what is done to the last releases happens in it.
_CREATION_SHARE = 0.9
_READY = "releases are watched"
_TYPES = frozenset({"RELEASE", "OPERATION", "NODE", "STEP", "LIFECYCLE"})
_ENDS = frozenset({"operation.succeeded", "operation.failed", "operation.timeout", "operation.cancelled"})

logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a run is to be. Each of the `kinds` of faults is injected at least `rounds` times, however long that takes.

    Calls of resources take `pace` times as long as usual. All files go to the directory, which must be one that
    PostgreSQL can use as a state directory; the history goes to `output` if it is to be kept, or if something was
    violated.
    """

    seed: int
    seconds: float
    rounds: int
    directory: Path
    output: Path
    releases: int = 100
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
        self._errands = scenario.errands(
            self._chance, options.releases, over_seconds=options.seconds * _CREATION_SHARE, pace=options.pace
        )

    async def run(self) -> Result[Kind]:
        self._journal.provide()
        await self._cluster.start()
        try:
            logger.info("PostgreSQL runs")
            await self._note_holds()
            lease_seconds = self._options.lease_seconds
            async with stage.serving(
                self._options.directory, self._cluster.url, lease_seconds=lease_seconds
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
        async with self._author(servers) as author:
            observer = stage.Observer(
                servers, lambda: f"{deck.injected.total()} faults, {len(author.plans)} operations begun"
            )
            async with stage.running([*audience.residents, observer]):
                async with asyncio.TaskGroup() as chaos:
                    writing = chaos.create_task(author.run(), name="author")
                    await deck.deal()
                    logger.info("no more faults; everything may come to its end")
                    began = asyncio.get_running_loop().time()
                    history, log = await self._settle(audience, sites, author, writing)
                settled = asyncio.get_running_loop().time() - began
                violations = verdict.judge(history) + log_verdict.judge_watchers(log)
                violations += stage.complaints(servers, sites, author.complaints, deck.shortfalls)
        told = report.tell(
            deck,
            servers,
            stage.workers_of(sites),
            history,
            audience.records,
            violations,
            seed=self._options.seed,
            settled_seconds=settled,
        )
        if violations or self._options.is_kept:
            archive.write(history, audience.records, self._options.output)
        return Result(violations, deck.injected, told)

    async def _settle(
        self, audience: Spectators, sites: Sequence[Site], author: Author, writing: asyncio.Task[None]
    ) -> tuple[History, record.History]:
        """Wait until all has ended, nothing is left and everybody knows, or the patience is over."""
        connection = await asyncpg.connect(self._cluster.url, timeout=10, command_timeout=60)
        try:

            async def count_unfinished() -> int:
                # Who has something left to do begins it as soon as what it waits for has ended.
                return author.left + await archive.count_unfinished(connection)

            await stage.calm_down(count_unfinished, lambda: self._leftovers(connection, sites))
            writing.cancel()
            last = await connection.fetchval("SELECT coalesce(max(revision), 0) FROM events")
            with contextlib.suppress(TimeoutError):
                await eventually(lambda: audience.has_arrived(last), deadline_seconds=60, interval_seconds=0.1)
            history_id = await connection.fetchval("SELECT history_id::text FROM event_history")
            history = History(
                author.plans,
                await archive.read_events(connection),
                await archive.read_nodes(connection),
                self._journal.read(),
                await archive.read_holds(connection, {site.instance: site.state_dir.name for site in sites}),
                frozenset(author.accepting),
                author.wanted,
                self._journal.contents(),
                await self._leftovers(connection, sites),
                await archive.read_emissions(connection),
                await archive.read_kinds(connection),
            )
        finally:
            await connection.close(timeout=10)
        rows = await log_archive.read_rows(self._cluster.url)
        return history, record.History([record.Era(history_id, rows)], [], audience.records)

    async def _note_holds(self) -> None:
        connection = await asyncpg.connect(self._cluster.url, timeout=10, command_timeout=60)
        try:
            await archive.note_holds(connection)
        finally:
            await connection.close(timeout=10)

    async def _leftovers(self, connection: asyncpg.Connection, sites: Sequence[Site]) -> list[str]:
        return [
            *await archive.read_unsettled(connection),
            *(f"a run is kept: {path}" for site in sites for path in site.runs()),
            *(f"a call of {thing} is alive" for thing in self._journal.alive()),
        ]

    def _make_sites(self, servers: Sequence[Server]) -> list[Site]:
        """Make provisioners, some of which share a state directory."""
        sites, number = [], 0
        for engine, count in enumerate(ENGINES):
            directory = self._options.directory / f"engine-{engine}"
            workers = []
            for _ in range(count):
                workers.append(self._make_worker(f"provisioner-{number}", servers, directory))
                number += 1
            sites.append(Site(directory, workers))
        return sites

    def _make_worker(self, name: str, servers: Sequence[Server], state_dir: Path) -> Worker:
        where = (*stage.known_servers(servers, self._chance), "--state-dir", str(state_dir), "--releases", "all")
        how = ("--runtime", "process", "--process-images", str(self._journal.images), "--release-concurrency", "16")
        arguments = ("provisioner", *where, *how, "--resync-seconds", str(_RESYNC_SECONDS))
        return Worker(name, self._options.directory, arguments, ready=_READY)

    @contextlib.asynccontextmanager
    async def _author(self, servers: Sequence[Server]) -> AsyncIterator[Author]:
        author = Author(",".join(server.address for server in servers), self._journal, self._errands)
        try:
            yield author
        finally:
            await author.close()

    def _derived(self) -> random.Random:
        return random.Random(self._chance.getrandbits(64))
