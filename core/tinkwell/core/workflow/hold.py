"""Machines that workflows hold, and what of an action is left on one."""

from collections.abc import Iterable
from dataclasses import dataclass

from tinkwell.core.event.kinds import State
from tinkwell.core.lease.lease import Hold
from tinkwell.core.workflow import change


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineHold(Hold):
    """A machine of a workflow, by its worker's id; `action_id` is the action that may run there, empty for none."""

    kind: str = "machine"
    action_id: str = ""


def is_vacant(action: change.Action, steps: Iterable[change.Step]) -> bool:
    """Whether nothing of an action is on its machine once its owner has told its end.

    A hook, if one is to run, is there until the owner releases the machine.
    """
    hooks = {State.FAILED: action.on_failure, State.TIMEOUT: action.on_timeout}
    ended = (s for s in steps if isinstance(s, change.EndAction) and s.action_id == action.id)
    return not any(hooks.get(step.state) for step in ended)
