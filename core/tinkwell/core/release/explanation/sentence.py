"""The sentences. They contain no secrets: messages were masked before they were stored."""

from collections.abc import Iterator, Mapping, Sequence

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.release import prerequisite, report, walk
from tinkwell.core.release.decision import view
from tinkwell.core.release.explanation.fact import Facts, NodeExplanation, NodeFact, OperationFact, StepFact
from tinkwell.core.release.kinds import NodeKind, NodeState, NodeTask, StepKind
from tinkwell.core.release.manifest import name
from tinkwell.core.value import closed_object, parse

# For more nodes, the sentences do not say which nodes each of them waits for.
MAX_EXPLAINED = 200
_MAX_NAMED = 20
_WELL = (NodeState.READY, NodeState.REMOVED, NodeState.LEFT)


def of_operation(operation: OperationFact) -> str:
    """Return how far an operation is, or why no provisioner carries it out."""
    what = f"{operation.kind.lower()} of {operation.release_name}"
    if operation.state.is_final:
        why = f": {operation.cause}" if operation.cause else ""
        return f"{what} ended as {operation.state}{why}"
    left = f", {_seconds(max(operation.remaining_seconds, 0.0))} left" if operation.remaining_seconds else ""
    cancelled = "; its cancellation was requested" if operation.is_cancel_requested else ""
    return f"{what} is {operation.state}{left}{cancelled}; {_owner(operation)}"


def _owner(operation: OperationFact) -> str:
    """Return who carries out an operation that has not ended, or who could take it."""
    holder = operation.holder
    if holder is not None and not holder.silent_seconds:
        return f"{holder} carries it out"
    lost = ""
    if holder is not None:
        lost = f"{holder}, which carried it out, has been silent for {_seconds(holder.silent_seconds)}, and "
    elif operation.state is State.RUNNING:
        lost = "its owner is gone, and "
    if not operation.alive:
        start = f'"tinkwell provisioner --releases {operation.namespace}"'
        return f"{lost}no provisioner is alive to take it; start one with {start}"
    fitting = [each for each in operation.alive if operation.engine in ("", each.engine)]
    if not fitting:
        there = _listed([str(each) for each in operation.alive])
        keeps = f"{operation.release_name} keeps files on the engine {operation.engine}"
        return f"{lost}no provisioner may take it: {keeps}, and there is only {there}"
    there = _listed([str(each) for each in fitting])
    takes = f"one that takes operations of {operation.namespace} will do so"
    return f"{lost}no provisioner has taken it; {takes}; alive: {there}"


def of_nodes(facts: Facts, path: str = "") -> tuple[Sequence[NodeExplanation], int]:
    """Explain the node with a path or, for "", the nodes that are not in their wanted state.

    The path may leave out the root's name. Only the first nodes are explained, and the number of the others is
    returned. Raises `errors.InvalidField` for a path that the plan does not have.
    """
    explainer = _Explainer(facts)
    if path:
        return [explainer.explain(facts.nodes[resolve(facts, path)])], 0
    open_ones = [node for node in facts.nodes.values() if node.state not in _WELL]
    return [explainer.explain(node) for node in open_ones[:MAX_EXPLAINED]], max(len(open_ones) - MAX_EXPLAINED, 0)


def resolve(facts: Facts, path: str) -> str:
    """Return the full path of a node, which may be given without the root's name."""
    roots = {name.split_chart(each)[0].partition(".")[0] or each.partition(".")[0] for each in facts.nodes}
    spellings = [path, *(f"{root}{mark}{path}" for root in sorted(roots) for mark in (".", ":"))]
    found = next((each for each in spellings if each in facts.nodes), None)
    if found is None:
        if not facts.nodes:
            raise errors.InvalidField.of("path", f"there is no {parse.show(path)} yet; the operation has no plan")
        known = closed_object.nearest(path, list(facts.nodes))
        raise errors.InvalidField.of("path", f"{parse.show(path)} is not a node of the operation; {known}")
    return found


class _Explainer:
    """Explains the nodes of one operation."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._nodes = facts.nodes
        states = {path: node.state for path, node in facts.nodes.items()}
        self._survey = walk.Survey(facts.plan, states)
        self._after = prerequisite.named(facts.plan.nodes)
        self._never = dict(self._survey.hopeless())

    def explain(self, node: NodeFact) -> NodeExplanation:
        if node.state is not NodeState.PENDING:
            return NodeExplanation(node=node, sentence=f"{_title(node)} {self._now(node)}")
        if (blocker := self._never.get(node.path)) is not None:
            why = f"{_title(node)} never starts: {self._state_of(blocker.path)}"
            return NodeExplanation(node=node, sentence=why, waits_for=(blocker.path,))
        waits_for = tuple(blocker.path for blocker in self._blockers(node.path))
        if not waits_for:
            return NodeExplanation(node=node, sentence=f"{_title(node)} {self._turn(node)}")
        waited = [self._state_of(path) for path in self._order(node.path, waits_for)]
        rest = f"; and {len(waited) - _MAX_NAMED} more" if len(waited) > _MAX_NAMED else ""
        text = f"{_title(node)} waits: {'; '.join(waited[:_MAX_NAMED])}{rest}"
        return NodeExplanation(node=node, sentence=text, waits_for=waits_for)

    def _blockers(self, path: str) -> tuple[walk.Blocker, ...]:
        """Return what a node waits for: by itself or, if by nothing, through the charts that it is in."""
        found: tuple[walk.Blocker, ...] = ()
        while path and not found:
            found = self._survey.waits_for(path) if path in self._nodes else ()
            path = name.parent_chart(path)
        return found

    def _order(self, path: str, waits_for: Sequence[str]) -> list[str]:
        """Return sentences about the nodes in the way, and then about what the node itself has done."""
        done = [each for each in self._after.get(path, ()) if each not in waits_for]
        return [*waits_for, *done]

    def _turn(self, node: NodeFact) -> str:
        """Return why a node that waits for no other node has not begun."""
        operation = self._facts.operation
        if operation.state.is_final:
            return f"was not begun: {of_operation(operation)}"
        working = [each for each in self._nodes.values() if each.state in walk.BEGUN and _is_worked_on(each)]
        if _is_worked_on(node) and len(working) >= operation.parallel:
            named = _listed([each.path for each in working])
            return f"waits for its turn: at most {operation.parallel} at a time, now {named}"
        if node.step is not None and not node.step.state.is_final:
            return f"is about to start: {_step(node.step, operation)}"
        return f"waits for no other, and starts next; {of_operation(operation)}"

    def _now(self, node: NodeFact) -> str:
        match node.state:
            case NodeState.FAILED:
                return _failed(node)
            case NodeState.SKIPPED:
                return f"was skipped{_colon(node.message)}"
            case NodeState.INSTALLING | NodeState.REMOVING:
                return self._working(node)
            case NodeState.LEFT:
                return f"was left in place{_colon(node.message)}"
            case _:
                how = "was changed" if node.is_changed else "needed no change"
                told = how if node.task is NodeTask.INSTALL and _is_worked_on(node) else ""
                return f"{_how_long(node)}{f'; it {told}' if told else ''}"

    def _working(self, node: NodeFact) -> str:
        text = _how_long(node)
        if node.step is not None and not node.step.state.is_final:
            return f"{text} at {_step(node.step, self._facts.operation)}"
        if node.kind is not NodeKind.CHART:
            return text
        inside = [each for each in self._inside(node.path) if _is_worked_on(each)]
        well = sum(each.state in _WELL for each in inside)
        working = [self._state_of(each.path) for each in inside if each.state in walk.BEGUN]
        far = f": {well} of {len(inside)} are done" if inside else ""
        return f"{text}{far}" + (f" ({', '.join(working[:_MAX_NAMED])})" if working else "")

    def _inside(self, path: str) -> Iterator[NodeFact]:
        heads = (f"{path}:", f"{path}.")
        return (node for each, node in self._nodes.items() if each.startswith(heads))

    def _state_of(self, path: str) -> str:
        node = self._nodes[path]
        if node.state in walk.BEGUN:
            return f"{path} {self._working(node)}"
        return f"{path} {_failed(node)}" if node.state is NodeState.FAILED else f"{path} is {node.state}"


def step_title(kind: StepKind, title: str) -> str:
    """Return the name of a step, such as `action create-role`."""
    match kind:
        case StepKind.ACTION:
            return f"action {title}" if title else "an action"
        case StepKind.RECHECK:
            return "re-check"
        case _:
            return kind.lower()


def _step(step: StepFact, operation: OperationFact) -> str:
    """Return how far a step is: its attempt of how many, and its time."""
    words = [f"attempt {max(step.attempt, 1)} of {max(step.attempts, step.attempt, 1)}"]
    left = operation.remaining_seconds
    if step.state is State.RUNNING and step.seconds is not None and step.timeout_seconds:
        own = step.timeout_seconds - step.seconds
        left = own if left is None else min(own, left)
    if step.state is State.PENDING and step.attempt:
        words.append("between two attempts")
    elif left is not None:
        words.append(f"{_seconds(max(left, 0.0))} left")
    return f"{step_title(step.kind, step.name)} ({', '.join(words)})"


def _failed(node: NodeFact) -> str:
    step = node.step
    is_call = step is not None and step.state in (State.FAILED, State.TIMEOUT, State.CANCELLED)
    if step is None or not is_call or report.is_wrong_config(node.message):
        return f"failed{_colon(node.message)}"
    code = f" (exit {step.exit_code})" if step.exit_code else ""
    # The text before the colon repeats what this sentence says.
    why = step.message or node.message.partition(": ")[2]
    return f"failed at {step_title(step.kind, step.name)}{code}{_colon(why)}"


def _is_worked_on(node: NodeFact) -> bool:
    return node.kind in (NodeKind.RESOURCE, NodeKind.HOOK)


def _title(node: NodeFact) -> str:
    return f"{node.path} (batch {node.batch})"


def _how_long(node: NodeFact) -> str:
    """Return the state of a node, and for how long the node has had this state."""
    return f"is {node.state}" if node.seconds is None else f"has been {node.state} for {_seconds(node.seconds)}"


def _seconds(seconds: float) -> str:
    return f"{seconds:,.0f} s"


def _colon(text: str) -> str:
    return f": {text}" if text else ""


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MAX_NAMED])
    return f"{shown} and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else shown


def attempts_and_timeouts(resource: Mapping[str, object], init: Mapping[str, object]) -> tuple[int, Mapping[str, int]]:
    """Return the number of attempts of an action, and the timeouts of calls, from stored JSON.

    The manifest's values win over the image's. A sealed value counts as not given.
    """
    extension = _object(init.get("tinkwell"))
    attempts = _object(extension.get("retry")).get("attempts")
    retries = resource.get("retries")
    most = retries + 1 if isinstance(retries, int) else attempts if isinstance(attempts, int) else 1
    timeouts = {**_object(extension.get("timeouts")), **_object(resource.get("timeouts"))}
    return most, {key: found for key, found in timeouts.items() if isinstance(found, int)}


def seconds_of(kind: StepKind, timeouts: Mapping[str, int]) -> int:
    """Return how long a call may take, in seconds."""
    match kind:
        case StepKind.ACTION:
            return timeouts.get("action", view.ACTION_SECONDS)
        case StepKind.DESTROY:
            return timeouts.get("destroy", view.DESTROY_SECONDS)
        case StepKind.INIT | StepKind.STATE | StepKind.RECHECK:
            return timeouts.get("state", view.STATE_SECONDS)


def _object(found: object) -> Mapping[str, object]:
    return found if isinstance(found, dict) else {}
