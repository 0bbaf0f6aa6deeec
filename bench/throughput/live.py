"""What an action costs while many other workflows are unfinished, to what it costs while few are."""

import asyncio
import time

from bench import cluster, process, statistic, usage
from bench.context import Context
from bench.result import Table, Verdict, number
from bench.throughput import noop, side

_FEW = 10
# Of so many workflows on one machine one runs, and the others wait for it.
_ON_A_MACHINE = 10
_LONGEST_SECONDS = 600
# Until thousands of workflows are known and those that may run do takes longer than what is measured then.
_PAIRS = 5
# These take about as long as the half minute after which everything unfinished is listed again.
_ROUNDS = 40
_QUIET_CORES = 0.05
_LOOK_SECONDS = 1.0
_MAKE = (
    "INSERT INTO template (id, name, data) VALUES (gen_random_uuid(), 'unfinished', '-')",
    """
    WITH made AS (
        INSERT INTO workflow (id, template_id, template_name, devices, data, total_actions, created_at)
        SELECT ('00000000-0000-4000-8000-' || lpad(to_hex(place), 12, '0'))::uuid, t.id, t.name, '{{}}', '-', 1,
               statement_timestamp() + make_interval(secs => place / 1e5)
          FROM template t CROSS JOIN generate_series(1, {live}) place
        RETURNING id
    )
    INSERT INTO action (id, workflow_id, action_index, task_name, name, image, worker_id)
    SELECT gen_random_uuid(), id, 0, 'task', 'action', '{image}',
           ('00000000-0000-4000-9000-' || lpad(to_hex(row_number() OVER (ORDER BY id) % {machines}), 12, '0'))::uuid
      FROM made
    """,
    "ANALYZE",
)
_RUNNING = "SELECT count(*) FROM workflow WHERE state = 'RUNNING'"


async def measure(context: Context) -> tuple[tuple[Table, ...], tuple[Verdict, ...]]:
    """Measure both, pair by pair. What takes too long to be made ready is not measured, and the verdicts say so."""
    many = context.scale.choose(quick=100, full=10_000)
    rounds = context.scale.choose(quick=1, full=_ROUNDS)
    of_action = f"an action beside {many:,} unfinished workflows, to one beside {_FEW}"
    what = (f"processor time of {of_action}", f"time of {of_action}")
    samples: dict[str, list[side.Sample]] = {str(_FEW): [], str(many): []}
    pairs = context.scale.choose(quick=1, full=min(_PAIRS, context.scale.pairs))
    for name in statistic.interleave(tuple(samples), pairs):
        try:
            sample = await _sample(context, int(name), rounds)
        except TimeoutError:
            reason = f"{name} workflows were not all known and begun within {_LONGEST_SECONDS} s"
            return (), tuple(Verdict.missing(one, "≤", 1.2, reason=reason) for one in what)
        samples[name].append(sample)
        context.say(f"throughput: beside {name} workflows {number(sample.rate)} actions/s")
    few, beside = samples[str(_FEW)], samples[str(many)]
    table = Table(
        "Tinkwell beside other unfinished workflows, one in ten of which runs",
        ("unfinished", "actions/s", *(f"{part}, ms an action" for part in few[0].milliseconds)),
        tuple((f"{int(name):,}", *side.row(found)) for name, found in samples.items()),
    )
    cpu = statistic.ratio([sample.cost for sample in beside], [sample.cost for sample in few])
    duration = statistic.ratio([sample.rate for sample in few], [sample.rate for sample in beside])
    return (table,), (Verdict.of(what[0], cpu, "≤", 1.2), Verdict.of(what[1], duration, "≤", 1.2))


async def _sample(context: Context, live: int, rounds: int) -> side.Sample:
    machines = live // _ON_A_MACHINE
    made = [statement.format(live=live, machines=machines, image=noop.STAYS) for statement in _MAKE]
    async with (
        context.cluster.database(made) as url,
        process.server(url, directory=context.directory) as server,
        side.provisioner(context, server.address, machines + side.LANES) as worker,
        process.generator("bench.throughput.source", directory=context.directory) as source,
    ):
        pids = {"PostgreSQL": context.cluster.pid, "server": server.pid, "provisioner": worker.pid}
        await _settle(url, machines, pids)
        await source.ask(do="prepare", address=server.address, machines=side.LANES, actions=side.ACTIONS)
        await source.ask(do="run", rounds=1)
        meter = usage.Meter(pids)
        began = time.perf_counter()
        await source.ask(do="run", rounds=rounds)
        return side.sample(meter, time.perf_counter() - began, rounds)


async def _settle(url: str, running: int, pids: dict[str, int]) -> None:
    """Wait until all that may run does, and nobody has anything more to do."""
    async with asyncio.timeout(_LONGEST_SECONDS):
        while True:
            meter = usage.Meter(pids)
            await asyncio.sleep(_LOOK_SECONDS)
            if sum(meter.read().values()) < _QUIET_CORES and await cluster.fetch_value(url, _RUNNING) == running:
                return
