"""The promises about workflows as a judgement over a recorded run.

L1   each workflow and each action begins as PENDING and takes only steps of the table, with their events
L2   actions run in the order of their index, the workflow counts those that succeeded, and ends when all have ended
L3   a machine runs one workflow at a time
T1   attempts of an action are counted from 1 without gaps, and never is there more than one
T2   the script of an attempt begins once at most, after it was recorded that it runs, on the machine of the action
T3   what is reported of an attempt's end is how its script ended
E1   no two runs of an action are alive at the same time
E2   no two runs are alive on a machine at the same time
E3   scripts run in the order of their actions
O1   every workflow ends
O2   it ends as it was meant to, and for that reason
O3   nothing of it is left behind
F1   a workflow is deleted once, after its end, and its actions once, after that
F2   what is deleted is so with all its actions
"""

from collections.abc import Iterator

from support.history.record import Violation
from support.workflow_history import attempt, effect
from support.workflow_history.record import History, Plan
from support.workflow_history.world import Workflow, World
from tinkwell.core.event.kinds import State


def judge(history: History) -> list[Violation]:
    """Return every violation of the promises in a run."""
    world = World(history.events)
    found = list(world.violations)
    found += attempt.check(history.statuses, history.effects)
    found += effect.check(history.effects, world.workflows)
    for plan in history.plans:
        found += _check_outcome(plan, world.workflows.get(plan.workflow_id))
    for id_, workflow in world.workflows.items():
        found += _check_forgotten(id_, workflow)
    known = {plan.workflow_id for plan in history.plans}
    found += [Violation("O2", f"workflow {id_}", "nobody has meant it") for id_ in world.workflows.keys() - known]
    found += [Violation("O3", "leftover", text) for text in history.leftovers]
    return found


def _check_outcome(plan: Plan, workflow: Workflow | None) -> Iterator[Violation]:
    who = f"workflow {plan.workflow_id}"
    if workflow is None:
        yield Violation("O1", who, "has no event")
        return
    workers = tuple(action.worker_id for action in workflow.in_order())
    if workers != plan.workers:
        yield Violation("O2", who, f"its actions are those of {workers}, not of {plan.workers}")
    if not workflow.state.is_final:
        states = ", ".join(f"{action.state} ({action.attempt})" for action in workflow.in_order())
        yield Violation("O1", who, f"is {workflow.state} in the end; its actions are {states}")
    elif workflow.state not in plan.ends:
        meant = " or ".join(sorted(plan.ends))
        yield Violation("O2", who, f"ended as {workflow.state} by {_blamed(workflow)}, and was meant to end as {meant}")
    elif workflow.state in (State.FAILED, State.TIMEOUT) and _blamed(workflow) != plan.culprit:
        yield Violation("O2", who, f"ended by {_blamed(workflow)}, and was meant to end by {plan.culprit}")


def _check_forgotten(id_: str, workflow: Workflow) -> Iterator[Violation]:
    left = [action.index for action in workflow.in_order() if not action.is_forgotten]
    if workflow.is_forgotten and left:
        yield Violation("F2", f"workflow {id_}", f"is deleted, and of its actions {left} nobody was told that")


def _blamed(workflow: Workflow) -> int | None:
    """Return the index of the action that a workflow's cause names; None where it names none."""
    action = workflow.actions.get(workflow.blamed)
    return None if action is None else action.index
