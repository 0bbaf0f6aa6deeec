"""Machines that workflows hold, and whether an action still occupies its machine."""

from collections.abc import Iterable
from dataclasses import dataclass

from tinkwell.core.event.kinds import State
from tinkwell.core.lease.lease import Hold
from tinkwell.core.workflow import change


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineHold(Hold):
    """A machine of a workflow, by its worker's id; `action_id` is the action that may run there, "" for none."""

    kind: str = "machine"
    action_id: str = ""


def is_vacant(action: change.Action, steps: Iterable[change.Step]) -> bool:
    """Return whether an action's machine is free of it once its owner has reported its end.

    If a hook is to run, it occupies the machine until the owner releases the machine.
    """
    hooks = {State.FAILED: action.on_failure, State.TIMEOUT: action.on_timeout}
    ended = (s for s in steps if isinstance(s, change.EndAction) and s.action_id == action.id)
    return not any(hooks.get(step.state) for step in ended)
