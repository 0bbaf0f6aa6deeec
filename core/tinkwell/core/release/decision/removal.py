"""What is next for a resource that is being removed: DESTROY, once it is known that it is this release's to destroy."""

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
    """Say why a resource is left, whatever its image can do; empty where it is to be destroyed."""
    if spec.moved_to:
        return f"it goes on as {spec.moved_to}"
    if spec.keep:
        return "the manifest says keep"
    if spec.owned is None:
        return "nothing was done with it"
    return "" if spec.owned else "it was there before this release"


def begin(node: NodeView) -> MoveNode:
    """Return what becomes of a node whose time has come."""
    assert node.init is not None or why_left(node.spec), "what is to be destroyed was asked for its init"
    why = why_left(node.spec)
    if not why and node.init is not None and node.init.destroy_call is None:
        why = f"{node.spec.type} has no destroy action"
    if why:
        return MoveNode(path=node.path, state=NodeState.LEFT, message=f"left in place: {why}")
    return MoveNode(path=node.path, state=NodeState.REMOVING)


def proceed(view: OperationView, node: NodeView) -> Command:
    """Return what is next for a REMOVING node, none of whose steps runs."""
    broken = broken_step(node)
    if broken is not None:
        return fail(node, describe(broken))
    if any(step.kind is StepKind.DESTROY and step.state is State.SUCCEEDED for step in node.steps):
        return MoveNode(path=node.path, state=NodeState.REMOVED, changed=True)
    # Nobody can tell whether it is destroyed, but whether it is there.
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
