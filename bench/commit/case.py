"""Puts the parts together: two disks, and long transactions."""

from bench import statistic
from bench.commit import long_transaction, slow_disk, throughput
from bench.context import Context
from bench.result import Outcome, Table, Verdict

_CLIENTS = 32
_SLOW_CLIENTS = 100
_BELL, _SILENT, _NOTIFY, _BARE = "bell", "no notification", "NOTIFY each", "no triggers"
_COMPARES = """\
One machine is inserted per transaction into `hardware`, through all of Tinkwell's triggers, by pgbench with prepared
statements. One reader, a server's, is attached in every variant and must read every event: *bell* is Tinkwell as it
is; *no notification* never looks for the bell, and its reader only polls; *NOTIFY each* has a trigger that notifies,
without payload, in every transaction. Then the same with a disk that needs longer to flush, where *no triggers*, which
records nothing at all, shows the most that this machine could commit; and writers whose events must not wait for
another writer's open transaction. A first second, in which sessions fill their caches and the reader is woken, is left
out of the commits/s.
"""
_NOTES = (
    "The server and pgbench take their share of PostgreSQL's cores in every variant; the tables say how much.",
    (
        "NOTIFY takes a lock of the whole cluster and holds it while the transaction is flushed, so those commits are"
        " flushed one by one: the slower the disk, the larger the difference. No two writers contend for the bell."
    ),
    (
        "Where the settings above say huge_pages_status = on, all variants have huge pages. With the bell, 100 clients"
        " make 7 to 13 % more commits by them; those with NOTIFY each wait for the disk, and gain little."
    ),
    "The latency beside long transactions begins when the revision is drawn, so that it includes the flush.",
)


async def run(context: Context) -> Outcome:
    """Measure."""
    rates, table = await throughput.measure(
        context, context.cluster, (_BELL, _SILENT, _NOTIFY), clients=_CLIENTS, title=f"{_CLIENTS} clients"
    )
    silent, notify = statistic.ratio(rates[_BELL], rates[_SILENT]), statistic.ratio(rates[_BELL], rates[_NOTIFY])
    slow_table, slow_verdict = await _slow(context)
    long_table, long_verdict = await long_transaction.measure(context)
    return Outcome(
        title="Commit throughput",
        compares=_COMPARES,
        tables=(table, *slow_table, long_table),
        verdicts=(
            Verdict.of(f"commits/s with the bell to those without notification, {_CLIENTS} clients", silent, "≥", 0.80),
            Verdict.of(f"commits/s with the bell to those with NOTIFY each, {_CLIENTS} clients", notify, "≥", 3),
            slow_verdict,
            long_verdict,
        ),
        notes=_NOTES,
    )


async def _slow(context: Context) -> tuple[tuple[Table, ...], Verdict]:
    delay = f"{slow_disk.DELAY_MILLISECONDS} ms more for each flush"
    what = f"the same with {delay}, {_SLOW_CLIENTS} clients"
    try:
        async with slow_disk.running() as slow:
            rates, table = await throughput.measure(
                context, slow, (_BELL, _NOTIFY, _BARE), clients=_SLOW_CLIENTS, title=f"{_SLOW_CLIENTS} clients, {delay}"
            )
    except slow_disk.NotPossible as error:
        return (), Verdict.missing(what, "≥", 20, reason=str(error))
    return (table,), Verdict.of(what, statistic.ratio(rates[_BELL], rates[_NOTIFY]), "≥", 10)
