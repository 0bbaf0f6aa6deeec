"""All cases: one server and one database for them, and the judgement of the whole."""

import asyncio
import logging
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from support.chaos import report as chaos_report
from support.chaos import stage
from support.chaos.cluster import Cluster
from support.chaos.server import Server
from support.history.record import Violation
from support.release_chaos import archive
from support.release_chaos.journal import Journal
from support.release_chaos.report import about
from support.release_history import verdict
from support.release_history.record import History
from support.release_kill.case import Case
from support.release_kill.play import Play

LEASE_SECONDS = 2.0
_PROGRESS = 10

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The cases, and how many of them are played at once; they are known by a seed, if they were drawn.

    All files go to the directory, which PostgreSQL can use as a state directory; the history goes to `output` where a
    promise was broken.
    """

    cases: Sequence[Case]
    directory: Path
    output: Path
    jobs: int = 2
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """What was found, and that for people."""

    violations: Sequence[Violation]
    text: str


async def run(options: Options) -> Result:
    """Play all cases. Must be called in the main thread, as PostgreSQL is started."""
    journal = Journal(options.directory)
    journal.provide()
    async with _serving(options.directory) as (url, server):
        plays = await _play(options, server, journal)
        history = await _read(url, plays, journal)
    violations = verdict.judge(history)
    violations += [Violation("P1", str(play.case), text) for play in plays for text in play.complaints]
    violations += [Violation("P1", server.name, text) for text in server.complaints]
    if violations:
        archive.write(history, [], options.output)
    text = "\n".join((*_tell(plays), *about(history), *chaos_report.findings(violations, options.seed)))
    return Result(violations, text)


@asynccontextmanager
async def _serving(directory: Path) -> AsyncIterator[tuple[str, Server]]:
    cluster = Cluster(directory, bin_dir=Path(os.environ["PG_BIN"]) if os.environ.get("PG_BIN") else None)
    await cluster.start()
    try:
        connection = await asyncpg.connect(cluster.url, timeout=10, command_timeout=60)
        try:
            await archive.note_holds(connection)
        finally:
            await connection.close(timeout=10)
        settings = {"TINKWELL_LEASE_SECONDS": str(LEASE_SECONDS)}
        server = Server("server", directory, cluster.url, settings=settings)
        async with stage.running([server]):
            await server.ready.wait()
            yield cluster.url, server
    finally:
        await cluster.stop()


async def _play(options: Options, server: Server, journal: Journal) -> Sequence[Play]:
    plays = [Play(each, options.directory, server, journal) for each in options.cases]
    waiting = iter(plays)

    async def work() -> None:
        for play in waiting:
            await play.run()
            if play.case.number % _PROGRESS == 0:
                logger.info("case %d of %d", play.case.number, len(plays))

    async with asyncio.TaskGroup() as tasks:
        for _ in range(options.jobs):
            tasks.create_task(work())
    return plays


async def _read(url: str, plays: Sequence[Play], journal: Journal) -> History:
    sites = [site for play in plays for site in (play.home, play.away) if site.state_dir.exists()]
    connection = await asyncpg.connect(url, timeout=10, command_timeout=60)
    try:
        return History(
            [plan for play in plays for plan in play.author.plans],
            await archive.read_events(connection),
            await archive.read_nodes(connection),
            journal.read(),
            await archive.read_holds(connection, {site.instance: site.state_dir.name for site in sites}),
            frozenset(id_ for play in plays for id_ in play.author.accepting),
            {release: wanted for play in plays for release, wanted in play.author.wanted.items()},
            journal.contents(),
            [
                *await archive.read_unsettled(connection),
                *(f"a run is kept: {path}" for site in sites for path in site.runs()),
                *(f"a call of {thing} is alive" for thing in journal.alive()),
            ],
            await archive.read_emissions(connection),
            await archive.read_kinds(connection),
        )
    finally:
        await connection.close(timeout=10)


def _tell(plays: Sequence[Play]) -> Iterator[str]:
    reached = [play.case for play in plays if play.was_reached]
    removals, charts = (sum(getattr(each, name) for each in reached) for name in ("removes", "is_chart"))
    yield f"points     {len(plays)}, of which {len(reached)} were reached"
    yield f"           {removals} of them in removals, {charts} with charts"
    for fate, count in sorted(Counter(each.fate.value for each in reached).items()):
        yield f"  {fate:62} {count:3}"
    for deed, count in Counter(f"{each.moment} it {each.deed}" for each in reached).most_common():
        yield f"  {deed:62} {count:3}"
