"""Two applications of many units that are related, where everyone is told of everyone."""

import functools

from bench import statistic
from bench.context import Context
from bench.result import Table, Verdict, number, span
from bench.unit import charms, site
from bench.unit.part import Part
from bench.unit.site import Told
from tinkwell.charm import Profile

_BOUND = 1.3
_SAMPLES = 3


def events(units: int) -> int:
    """Return how many events it takes to relate two applications of so many units each.

    Each unit is told of the relation, of each unit on the other side twice, and each pair of siblings twice as well,
    by the one that was there first.
    """
    return 2 * (units + 2 * units * units + units * (units - 1))


async def measure(context: Context) -> Part:
    """Measure a small storm and a large one."""
    sizes = context.scale.choose(quick=(2, 4), full=(20, 60))
    found: dict[str, list[Told]] = {str(units): [] for units in sizes}
    samples = context.scale.choose(quick=1, full=min(_SAMPLES, context.scale.pairs))
    for name in statistic.interleave(tuple(found), samples):
        told = await _storm(context, int(name))
        found[name].append(told)
        context.say(f"unit: {name} x {name} {told.events:,} events in {number(told.seconds)} s")
    small, large = (found[str(units)] for units in sizes)
    rates = ([each.seconds / each.events for each in taken] for taken in (large, small))
    what = (
        f"time of an event where {sizes[1]} units are related to {sizes[1]}, {large[0].events:,} events,"
        f" to that where {sizes[0]} are to {sizes[0]}"
    )
    return Part((_table(found),), (Verdict.of(what, statistic.ratio(*rates), "≤", _BOUND),))


async def _storm(context: Context, units: int) -> Told:
    async with site.opened(context) as stage, stage.agent(charms.Member) as agent:
        await stage.deploy(charms.Member, {"left": units, "right": units}, profile=Profile.LITERAL)
        begin = functools.partial(stage.relate, ("left", "right"))
        told = await stage.told(stage.processes(agent), begin, events(units))
        await stage.settled("left", "right")
    return told


def _table(found: dict[str, list[Told]]) -> Table:
    parts = tuple(next(iter(found.values()))[0].cores)
    rows = [
        (
            f"{name} × {name}",
            f"{taken[0].events:,}",
            span(statistic.spread([each.seconds for each in taken])),
            *(number(statistic.spread([each.milliseconds[part] for each in taken]).median) for part in parts),
        )
        for name, taken in found.items()
    ]
    return Table("A storm", ("units", "events", "s", *(f"{part}, ms an event" for part in parts)), tuple(rows))
