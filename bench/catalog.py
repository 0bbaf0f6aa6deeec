"""All benchmarks, in the order of the page."""

from bench import (
    api,
    bulk,
    chart,
    commit,
    container,
    dispatch,
    fanout,
    frozen,
    idle,
    large,
    latency,
    lua,
    release,
    replay,
    retention,
    throughput,
    unit,
    workers,
)
from bench.context import Case

CASES = (
    Case("commit", commit.run),
    Case("latency", latency.run),
    Case("fanout", fanout.run),
    Case("replay", replay.run),
    Case("idle", idle.run),
    Case("large", large.run),
    Case("frozen", frozen.run),
    Case("workers", workers.run),
    Case("retention", retention.run),
    Case("bulk", bulk.run),
    Case("api", api.run),
    Case("dispatch", dispatch.run),
    Case("throughput", throughput.run),
    Case("container", container.run),
    Case("release", release.run),
    Case("unit", unit.run),
    Case("chart", chart.run),
    Case("lua", lua.run),
)
