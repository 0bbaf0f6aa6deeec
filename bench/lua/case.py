"""A handler that changes every value it is given, called again and again in a limited child."""

import time
from dataclasses import dataclass

from bench import statistic, usage
from bench.context import Context
from bench.result import Outcome, Table, Verdict, number, span
from tinkwell.core.release.lifecycle_event.name import Event
from tinkwell.core.value.document import JsonObject
from tinkwell.provisioner.release.lua.registration import Handler
from tinkwell.provisioner.release.lua.scripts import ChartScripts, Request, Scripts

_SCRIPT = """
function init(events)
  events.on("pre-render", 0, function (_, _, _, values)
    for key in pairs(values.flat) do values.flat[key] = values.flat[key] + 1 end
    for _, map in pairs(values.maps) do map.port = map.port + 1 end
  end)
end
"""
_COMPARES = """\
A `pre-render` handler that changes each of its values: ten numbers, or a field in each of 1,000 maps of four. The
figure is the processor time of the child, in which Lua runs, and of the process that calls it, for one call from the
request to the answer as the provisioner reads it. The child is warm.
"""
_TEN: JsonObject = {"flat": {f"value-{place}": place for place in range(10)}, "maps": []}
_THOUSAND: JsonObject = {
    "flat": {},
    "maps": [{"name": f"web-{place}", "port": place, "enabled": True, "zone": None} for place in range(1_000)],
}


@dataclass(frozen=True, slots=True)
class Sample:
    """Milliseconds for each call: of the child's processor, of the caller's, and of the clock."""

    child: float
    caller: float
    clock: float


async def run(context: Context) -> Outcome:
    """Measure."""
    chart = ChartScripts(path="shop", name="shop", metadata={"name": "shop"}, files={"ext/lua/init.lua": _SCRIPT})
    calls = {
        "10 values": context.scale.choose(quick=300, full=3_000),
        "1,000 maps": context.scale.choose(quick=20, full=150),
    }
    values = {"10 values": _TEN, "1,000 maps": _THOUSAND}
    samples: dict[str, list[Sample]] = {size: [] for size in calls}
    async with Scripts([chart], room=None) as scripts:
        (handler,), _ = await scripts.load()
        for size in statistic.interleave([*calls], context.scale.pairs):
            samples[size].append(await _sample(scripts, handler, values[size], calls[size]))
            found = samples[size][-1]
            context.say(f"lua: {size}: {number(found.child + found.caller)} ms of processor")
    return _outcome(samples)


async def _sample(scripts: Scripts, handler: Handler, values: JsonObject, calls: int) -> Sample:
    request = Request(
        event=Event.PRE_RENDER,
        chart="shop",
        name="shop",
        namespace="default",
        metadata={"name": "shop", "version": "1.0.0"},
        values=values,
        manifest=None,
        context={"release": {"name": "shop"}, "config": {"dry_run": False}, "state": {}},
    )
    await scripts.call(handler, request)
    pid = scripts.pid
    assert pid is not None
    before, caller, clock = usage.of(pid).cpu_seconds, time.process_time(), time.perf_counter()
    for _ in range(calls):
        answer = await scripts.call(handler, request)
        assert answer.values is not None
    caller, clock = time.process_time() - caller, time.perf_counter() - clock
    child = usage.of(pid).cpu_seconds - before
    return Sample(*(seconds * 1_000 / calls for seconds in (child, caller, clock)))


def _outcome(samples: dict[str, list[Sample]]) -> Outcome:
    both = {size: statistic.spread([each.child + each.caller for each in found]) for size, found in samples.items()}
    rows = tuple(
        (
            size,
            span(both[size]),
            span(statistic.spread([each.child for each in found])),
            span(statistic.spread([each.clock for each in found])),
        )
        for size, found in samples.items()
    )
    return Outcome(
        title="Handlers in Lua",
        compares=_COMPARES,
        tables=(Table("one call, ms", ("values", "processor", "the child's part of it", "by the clock"), rows),),
        verdicts=(
            Verdict.of("a handler at 10 values", both["10 values"], "≤", 1, unit="ms"),
            Verdict.of("a handler at 1,000 maps", both["1,000 maps"], "≤", 40, unit="ms"),
        ),
        notes=("The kernel counts the child's processor time in steps of 10 ms, over all calls of a sample.",),
    )
