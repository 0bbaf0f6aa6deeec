"""The tables of machines and releases, with a column for each size."""

from collections.abc import Sequence

from bench.result import Table, number
from bench.scale.machines import Machines
from bench.scale.releases import Releases

_MIB = 2**20


def of_machines(found: Sequence[Machines]) -> Table:
    """Return the table of machines and watchers."""
    rows = (
        ("push, s", *(number(each.pushed) for each in found)),
        *(
            (f"{part}, ms of processor a machine", *(number(each.cpu[part] / each.machines * 1000) for each in found))
            for part in found[0].cpu
        ),
        ("tables but the log, bytes a machine", *(number(each.rows_each) for each in found)),
        ("log, bytes a machine", *(number(each.events_each) for each in found)),
        ("server before, MiB", *(number(each.rss_before / _MIB) for each in found)),
        ("server after the push, MiB", *(number(each.rss_pushed / _MIB) for each in found)),
        ("server after list and replay, MiB", *(number(each.rss_replayed / _MIB) for each in found)),
        ("server with watchers, MiB", *(number(each.rss_watched / _MIB) for each in found)),
        ("get, ms", *(number(each.get * 1000) for each in found)),
        ("list, first, ms", *(number(each.first * 1000) for each in found)),
        ("whole list, ms", *(number(each.whole * 1000) for each in found)),
        ("watch from the oldest event, events/s", *(number(each.machines / each.replayed) for each in found)),
        ("commit to a watcher, p50, ms", *(number(each.latencies.percentile(0.5) * 1000) for each in found)),
        ("commit to a watcher, p99, ms", *(number(each.latencies.percentile(0.99) * 1000) for each in found)),
    )
    header = ("", *(f"{each.machines:,} machines, {each.watchers:,} watchers" for each in found))
    return Table("Machines", header, rows)


def of_releases(found: Sequence[Releases]) -> Table:
    """Return the table of releases."""
    rows = (
        ("install, s", *(number(each.seconds) for each in found)),
        *(
            (f"{part}, ms of processor a release", *(number(each.cpu[part] / each.releases * 1000) for each in found))
            for part in found[0].cpu
        ),
        ("tables but the log, bytes a release", *(number(each.rows_each) for each in found)),
        ("log, bytes a release", *(number(each.events_each) for each in found)),
        ("server, MiB", *(number(each.server_rss / _MIB) for each in found)),
        ("provisioner, MiB", *(number(each.provisioner_rss / _MIB) for each in found)),
        ("get, ms", *(number(each.get * 1000) for each in found)),
        ("list, first, ms", *(number(each.first * 1000) for each in found)),
        ("whole list, ms", *(number(each.whole * 1000) for each in found)),
        ("one more, ms", *(number(each.one_more * 1000) for each in found)),
        *(
            (f"{part} at rest, cores", *(number(each.idle_cpu[part] / each.idle_seconds) for each in found))
            for part in found[0].idle_cpu
        ),
    )
    return Table("Releases", ("", *(f"{each.releases:,} releases" for each in found)), rows)
