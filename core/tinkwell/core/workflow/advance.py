"""The rules for reports that only move their workflow on: such a report is decided by its own action alone.

`transition.report` judges every report, and needs all actions of the workflow for it. What is nearly always reported is
that the next action begins, or that it has succeeded. To decide that takes the action, and how far its workflow is,
however long that is. Where both decide, they decide the same, which a test holds.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from tinkwell.core.event.kinds import State
from tinkwell.core.workflow import transition


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a workflow is: the actions succeed in order, so `completed` is the index of the one that is due."""

    state: State
    completed: int
    total: int

    def after(self, steps: Iterable[transition.Step]) -> "Standing":
        """Return how far the workflow is once the steps are written."""
        standing = self
        for step in steps:
            match step:
                case transition.StartWorkflow():
                    standing = Standing(State.RUNNING, standing.completed, self.total)
                case transition.AdvanceWorkflow() | transition.EndWorkflow():
                    state = step.state if isinstance(step, transition.EndWorkflow) else standing.state
                    standing = Standing(state, step.completed_actions, self.total)
                case _:
                    pass
        return standing


def advance(standing: Standing, action: transition.Action, heard: transition.Report) -> transition.Changes | None:
    """Return what a report changes that does nothing but move its action and its workflow on.

    None for all others: those that are refused, repeated, or tell an end without success.
    """
    due = action.attempt + (action.state is State.PENDING)
    if heard.worker_id != action.worker_id or heard.attempt not in (0, due) or action.index != standing.completed:
        return None
    match standing.state, action.state, heard.state:
        case State.PENDING, State.PENDING, State.RUNNING:
            return transition.Changes(
                (transition.StartWorkflow(), transition.StartAction(action.id, due, heard.message)), due
            )
        case State.RUNNING, State.PENDING, State.RUNNING:
            return transition.Changes((transition.StartAction(action.id, due, heard.message),), due)
        case State.RUNNING, State.RUNNING, State.SUCCEEDED:
            completed = standing.completed + 1
            after = (
                transition.EndWorkflow(State.SUCCEEDED, completed)
                if completed == standing.total
                else transition.AdvanceWorkflow(completed)
            )
            ended = transition.EndAction(action.id, State.SUCCEEDED, heard.message, heard.exit_code)
            return transition.Changes((ended, after), due)
        case _:
            return None
