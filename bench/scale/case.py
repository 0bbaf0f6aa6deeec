"""Measures each size of machines, then each size of releases."""

from bench.context import Context
from bench.result import Outcome
from bench.scale import machines, releases, table

_COMPARES = """\
Machines are pushed by `tinkwell hardware push` to a server with an empty database. A client then gets one machine,
lists all, and watches from the oldest event; *whole list* and *first* are times from the call to the last and the
first object of the list, which is a stream. At last so many watchers of all machines are live in another process, and
a machine changes every 30 to 60 ms: from just before the commit to the callback of the client library. Releases have
one resource each, whose calls do nothing; a provisioner as it is brings 16 at once about. *At rest* is a time in
which nothing happens, with one resync of the provisioner. Bytes are of tables with their indexes
(`pg_total_relation_size`).
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
        notes=("One sample of each size. Memory is resident memory, which counts what processes share in each.",),
    )
