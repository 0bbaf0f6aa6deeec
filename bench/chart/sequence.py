"""What the order of charts costs: independent subcharts with and without it, and a chain beside its calls."""

from collections.abc import Sequence

from bench import statistic
from bench.chart import tree
from bench.chart.site import Sample, Site
from bench.chart.tree import OWN, Tree
from bench.context import Context
from bench.release.part import Part
from bench.result import Table, Verdict, number, span

INDEPENDENT = "time of 20 independent subcharts installed with --wait ordered to --wait none"
CHAIN = "time of a chain of ten subcharts to the sum of its calls"
BOUND = 1.05
_COUNT, _LENGTH = 20, 10
_ORDERED, _NONE = "ordered", "none"


async def measure(context: Context, site: Site) -> Part:
    """Measure each way in turn, after one of each that is not counted."""
    rounds = min(5, context.scale.pairs)
    slept = context.scale.choose(quick=0.2, full=2.0)
    wide, chain = _wide(site, slept), _chain(site, slept)
    beside: dict[str, list[Sample]] = {_ORDERED: [], _NONE: []}
    for counted, wait in enumerate((_ORDERED, _NONE, *statistic.interleave(tuple(beside), rounds))):
        sample = await site.install(f"wide-{counted}", wide, count=_COUNT, wait=wait, parallel=_COUNT)
        if counted >= len(beside):
            beside[wait].append(sample)
    chained = [
        await site.install(f"chain-{counted}", chain, count=_LENGTH, wait=_ORDERED, parallel=_COUNT)
        for counted in range(rounds)
    ]
    ordered, free, whole = (_seconds(samples) for samples in (beside[_ORDERED], beside[_NONE], chained))
    wide_ratio = statistic.ratio(ordered, free)
    sums = [sum(sample.calls.values()) for sample in chained]
    chain_ratio = statistic.ratio(whole, sums)
    context.say(
        f"chart: ordered takes {number(wide_ratio.median)} × none, a chain {number(chain_ratio.median)} × its calls"
    )
    table = Table(
        f"Subcharts whose action sleeps for {slept} s, {rounds} rounds",
        ("", "in order, s", "its peer, s", "ratio", "to the sleep alone"),
        (
            (f"{_COUNT} independent, beside none", *_cells(ordered, free), _of_sleep(ordered, slept)),
            (f"a chain of {_LENGTH}, beside its calls", *_cells(whole, sums), _of_sleep(whole, slept * _LENGTH)),
        ),
    )
    verdicts = (Verdict.of(INDEPENDENT, wide_ratio, "≤", BOUND), Verdict.of(CHAIN, chain_ratio, "≤", BOUND))
    return Part(table, verdicts)


def _wide(site: Site, slept: float) -> bytes:
    """Return a chart whose own turn comes after subcharts that do not wait for each other."""
    children = {f"c{number}": Tree({"r": site.sleeper(slept)}) for number in range(_COUNT)}
    return tree.pack("wide", Tree(children=children, before={OWN: [*children]}))


def _chain(site: Site, slept: float) -> bytes:
    """Return a chart of which each subchart waits for the one before."""
    children = {f"c{number}": Tree({"r": site.sleeper(slept)}) for number in range(_LENGTH)}
    before = {f"c{number}": [f"c{number - 1}"] for number in range(1, _LENGTH)}
    return tree.pack("chain", Tree(children=children, before=before))


def _seconds(samples: Sequence[Sample]) -> list[float]:
    return [sample.seconds for sample in samples]


def _cells(ours: Sequence[float], others: Sequence[float]) -> tuple[str, str, str]:
    spreads = statistic.spread(ours), statistic.spread(others)
    return span(spreads[0]), span(spreads[1]), span(statistic.ratio(ours, others))


def _of_sleep(seconds: Sequence[float], slept: float) -> str:
    return span(statistic.spread(seconds), scale=1 / slept)
