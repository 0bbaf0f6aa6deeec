"""How the view of an operation changes with the results, and which reports describe the change.

Each function returns the view as it is once its reports were accepted. The reports of one call belong in one group, so
that the server knows all or none of them after a crash: for instance the answer of a `state` and the actions that it
lists.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tinkwell.core.event.kinds import State
from tinkwell.core.release import report
from tinkwell.core.release.decision import hook, installation
from tinkwell.core.release.decision.command import MoveNode, StartStep
from tinkwell.core.release.decision.view import (
    Answer,
    InitFacts,
    NodeView,
    OperationView,
    StepKey,
    StepView,
    done_state,
)
from tinkwell.core.release.kinds import NodeKind, NodeState, NodeTask, ResourceStatus, StepKind, Wait
from tinkwell.core.release.lifecycle_event.name import ONLY_WARNS
from tinkwell.core.release.lifecycle_event.run import Outcome as LifecycleOutcome
from tinkwell.core.release.report import LifecycleReport, NodeReport, RemovedReport, Report, ResourceReport, StepReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an attempt at a step ended: SUCCEEDED, FAILED, TIMEOUT or CANCELLED.

    A call whose answer breaks the protocol has FAILED, and so has an `init` that does not fit the manifest. `answer` is
    the answer of a `state` or re-check that SUCCEEDED, `init` the one of an `init`. For a re-check that says STALE,
    `message` is the difference. `image_id`, `init_text`, `config` and `resource_state` are stored with the resource;
    None keeps the stored value. `sensitive` and `secrets` are as in `ResourceReport`.
    """

    state: State
    exit_code: int | None = None
    message: str = ""
    answer: Answer | None = None
    init: InitFacts | None = None
    image_id: str | None = None
    init_text: str | None = None
    config: str | None = None
    resource_state: str | None = None
    sensitive: tuple[str, ...] = ()
    secrets: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Settled:
    """The changed view, and the reports that describe the change, which belong in one group."""

    view: OperationView
    reports: tuple[Report, ...]


def start(view: OperationView, command: StartStep) -> Settled:
    """Return what the start of an attempt changes."""
    node = view.nodes[command.step.path]
    begun = StepView(
        ordinal=command.step.ordinal,
        kind=command.kind,
        state=State.RUNNING,
        attempt=command.attempt,
        call=command.call,
    )
    return Settled(view.with_node(_put(node, begun)), (_reported(node, begun),))


def end(view: OperationView, key: StepKey, outcome: Outcome) -> Settled:
    """Return what the end of a step's attempt changes, also after a StopStep."""
    node = view.nodes[key.path]
    step = _ended(view, node, view.step(key), outcome)
    node = _put(node, step)
    reports: list[Report] = [_reported(node, step)]
    if step.state is State.SUCCEEDED:
        node, more = _succeeded(view, node, step, outcome)
        reports += more
    if step.state is State.CANCELLED:
        # The effect of the step is not known, so a new round begins.
        node = replace(node, answer=None, steps=tuple(replace(each, is_former=True) for each in node.steps))
    if step.kind is StepKind.ACTION and step.state is State.SUCCEEDED and _are_actions_done(node):
        node = replace(node, ready_seconds=_ready_seconds(view, node))
    return Settled(view.with_node(node), tuple(reports))


def move(view: OperationView, command: MoveNode) -> Settled:
    """Return what the move of a node changes."""
    node = view.nodes[command.path]
    told = NodeReport(path=node.path, state=command.state, changed=command.changed, message=command.message)
    moved = replace(
        node,
        state=command.state,
        message=command.message,
        is_begun=node.is_begun or command.state in (NodeState.INSTALLING, NodeState.REMOVING),
    )
    return Settled(view.with_node(moved), (told, *_resource_moved(node, command)))


def emitted(view: OperationView, path: str, told: LifecycleReport) -> Settled:
    """Return what the result of an event changes. An event that only warns never makes its node fail."""
    node = view.nodes[path]
    has_failed = told.outcome is LifecycleOutcome.FAILED and told.event not in ONLY_WARNS
    state = NodeState.FAILED if has_failed else done_state(node)
    message = report.fitting(told.message)
    # Messages of handlers that succeeded are stored with the event only.
    why = "" if told.outcome is LifecycleOutcome.SUCCEEDED else message
    moved = move(view, MoveNode(path=path, state=state, message=why))
    return Settled(moved.view, (replace(told, message=message), *moved.reports))


def _ended(view: OperationView, node: NodeView, step: StepView, outcome: Outcome) -> StepView:
    """Return a step after an attempt; it is PENDING if another attempt follows."""
    state, wait_seconds = outcome.state, 0.0
    is_stale = outcome.answer is not None and outcome.answer.status is not ResourceStatus.VALID
    if step.kind is StepKind.RECHECK and state is State.SUCCEEDED and is_stale:
        state = State.FAILED
        waits = _poll_seconds(view, node)
    else:
        waits = _retry_seconds(view, node, step, outcome)
    if waits is not None:
        state, wait_seconds = State.PENDING, float(waits)
    exit_code = step.exit_code if outcome.exit_code is None else outcome.exit_code
    message = report.fitting(outcome.message)
    return replace(step, state=state, exit_code=exit_code, message=message, wait_seconds=wait_seconds)


def _poll_seconds(view: OperationView, node: NodeView) -> int | None:
    """Return the seconds until a resource that is not ready is asked again; None if it is not."""
    if view.options.wait is Wait.NONE:
        return None
    seconds = node.init.poll_seconds if node.init is not None else None
    left = view.remaining_seconds if node.ready_seconds is None else min(node.ready_seconds, view.remaining_seconds)
    return seconds if seconds is not None and seconds < left and view.cancel_seconds is None else None


def _retry_seconds(view: OperationView, node: NodeView, step: StepView, outcome: Outcome) -> int | None:
    """Return the seconds until an attempt that ended without success is repeated; None if it is not."""
    if not step.kind.has_effects or outcome.state not in (State.FAILED, State.TIMEOUT):
        return None
    if view.cancel_seconds is None and hook.is_rule_unknown(node):
        return 0  # a new owner asks the hook's image first, which decides about the retry
    return installation.retry_seconds(view, node, step, exit_code=outcome.exit_code)


def _succeeded(
    view: OperationView, node: NodeView, step: StepView, outcome: Outcome
) -> tuple[NodeView, Sequence[Report]]:
    """Return the further reports and changes after a success."""
    match step.kind:
        case StepKind.INIT:
            return replace(node, init=outcome.init), _resource_report(node, outcome, node.spec.status)
        case StepKind.STATE:
            return _answered(view, node, outcome)
        case StepKind.RECHECK:
            return node, _resource_report(node, outcome, ResourceStatus.VALID)
        case StepKind.ACTION | StepKind.DESTROY:
            return node, []


def _answered(view: OperationView, node: NodeView, outcome: Outcome) -> tuple[NodeView, Sequence[Report]]:
    """Apply the answer of `state`; the actions that it lists are reported together with it."""
    answer = outcome.answer
    assert answer is not None, "a `state` that SUCCEEDED has an answer"
    if node.task is NodeTask.REMOVE and node.kind is NodeKind.RESOURCE:
        return replace(node, answer=answer), []
    owned = not answer.has_state if node.spec.owned is None else node.spec.owned
    node = replace(node, answer=answer, spec=replace(node.spec, owned=owned))
    actions = [
        StepView(ordinal=ordinal, kind=StepKind.ACTION, state=State.PENDING, attempt=0, call=call)
        for ordinal, call in enumerate(_due_actions(view, node, answer), len(node.steps) + 1)
    ]
    node = replace(node, steps=(*node.steps, *actions))
    return node, [*_resource_report(node, outcome, answer.status), *(_reported(node, action) for action in actions)]


def _due_actions(view: OperationView, node: NodeView, answer: Answer) -> Sequence[report.Call]:
    is_refused = node.spec.readonly or (node.is_lost and not view.options.accept_lost)
    return () if is_refused or answer.status is ResourceStatus.VALID else answer.actions


def _resource_report(node: NodeView, outcome: Outcome, status: ResourceStatus) -> Sequence[Report]:
    """Return the report about a resource; of a hook only its secrets are reported, so that the server masks them."""
    if node.kind is NodeKind.HOOK:
        secrets = outcome.secrets
        return [ResourceReport(path=node.path, type=node.spec.type, status=status, secrets=secrets)] if secrets else []
    told = ResourceReport(
        path=node.path,
        type=node.spec.type,
        status=status,
        image_id=outcome.image_id,
        init=outcome.init_text,
        config=outcome.config,
        state=outcome.resource_state,
        owned=node.spec.owned,
        sensitive=outcome.sensitive,
        secrets=outcome.secrets,
    )
    return [told]


def _resource_moved(node: NodeView, command: MoveNode) -> Sequence[Report]:
    """Return the report about a resource that was removed or left; a moved or never created one counts as removed."""
    if node.kind is not NodeKind.RESOURCE:
        return []
    is_left = command.state is NodeState.LEFT
    if command.state is NodeState.REMOVED or (is_left and (node.spec.moved_to or node.spec.owned is None)):
        return [RemovedReport(node.path)]
    if not is_left:
        return []
    return [ResourceReport(path=node.path, type=node.spec.type, status=ResourceStatus.LEFT)]


def _are_actions_done(node: NodeView) -> bool:
    return all(each.state is State.SUCCEEDED for each in node.round if each.kind is StepKind.ACTION)


def _ready_seconds(view: OperationView, node: NodeView) -> float | None:
    return node.settings.timeouts.ready or view.options.readiness_timeout_seconds or None


def _put(node: NodeView, step: StepView) -> NodeView:
    before, after = node.steps[: step.ordinal - 1], node.steps[step.ordinal :]
    return replace(node, steps=(*before, step, *after))


def _reported(node: NodeView, step: StepView) -> StepReport:
    return StepReport(
        path=node.path,
        ordinal=step.ordinal,
        kind=step.kind,
        state=step.state,
        attempt=step.attempt,
        call=step.call,
        exit_code=step.exit_code,
        message=step.message,
    )
