"""The plan and the queue of a ledger as JSON text, which the unit's row stores.

Fields at their defaults are left out.
"""

import dataclasses
import json
from typing import Any

from tinkwell.core.unit.kinds import EventKind, StepKind
from tinkwell.core.unit.ledger import SetupStep
from tinkwell.core.unit.unit_event import NOTHING_SEEN, Seen, UnitEvent

_FIELDS = tuple(field.name for field in dataclasses.fields(UnitEvent) if field.name not in ("kind", "seen"))


def dump_plan(plan: tuple[SetupStep, ...]) -> str:
    """Write the remaining steps of a setup."""
    return json.dumps([[step.kind.value, step.relation] for step in plan])


def load_plan(text: str) -> tuple[SetupStep, ...]:
    """Read the remaining steps of a setup."""
    return tuple(SetupStep(StepKind(kind), relation) for kind, relation in json.loads(text))


def dump_queue(queue: tuple[UnitEvent, ...]) -> str:
    """Write the events that must follow the last one at once."""
    return json.dumps([_dump_event(event) for event in queue])


def load_queue(text: str) -> tuple[UnitEvent, ...]:
    """Read the events that must follow the last one at once."""
    return tuple(_load_event(found) for found in json.loads(text))


def _dump_event(event: UnitEvent) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": event.kind.value}
    found |= {name: value for name in _FIELDS if (value := getattr(event, name))}
    if event.seen != NOTHING_SEEN:
        found["seen"] = dataclasses.asdict(event.seen)
    return found


def _load_event(found: dict[str, Any]) -> UnitEvent:
    values = found | {"kind": EventKind(found["kind"])}
    if "seen" in found:
        values["seen"] = Seen(**found["seen"])
    return UnitEvent(**values)
