"""Decides what the owner of an operation does next: a pure function from a view to commands.

Theory of operation. The owner of an operation keeps a view of it, obeys the commands, applies each result to the view
(`outcome`), and asks again after every change and once the shortest Wait is over. A command is given again until the
view shows that it was obeyed: by a new state, or by its step among `running`.

    1. steps of a former owner       actions are adopted; calls without effects are stopped, and steps that had not
                                     begun are CANCELLED. Steps on another engine were lost when the operation was taken
    2. inits                         of all resources without a known answer, before the first change. If one is wrong,
                                     the operation ends with nothing changed
    3. the walk                      nodes begin in the order of `walk`, and go on as `installation` and `removal` say
    4. charts and events             begin before the first node in them, and end after the last one; see `chart`.
                                     Events are emitted in their places; see `event`
    5. the end                       once nothing is left to do

After a node has failed no other node begins; with on_failure `continue` only the nodes that come after it do not begin.
Nodes that were begun go on to their own end. After a cancellation, and at the deadline, no step begins: calls without
effects are stopped at once, and actions after their grace time.

An owner that takes an operation first stops the runs on its engine whose steps have ended, such as lost ones. A RUNNING
step that is not among `running` is watched by no task: a former owner started it, or its run was lost sight of. Both
cases are treated the same.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tinkwell.core.event.kinds import State
from tinkwell.core.release import cause, report, walk
from tinkwell.core.release.decision import chart, event, hook, installation, removal
from tinkwell.core.release.decision.command import (
    AdoptStep,
    Command,
    Finish,
    MoveNode,
    MovePhase,
    StartStep,
    StopStep,
    Wait,
)
from tinkwell.core.release.decision.view import NodeView, OperationView, StepKey, StepView, begun_state
from tinkwell.core.release.kinds import NodeKind, NodeState, NodeTask, OnFailure, Phase, StepKind
from tinkwell.core.release.transition.operation import GRACE_SECONDS


@dataclass(frozen=True, slots=True)
class _Stop:
    """Why no step begins, the state in which the operation will end, and the time left for running actions."""

    state: State
    reason: str
    grace_seconds: float


def decide(view: OperationView, running: Collection[StepKey]) -> Sequence[Command]:
    """Return the commands; `running` are the steps that the caller starts, runs, adopts or stops now."""
    stop = _stop(view)
    nodes = [view.nodes[node.path] for node in view.plan.real]
    left = [node for node in nodes if not node.state.is_final and node.has_calls]
    events = [node for node in nodes if not node.state.is_final and node.kind is NodeKind.EVENT]
    survey = walk.Survey(view.plan, {path: node.state for path, node in view.nodes.items()})
    commands = [command for node in left for command in _handle_running(view, node, running, stop)]
    commands += _go_on(view, left, stop)
    commands += event.proceed(events, running, is_stopped=stop is not None)
    commands += chart.end(view, survey)
    if stop is None:
        commands += _begin(view, left, survey)
    is_quiet = not running and not any(step.state is State.RUNNING for node in left for step in node.steps)
    if is_quiet and all(isinstance(command, Wait) for command in commands):
        end = _finish(view, [*left, *events], stop)
        return commands if end is None else [end]
    return commands


def _stop(view: OperationView) -> _Stop | None:
    """Return why no step begins; None if steps may begin. The earlier end of the grace time counts."""
    late = view.remaining_seconds + GRACE_SECONDS if view.remaining_seconds <= 0 else None
    if view.cancel_seconds is not None:
        grace = view.cancel_seconds if late is None else min(view.cancel_seconds, late)
        return _Stop(State.CANCELLED, "the operation was cancelled", grace)
    return None if late is None else _Stop(State.TIMEOUT, "the operation's deadline passed", late)


def _handle_running(
    view: OperationView, node: NodeView, running: Collection[StepKey], stop: _Stop | None
) -> list[Command]:
    """Return the commands for steps that cannot stay as they are."""
    commands: list[Command | None] = []
    for step in node.steps:
        if step.state is State.RUNNING and node.key(step) in running:
            commands.append(_hold_back(node, step, stop))
        elif step.state is State.RUNNING:
            commands.append(_find(node, step, stop))
        elif _is_over(view, node, step) and stop is None:
            commands.append(StopStep(step=node.key(step), reason="its round is over"))
    return [command for command in commands if command is not None]


def _hold_back(node: NodeView, step: StepView, stop: _Stop | None) -> Command | None:
    """Return the command for a step that runs here, None if it may go on."""
    if stop is None:
        return None
    if step.kind.has_effects and stop.grace_seconds > 0:
        return Wait(path=node.path, reason=f"{stop.reason}; its action has time to end", seconds=stop.grace_seconds)
    return StopStep(step=node.key(step), reason=stop.reason, state=stop.state)


def _find(node: NodeView, step: StepView, stop: _Stop | None) -> Command:
    """Return the command for a step that the server calls running and that no task here watches."""
    key = node.key(step)
    if not step.kind.has_effects:
        return StopStep(step=key, reason="its owner is dead; it is asked again")
    if stop is not None and stop.grace_seconds <= 0:
        return StopStep(step=key, reason=stop.reason, state=stop.state)
    seconds = installation.timeout_seconds(node, step.kind)
    return AdoptStep(step=key, kind=step.kind, attempt=step.attempt, timeout_seconds=seconds)


def _go_on(view: OperationView, left: Sequence[NodeView], stop: _Stop | None) -> list[Command]:
    """Return the next commands for nodes that were begun; if no step may begin, only the ends of these nodes."""
    busy = {node.settings.concurrency_key for node in left if _runs_effect(node)} | view.busy_keys
    commands: list[Command] = []
    for node in left:
        if node.state not in walk.BEGUN or _is_occupied(view, node):
            continue
        command = _proceed(view, node)
        if isinstance(command, StartStep) and command.kind.has_effects:
            command = _alone(node, command, busy)
        if stop is None or isinstance(command, MoveNode):
            commands.append(command)
    return commands


def _proceed(view: OperationView, node: NodeView) -> Command:
    if node.kind is NodeKind.HOOK:
        return hook.proceed(view, node)
    return installation.proceed(view, node) if node.task is NodeTask.INSTALL else removal.proceed(view, node)


def _is_removal(node: NodeView) -> bool:
    """Whether a node removes a resource; a hook of a removal is installed like any other hook."""
    return node.task is NodeTask.REMOVE and node.kind is NodeKind.RESOURCE


def _runs_effect(node: NodeView) -> bool:
    return any(step.state is State.RUNNING and step.kind.has_effects for step in node.steps)


def _is_occupied(view: OperationView, node: NodeView) -> bool:
    """Whether a step of the node runs, or must be cleared away before the node goes on."""
    return any(step.state is State.RUNNING or _is_over(view, node, step) for step in node.steps)


def _is_over(view: OperationView, node: NodeView, step: StepView) -> bool:
    """Whether an unfinished step belongs to an earlier round, and needs no further decision."""
    return step.state is State.PENDING and step.is_former and not hook.is_undecided(view, node, step)


def _alone(node: NodeView, command: StartStep, busy: set[str]) -> Command:
    """Return the start of an action, or a wait if another action uses its concurrency key."""
    key = node.settings.concurrency_key
    if key and key in busy:
        return Wait(path=node.path, reason=f"another action has the concurrency key {key}")
    busy.add(key)
    return command


def _begin(view: OperationView, left: Sequence[NodeView], survey: walk.Survey) -> list[Command]:
    """Return the commands that begin inits and, once all their answers are known, nodes."""
    pending = [node for node in left if node.state is NodeState.PENDING]
    if any(_needs_init(node) or node.problem for node in pending):
        return _ask_inits(view, pending)
    if _is_failed(view):
        return []
    commands: list[Command] = [
        MoveNode(path=path, state=NodeState.SKIPPED, message=f"not started: {blocker}")
        for path, blocker in survey.hopeless()
    ]
    if _is_cleaning_up(view, survey):
        commands.append(MovePhase(Phase.CLEANUP))
    commands += chart.begin(survey)
    commands += event.begin(view, survey)
    for path in survey.startable(parallel=view.options.parallel):
        commands += _begin_node(view, view.nodes[path])
    return commands


def _needs_init(node: NodeView) -> bool:
    """Whether a node waits for the answer to `init`; a resource that is left in place in any case does not."""
    is_left = _is_removal(node) and removal.why_left(node.spec)
    return node.init is None and not is_left


def _ask_inits(view: OperationView, pending: Sequence[NodeView]) -> list[Command]:
    """Return the inits that begin, and the ends of nodes with problems: all problems are reported together."""
    # After a change of owner, hooks are asked again while other nodes go on.
    working = sum(node.state in walk.BEGUN and node.has_calls for node in view.nodes.values())
    vacant = view.options.parallel - working - sum(_is_occupied(view, node) for node in pending)
    commands: list[Command] = []
    for node in pending:
        last = node.steps[-1] if node.steps else None
        if node.problem:
            commands.append(installation.fail(node, node.problem))
        elif _is_occupied(view, node) or not _needs_init(node):
            continue
        elif last is not None and not last.is_former and last.state is not State.SUCCEEDED:
            commands.append(installation.fail(node, installation.describe(last)))
        elif vacant > 0:
            commands.append(installation.start_new(node, StepKind.INIT))
            vacant -= 1
    return commands


def _is_failed(view: OperationView) -> bool:
    """Whether a failure lets no node begin. A problem that was found before the first change always does."""
    failed = [node for node in view.nodes.values() if _has_failed(node)]
    is_stopped = bool(failed) and view.options.on_failure is OnFailure.STOP
    return is_stopped or any(not node.is_begun for node in failed)


def _begin_node(view: OperationView, node: NodeView) -> list[Command]:
    if _is_removal(node):
        return [removal.begin(node)]
    begun = MoveNode(path=node.path, state=begun_state(node))
    return [begun, installation.start_new(node, StepKind.STATE)]


def _is_cleaning_up(view: OperationView, survey: walk.Survey) -> bool:
    """Whether everything is installed and the removals come next, but the phase does not say so yet."""
    if view.phase is not Phase.APPLY or not survey.is_installed:
        return False
    return any(not node.state.is_final for node in view.nodes.values())


def _finish(view: OperationView, left: Sequence[NodeView], stop: _Stop | None) -> Finish | None:
    """Return the end of the operation if nothing runs and nothing is left to do; None if nodes still wait."""
    if not left and all(node.state in walk.DONE for node in view.nodes.values()):
        return Finish(state=State.SUCCEEDED)
    failed = _first_failed(view)
    if stop is not None:
        message = stop.reason if failed is None else f"{stop.reason}, after {failed.path} had failed: {failed.message}"
        return Finish(state=stop.state, cause=cause.text(cause.Reason(stop.state), message))
    if failed is None or any(node.state in walk.BEGUN for node in left) or (left and not _is_failed(view)):
        return None
    is_lost = report.is_lost(state=failed.state, message=failed.message)
    reason = cause.Reason.STEP_LOST if is_lost else cause.Reason.NODE_FAILED
    return Finish(state=State.FAILED, cause=cause.text(reason, failed.message, path=failed.path))


def _first_failed(view: OperationView) -> NodeView | None:
    """Return the failed node for the cause: a lost one before any other, because somebody must look into it."""
    nodes = (view.nodes[each.path] for each in view.plan.real)
    failed = [node for node in nodes if _has_failed(node)]
    lost = (node for node in failed if report.is_lost(state=node.state, message=node.message))
    return next(lost, failed[0] if failed else None)


def _has_failed(node: NodeView) -> bool:
    """Whether a node has failed by itself; a chart fails only through a node in it."""
    return node.state is NodeState.FAILED and node.kind is not NodeKind.CHART
