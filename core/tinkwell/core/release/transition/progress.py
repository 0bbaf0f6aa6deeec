"""What reports about an operation change.

    a report                  is accepted if
    INSTALLING, REMOVING      the node is PENDING, and is to be installed, or removed
    an end of a node          none of its steps is RUNNING; its PENDING steps are CANCELLED with it
    INIT begins               the node is PENDING
    STATE begins              the node is INSTALLING or REMOVING
    ACTION, RECHECK begin     the node is INSTALLING; the last STATE and all steps since then have SUCCEEDED
    DESTROY begins            the node is REMOVING
    ACTION, RECHECK, INIT     of a hook begin also if the node is REMOVING, and INIT also if it has begun
    any step                  the node is that of a resource or a hook; charts and events have no steps
    a resource                the node is that of a resource; for a hook only the secrets are used
    LEFT                      the node is that of a resource
    an emitted event          always; it replaces the stored result of the same event of the same chart
    any step but INIT, STATE  the operation is no PLAN, whose other steps stay PENDING until their node ends
    any step begins           all earlier steps are final, or PENDING if INIT begins; the attempt is the next one
    another end of a step     it is RUNNING, and the attempt is the current one; or it is PENDING, and CANCELLED

So no two steps of a node run at once, and no step runs once a node is final. A whole group of reports may come again,
because its sender may not have received the answer. If the last report of the group about a node or a step is already
stored, all reports of the group about it are ignored. An older report by itself is refused.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.lease import lease
from tinkwell.core.release import lifecycle
from tinkwell.core.release.kinds import NodeKind, NodeState, NodeTask, OperationKind, StepKind
from tinkwell.core.release.report import (
    FinishReport,
    LifecycleReport,
    NodeReport,
    PhaseReport,
    RemovedReport,
    Report,
    ResourceReport,
    StepReport,
)
from tinkwell.core.release.transition import ending
from tinkwell.core.release.transition import operation as rule
from tinkwell.core.release.transition.change import (
    AddStep,
    Change,
    Changes,
    DropResource,
    HearSecrets,
    MoveNode,
    MoveStep,
    StoreEmitted,
    StoreResource,
    WriteOperation,
)
from tinkwell.core.release.transition.ending import Leftover
from tinkwell.core.release.transition.row import PLANNED_PHASES, NodeRow, OperationRow, StepRow

_BEGUN = (NodeState.INSTALLING, NodeState.REMOVING)
_NODE_STATES: dict[StepKind, tuple[NodeState, ...]] = {
    StepKind.INIT: (NodeState.PENDING,),
    StepKind.STATE: _BEGUN,
    StepKind.ACTION: (NodeState.INSTALLING,),
    StepKind.RECHECK: (NodeState.INSTALLING,),
    StepKind.DESTROY: (NodeState.REMOVING,),
}
# A hook of a removal is installed as well, and its image is asked again after a change of owner.
_HOOK_STATES = _NODE_STATES | {
    StepKind.INIT: (NodeState.PENDING, *_BEGUN),
    StepKind.ACTION: _BEGUN,
    StepKind.RECHECK: _BEGUN,
    StepKind.DESTROY: (),
}
_NAMES = {NodeKind.CHART: "a chart", NodeKind.EVENT: "an event", NodeKind.HOOK: "a hook"}
_TASKS: Mapping[NodeState, NodeTask] = {
    NodeState.INSTALLING: NodeTask.INSTALL,
    NodeState.READY: NodeTask.INSTALL,
    NodeState.REMOVING: NodeTask.REMOVE,
    NodeState.REMOVED: NodeTask.REMOVE,
    NodeState.LEFT: NodeTask.REMOVE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The rows by which a group of reports is judged: the nodes that it names (`paths`), with all their steps in order.

    `leftover` is needed if the group ends the operation (`ends`).
    """

    operation: OperationRow
    nodes: Mapping[str, NodeRow]
    steps: Mapping[str, Sequence[StepRow]]
    leftover: Leftover | None = None


def paths(reports: Iterable[Report]) -> frozenset[str]:
    """Return the paths of the nodes that reports name."""
    named = (NodeReport, StepReport, ResourceReport, RemovedReport)
    return frozenset(report.path for report in reports if isinstance(report, named))


def ends(reports: Iterable[Report]) -> bool:
    """Return whether reports end their operation."""
    return any(isinstance(report, FinishReport) for report in reports)


def report(work: Work, reports: Sequence[Report], *, hold: lease.Hold | None, reporter: lease.Reporter) -> Changes:
    """Return what a group of reports changes, all or none, in order; nothing if it is a repetition.

    Raises `errors.LeaseLost`; `errors.NotFound` for a node that the plan does not have; `errors.InvalidField` with the
    path `reports[i]` for an invalid report; `errors.IllegalTransition` if the states do not allow it.
    """
    operation = work.operation
    if operation.state.is_final and _is_known_end(operation, reports):
        return ()
    rule.check_running(operation)
    starts = any(_starts(each) for each in reports)
    rule.check_owner(operation, hold=hold, reporter=reporter, starts=starts)
    judge = _Judge(work, reports)
    for place, each in enumerate(reports):
        judge.hear(f"reports[{place}]", each)
    return judge.changes()


def _is_known_end(operation: OperationRow, reports: Sequence[Report]) -> bool:
    last = reports[-1] if reports else None
    return isinstance(last, FinishReport) and last.state is operation.state


def _starts(each: Report) -> bool:
    match each:
        case StepReport():
            return each.state is State.RUNNING
        case NodeReport():
            return each.state in _BEGUN
        case _:
            return False


class _Judge:
    """Judges the reports of one group one by one, each with the changes of those before."""

    def __init__(self, work: Work, reports: Sequence[Report]) -> None:
        self._work = work
        self._operation = work.operation
        self._nodes = dict(work.nodes)
        self._steps = {path: list(steps) for path, steps in work.steps.items()}
        self._changes: list[Change] = []
        self._finish: FinishReport | None = None
        self._known_nodes = _known_nodes(work, reports)
        self._known_steps = _known_steps(work, reports)

    def hear(self, field: str, each: Report) -> None:
        """Judge a report; its errors begin with the field."""
        if self._finish is not None:
            raise errors.InvalidField.of(field, "comes after the end of the operation; an end is the last report")
        match each:
            case PhaseReport():
                self._move_phase(each)
            case NodeReport():
                if each.path not in self._known_nodes:
                    self._move_node(each)
            case StepReport():
                if (each.path, each.ordinal) not in self._known_steps:
                    self._hear_step(field, each)
            case ResourceReport() | RemovedReport():
                self._hear_resource(field, each)
            case LifecycleReport():
                self._changes.append(StoreEmitted(each))
            case FinishReport():
                self._finish = each
            case _:
                assert_never(each)

    def _hear_resource(self, field: str, told: ResourceReport | RemovedReport) -> None:
        node = self._node(told.path)
        _refuse_without_calls(field, node, "has no resource")
        if node.kind is NodeKind.HOOK:
            self._changes.append(_heard_of_hook(field, told))
            return
        is_installed = node.task is NodeTask.INSTALL
        if not self._operation.kind.changes_release:
            self._only_hear(field, told)
        elif isinstance(told, ResourceReport):
            revision = self._operation.revision if is_installed else 0
            self._changes.append(StoreResource(told, revision or None))
        elif is_installed:
            raise errors.InvalidField.of(field, f"{told.path} is installed by this operation, not removed")
        else:
            self._changes.append(DropResource(told.path))

    def _only_hear(self, field: str, told: ResourceReport | RemovedReport) -> None:
        kind = self._operation.kind
        if isinstance(told, RemovedReport):
            raise errors.InvalidField.of(field, f"{told.path} is not removed by a {kind}, which changes nothing")
        self._changes.append(HearSecrets(told))

    def changes(self) -> Changes:
        """Return the changes of all reports."""
        if self._finish is not None:
            return (*self._changes, *ending.finish(self._operation, self._leftover(), self._finish))
        if self._operation != self._work.operation:
            return (*self._changes, WriteOperation(self._operation))
        return tuple(self._changes)

    def _move_phase(self, told: PhaseReport) -> None:
        present, phase = self._operation.phase, told.phase
        is_planned = phase in PLANNED_PHASES
        is_back = (
            is_planned and PLANNED_PHASES.index(phase) < PLANNED_PHASES.index(present) if self._has_plan else False
        )
        if is_planned is not self._has_plan or is_back:
            why = f"it is in phase {present}, so it cannot be in {phase}"
            raise errors.IllegalTransition(f"operation {self._operation.id}", why)
        self._operation = replace(self._operation, phase=phase)

    @property
    def _has_plan(self) -> bool:
        return self._operation.has_plan

    def _node(self, path: str) -> NodeRow:
        if path not in self._nodes:
            raise errors.NotFound("NODE", f"{path} of operation {self._operation.id}")
        return self._nodes[path]

    def _move_node(self, told: NodeReport) -> None:
        node = self._node(told.path)
        if not lifecycle.may_follow(lifecycle.NODE, node.state, told.state):
            raise _illegal_node(node, f"it is {node.state}, so it cannot become {told.state}")
        if _TASKS.get(told.state, node.task) is not node.task:
            raise _illegal_node(node, f"its task is {node.task}, so it cannot become {told.state}")
        if node.kind is not NodeKind.RESOURCE and told.state is NodeState.LEFT:
            raise _illegal_node(node, f"it is {_NAMES[node.kind]}, so it cannot become {told.state}")
        if told.state.is_final:
            self._close_steps(node, told.state)
            if node.kind is NodeKind.RESOURCE:
                self._count(told)
        self._nodes[node.path] = replace(node, state=told.state)
        moved = MoveNode(path=told.path, state=told.state, changed=told.changed, message=told.message)
        self._changes.append(moved)

    def _close_steps(self, node: NodeRow, end: NodeState) -> None:
        for step in list(self._steps.get(node.path, ())):
            if step.state is State.RUNNING:
                raise _illegal_node(node, f"its step {step.ordinal} is RUNNING; report its end before {end}")
            if step.state is State.PENDING:
                self._put_step(replace(step, state=State.CANCELLED), message=f"not run, because {node.path} is {end}")

    def _count(self, told: NodeReport) -> None:
        before = self._operation
        is_changed = told.changed and told.state in (NodeState.READY, NodeState.REMOVED)
        self._operation = replace(
            before,
            changed_nodes=before.changed_nodes + is_changed,
            failed_nodes=before.failed_nodes + (told.state is NodeState.FAILED),
            skipped_nodes=before.skipped_nodes + (told.state is NodeState.SKIPPED),
        )

    def _hear_step(self, field: str, told: StepReport) -> None:
        node = self._node(told.path)
        _refuse_without_calls(field, node, "has no steps")
        steps = self._steps.setdefault(told.path, [])
        due = len(steps) + 1
        if not 1 <= told.ordinal <= due:
            raise errors.InvalidField.of(
                field, f"step {told.ordinal} of {told.path} does not exist; {due} is the next one"
            )
        if told.ordinal == due:
            self._add_step(field, node, told)
        else:
            self._move_step(field, node, steps[told.ordinal - 1], told)

    def _add_step(self, field: str, node: NodeRow, told: StepReport) -> None:
        is_action = told.kind is StepKind.ACTION
        wanted = (State.PENDING, 0) if is_action else (State.RUNNING, 1)
        if (told.state, told.attempt) != wanted:
            what = f"a new {told.kind} is {wanted[0]} with attempt {wanted[1]}"
            raise errors.InvalidField.of(field, f"step {told.ordinal} of {told.path} does not exist, and {what}")
        row = StepRow(path=told.path, ordinal=told.ordinal, kind=told.kind, state=told.state, attempt=told.attempt)
        self._check_looking(row)
        _check_node_state(node, row)
        if not is_action:
            _check_turn(self._steps[told.path], row)
        self._steps[told.path].append(row)
        self._changes.append(AddStep(told))

    def _move_step(self, field: str, node: NodeRow, step: StepRow, told: StepReport) -> None:
        if told.kind is not step.kind:
            raise errors.InvalidField.of(field, f"step {step.ordinal} of {step.path} is {step.kind}, not {told.kind}")
        if (told.state, told.attempt) == (step.state, step.attempt):
            return
        if told.state is step.state or not lifecycle.may_follow(lifecycle.STEP, step.state, told.state):
            raise _illegal_step(step, f"attempt {step.attempt} is {step.state}, so it cannot become {told.state}")
        due = step.attempt + (told.state is State.RUNNING)
        if told.attempt != due:
            raise _illegal_step(step, f"the report is about attempt {told.attempt}, and attempt {due} is due")
        if told.state is State.RUNNING:
            self._check_looking(replace(step, state=told.state))
            _check_node_state(node, step)
            _check_turn(self._steps[step.path][: step.ordinal - 1], step)
        moved = replace(step, state=told.state, attempt=told.attempt)
        self._put_step(moved, message=told.message, exit_code=told.exit_code)

    def _check_looking(self, step: StepRow) -> None:
        """Refuse all calls of a PLAN but INIT and STATE."""
        is_asking = step.kind in (StepKind.INIT, StepKind.STATE)
        if self._operation.kind is OperationKind.PLAN and step.state is State.RUNNING and not is_asking:
            raise _illegal_step(step, f"a PLAN runs no step of kind {step.kind}; it only asks, by INIT and STATE")

    def _put_step(self, step: StepRow, *, message: str, exit_code: int | None = None) -> None:
        self._steps[step.path][step.ordinal - 1] = step
        moved = MoveStep(
            path=step.path,
            ordinal=step.ordinal,
            state=step.state,
            attempt=step.attempt,
            exit_code=exit_code,
            message=message,
        )
        self._changes.append(moved)

    def _leftover(self) -> Leftover:
        """Return the unfinished rows after the reports before the end."""
        before = self._work.leftover
        assert before is not None, "a group that ends the operation comes with what is left"
        nodes = [self._nodes.get(node.path, node) for node in before.nodes]
        other = [step for step in before.steps if step.path not in self._steps]
        named = [step for steps in self._steps.values() for step in steps]
        return replace(
            before,
            nodes=[node for node in nodes if not node.state.is_final],
            steps=[step for step in (*other, *named) if not step.state.is_final],
        )


def _known_nodes(work: Work, reports: Sequence[Report]) -> frozenset[str]:
    """Return the nodes whose last report in a group is already stored."""
    last = {each.path: each.state for each in reports if isinstance(each, NodeReport)}
    return frozenset(path for path, node in work.nodes.items() if last.get(path) is node.state)


def _known_steps(work: Work, reports: Sequence[Report]) -> frozenset[tuple[str, int]]:
    """Return the steps whose last report in a group is already stored."""
    last = {(each.path, each.ordinal): (each.state, each.attempt) for each in reports if isinstance(each, StepReport)}
    stored = (step for steps in work.steps.values() for step in steps)
    return frozenset(
        (step.path, step.ordinal)
        for step in stored
        if last.get((step.path, step.ordinal)) == (step.state, step.attempt)
    )


def _refuse_without_calls(field: str, node: NodeRow, what: str) -> None:
    if node.kind in (NodeKind.CHART, NodeKind.EVENT):
        raise errors.InvalidField.of(field, f"{node.path} is {_NAMES[node.kind]}, which {what} of its own")


def _heard_of_hook(field: str, told: ResourceReport | RemovedReport) -> HearSecrets:
    """Return the part of a report about a hook's resource that is used; the release has no such resource."""
    has_more = isinstance(told, RemovedReport) or any((told.init, told.config, told.state, told.image_id))
    if isinstance(told, RemovedReport) or has_more or not told.secrets:
        raise errors.InvalidField.of(field, f"{told.path} is a hook, and only its secrets are kept")
    return HearSecrets(told)


def _check_node_state(node: NodeRow, step: StepRow) -> None:
    allowed = (_HOOK_STATES if node.kind is NodeKind.HOOK else _NODE_STATES)[step.kind]
    if node.state not in allowed:
        raise _illegal_step(step, f"a step of kind {step.kind} needs {_needed(node, allowed)}; it is {node.state}")


def _needed(node: NodeRow, states: Sequence[NodeState]) -> str:
    return f"a node that is {' or '.join(states)}" if states else f"a resource, not {_NAMES[node.kind]}"


def _check_turn(before: Sequence[StepRow], step: StepRow) -> None:
    """Refuse the start of a step before earlier ones that must end, or succeed, first."""
    unfinished = next((each for each in before if not each.state.is_final), None)
    if step.kind is StepKind.INIT:
        unfinished = next((each for each in before if each.state is State.RUNNING), None)
    if unfinished is not None:
        raise _illegal_step(step, f"step {unfinished.ordinal} comes first, and is {unfinished.state}")
    if step.kind not in (StepKind.ACTION, StepKind.RECHECK):
        return
    asked = max((each.ordinal for each in before if each.kind is StepKind.STATE), default=0)
    if not asked:
        raise _illegal_step(step, "no STATE has said that it is needed")
    lacking = next((each for each in before[asked - 1 :] if each.state is not State.SUCCEEDED), None)
    if lacking is not None:
        raise _illegal_step(step, f"step {lacking.ordinal} has ended as {lacking.state}")


def _illegal_node(node: NodeRow, description: str) -> errors.IllegalTransition:
    return errors.IllegalTransition(f"node {node.path}", description)


def _illegal_step(step: StepRow, description: str) -> errors.IllegalTransition:
    return errors.IllegalTransition(f"step {step.ordinal} of {step.path}", description)
