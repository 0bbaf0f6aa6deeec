"""A plan of a hundred unchanged resources, whose calls are processes, beside Terraform's of as many states."""

import asyncio
import json
import time
from collections.abc import Sequence

from bench import statistic
from bench.chart import terraform
from bench.chart.site import Site
from bench.context import Context
from bench.release.part import Part
from bench.release.site import LONGEST_SECONDS
from bench.result import Table, number, span
from tinkwell.core.release.preview import summary
from tinkwell.core.release.preview.model import Preview

_COUNT = 100
# As many as Terraform reads at once.
_PARALLEL = 10
_RELEASE = "planned"
_OURS, _TERRAFORM = "tinkwell release plan", "terraform plan"


async def measure(context: Context, site: Site) -> Part:
    """Measure both in turn, after one of each that is not counted; Terraform's only where it is installed."""
    rounds = context.scale.choose(quick=1, full=context.scale.pairs)
    program = await asyncio.to_thread(terraform.program, context.directory)
    ways = (_OURS,) if program is None else (_OURS, _TERRAFORM)
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    await _install(site)
    for counted, way in enumerate((*ways, *statistic.interleave(ways, rounds))):
        if way == _OURS:
            taken = await _plan(site)
        else:
            assert program is not None
            taken, _ = await terraform.plan_of_states(program, context.directory / "states", _COUNT)
        if counted >= len(ways):
            seconds[way].append(taken)
    return _part(context, seconds, rounds)


def _part(context: Context, seconds: dict[str, list[float]], rounds: int) -> Part:
    spreads = {way: statistic.spread(found) for way, found in seconds.items()}
    ratio = statistic.ratio(seconds[_OURS], seconds[_TERRAFORM]) if _TERRAFORM in seconds else None
    beside = "Terraform is not installed" if ratio is None else f"{number(ratio.median)} × Terraform's"
    context.say(f"release: a plan of {_COUNT} unchanged resources takes {number(spreads[_OURS].median)} s, {beside}")
    header: Sequence[str] = ("", f"{_OURS}, s", f"{_TERRAFORM}, s", "ratio")
    others = ("–", "–") if ratio is None else (span(spreads[_TERRAFORM]), span(ratio))
    title = f"Plans of {_COUNT} unchanged resources, {rounds} rounds"
    return Part(Table(title, tuple(header), ((f"{_PARALLEL} at once", span(spreads[_OURS]), *others),)))


async def _install(site: Site) -> None:
    """Bring the resources about, which are there already."""
    resources = {}
    for place in range(_COUNT):
        made = site.folder / f"r{place}"
        made.touch()
        resources[f"r{place}"] = {"type": site.sleeper(0)["type"], "config": {"made": str(made), "seconds": "0"}}
    async with asyncio.timeout(LONGEST_SECONDS):
        manifest = json.dumps({"resources": resources})
        await (await site.client.releases.apply(_RELEASE, manifest=manifest)).result()


async def _plan(site: Site) -> float:
    """Plan what is there already; returns the seconds from the request to what is found."""
    releases = site.client.releases
    found = await releases.revision(_RELEASE)
    manifest = next(iter((found.source or {})["files"].values()))
    async with asyncio.timeout(LONGEST_SECONDS):
        began = time.perf_counter()
        handle = await releases.plan(_RELEASE, manifest=manifest, parallel=_PARALLEL)
        await handle.result()
        operation = await releases.operation(handle.id)
        seconds = time.perf_counter() - began
    assert not summary.has_changes(Preview.from_json(operation.result)), "it is unchanged"
    return seconds
