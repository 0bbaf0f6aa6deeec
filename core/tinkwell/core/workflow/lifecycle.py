"""The states of workflows and actions: who may change a state into which other, and the event of each change.

The table is complete. `tinkwell.core.workflow.transition` decides when a step is due and uses only steps of this table.
A trigger of the database refuses all other steps, whoever writes. `docs/reference/states.md` shows the same tables.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tinkwell.core.event.kinds import EventType, State


class Mover(StrEnum):
    """Who changes a state."""

    WORKER = "a worker's report"
    USER = "a cancellation or a deletion"
    CLOCK = "a deadline that is past"
    LEASE = "a lease that is over"


@dataclass(frozen=True, slots=True)
class Rule:
    """One allowed step: who may take it, and its event."""

    source: State
    target: State
    movers: tuple[Mover, ...]
    event_type: EventType


_ALL = (Mover.WORKER, Mover.USER, Mover.CLOCK, Mover.LEASE)

WORKFLOW_RULES: Sequence[Rule] = (
    Rule(State.PENDING, State.RUNNING, (Mover.WORKER,), EventType.WORKFLOW_STARTED),
    Rule(State.PENDING, State.CANCELLED, (Mover.USER,), EventType.WORKFLOW_CANCELLED),
    Rule(State.RUNNING, State.SUCCEEDED, (Mover.WORKER,), EventType.WORKFLOW_SUCCEEDED),
    Rule(State.RUNNING, State.FAILED, (Mover.WORKER, Mover.LEASE), EventType.WORKFLOW_FAILED),
    Rule(State.RUNNING, State.TIMEOUT, (Mover.WORKER, Mover.CLOCK), EventType.WORKFLOW_TIMEOUT),
    Rule(State.RUNNING, State.CANCELLED, (Mover.USER,), EventType.WORKFLOW_CANCELLED),
)
ACTION_RULES: Sequence[Rule] = (
    Rule(State.PENDING, State.RUNNING, (Mover.WORKER,), EventType.ACTION_STARTED),
    # Every end of a workflow without success cancels the actions that have not run.
    Rule(State.PENDING, State.CANCELLED, _ALL, EventType.ACTION_CANCELLED),
    Rule(State.RUNNING, State.SUCCEEDED, (Mover.WORKER,), EventType.ACTION_SUCCEEDED),
    Rule(State.RUNNING, State.FAILED, (Mover.WORKER, Mover.LEASE), EventType.ACTION_FAILED),
    Rule(State.RUNNING, State.TIMEOUT, (Mover.WORKER, Mover.CLOCK), EventType.ACTION_TIMEOUT),
    Rule(State.RUNNING, State.CANCELLED, (Mover.USER,), EventType.ACTION_CANCELLED),
    # The attempt ended without success, and the action has attempts left.
    Rule(State.RUNNING, State.PENDING, (Mover.WORKER, Mover.CLOCK, Mover.LEASE), EventType.ACTION_RETRYING),
)


def targets(rules: Sequence[Rule]) -> Mapping[State, frozenset[State]]:
    """Return the states that may follow each state; a final state has none."""
    return {state: frozenset(rule.target for rule in rules if rule.source is state) for state in State}
