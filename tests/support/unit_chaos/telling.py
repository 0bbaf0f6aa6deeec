"""What storms came to, for people."""

from collections import Counter
from collections.abc import Iterator, Sequence

from support.chaos import report
from support.unit_chaos.fault import Kind
from support.unit_chaos.storm import Storm
from tinkwell.client import Event
from tinkwell.core.event.kinds import EventType, ResourceType


def storms(found: Sequence[Storm], kinds: Sequence[Kind]) -> Iterator[str]:
    """Tell which faults all of them had, and what was asked for."""
    injected, in_vain, asked = Counter[str](), Counter[str](), Counter[str]()
    for storm in found:
        injected += storm.deck.injected
        in_vain += storm.deck.in_vain
        asked += storm.operator.asked
    yield f"{'fault injected':<52} {'times':>6} {'in vain':>8}"
    for kind in kinds:
        yield f"  {kind:<50} {injected[kind]:>6} {in_vain[kind]:>8}"
    yield f"  {'together':<50} {injected.total():>6} {in_vain.total():>8}"
    yield ""
    settled = sorted(storm.settled_seconds for storm in found)
    refused = sum(storm.operator.refused for storm in found)
    yield f"storms     {len(found)}"
    yield f"requests   {asked.total()}: {report.counted(asked)}; {refused} more made no sense"
    counted = sum(storm.units_counted for storm in found), sum(storm.dispatches_counted for storm in found)
    yield f"of ops     {counted[0]} units were left, and have counted {counted[1]} events and tasks"
    yield f"settled    {settled[len(settled) // 2]:.0f} s after the last fault (median), {settled[-1]:.0f} s at most"


def log(events: Sequence[Event]) -> Iterator[str]:
    """Tell what the log has of them."""
    ends = Counter(str(each.event_type) for each in events if each.resource_type is ResourceType.UNIT_EVENT)
    tasks = Counter(str(each.event_type) for each in events if each.resource_type is ResourceType.TASK)
    yield f"events     {ends[EventType.UNIT_EVENT_COMMITTED]} committed; {report.counted(ends)}"
    yield f"tasks      {report.counted(tasks)}"
    yield f"log        {len(events)} events seen by Watch"


def storm(one: Storm, name: str, violations: int) -> str:
    """Tell of one storm in a line."""
    return (
        f"{name}: {one.operator.asked.total()} requests, {one.deck.injected.total()} faults,"
        f" settled after {one.settled_seconds:.0f} s, {violations} violations"
    )
