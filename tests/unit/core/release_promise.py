"""What must always hold of an operation, whatever happens: `unit.core.release_world` checks each step of the way."""

from collections.abc import Collection, Sequence

from unit.core.release_chart_plan import charts_of
from unit.core.release_model import RUNNING, Store, StoredStep
from unit.core.release_party import Owner, Run

from tinkwell.core.event.kinds import State
from tinkwell.core.release import walk
from tinkwell.core.release.decision.command import Command, Emit, Finish, MoveNode, StartStep
from tinkwell.core.release.kinds import NodeKind, NodeState, NodeTask, OnFailure, PlanKind, StepKind
from tinkwell.core.release.plan import Plan
from tinkwell.core.release.record import Options
from tinkwell.core.release.report import is_lost

_CALLED = (NodeKind.RESOURCE, NodeKind.HOOK)


def check_commands(commands: Sequence[Command], *, is_stopping: bool) -> None:
    """Check what an owner decides to do at once."""
    begins = [each for each in commands if isinstance(each, StartStep)]
    begins_nodes = [each for each in commands if isinstance(each, MoveNode) and not each.state.is_final]
    if is_stopping:
        assert not begins, "nothing begins any more"
        assert not begins_nodes, "nothing begins any more"
        assert not any(isinstance(each, Emit) for each in commands), "nothing is emitted any more"
    finishes = [each for each in commands if isinstance(each, Finish)]
    assert not finishes or len(commands) == 1, "an end is the only command"


def check_begin(plan: Plan, store: Store, options: Options, command: MoveNode) -> None:
    """Check that a node begins after all that it waits for, and while anything may begin."""
    if command.state not in (*walk.BEGUN, NodeState.LEFT):
        return
    states = {path: stored.row.state for path, stored in store.nodes.items()}
    begun = next(each for each in plan.nodes if each.path == command.path)
    before = begun.after if begun.kind is not PlanKind.CHART else (begun.begin,) if begun.begin else ()
    assert all(_is_passed(plan, store, path) for path in before), "every edge of the plan is kept"
    for chart in charts_of(plan, begun):
        assert states[chart] in walk.BEGUN, "a chart begins before what is in it"
    if begun.task is NodeTask.REMOVE:
        installed = [states[each.path] for each in plan.real if each.task is NodeTask.INSTALL]
        assert all(state in walk.DONE for state in installed), "removals come after everything that is installed"
    if options.on_failure is OnFailure.STOP:
        assert NodeState.FAILED not in states.values(), "nothing begins after a failure"


def _is_passed(plan: Plan, store: Store, path: str, *, is_ended: bool = False) -> bool:
    """Whether a node is done or, behind a barrier, has ended."""
    planned = next(each for each in plan.nodes if each.path == path)
    if planned.is_real:
        state = store.nodes[path].row.state
        return state.is_final if is_ended else state in walk.DONE
    is_ended = is_ended or planned.kind is PlanKind.BARRIER
    return all(_is_passed(plan, store, each, is_ended=is_ended) for each in planned.after)


def check_chart_end(plan: Plan, store: Store, command: MoveNode) -> None:
    """Check that a chart ends after all that is in it, and well only if that did."""
    ended = next(each for each in plan.nodes if each.path == command.path)
    if ended.kind is not PlanKind.CHART or command.state not in (*walk.DONE, NodeState.FAILED):
        return
    inside = [each.path for each in plan.real if ended.path in charts_of(plan, each)]
    states = [store.nodes[path].row.state for path in inside]
    assert all(state.is_final for state in states), "a chart ends after all that is in it"
    is_done = all(state in walk.DONE for state in states)
    assert is_done is (command.state in walk.DONE), "it is done if all in it is"


def check_alone(owner: Owner, command: StartStep) -> None:
    """Check the bounds that are the owner's alone."""
    node = owner.view.nodes[command.step.path]
    key = node.settings.concurrency_key
    if not command.kind.has_effects or not key:
        return
    steps = (
        (node, owner.view.step(step))
        for step in owner.running
        if step.ordinal
        for node in [owner.view.nodes[step.path]]
    )
    using = [n.path for n, step in steps if step.kind.has_effects and n.settings.concurrency_key == key]
    assert using == [node.path], f"one action at a time has a concurrency key: {using}"


def check(store: Store, options: Options) -> None:
    """Check the bounds of what is done at once."""
    states = [stored.row.state for stored in store.nodes.values() if stored.row.kind in _CALLED]
    assert sum(state in walk.BEGUN for state in states) <= options.parallel
    running = [s for steps in store.steps.values() for s in steps if s.row.state is RUNNING]
    assert len(running) <= options.parallel
    is_changed = any(stored.is_started for stored in store.nodes.values())
    # Of a hook nothing is kept, so that it is asked again after a change of owner.
    asked = any(
        step.row.kind is StepKind.INIT and store.nodes[step.row.path].row.kind is NodeKind.RESOURCE for step in running
    )
    assert not (is_changed and asked), "all inits come before the first change"


def check_end(store: Store, launched: Collection[Run]) -> None:
    """Check that an operation which has ended leaves nothing open, and counts what it did."""
    row, nodes = store.operation, list(store.nodes.values())
    assert row.state.is_final
    assert all(stored.row.state.is_final for stored in nodes)
    assert all(step.row.state.is_final for steps in store.steps.values() for step in steps)
    assert row.state is not State.SUCCEEDED or all(stored.row.state in walk.DONE for stored in nodes)
    nodes = [stored for stored in nodes if stored.row.kind is NodeKind.RESOURCE]
    states = [stored.row.state for stored in nodes]
    changed = [stored for stored in nodes if stored.changed and stored.row.state in walk.DONE]
    assert row.changed_nodes == len(changed)
    assert row.failed_nodes == states.count(NodeState.FAILED)
    assert row.skipped_nodes == states.count(NodeState.SKIPPED)
    assert bool(row.cause) == (row.state is not State.SUCCEEDED)
    lost = {path for path, steps in store.steps.items() if any(map(_is_lost, steps))}
    ran = {run.path for run in launched} | lost
    assert all(stored.row.path in ran for stored in changed), "only what may have run has changed something"


def _is_lost(stored: StoredStep) -> bool:
    return is_lost(state=stored.row.state, message=stored.message)
