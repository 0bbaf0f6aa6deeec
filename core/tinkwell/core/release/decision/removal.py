"""The next command for a resource that is being removed: DESTROY, once it is known that the release may destroy it."""

from tinkwell.core.event.kinds import State
from tinkwell.core.release.decision.command import Command, MoveNode
from tinkwell.core.release.decision.installation import (
    broken_step,
    describe,
    fail,
    lost_message,
    start_again,
    start_new,
)
from tinkwell.core.release.decision.view import NodeSpec, NodeView, OperationView
from tinkwell.core.release.kinds import NodeState, StepKind


def why_left(spec: NodeSpec) -> str:
    """Return why a resource is left in place, whatever its image can do; "" if it is to be destroyed."""
    if spec.moved_to:
        return f"it goes on as {spec.moved_to}"
    if spec.keep:
        return "the manifest says keep"
    if spec.owned is None:
        return "nothing was done with it"
    return "" if spec.owned else "it was there before this release"


def begin(node: NodeView) -> MoveNode:
    """Return the move of a node whose turn has come."""
    assert node.init is not None or why_left(node.spec), "what is to be destroyed was asked for its init"
    why = why_left(node.spec)
    if not why and node.init is not None and node.init.destroy_call is None:
        why = f"{node.spec.type} has no destroy action"
    if why:
        return MoveNode(path=node.path, state=NodeState.LEFT, message=f"left in place: {why}")
    return MoveNode(path=node.path, state=NodeState.REMOVING)


def proceed(view: OperationView, node: NodeView) -> Command:
    """Return the next command for a REMOVING node that has no running step."""
    broken = broken_step(node)
    if broken is not None:
        return fail(node, describe(broken))
    if any(step.kind is StepKind.DESTROY and step.state is State.SUCCEEDED for step in node.steps):
        return MoveNode(path=node.path, state=NodeState.REMOVED, changed=True)
    # The end of DESTROY was lost, but STATE shows whether the resource still exists.
    if node.is_lost and node.answer is None:
        return start_new(node, StepKind.STATE)
    if node.answer is not None and not node.answer.has_state:
        return MoveNode(path=node.path, state=NodeState.REMOVED, changed=True)
    if node.is_lost and not view.options.accept_lost:
        return fail(node, lost_message("the resource is still there"))
    due = next((step for step in node.round if step.kind is StepKind.DESTROY), None)
    if due is not None:
        return start_again(node, due, reason="destroy is tried again")
    return start_new(node, StepKind.DESTROY)
