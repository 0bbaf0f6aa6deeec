"""The next command for a hook: it is installed like a resource, whatever the operation does with the release.

Nothing of a hook is kept after its operation, so its image gets `init` in each operation, and again after a change of
owner. Only the answer says how often an action is retried. So a failed action of a former owner stays PENDING until
then.
"""

from dataclasses import replace

from tinkwell.core.event.kinds import State
from tinkwell.core.release.decision import installation
from tinkwell.core.release.decision.command import Command
from tinkwell.core.release.decision.view import NodeView, OperationView, StepView
from tinkwell.core.release.kinds import NodeKind, StepKind


def proceed(view: OperationView, node: NodeView) -> Command:
    """Return the next command for a hook that was begun and has no running step."""
    if node.init is None:
        last = node.steps[-1] if node.steps else None
        if last is not None and not last.is_former and last.kind is StepKind.INIT and last.state is not State.SUCCEEDED:
            return installation.fail(node, installation.describe(last))
        return installation.start_new(node, StepKind.INIT)
    spent = next((step for step in node.steps if is_spent(view, node, step)), None)
    if spent is not None:
        return installation.fail(node, installation.describe(replace(spent, state=State.FAILED)))
    return installation.proceed(view, node)


def is_rule_unknown(node: NodeView) -> bool:
    """Whether the image decides how often an action is tried, and has not been asked yet."""
    return node.kind is NodeKind.HOOK and node.init is None and node.settings.retry is None


def is_spent(view: OperationView, node: NodeView, step: StepView) -> bool:
    """Whether an action of a former owner has failed, and the image's answer allows no further attempt."""
    if node.kind is not NodeKind.HOOK or not _has_failed(step) or node.init is None:
        return False
    return installation.retry_seconds(view, node, step, exit_code=step.exit_code) is None


def is_undecided(view: OperationView, node: NodeView, step: StepView) -> bool:
    """Whether a former owner's step stays PENDING: until the hook's image was asked, or the hook has failed."""
    return _has_failed(step) and (is_rule_unknown(node) or is_spent(view, node, step))


def _has_failed(step: StepView) -> bool:
    return step.is_former and step.kind is StepKind.ACTION and step.state is State.PENDING and step.attempt > 0
