"""A release of ten unchanged resources beside the twenty calls that Deployster makes, by `docker run` in turn."""

import time

from bench import statistic
from bench.context import Context
from bench.release import resource
from bench.release.part import Part
from bench.release.site import Site
from bench.result import Table, Verdict, number, span

WHAT, BOUND = "time of an unchanged release of ten resources to twenty docker run -i in turn", 0.45
_RESOURCES = 10
_RELEASE = "ten"
_APPLY, _TURN, _POLLED = "an apply", "docker run, 20 in turn", "the same, each polled once a second"
_POLL_SECONDS = 1.0


async def measure(context: Context, site: Site) -> Part:
    """Measure each way in turn, after an apply that is not counted."""
    rounds = context.scale.choose(quick=1, full=context.scale.pairs)
    manifest = resource.manifest(_RESOURCES)
    await site.apply(_RELEASE, manifest)
    for name in _names():
        (site.data / name).touch()
    seconds: dict[str, list[float]] = {_APPLY: [], _TURN: [], _POLLED: []}
    for way in statistic.interleave(tuple(seconds), rounds):
        began = time.perf_counter()
        if way == _APPLY:
            await _apply(site, manifest)
        else:
            await _in_turn(site, poll_seconds=_POLL_SECONDS if way == _POLLED else 0.0)
        seconds[way].append(time.perf_counter() - began)
    ratio = statistic.ratio(seconds[_APPLY], seconds[_TURN])
    context.say(f"release: ten unchanged resources take {number(ratio.median)} × twenty docker run")
    cells = (span(statistic.spread(found)) for found in seconds.values())
    header = tuple(f"{way}, s" for way in seconds)
    title = f"Ten unchanged resources, {rounds} rounds"
    return Part(Table(title, (*header, "ratio"), ((*cells, span(ratio)),)), (Verdict.of(WHAT, ratio, "≤", BOUND),))


def _names() -> list[str]:
    return [f"r{number}" for number in range(_RESOURCES)]


async def _apply(site: Site, manifest: str) -> None:
    ended = await site.apply(_RELEASE, manifest)
    assert not ended.changed_nodes, "it is unchanged"


async def _in_turn(site: Site, *, poll_seconds: float) -> None:
    for name in _names():
        for command in ((), ("state",)):
            await site.run_plainly(name, *command, poll_seconds=poll_seconds)
