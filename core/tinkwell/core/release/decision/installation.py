"""The next command for a resource that is being installed.

    STATE ──▶ VALID ─────────────────────────────────────────────▶ READY
      │
      └─────▶ STALE ──▶ ACTION … ACTION ──▶ RECHECK ──▶ VALID ───▶ READY
                                               └──────▶ STALE ───▶ asked again until it is ready, or FAILED

That is one round. Another round begins after a change of owner, and after an action whose effect is not known. A failed
call without an attempt left ends the round with FAILED.
"""

from tinkwell.core.event.kinds import State
from tinkwell.core.release import report
from tinkwell.core.release.decision.command import Command, MoveNode, StartStep, Wait
from tinkwell.core.release.decision.view import (
    ACTION_SECONDS,
    DESTROY_SECONDS,
    STATE_SECONDS,
    NodeView,
    OperationView,
    Retry,
    StepKey,
    StepView,
    done_state,
)
from tinkwell.core.release.kinds import NodeState, ResourceStatus, StepKind
from tinkwell.core.release.report import Call
from tinkwell.core.workflow import retry

_UNSUCCESSFUL = (State.FAILED, State.TIMEOUT)


def proceed(view: OperationView, node: NodeView) -> Command:
    """Return the next command for an INSTALLING node that has no running step."""
    broken = broken_step(node)
    if broken is not None:
        return fail(node, describe(broken))
    if not node.round:
        return start_new(node, StepKind.STATE)
    assert node.answer is not None, "a round whose `state` SUCCEEDED has an answer"
    if node.answer.status is ResourceStatus.VALID:
        return _ready(node)
    if node.spec.readonly:
        return fail(node, "state is STALE, and the manifest says readonly, so no action may change that")
    if node.is_lost and not view.options.accept_lost:
        return fail(node, lost_message("the resource is STALE"))
    due = next((s for s in node.round if s.kind is StepKind.ACTION and s.state is not State.SUCCEEDED), None)
    if due is not None:
        return start_again(node, due, reason=f"action {due.call.name} is tried again")
    return _check_ready(node)


def broken_step(node: NodeView) -> StepView | None:
    """Return the step that ended without success and makes its node fail."""
    effects = (s for s in node.steps if s.kind.has_effects and not s.is_lost)
    calls = (s for s in node.round if not s.kind.has_effects)
    return next((s for s in (*effects, *calls) if s.state in _UNSUCCESSFUL), None)


def start_new(node: NodeView, kind: StepKind) -> StartStep:
    """Return the start of a new step."""
    return StartStep(
        step=StepKey(node.path, len(node.steps) + 1),
        kind=kind,
        attempt=1,
        call=_call(node, kind),
        timeout_seconds=timeout_seconds(node, kind),
    )


def start_again(node: NodeView, step: StepView, *, reason: str) -> Command:
    """Return the start of the next attempt at a PENDING step once it is due."""
    if step.wait_seconds > 0:
        return Wait(path=node.path, reason=reason, seconds=step.wait_seconds)
    return StartStep(
        step=node.key(step),
        kind=step.kind,
        attempt=step.attempt + 1,
        call=step.call,
        timeout_seconds=timeout_seconds(node, step.kind),
    )


def retry_seconds(view: OperationView, node: NodeView, step: StepView, *, exit_code: int | None) -> int | None:
    """Return the seconds after which an action that ended in this way is tried again; None if it is not.

    An action that took too long has no exit code.
    """
    rule = node.settings.retry or Retry()
    if view.cancel_seconds is not None or (rule.exit_codes and exit_code not in rule.exit_codes):
        return None
    return retry.wait_seconds(
        attempt=step.attempt,
        retries=rule.attempts - 1,
        first_delay_seconds=rule.delay_seconds,
        workflow_remaining_seconds=view.remaining_seconds,
    )


def timeout_seconds(node: NodeView, kind: StepKind) -> int:
    """Return how long a call may take, in seconds."""
    timeouts = node.settings.timeouts
    match kind:
        case StepKind.ACTION:
            return timeouts.action or ACTION_SECONDS
        case StepKind.DESTROY:
            return timeouts.destroy or DESTROY_SECONDS
        case StepKind.INIT | StepKind.STATE | StepKind.RECHECK:
            return timeouts.state or STATE_SECONDS


def fail(node: NodeView, message: str) -> MoveNode:
    """Return the end of a node that has failed."""
    return MoveNode(path=node.path, state=NodeState.FAILED, changed=node.is_changed, message=report.fitting(message))


def lost_message(found: str) -> str:
    """Return why a node with a lost action has failed."""
    advice = "make sure that it no longer runs there, and resume with accept-lost"
    return f"{report.STEP_LOST}: {found}, and an action on another engine cannot be watched; {advice}"


def describe(step: StepView) -> str:
    """Return a message about a step that ended without success. A wrong config is not the call's fault."""
    if report.is_wrong_config(step.message):
        return step.message
    what = {StepKind.ACTION: f"action {step.call.name}", StepKind.DESTROY: "destroy"}.get(step.kind, step.kind.lower())
    tries = f" at attempt {step.attempt}" if step.attempt > 1 else ""
    code = f" (exit {step.exit_code})" if step.exit_code else ""
    return f"{what} {step.state}{tries}{code}" + (f": {step.message}" if step.message else "")


def _call(node: NodeView, kind: StepKind) -> Call:
    init = node.init
    if kind is StepKind.INIT:
        return Call(name="init")
    assert init is not None, "init is asked before anything else"
    if kind is StepKind.DESTROY:
        assert init.destroy_call is not None, "what has no destroy action is left"
        return init.destroy_call
    return init.state_call


def _check_ready(node: NodeView) -> Command:
    """Return the next command once all actions have SUCCEEDED."""
    asked = next((step for step in node.round if step.kind is StepKind.RECHECK), None)
    if asked is None:
        return start_new(node, StepKind.RECHECK)
    if asked.state is State.SUCCEEDED:
        return _ready(node)
    if node.ready_seconds is not None and node.ready_seconds <= 0:
        return fail(node, f"not ready in time: {asked.message}")
    return start_again(node, asked, reason="it is not ready yet")


def _ready(node: NodeView) -> MoveNode:
    return MoveNode(path=node.path, state=done_state(node), changed=node.is_changed)
