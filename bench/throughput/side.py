"""The systems that are compared, each over a fresh database, with the same number of lanes in which actions run."""

import asyncio
import contextlib
import importlib.util
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from bench import cluster, process, statistic, usage
from bench.context import Context
from bench.result import number, span

TINKWELL, DBOS, PROCRASTINATE = "Tinkwell", "DBOS", "Procrastinate"
SIDES = (TINKWELL, DBOS, PROCRASTINATE)
LANES = 16
ACTIONS = 20
# Each peer is a library in a worker's process, and is said to scale by more of them: as many as there are cores here.
PROCESSES = 2
_COUNTS = {
    TINKWELL: "SELECT count(*) FROM action_status WHERE state = 'SUCCEEDED'",
    DBOS: "SELECT count(*) FROM dbos.operation_outputs WHERE error IS NULL",
    PROCRASTINATE: "SELECT count(*) FROM procrastinate_jobs WHERE status IN ('succeeded', 'doing')",
}
_MODULES = {DBOS: "bench.throughput.dbos_step", PROCRASTINATE: "bench.throughput.procrastinate_job"}
_PACKAGES = {DBOS: "dbos", PROCRASTINATE: "procrastinate"}


@dataclass(frozen=True, slots=True)
class Side:
    """A system that is ready: its processes but for PostgreSQL's, and what takes each lane through some rounds."""

    pids: Mapping[str, int]
    run: Callable[[int], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Sample:
    """Actions in a second, and milliseconds of processor time for each by part."""

    rate: float
    milliseconds: Mapping[str, float]

    @property
    def cost(self) -> float:
        """Milliseconds of processor time for each action, of all parts together."""
        return sum(self.milliseconds.values())


def missing(side: str) -> str:
    """Return the package that is not installed, or nothing."""
    package = _PACKAGES.get(side)
    return package if package is not None and importlib.util.find_spec(package) is None else ""


async def measure(context: Context, side: str, *, rounds: int) -> Sample:
    """Run all actions of one side, after one round that is not counted. Raises `process.Failed`."""
    async with contextlib.AsyncExitStack() as stack:
        url = await stack.enter_async_context(context.cluster.database())
        ready = await stack.enter_async_context(
            _tinkwell(context, url) if side == TINKWELL else _peer(context, url, side)
        )
        await ready.run(1)
        meter = usage.Meter({"PostgreSQL": context.cluster.pid, **ready.pids})
        began = time.perf_counter()
        await ready.run(rounds)
        measured = sample(meter, time.perf_counter() - began, rounds)
        await _check(url, side, (rounds + 1) * LANES * ACTIONS)
    return measured


def sample(meter: usage.Meter, seconds: float, rounds: int) -> Sample:
    """Make a sample of so many rounds that have just taken so long."""
    actions = rounds * LANES * ACTIONS
    return Sample(actions / seconds, {part: cores * seconds / actions * 1000 for part, cores in meter.read().items()})


def row(samples: Sequence[Sample]) -> tuple[str, ...]:
    """Return the cells of a table: the rate, and the processor time of each part."""
    parts = samples[0].milliseconds
    costs = (statistic.spread([found.milliseconds[part] for found in samples]) for part in parts)
    return span(statistic.spread([found.rate for found in samples])), *(number(cost.median) for cost in costs)


async def _check(url: str, side: str, expected: int) -> None:
    done = await cluster.fetch_value(url, _COUNTS[side])
    if done != expected:
        raise process.Failed(f"{side} did {done} actions where {expected} were wanted")


@contextlib.asynccontextmanager
async def _tinkwell(context: Context, url: str) -> AsyncIterator[Side]:
    """Run a server, a provisioner whose runs do nothing, and what creates workflows."""
    async with (
        process.server(url, directory=context.directory) as server,
        provisioner(context, server.address, LANES) as worker,
        process.generator("bench.throughput.source", directory=context.directory) as source,
    ):
        await source.ask(do="prepare", address=server.address, machines=LANES, actions=ACTIONS)

        async def run(rounds: int) -> None:
            await source.ask(do="run", rounds=rounds)

        yield Side({"server": server.pid, "provisioner": worker.pid, "client": source.pid}, run)


@contextlib.asynccontextmanager
async def provisioner(context: Context, address: str, concurrency: int) -> AsyncIterator[process.Program]:
    """Run a provisioner for all machines whose runs do nothing, until it watches."""
    directory = context.directory / "provisioner"
    command = (sys.executable, "-m", "bench.throughput.provisioner", address, str(directory), str(concurrency))
    async with process.program(*command, log=context.directory / "provisioner.log") as running:
        await running.line("workflows are watched")
        yield running


@contextlib.asynccontextmanager
async def _peer(context: Context, url: str, side: str) -> AsyncIterator[Side]:
    """Run the processes of another system, which share the lanes."""
    async with contextlib.AsyncExitStack() as stack:
        workers = []
        for number in range(PROCESSES):
            name = f"worker-{number}"
            worker = await stack.enter_async_context(
                process.generator(_MODULES[side], directory=context.directory, name=name)
            )
            settings = {"executor": name, "lanes": LANES // PROCESSES, "actions": ACTIONS, "first": not number}
            await worker.ask(do="prepare", url=url, **settings)
            workers.append(worker)

        async def run(rounds: int) -> None:
            await asyncio.gather(*(worker.ask(do="run", rounds=rounds) for worker in workers))

        yield Side({f"worker {number}": worker.pid for number, worker in enumerate(workers, 1)}, run)
