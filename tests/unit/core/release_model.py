"""Releases for the tests of the rules, and a model of their store, which checks each change that it writes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, assert_never

from tinkwell.core.event.kinds import State
from tinkwell.core.lease import lease
from tinkwell.core.release import lifecycle
from tinkwell.core.release.kinds import (
    NodeKind,
    NodeState,
    NodeTask,
    OperationKind,
    Phase,
    ReleaseState,
    ResourceStatus,
    RevisionState,
    StepKind,
)
from tinkwell.core.release.plan import Plan, PlanNode
from tinkwell.core.release.report import Call, NodeReport, Report, ResourceReport, StepReport
from tinkwell.core.release.transition import change, progress
from tinkwell.core.release.transition.ending import Leftover
from tinkwell.core.release.transition.row import NodeRow, OperationRow, ReleaseRow, RevisionRow, StepRow

OPERATION_ID = "11111111-1111-4111-8111-111111111111"
PENDING, RUNNING, SUCCEEDED = State.PENDING, State.RUNNING, State.SUCCEEDED
FAILED, TIMEOUT, CANCELLED = State.FAILED, State.TIMEOUT, State.CANCELLED
INIT, STATE, ACTION, RECHECK, DESTROY = StepKind
INSTALLING, READY, REMOVING = NodeState.INSTALLING, NodeState.READY, NodeState.REMOVING

ENGINE = "engine-a"
OWN = lease.Lease(id="lease-a", engine=ENGINE, is_live=True)
OWNER = lease.Reporter(7, OWN)
HOLD = lease.Hold(kind="operation", id=OPERATION_ID, lease_id=OWN.id, lease=OWN)

T = TypeVar("T")


def release(state: ReleaseState = ReleaseState.PENDING_UPGRADE, **fields: Any) -> ReleaseRow:
    return ReleaseRow(id="r", name="shop", state=state, operation_id=OPERATION_ID, **fields)


def operation(kind: OperationKind = OperationKind.UPGRADE, state: State = RUNNING, **fields: Any) -> OperationRow:
    given: dict[str, Any] = {"id": OPERATION_ID, "kind": kind, "state": state, "remaining_seconds": 300.0}
    return OperationRow(**given | fields)


def planned(kind: OperationKind = OperationKind.UPGRADE, **fields: Any) -> OperationRow:
    given: dict[str, Any] = {"phase": Phase.APPLY, "revision": 2, "total_nodes": 2}
    return operation(kind, **given | fields)


def node(
    path: str = "db",
    state: NodeState = NodeState.PENDING,
    task: NodeTask = NodeTask.INSTALL,
    kind: NodeKind = NodeKind.RESOURCE,
) -> NodeRow:
    return NodeRow(path=path, kind=kind, task=task, state=state)


def step(ordinal: int, kind: StepKind, state: State, attempt: int = 1, path: str = "db") -> StepRow:
    return StepRow(path=path, ordinal=ordinal, kind=kind, state=state, attempt=attempt)


def told(ordinal: int, kind: StepKind, state: State, attempt: int = 1, path: str = "db", **fields: Any) -> StepReport:
    return StepReport(path=path, ordinal=ordinal, kind=kind, state=state, attempt=attempt, **fields)


def moved(state: NodeState, path: str = "db", **fields: Any) -> NodeReport:
    return NodeReport(path=path, state=state, **fields)


def plan(*nodes: PlanNode) -> Plan:
    return Plan(nodes)


def install(path: str, *after: str) -> PlanNode:
    return PlanNode(path=path, after=after)


def remove(path: str, *after: str) -> PlanNode:
    return PlanNode(path=path, task=NodeTask.REMOVE, after=after)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredNode:
    row: NodeRow
    message: str = ""
    changed: bool = False
    is_started: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredStep:
    row: StepRow
    call: Call
    exit_code: int | None = None
    message: str = ""


@dataclass
class Store:
    """A release with its newest operation. Each write is checked against the tables of states."""

    release: ReleaseRow
    operation: OperationRow
    revisions: dict[int, RevisionState] = field(default_factory=dict)
    nodes: dict[str, StoredNode] = field(default_factory=dict)
    steps: dict[str, list[StoredStep]] = field(default_factory=dict)
    resources: dict[str, ResourceReport] = field(default_factory=dict)
    is_held: bool = True
    follow_up: OperationRow | None = None
    result: str = ""
    written: list[change.Change] = field(default_factory=list)

    def copy(self) -> "Store":
        steps = {path: list(steps) for path, steps in self.steps.items()}
        return replace(
            self,
            revisions=dict(self.revisions),
            nodes=dict(self.nodes),
            steps=steps,
            resources=dict(self.resources),
            written=list(self.written),
        )

    def leftover(self) -> Leftover:
        state = self.revisions.get(self.operation.revision)
        own = RevisionRow(revision=self.operation.revision, state=state) if state is not None else None
        steps = [each.row for steps in self.steps.values() for each in steps]
        return Leftover(
            release=self.release,
            revision=own,
            nodes=[each.row for each in self.nodes.values() if not each.row.state.is_final],
            steps=[each for each in steps if not each.state.is_final],
        )

    def work(self, reports: Iterable[Report]) -> progress.Work:
        reports = list(reports)
        paths = progress.paths(reports) & self.nodes.keys()
        return progress.Work(
            operation=self.operation,
            nodes={path: self.nodes[path].row for path in paths},
            steps={path: [each.row for each in self.steps[path]] for path in paths},
            leftover=self.leftover() if progress.ends(reports) else None,
        )

    def report(self, *reports: Report, hold: lease.Hold | None = HOLD, by: lease.Reporter = OWNER) -> change.Changes:
        changes = progress.report(self.work(reports), reports, hold=hold, reporter=by)
        self.apply(changes)
        return changes

    def apply(self, changes: change.Changes) -> None:
        for each in changes:
            self._apply(each)
            self.written.append(each)
        deployed = [number for number, state in self.revisions.items() if state is RevisionState.DEPLOYED]
        assert len(deployed) <= 1, "never two DEPLOYED"

    def _apply(self, each: change.Change) -> None:  # noqa: C901  # one case a kind
        match each:
            case change.WriteRelease():
                self.release = follow(lifecycle.RELEASE, self.release, each.row)
            case change.AddRevision():
                assert each.revision == max(self.revisions, default=0) + 1
                self.revisions[each.revision] = RevisionState.PENDING
            case change.MoveRevision():
                before = self.revisions[each.revision]
                assert each.state in lifecycle.REVISION[before], f"{before} → {each.state}"
                self.revisions[each.revision] = each.state
            case change.AddOperation():
                assert self.operation.state.is_final, "one at a time"
                assert self.follow_up is None
                self.follow_up = each.row
                self.is_held = each.is_held
            case change.WriteOperation():
                self.operation = follow(lifecycle.OPERATION, self.operation, each.row)
            case change.TakeHold():
                self.is_held = True
            case change.LetGo():
                self.is_held = False
            case change.AddNodes():
                assert not self.nodes
                rows = (NodeRow(path=node.path, kind=NodeKind(node.kind), task=node.task) for node in each.nodes)
                self.nodes = {row.path: StoredNode(row=row) for row in rows}
                self.steps = {path: [] for path in self.nodes}
            case change.MoveNode():
                self._move_node(each)
            case change.AddStep():
                self._add_step(each.report)
            case change.MoveStep():
                self._move_step(each)
            case change.StoreResource():
                self._store(each.report)
            case change.StoreEmitted():
                assert each.report.event
            case change.DropResource():
                self.resources.pop(each.path, None)
            case change.HearSecrets():
                is_hook = self.nodes[each.report.path].row.kind is NodeKind.HOOK
                assert is_hook or not self.operation.kind.changes_release
            case change.StoreResult():
                assert not self.operation.kind.changes_release
                self.result = each.result
            case _:
                assert_never(each)

    def _move_node(self, each: change.MoveNode) -> None:
        before = self.nodes[each.path]
        row = follow(lifecycle.NODE, before.row, replace(before.row, state=each.state))
        if each.state.is_final:
            assert all(step.row.state.is_final for step in self.steps[each.path]), "no step outlives its node"
        begins = each.state in (INSTALLING, REMOVING)
        self.nodes[each.path] = StoredNode(
            row=row,
            message=each.message,
            changed=each.changed,
            is_started=before.is_started or begins,
        )

    def _add_step(self, report: StepReport) -> None:
        steps = self.steps[report.path]
        assert report.ordinal == len(steps) + 1
        assert not self.nodes[report.path].row.state.is_final
        row = StepRow(
            path=report.path,
            ordinal=report.ordinal,
            kind=report.kind,
            state=report.state,
            attempt=report.attempt,
        )
        steps.append(StoredStep(row=row, call=report.call))
        self._check_alone(report.path)

    def _move_step(self, each: change.MoveStep) -> None:
        before = self.steps[each.path][each.ordinal - 1]
        row = replace(before.row, state=each.state, attempt=each.attempt)
        row = follow(lifecycle.STEP, before.row, row)
        assert not self.nodes[each.path].row.state.is_final
        assert row.attempt == before.row.attempt + (row.state is RUNNING)
        self.steps[each.path][each.ordinal - 1] = replace(
            before, row=row, exit_code=each.exit_code, message=each.message
        )
        self._check_alone(each.path)

    def _check_alone(self, path: str) -> None:
        running = [each for each in self.steps[path] if each.row.state is RUNNING]
        assert len(running) <= 1, "a node has one call at a time"

    def _store(self, report: ResourceReport) -> None:
        before = self.resources.get(report.path, report)
        self.resources[report.path] = replace(
            report,
            init=report.init if report.init is not None else before.init,
            owned=report.owned if report.owned is not None else before.owned,
        )


Row = TypeVar("Row", ReleaseRow, OperationRow, NodeRow, StepRow)


def follow(table: Mapping[Any, frozenset[Any]], before: Row, after: Row) -> Row:
    """Take a row in place of its former self; a state may stay, so that other values change."""
    assert before.state == after.state or after.state in table[before.state], f"{before.state} → {after.state}"
    return after


def store(*nodes: NodeRow, steps: Sequence[StepRow] = (), work: OperationRow | None = None, revision: int = 2) -> Store:
    """Make the store of an operation that installs revision 2, while revision 1 is DEPLOYED."""
    by_path: dict[str, list[StoredStep]] = {each.path: [] for each in nodes}
    for each in steps:
        by_path[each.path].append(StoredStep(row=each, call=Call(name=each.kind.lower())))
    revisions = {1: RevisionState.DEPLOYED, 2: RevisionState.PENDING}
    return Store(
        release=release(revision=1, latest_revision=revision),
        operation=work or planned(total_nodes=len(nodes)),
        revisions=revisions,
        nodes={each.path: StoredNode(row=each) for each in nodes},
        steps=by_path,
    )


def resource(path: str = "db", status: ResourceStatus = ResourceStatus.VALID, **fields: Any) -> ResourceReport:
    return ResourceReport(path=path, type="image", status=status, **fields)


def only(kind: type[T], changes: Iterable[object]) -> T:
    """Return the one change of a kind."""
    found = [each for each in changes if isinstance(each, kind)]
    assert len(found) == 1, f"one {kind.__name__} in {changes}"
    return found[0]
