"""The cells that the figures of each size become."""

from bench.scale import table
from bench.scale.machines import Machines
from bench.scale.releases import Releases
from bench.statistic import Latencies

_MIB = 2**20


def test_machines_show_costs_of_each_and_rates() -> None:
    latencies = Latencies()
    latencies.add(0.002)
    cpu = {"PostgreSQL": 1.0, "server": 2.0}
    found = Machines(
        machines=1_000,
        watchers=10,
        pushed=4.0,
        cpu=cpu,
        rows_each=900.0,
        events_each=700.0,
        rss_before=100 * _MIB,
        rss_pushed=110 * _MIB,
        rss_replayed=120 * _MIB,
        rss_watched=130 * _MIB,
        get=0.001,
        first=0.002,
        whole=0.05,
        replayed=0.1,
        latencies=latencies,
    )
    shown = table.of_machines([found, found])
    cells = {row[0]: row[1:] for row in shown.rows}
    assert shown.header == ("", *["1,000 machines, 10 watchers"] * 2)
    assert cells["server, ms of processor a machine"] == ("2.00", "2.00")
    assert cells["server with watchers, MiB"] == ("130", "130")
    assert cells["watch from the oldest event, events/s"] == ("10,000", "10,000")
    assert cells["whole list, ms"] == ("50.0", "50.0")


def test_releases_show_costs_of_each_and_cores_at_rest() -> None:
    cpu = {"PostgreSQL": 1.0, "server": 2.0, "provisioner": 3.0}
    found = Releases(
        releases=100,
        seconds=5.0,
        cpu=cpu,
        rows_each=9_000.0,
        events_each=7_000.0,
        server_rss=100 * _MIB,
        provisioner_rss=80 * _MIB,
        get=0.001,
        first=0.002,
        whole=0.05,
        one_more=0.04,
        idle_seconds=30.0,
        idle_cpu={"provisioner": 0.3},
    )
    shown = table.of_releases([found])
    cells = {row[0]: row[1] for row in shown.rows}
    assert cells["provisioner, ms of processor a release"] == "30.0"
    assert cells["provisioner at rest, cores"] == "0.01"
    assert cells["one more, ms"] == "40.0"
