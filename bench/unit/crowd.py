"""One unit with a thousand on the other side, and all of them at rest."""

import asyncio
import functools

from bench import statistic, usage
from bench.context import Context
from bench.result import Table, Verdict, number, span
from bench.unit import charms, site
from bench.unit.part import Part
from bench.unit.site import Site, Told
from tinkwell.charm import Profile

_HUB, _CROWD = "hub", "crowd"
# As many as each unit of the crowd is told when it is related: created, joined, changed, and two at the hub for it.
_EACH = 5
_BOUND = 1.3
_REST_BOUND = 0.01


async def measure(context: Context) -> Part:
    """Measure the fan-in and as many single events, pair by pair, and what units at rest take of the processor."""
    units = context.scale.choose(quick=10, full=1_000)
    single: list[Told] = []
    related: list[Told] = []
    rest: list[dict[str, float]] = []
    empty: list[dict[str, float]] = []
    for _ in range(context.scale.choose(quick=1, full=min(3, context.scale.pairs))):
        async with site.opened(context) as stage, stage.agent(charms.Member) as agent:
            pids = stage.processes(agent)
            empty.append(await _rest(context, pids))
            await stage.deploy(charms.Member, {_HUB: 1, _CROWD: units}, profile=Profile.JUJU)
            single.append(await _single(stage, pids, units))
            begin = functools.partial(stage.relate, (_HUB, _CROWD))
            related.append(await stage.told(pids, begin, _EACH * units + 1))
            await stage.settled(_HUB, _CROWD)
            context.say(f"unit: 1 x {units:,} {number(related[-1].rate)} events/s, single {number(single[-1].rate)}")
            rest.append(await _rest(context, pids))
    return Part(
        (_events(units, single, related), _busy(units, empty, rest)),
        (_fan_in(units, single, related), _at_rest(units, rest)),
    )


async def _single(stage: Site, pids: dict[str, int], units: int) -> Told:
    """Tell the crowd as many events that concern nobody else, each unit the next one when all have had the last."""
    found: list[Told] = []
    for mark in range(1, _EACH + 1):
        # The hub has one, which makes the number the same.
        given = {_CROWD: {"mark": mark}} | ({_HUB: {"mark": mark}} if mark == 1 else {})
        found.append(await stage.told(pids, functools.partial(stage.configure, given), units + (mark == 1)))
    seconds = sum(each.seconds for each in found)
    cores = {part: sum(each.cores[part] * each.seconds for each in found) / seconds for part in pids}
    return Told(sum(each.events for each in found), seconds, cores)


async def _rest(context: Context, pids: dict[str, int]) -> dict[str, float]:
    await asyncio.sleep(context.scale.choose(quick=0.1, full=5.0))
    meter = usage.Meter(pids)
    await asyncio.sleep(context.scale.choose(quick=1.0, full=30.0))
    return meter.read()


def _events(units: int, single: list[Told], related: list[Told]) -> Table:
    rows = [
        (
            name,
            f"{found[0].events:,}",
            span(statistic.spread([each.seconds for each in found])),
            *(number(statistic.spread([each.milliseconds[part] for each in found]).median) for part in found[0].cores),
        )
        for name, found in (("single events", single), (f"a relation of 1 with {units:,}", related))
    ]
    return Table(
        f"One unit with {units:,} on the other side",
        ("", "events", "s", *(f"{part}, ms an event" for part in related[0].cores)),
        tuple(rows),
    )


def _busy(units: int, empty: list[dict[str, float]], rest: list[dict[str, float]]) -> Table:
    rows = [
        (name, *(span(statistic.spread([each[part] for each in found]), scale=100) for part in found[0]))
        for name, found in (("no units", empty), (f"{units + 1:,} settled units", rest))
    ]
    return Table("At rest, per cent of a core", ("", *rest[0]), tuple(rows))


def _fan_in(units: int, single: list[Told], related: list[Told]) -> Verdict:
    what = f"time of the {_EACH * units + 1:,} events of a relation of 1 with {units:,} units, to as many single ones"
    return Verdict.of(
        what,
        statistic.ratio([each.seconds for each in related], [each.seconds for each in single]),
        "≤",
        _BOUND,
    )


def _at_rest(units: int, rest: list[dict[str, float]]) -> Verdict:
    both = statistic.spread([each["server"] + each["agent"] for each in rest])
    return Verdict.of(
        f"server and agent of {units:,} settled units, between ticks", both, "≤", _REST_BOUND, unit="of a core"
    )
