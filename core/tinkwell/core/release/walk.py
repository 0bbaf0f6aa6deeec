"""In which order the nodes of a plan are worked on, given their states."""

from collections.abc import Mapping
from dataclasses import dataclass

from tinkwell.core.release.kinds import NodeState
from tinkwell.core.release.plan import Plan


@dataclass(frozen=True, slots=True)
class Blocker:
    """A node that another one waits for, or because of which it never starts."""

    path: str
    state: NodeState


def check(plan: Plan) -> None:
    """Raise `errors.InvalidField` for a plan that can't be walked to its end: a path twice, an unknown one, a loop."""


def startable(plan: Plan, states: Mapping[str, NodeState], *, parallel: int) -> tuple[str, ...]:
    """Return the nodes that may start now, in the order of the plan; `parallel` bounds how many are begun at once."""


def hopeless(plan: Plan, states: Mapping[str, NodeState]) -> tuple[Blocker, ...]:
    """Return the PENDING nodes that can never start, by the path of each and the state of what is in their way."""


def waits_for(plan: Plan, states: Mapping[str, NodeState], path: str) -> tuple[Blocker, ...]:
    """Return what a PENDING node waits for, in the order of the plan; nothing where it may start or has started."""
