"""Runs the systems in turn, and then Tinkwell beside few and many other workflows."""

from bench import statistic
from bench.context import Context
from bench.result import Outcome, Table, Verdict, number
from bench.throughput import live, side

_COMPARES = f"""\
{side.LANES} lanes, in each of which workflows of {side.ACTIONS} steps that do nothing follow each other, step by step;
with Tinkwell a lane is a machine. *Tinkwell* is a server, a provisioner as it is but for a runtime whose runs end at
once, and a client that creates each workflow when its machine's last one has succeeded: every step is an action that is
reported RUNNING and SUCCEEDED, with its events and its journal. *DBOS* has a workflow of durable steps, both async.
*Procrastinate* has a job for each step, which defers the next one, so that they keep their order. All are on the same
PostgreSQL with the same settings, each commit flushed; the peers have {side.PROCESSES} worker processes, which share
the lanes, and a connection for each lane. The first round of workflows is not counted.
"""
_NOTES = (
    (
        "A step of a peer is a call of a function in its worker; an action is a run on a machine, told by events to"
        " anyone who watches. DBOS commits once for a step, Procrastinate three times (fetched, deferred, finished)."
        " Tinkwell writes the end of an action and the start of the next one in one transaction, with three events,"
        " and several lanes' in the same one where they come at once."
    ),
    (
        "The tables show processor time: with all parts on the same cores it is what limits the rate, and what is left"
        " over is waiting for the disk and for each other. No part of it stands out any more: PostgreSQL writes four"
        " rows and three events for an action, the server decides, writes and tells them to all watchers, and the"
        " provisioner begins, follows and clears up a run."
    ),
)


async def run(context: Context) -> Outcome:
    """Measure."""
    present = [name for name in side.SIDES if not side.missing(name)]
    rounds = context.scale.choose(quick=1, full=10)
    samples: dict[str, list[side.Sample]] = {name: [] for name in present}
    for name in statistic.interleave(present, context.scale.pairs):
        sample = await side.measure(context, name, rounds=rounds)
        samples[name].append(sample)
        context.say(f"throughput: {name} {number(sample.rate)} actions/s")
    beside, verdicts = await live.measure(context)
    return Outcome(
        title="Throughput",
        compares=_COMPARES,
        tables=(*(_table(name, found) for name, found in samples.items()), *beside),
        verdicts=(_verdict(samples), *verdicts),
        notes=_NOTES,
    )


def _table(name: str, samples: list[side.Sample]) -> Table:
    parts = (f"{part}, ms an action" for part in samples[0].milliseconds)
    return Table(name, ("actions/s", *parts), (side.row(samples),))


def _verdict(samples: dict[str, list[side.Sample]]) -> Verdict:
    what = "actions/s through the whole system to the better one of DBOS and Procrastinate"
    absent = [package for name in side.SIDES if (package := side.missing(name))]
    if absent:
        return Verdict.missing(what, "≥", 1.2, reason=f"{' and '.join(absent)} not installed")
    rates = {name: [sample.rate for sample in found] for name, found in samples.items()}
    better = [max(pair) for pair in zip(rates[side.DBOS], rates[side.PROCRASTINATE], strict=True)]
    return Verdict.of(what, statistic.ratio(rates[side.TINKWELL], better), "≥", 1.2)
