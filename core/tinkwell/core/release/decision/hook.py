"""What is next for a hook: it is brought about as a resource is, whatever the operation does with the release.

Nothing is kept of a hook beyond its operation, so its image is asked for `init` in each, and after a change of owner
once more.
"""

from tinkwell.core.event.kinds import State
from tinkwell.core.release.decision import installation
from tinkwell.core.release.decision.command import Command
from tinkwell.core.release.decision.view import NodeView, OperationView
from tinkwell.core.release.kinds import StepKind


def proceed(view: OperationView, node: NodeView) -> Command:
    """Return what is next for a hook that was begun, none of whose steps runs."""
    if node.init is not None:
        return installation.proceed(view, node)
    last = node.steps[-1] if node.steps else None
    if last is not None and not last.is_former and last.kind is StepKind.INIT and last.state is not State.SUCCEEDED:
        return installation.fail(node, installation.describe(last))
    return installation.start_new(node, StepKind.INIT)
