"""Random nested charts with `--wait eager` beside their critical path, as networkx finds it."""

import random

from bench import statistic
from bench.chart import tree
from bench.chart.site import Site
from bench.chart.tree import OWN, Tree
from bench.context import Context
from bench.release.part import Part
from bench.result import Table, Verdict, number, span

WHAT = "time of a nested chart installed with --wait eager to its critical path"
BOUND = 1.05
# Four subcharts of two each, and their own resources after these: never more than eight at once.
_UNITS, _PARTS, _PARALLEL = 4, 2, 8


async def measure(context: Context, site: Site) -> Part:
    """Install one chart after the other."""
    rounds = min(5, context.scale.pairs)
    low, high = context.scale.choose(quick=(0.1, 0.4), full=(1.0, 4.0))
    seconds, critical, asleep = [], [], []
    for seed in range(rounds):
        slept: dict[str, float] = {}
        drawn = _draw(random.Random(seed), site, slept, low, high)
        count = len([*drawn.paths("eager")])
        archive = tree.pack("eager", drawn)
        sample = await site.install(f"eager-{seed}", archive, count=count, wait="eager", parallel=_PARALLEL)
        seconds.append(sample.seconds)
        critical.append(tree.longest("eager", drawn, sample.calls))
        asleep.append(tree.longest("eager", drawn, slept))
    ratio = statistic.ratio(seconds, critical)
    context.say(f"chart: eager takes {number(ratio.median)} × the critical path")
    table = Table(
        f"Nested charts whose actions sleep for {low} to {high} s, {rounds} of them",
        ("eager, s", "critical path of the calls, s", "ratio", "to that of the sleeps alone"),
        (
            (
                span(statistic.spread(seconds)),
                span(statistic.spread(critical)),
                span(ratio),
                span(statistic.ratio(seconds, asleep)),
            ),
        ),
    )
    return Part(table, (Verdict.of(WHAT, ratio, "≤", BOUND),))


def _draw(chance: random.Random, site: Site, slept: dict[str, float], low: float, high: float) -> Tree:
    """Draw a chart, and note for how long each of its resources sleeps."""

    def part(path: str) -> dict[str, object]:
        slept[f"{path}:r"] = seconds = round(chance.uniform(low, high), 2)
        return {"r": site.sleeper(seconds)}

    def befores(names: list[str]) -> dict[str, list[str]]:
        found = {name: chance.sample(names[:n], min(n, chance.choice((0, 1, 2)))) for n, name in enumerate(names)}
        return found | {OWN: names}

    units = [f"u{number}" for number in range(_UNITS)]
    children = {}
    for unit in units:
        path = f"eager.{unit}"
        parts = [f"{unit}-p{number}" for number in range(_PARTS)]
        below = {name: Tree(part(f"{path}.{name}")) for name in parts}
        children[unit] = Tree(part(path), below, befores(parts))
    return Tree(part("eager"), children, befores(units))
