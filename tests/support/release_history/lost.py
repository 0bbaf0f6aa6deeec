"""Whether what was lost on another engine was treated as it must be: failed where it is STALE, and not where VALID."""

from collections.abc import Iterator, Sequence

from support.history.record import Violation
from support.release_history.record import Answer, Effect, Mark, Node, Step
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeState, NodeTask, StepKind


def check(nodes: Sequence[Node], effects: Sequence[Effect], accepting: frozenset[str]) -> Iterator[Violation]:
    """Yield what is wrong; `accepting` are the operations that go on where an action was lost."""
    said = {effect.step_id: effect for effect in effects if effect.mark is Mark.SAID}
    begun = {effect.step_id: effect for effect in effects if effect.mark is Mark.BEGIN}
    for node in nodes:
        lost = next((step for step in reversed(node.steps) if step.is_lost), None)
        asked = None if lost is None else answer_after(node, lost, said)
        if lost is None:
            if _is_failed_as_lost(node):
                yield _violation(node, "has failed as lost, and no step of it was")
        elif asked is not None:
            if lost.id in begun and begun[lost.id].engine == asked.engine:
                yield _violation(node, f"step {lost.id} was lost, though it ran on the engine that asked for the state")
            yield from _check_end(node, Answer(asked.said), is_accepted=node.operation_id in accepting)
        elif _is_failed_as_lost(node):
            yield _violation(node, "has failed as lost, and nobody asked for its state")


def answer_after(node: Node, lost: Step, said: dict[str, Effect]) -> Effect | None:
    """Return the first answer about the state of a node after a step of it was lost; None where there was none."""
    asked = (
        step for step in node.steps[lost.ordinal :] if step.kind is StepKind.STATE and step.state is State.SUCCEEDED
    )
    return next((said[step.id] for step in asked if step.id in said), None)


def _check_end(node: Node, answer: Answer, *, is_accepted: bool) -> Iterator[Violation]:
    is_right = answer is (Answer.VALID if node.task is NodeTask.INSTALL else Answer.ABSENT)
    if is_right and _is_failed_as_lost(node):
        yield _violation(node, f"has failed as lost, though it is {answer}")
    elif not is_right and not is_accepted and node.state in (NodeState.READY, NodeState.REMOVED):
        yield _violation(node, f"is {node.state}, though it was {answer} after a step of it had been lost")


def _is_failed_as_lost(node: Node) -> bool:
    return node.state is NodeState.FAILED and node.message.startswith("STEP_LOST")


def _violation(node: Node, text: str) -> Violation:
    return Violation("X1", f"operation {node.operation_id}", f"{node.path} {text}")
