"""Units' events through the whole system, beside steps of DBOS and jobs of Procrastinate."""

from bench import statistic
from bench.context import Context
from bench.result import Table, Verdict, number
from bench.throughput import side
from bench.throughput.side import DBOS, PROCRASTINATE, SIDES, TINKWELL, Sample
from bench.unit import charms, play, site
from bench.unit.part import Part

WHAT = f"events/s of {play.UNITS} units to the better one of DBOS and Procrastinate"
_BOUND = 1.2
_WARM_UP_RETURNS = 3


async def measure(context: Context) -> Part:
    """Run the systems in turn."""
    present = [name for name in SIDES if not side.missing(name)]
    rounds = context.scale.choose(quick=1, full=10)
    samples: dict[str, list[Sample]] = {name: [] for name in present}
    for name in statistic.interleave(present, context.scale.pairs):
        sample = await (_units(context) if name == TINKWELL else side.measure(context, name, rounds=rounds))
        samples[name].append(sample)
        context.say(f"unit: {name} {number(sample.rate)} events/s")
    tables = [
        Table(name, ("events/s", *(f"{part}, ms an event" for part in found[0].milliseconds)), (side.row(found),))
        for name, found in samples.items()
    ]
    return Part(tuple(tables), (_verdict(samples),))


async def _units(context: Context) -> Sample:
    returns = context.scale.choose(quick=3, full=60)
    async with site.opened(context) as stage, stage.agent(charms.Player) as agent:
        players = play.Play(stage)
        await players.prepare()
        pids = stage.processes(agent)
        await players.run(pids, _WARM_UP_RETURNS)
        told = await players.run(pids, returns)
    return Sample(told.rate, told.milliseconds)


def _verdict(samples: dict[str, list[Sample]]) -> Verdict:
    absent = [package for name in SIDES if (package := side.missing(name))]
    if absent:
        return Verdict.missing(WHAT, "≥", _BOUND, reason=f"{' and '.join(absent)} not installed")
    rates = {name: [sample.rate for sample in found] for name, found in samples.items()}
    better = [max(pair) for pair in zip(rates[DBOS], rates[PROCRASTINATE], strict=True)]
    return Verdict.of(WHAT, statistic.ratio(rates[TINKWELL], better), "≥", _BOUND)
