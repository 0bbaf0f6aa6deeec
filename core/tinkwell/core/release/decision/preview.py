"""Decides what the owner of a PLAN operation does next. Such an operation only looks, and changes nothing.

    1. inits      of all resources without a known answer. One that fails makes only its own resource fail
    2. state      of each resource to be installed, once the resources that it needs are VALID: READY with any answer
    3. the rest   is SKIPPED: a resource that needs one that is not VALID is decided when the operation runs, a type
                  whose `state` writes is not inspected, and a resource that would be removed is left alone
    4. the end    SUCCEEDED, even if not all was looked at; FAILED if a call has failed

Only `CALLS` are made, so nothing has effects. After a change of owner all calls are made again.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from tinkwell.core.event.kinds import State
from tinkwell.core.release import cause, walk
from tinkwell.core.release.decision import installation, removal
from tinkwell.core.release.decision.command import Command, Finish, MoveNode, StartStep, StopStep
from tinkwell.core.release.decision.outcome import Settled
from tinkwell.core.release.decision.view import NodeView, OperationView, StepKey
from tinkwell.core.release.kinds import NodeState, NodeTask, ResourceStatus, StepKind
from tinkwell.core.release.preview.making import DECIDED_AT_RUN
from tinkwell.core.release.report import StepReport

# The only calls that a plan makes.
CALLS = (StepKind.INIT, StepKind.STATE)
NOT_INSPECTED = "not inspected"


def decide(view: OperationView, running: Collection[StepKey]) -> Sequence[Command]:
    """Return the commands; `running` are the steps that the caller starts, runs or stops now."""
    nodes = [view.nodes[node.path] for node in view.plan.resources]
    left = [node for node in nodes if not node.state.is_final]
    stop = _stop(view)
    commands = [command for node in left for command in _handle_running(node, running, stop)]
    is_quiet = not running and not any(_runs(node) for node in left)
    if stop is not None:
        state, reason = stop
        if is_quiet and not commands:
            return [Finish(state=state, cause=cause.text(cause.Reason(state), reason))]
        return commands
    commands += _go_on(view, [node for node in left if not _runs(node)])
    if left or not is_quiet or commands:
        return commands
    return [_finish(nodes)]


def without_actions(settled: Settled, path: str) -> Settled:
    """Return the result of a call without the actions that `state` listed, because none of them runs."""
    node = settled.view.nodes[path]
    calls = tuple(step for step in node.steps if step.kind in CALLS)
    told = (each for each in settled.reports if not (isinstance(each, StepReport) and each.kind not in CALLS))
    return Settled(settled.view.with_node(replace(node, steps=calls)), tuple(told))


def _stop(view: OperationView) -> tuple[State, str] | None:
    if view.cancel_seconds is not None:
        return State.CANCELLED, "the operation was cancelled"
    return (State.TIMEOUT, "the operation's deadline passed") if view.remaining_seconds <= 0 else None


def _handle_running(node: NodeView, running: Collection[StepKey], stop: tuple[State, str] | None) -> list[Command]:
    """Return the commands for calls that cannot stay as they are: none of them is waited for."""
    commands: list[Command] = []
    for step in node.steps:
        if step.state is State.RUNNING and node.key(step) not in running:
            commands.append(StopStep(step=node.key(step), reason="its owner is dead; it is asked again"))
        elif step.state is State.RUNNING and stop is not None:
            commands.append(StopStep(step=node.key(step), reason=stop[1], state=stop[0]))
    return commands


def _go_on(view: OperationView, free: Sequence[NodeView]) -> list[Command]:
    """Return the next commands for the nodes that have no running call."""
    vacant = view.options.parallel - sum(map(_runs, view.nodes.values()))
    commands: list[Command] = [_proceed(node) for node in free if node.state in walk.BEGUN]
    pending = [node for node in free if node.state is NodeState.PENDING]
    asking = [node for node in pending if node.problem or _needs_init(node)]
    for node in asking:
        last = node.steps[-1] if node.steps else None
        if node.problem:
            commands.append(installation.fail(node, node.problem))
        elif last is not None and not last.is_former and last.state is not State.SUCCEEDED:
            commands.append(installation.fail(node, installation.describe(last)))
        elif vacant > 0:
            commands.append(installation.start_new(node, StepKind.INIT))
            vacant -= 1
    is_asking = any(_needs_init(node) for node in view.nodes.values() if node.state is NodeState.PENDING)
    return commands if is_asking else [*commands, *_look(view, [n for n in pending if n not in asking], vacant)]


def _look(view: OperationView, pending: Sequence[NodeView], vacant: int) -> list[Command]:
    """Return the commands for nodes that have not begun, once all inits are known."""
    survey = walk.Survey(view.plan, {path: node.state for path, node in view.nodes.items()})
    blockers = dict(survey.hopeless())
    before = {node.path: node.after for node in view.plan.resources}
    ready = set(survey.ready())
    commands: list[Command] = []
    for node in pending:
        stale = next((path for path in before[node.path] if _is_stale(view.nodes[path])), "")
        if node.task is NodeTask.REMOVE:
            commands.append(_skip(node, ""))
        elif node.init is not None and not node.init.reads_state_only:
            commands.append(_skip(node, f"{NOT_INSPECTED}: to ask {node.spec.type} for the state may change something"))
        elif node.path in blockers:
            commands.append(_skip(node, f"{DECIDED_AT_RUN}: {blockers[node.path]}"))
        elif stale:
            commands.append(_skip(node, f"{DECIDED_AT_RUN}: {stale} is not as it should be"))
        elif node.path in ready and vacant > 0:
            commands += [
                MoveNode(path=node.path, state=NodeState.INSTALLING),
                installation.start_new(node, StepKind.STATE),
            ]
            vacant -= 1
    return commands


def _proceed(node: NodeView) -> MoveNode | StartStep:
    """Return the next command for a node that was begun."""
    broken = installation.broken_step(node)
    if broken is not None:
        return installation.fail(node, installation.describe(broken))
    if node.answer is None:
        return installation.start_new(node, StepKind.STATE)
    return MoveNode(path=node.path, state=NodeState.READY)


def _needs_init(node: NodeView) -> bool:
    return node.init is None and not (node.task is NodeTask.REMOVE and removal.why_left(node.spec))


def _runs(node: NodeView) -> bool:
    return any(step.state is State.RUNNING for step in node.steps)


def _is_stale(node: NodeView) -> bool:
    return node.answer is not None and node.answer.status is not ResourceStatus.VALID


def _skip(node: NodeView, message: str) -> MoveNode:
    return MoveNode(path=node.path, state=NodeState.SKIPPED, message=message)


def _finish(nodes: Sequence[NodeView]) -> Finish:
    failed = next((node for node in nodes if node.state is NodeState.FAILED), None)
    if failed is None:
        return Finish(state=State.SUCCEEDED)
    return Finish(state=State.FAILED, cause=cause.text(cause.Reason.NODE_FAILED, failed.message, path=failed.path))
