"""Sentences that say why an operation failed."""

from collections.abc import Iterable
from datetime import UTC, datetime

from tinkwell.client.release.model import Node, Operation, Step
from tinkwell.core.event.kinds import State
from tinkwell.core.release import report
from tinkwell.core.release.kinds import NodeKind, NodeState, StepKind

_LATEST = datetime.max.replace(tzinfo=UTC)


def first_failed(nodes: Iterable[Node]) -> Node | None:
    """Find the first failed node, None for none. Charts are left out: they fail only because of a node in them."""
    failed = (node for node in nodes if node.state is NodeState.FAILED and node.kind is not NodeKind.CHART)
    return min(failed, key=lambda node: (node.finished_at or _LATEST, node.ordinal), default=None)


def last_step(node: Node) -> Step | None:
    """Find the step of a node that began last; None if none began."""
    begun = [step for step in node.steps if step.state is not State.PENDING or step.attempt]
    return max(begun, key=lambda step: step.ordinal, default=None)


def step_title(step: Step) -> str:
    """Return the name of a step for people, such as `action create-role`."""
    match step.kind:
        case StepKind.ACTION:
            return f"action {step.name}" if step.name else "an action"
        case StepKind.RECHECK:
            return "re-check"
        case _:
            return step.kind.lower()


def of_node(node: Node) -> str:
    """Say at which step a node failed, and why: `db failed at action create-role (exit 3): role exists`.

    If no step failed, or the config of the node is wrong, only say why: `db: its config is not what …`.
    """
    step = last_step(node)
    is_call = step is not None and step.state in (State.FAILED, State.TIMEOUT, State.CANCELLED)
    if step is None or not is_call or report.is_wrong_config(node.message):
        return f"{node.path}: {node.message}" if node.message else f"{node.path} failed"
    code = f" (exit {step.exit_code})" if step.exit_code else ""
    # The part of the node's message before the colon repeats the step's title.
    why = step.message or node.message.partition(": ")[2]
    return f"{node.path} failed at {step_title(step)}{code}{_colon(why)}"


def reason(operation: Operation) -> str:
    """Return the reason in an operation's cause; empty if there is none."""
    cause = operation.cause or {}
    where = f"{cause['path']}: " if cause.get("path") else ""
    told = cause.get("message") or cause.get("reason") or ""
    return f"{where}{told}" if told else ""


def sentence(operation: Operation, node: Node | None) -> str:
    """Say in one sentence how an operation ended without success; `node` is the first failed node."""
    why = of_node(node) if node is not None else reason(operation)
    ended = f"{operation.kind.lower()} of {operation.release_name} ended as {operation.state}"
    return f"{ended}{_colon(why)}"


def _colon(text: str) -> str:
    return f": {text}" if text else ""
