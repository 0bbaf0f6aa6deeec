"""When charts begin and end. A chart runs no steps: it ends when all nodes in it have ended, which `walk` computes."""

from collections.abc import Sequence

from tinkwell.core.release import walk
from tinkwell.core.release.decision.command import MoveNode
from tinkwell.core.release.decision.view import OperationView
from tinkwell.core.release.kinds import NodeState, NodeTask


def begin(survey: walk.Survey) -> Sequence[MoveNode]:
    """Return the moves of charts that begin, parents before the charts in them."""
    states = {NodeTask.INSTALL: NodeState.INSTALLING, NodeTask.REMOVE: NodeState.REMOVING}
    return [MoveNode(path=node.path, state=states[node.task]) for node in survey.opening()]


def end(view: OperationView, survey: walk.Survey) -> Sequence[MoveNode]:
    """Return the moves of charts that end, because all nodes in them have ended, with or without success."""
    return [_end(view, closing) for closing in survey.closing()]


def _end(view: OperationView, closing: walk.Closing) -> MoveNode:
    is_installed = closing.task is NodeTask.INSTALL
    if closing.blocker is not None:
        message = f"not {'ready' if is_installed else 'removed'}: {closing.blocker}"
        return MoveNode(path=closing.path, state=NodeState.FAILED, message=message)
    state = NodeState.READY if is_installed else NodeState.REMOVED
    inside = (f"{closing.path}:", f"{closing.path}.")
    changed = any(node.is_changed for path, node in view.nodes.items() if path.startswith(inside))
    return MoveNode(path=closing.path, state=state, changed=changed)
