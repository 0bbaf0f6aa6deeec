"""Checks the events of units against the invariants of their lives, from the events of a watch."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tinkwell.cli import failure
from tinkwell.core.event.kinds import ResourceType
from tinkwell.core.unit.invariant import CHECKS, Violation, gather, judge

if TYPE_CHECKING:
    from tinkwell.client import Client, Event, Watch

_TYPES = (
    ResourceType.APPLICATION,
    ResourceType.UNIT,
    ResourceType.UNIT_EVENT,
    ResourceType.RELATION,
    ResourceType.STORAGE,
    ResourceType.SECRET,
    ResourceType.TASK,
)


@dataclass(frozen=True, slots=True)
class Report:
    """The result of an audit. `events` counts what was read of the log; `is_whole`: the log has all its events."""

    violations: tuple[Violation, ...]
    units: int
    events: int
    is_whole: bool

    def sentence(self) -> str:
        """Say what was checked, and with what result."""
        of = f"{self.units} unit{'' if self.units == 1 else 's'} and {self.events} events of the log"
        kept = "" if self.is_whole else "; all that began before the oldest kept event is left out"
        return f"{len(CHECKS)} rules checked on {of}: {len(self.violations) or 'no'} violations{kept}"

    def to_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {
            "units": self.units,
            "events": self.events,
            "whole": self.is_whole,
            "violations": [
                {
                    "invariant": each.invariant,
                    "subject": each.subject,
                    "revision": each.revision,
                    "text": each.text,
                }
                for each in self.violations
            ],
        }


async def audit(client: "Client", namespace: str, names: Sequence[str]) -> Report:
    """Check all events that the log has of a namespace; `names` of applications and units limit the report.

    Raises `Failure` for a name that is not in the log.
    """
    entries, is_whole = await _entries(client)
    history = gather(entries, namespace=namespace)
    found = tuple(each for each in judge(history) if not names or _is_about(each.subject, names))
    units = [each.name for each in history.units]
    known = {each.name for each in history.applications} | set(units)
    if unknown := [each for each in names if each not in known]:
        told = "has no events" if is_whole else "no longer has events"
        raise failure.Failure(f"the log {told} of {' or '.join(unknown)} in namespace {namespace}")
    wanted = [each for each in units if not names or _is_about(each, names)]
    return Report(found, units=len(wanted), events=len(entries), is_whole=is_whole)


def _is_about(subject: str, names: Sequence[str]) -> bool:
    first = subject.partition(" ")[0]
    return first in names or first.rpartition("/")[0] in names


async def _entries(client: "Client") -> "tuple[list[Event], bool]":
    """Return the kept events up to the present end of the log, and whether they are all events that it ever had."""
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    tail, oldest = await _tail(client), 1
    while True:
        try:
            return await _read(client, oldest, tail), oldest == 1
        except errors.Compacted as error:
            oldest = max(error.oldest_revision, oldest + 1)


async def _tail(client: "Client") -> int:
    """Return the last revision of the log, 0 for an empty one."""
    import asyncio  # it costs start-up time, see main

    found: list[int] = []
    async with client.events.watch(now=True, on_bookmark=lambda watch: found.append(watch.revision)) as probe:
        # The first answer says where the log ends. Asking for an event handles this answer, before it waits for one.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0):
                await anext(probe)
    return found[0] if found else 0


async def _read(client: "Client", oldest: int, tail: int) -> "list[Event]":
    async def stop(watch: "Watch") -> None:
        if watch.revision >= tail:
            await watch.aclose()

    found: list[Event] = []
    if tail < oldest:
        return found
    async with client.events.watch(resource_types=_TYPES, from_revision=oldest, on_bookmark=stop) as events:
        async for event in events:
            if event.revision <= tail:
                found.append(event)
            if event.revision >= tail:
                break  # no bookmark follows if the last event is shown itself
    return found
