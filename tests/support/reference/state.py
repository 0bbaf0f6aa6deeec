"""The tables of docs/reference/states.md, made of the tables by which core decides."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

from support.reference import table
from tinkwell.core.release import lifecycle as release
from tinkwell.core.unit import lifecycle as unit
from tinkwell.core.workflow import lifecycle as workflow

S = TypeVar("S", bound=StrEnum)

# What the event of a state is called where it is not the state's own name.
_EVENTS: Mapping[str, str] = {
    "RUNNING": "STARTED",
    "INSTALLING": "STARTED",
    "REMOVING": "STARTED",
    "PENDING": "RETRYING",
}


def blocks() -> dict[str, str]:
    """Return the tables by their names."""
    return {
        "workflow": _ruled(workflow.WORKFLOW_RULES),
        "action": _ruled(workflow.ACTION_RULES),
        "release": _moves(release.RELEASE, _release_event),
        "revision": _moves(release.REVISION),
        "operation": _moves(release.OPERATION, _of("OPERATION")),
        "node": _moves(release.NODE, _of("NODE")),
        "step": _moves(release.STEP, _of("STEP")),
        "life": _moves(unit.LIFE),
        "phase": _moves(unit.PHASE),
        "unit event": _moves(unit.EVENT, _unit_event),
        "task": _moves(unit.TASK, _of("TASK")),
    }


def _ruled(rules: Sequence[workflow.Rule]) -> str:
    rows = [(rule.source, rule.target, ", ".join(rule.movers), rule.event_type) for rule in rules]
    return "\n".join(table.lines(("from", "to", "moved by", "event"), rows))


def _moves(moves: Mapping[S, frozenset[S]], event: Callable[[str, str], str] | None = None) -> str:
    return "\n".join(table.lines(("from", "to", "event") if event else ("from", "to"), _rows(moves, event)))


def _rows(moves: Mapping[S, frozenset[S]], event: Callable[[str, str], str] | None) -> Iterator[tuple[str, ...]]:
    order = list(moves)
    for source, targets in moves.items():
        for target in sorted(targets, key=order.index):
            yield (source, target, event(source, target)) if event else (source, target)


def _of(resource: str) -> Callable[[str, str], str]:
    return lambda _, target: f"{resource}_{_EVENTS.get(target, target)}"


def _release_event(source: str, target: str) -> str:
    """Say what a move of a release is told as; one that only goes back, or begins, is an update."""
    is_told = target in ("FAILED", "UNINSTALLED") or (target == "DEPLOYED" and source != "UNINSTALLING")
    return f"RELEASE_{target}" if is_told else "UPDATED"


def _unit_event(_: str, target: str) -> str:
    return f"UNIT_EVENT_{'FAILED' if target == 'ERROR' else _EVENTS.get(target, target)}"
