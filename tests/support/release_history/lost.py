"""Whether what was lost on another engine was treated as it must be: failed where it is STALE, and not where VALID."""

from collections.abc import Iterator, Sequence

from support.history.record import Violation
from support.release_history.record import Answer, Effect, Event, Hold, Mark, Node, Step
from tinkwell.core.event.kinds import EventType, State
from tinkwell.core.release.kinds import NodeState, NodeTask, StepKind
from tinkwell.core.release.report import STEP_LOST


def check(
    events: Sequence[Event],
    nodes: Sequence[Node],
    effects: Sequence[Effect],
    holds: Sequence[Hold],
    accepting: frozenset[str],
) -> Iterator[Violation]:
    """Yield what is wrong; `accepting` are the operations that go on where an action was lost."""
    said = {effect.step_id: effect for effect in effects if effect.mark is Mark.SAID}
    yield from _check_engines(events, holds)
    for node in nodes:
        lost = next((step for step in reversed(node.steps) if step.is_lost), None)
        asked = None if lost is None else answer_after(node, lost, said)
        if asked is not None:
            yield from _check_end(node, Answer(asked.said), is_accepted=node.operation_id in accepting)
        elif _is_failed_as_lost(node):
            why = "no step of it was" if lost is None else "nobody asked for its state"
            yield _violation(node, f"has failed as lost, and {why}")


def _check_engines(events: Sequence[Event], holds: Sequence[Hold]) -> Iterator[Violation]:
    """A step is lost when its operation is taken on another engine than before."""
    for event in events:
        if event.event_type is EventType.STEP_FAILED and event.message.startswith(STEP_LOST):
            held = [hold.engine for hold in holds if hold.operation_id == event.operation_id and hold.at <= event.at]
            if len(held) < 2 or held[-1] == held[-2]:
                text = (
                    f"a step of {event.path} was lost, and its operation was held on {', '.join(held) or 'no engine'}"
                )
                yield Violation("X1", f"operation {event.operation_id}", text)


def answer_after(node: Node, lost: Step, said: dict[str, Effect]) -> Effect | None:
    """Return the first answer about the state of a node after a step of it was lost; None where there was none."""
    asked = (
        step for step in node.steps[lost.ordinal :] if step.kind is StepKind.STATE and step.state is State.SUCCEEDED
    )
    return next((said[step.id] for step in asked if step.id in said), None)


def _check_end(node: Node, answer: Answer, *, is_accepted: bool) -> Iterator[Violation]:
    # What is a hook is there afterwards, whatever the operation does.
    is_there = node.task is NodeTask.INSTALL or "@" in node.path
    is_right = answer is (Answer.VALID if is_there else Answer.ABSENT)
    if is_right and _is_failed_as_lost(node):
        yield _violation(node, f"has failed as lost, though it is {answer}")
    elif not is_right and not is_accepted and node.state in (NodeState.READY, NodeState.REMOVED):
        yield _violation(node, f"is {node.state}, though it was {answer} after a step of it had been lost")


def _is_failed_as_lost(node: Node) -> bool:
    return node.state is NodeState.FAILED and node.message.startswith(STEP_LOST)


def _violation(node: Node, text: str) -> Violation:
    return Violation("X1", f"operation {node.operation_id}", f"{node.path} {text}")
