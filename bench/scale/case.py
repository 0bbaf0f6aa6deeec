"""Measures each size of machines, then each size of releases."""

from bench.context import Context
from bench.result import Outcome
from bench.scale import machines, releases, table

_COMPARES = """\
`tinkwell hardware push` pushes the machines to a server with an empty database. A client then gets one machine, lists
all machines, and watches them from the oldest event on; *whole list* and *first* are the times from the call to the
last and to the first object of the list, which is a stream. Then another process opens the watchers, which watch all
machines, and a machine changes every 30 to 60 ms: the latency is from just before the commit to the callback of the
client library. Each release has one resource, whose calls do nothing; one provisioner carries out 16 operations at
once. *At rest* is half a minute without any request, in which the provisioner looks once for operations that it has
missed. Processor time includes child processes. Bytes are of tables with their indexes (`pg_total_relation_size`).
"""


async def run(context: Context) -> Outcome:
    """Measure."""
    fleets = context.scale.choose(quick=((100, 2), (1_000, 10)), full=((1_000, 10), (10_000, 100), (100_000, 1_000)))
    sizes = context.scale.choose(quick=(5, 20), full=(100, 1_000, 10_000))
    of_machines = [await machines.measure(context, count, watchers) for count, watchers in fleets]
    of_releases = [await releases.measure(context, count) for count in sizes]
    return Outcome(
        title="Scale",
        compares=_COMPARES,
        tables=(table.of_machines(of_machines), table.of_releases(of_releases)),
        verdicts=(),
        notes=("One sample of each size. Memory is resident memory; a page that processes share counts for each.",),
    )
