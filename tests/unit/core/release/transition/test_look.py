"""Operations that leave their release as it is, and what applies a plan."""

from dataclasses import replace
from typing import Any

import pytest
from unit.core.release_model import (
    ACTION,
    CANCELLED,
    DESTROY,
    FAILED,
    HOLD,
    INIT,
    INSTALLING,
    OPERATION_ID,
    OWNER,
    PENDING,
    READY,
    RECHECK,
    RUNNING,
    STATE,
    SUCCEEDED,
    TIMEOUT,
    Store,
    StoredNode,
    StoredStep,
    install,
    moved,
    node,
    operation,
    plan,
    release,
    resource,
    step,
    told,
)

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeState, OperationKind, Phase, ReleaseState, RevisionState, StepKind
from tinkwell.core.release.record import Options
from tinkwell.core.release.report import Call, FinishReport, RemovedReport, drift_of
from tinkwell.core.release.transition import change, ending, submission
from tinkwell.core.release.transition import operation as rule
from tinkwell.core.release.transition.operation import Begun
from tinkwell.core.release.transition.row import OperationRow, PlannedRow, ReleaseRow
from tinkwell.core.release.transition.submission import Submission

PLANNED, DEPLOYED, GONE = ReleaseState.PLANNED, ReleaseState.DEPLOYED, ReleaseState.UNINSTALLED
BUSY = "22222222-2222-4222-8222-222222222222"
LOOKS = [OperationKind.TEST, OperationKind.PLAN]
PENDING_NODE = NodeState.PENDING
BASE = operation(OperationKind.PLAN, SUCCEEDED, phase=Phase.APPLY)


def looking(kind: OperationKind = OperationKind.PLAN, *, number: int = 0, has_plan: bool = True, **more: Any) -> Store:
    """A look at a release whose revision 1 is DEPLOYED."""
    row = operation(
        kind,
        former_state=DEPLOYED,
        phase=Phase.APPLY if has_plan else Phase.RENDER,
        rollback_of=number,
        options=Options(atomic=True),
        **more,
    )
    return Store(
        release=release(DEPLOYED, revision=1, latest_revision=1, active_operation_id=OPERATION_ID),
        operation=row,
        revisions={1: RevisionState.DEPLOYED},
        nodes={},
        steps={},
    )


def with_node(of: Store, *steps: Any, state: NodeState = INSTALLING) -> Store:
    of.nodes = {"db": StoredNode(row=node(state=state))}
    of.steps = {"db": [StoredStep(row=each, call=Call(name="x")) for each in steps]}
    return of


@pytest.mark.parametrize(
    ("found", "begun"),
    [
        (None, Begun(kind=OperationKind.PLAN, former_state=PLANNED)),
        (release(GONE, revision=3), Begun(kind=OperationKind.PLAN, former_state=PLANNED)),
        (release(PLANNED), Begun(kind=OperationKind.PLAN, former_state=PLANNED)),
        (release(DEPLOYED, revision=3), Begun(kind=OperationKind.PLAN, former_state=DEPLOYED)),
        (release(ReleaseState.FAILED), Begun(kind=OperationKind.PLAN, former_state=ReleaseState.FAILED)),
    ],
)
def test_a_plan_begins_on_whatever_has_no_operation_and_moves_nothing(found: ReleaseRow | None, begun: Begun) -> None:
    assert rule.begin_plan(found, name="shop", has_source=True) == begun
    assert begun.release_state is begun.former_state


def _look(kind: OperationKind, found: ReleaseRow | None) -> Begun:
    if kind is OperationKind.TEST:
        return rule.begin_test(found, name="shop")
    return rule.begin_plan(found, name="shop", has_source=False)


@pytest.mark.parametrize("kind", LOOKS)
@pytest.mark.parametrize(("revision", "latest", "number"), [(2, 3, 2), (0, 1, 1)])
def test_what_is_installed_is_the_deployed_revision_or_else_the_newest(
    kind: OperationKind, revision: int, latest: int, number: int
) -> None:
    found = release(ReleaseState.FAILED, revision=revision, latest_revision=latest)
    assert _look(kind, found) == Begun(kind=kind, former_state=ReleaseState.FAILED, rollback_of=number)


@pytest.mark.parametrize("kind", LOOKS)
@pytest.mark.parametrize(
    ("found", "error", "message"),
    [
        (None, errors.NotFound, "release shop does not exist"),
        (release(GONE, revision=1), errors.NotFound, "release shop does not exist"),
        (release(PLANNED), errors.NotFound, "release shop does not exist"),
        (release(ReleaseState.FAILED), errors.IllegalTransition, "nothing of it was ever installed"),
        (release(ReleaseState.PENDING_UPGRADE, revision=1), errors.OperationActive, OPERATION_ID),
        (release(DEPLOYED, revision=1, active_operation_id=BUSY), errors.OperationActive, BUSY),
    ],
)
def test_there_must_be_something_to_look_at(
    kind: OperationKind, found: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        _look(kind, found)


@pytest.mark.parametrize("state", [PLANNED, DEPLOYED, ReleaseState.FAILED])
def test_beside_a_plan_or_a_test_nothing_begins(state: ReleaseState) -> None:
    found = release(state, revision=0 if state is PLANNED else 1, latest_revision=1, active_operation_id=BUSY)
    assert (found.is_busy, found.is_changing) == (True, False)
    begins: list[Any] = [
        lambda: rule.begin_apply(found),
        lambda: rule.begin_install(found),
        lambda: rule.begin_upgrade(found, name="shop", install=True),
        lambda: rule.begin_plan(found, name="shop", has_source=True),
        lambda: rule.begin_apply_plan(found, PlannedRow(operation=BASE, release_id="r")),
    ]
    if state is not PLANNED:
        begins += [lambda: rule.begin_uninstall(found, name="shop"), lambda: rule.begin_test(found, name="shop")]
    for begin in begins:
        with pytest.raises(errors.OperationActive) as refused:
            begin()
        assert refused.value.operation_id == BUSY


def test_a_planned_release_is_installed_and_is_no_release_to_all_else() -> None:
    found = release(PLANNED)
    installs = Begun(kind=OperationKind.INSTALL, former_state=ReleaseState.FAILED)
    assert rule.begin_apply(found) == rule.begin_install(found) == installs
    assert rule.begin_upgrade(found, name="shop", install=True) == installs
    begins: list[Any] = [
        lambda: rule.begin_upgrade(found, name="shop", install=False),
        lambda: rule.begin_uninstall(found, name="shop"),
        lambda: rule.begin_rollback(found, name="shop", wanted=0, target=None),
        lambda: rule.begin_resume(found, name="shop", newest=None, options=Options()),
    ]
    for begin in begins:
        with pytest.raises(errors.NotFound):
            begin()


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (release(PLANNED), OperationKind.INSTALL),
        (release(ReleaseState.FAILED), OperationKind.INSTALL),
        (release(ReleaseState.FAILED, revision=2), OperationKind.UPGRADE),
        (release(DEPLOYED, revision=2), OperationKind.UPGRADE),
    ],
)
def test_what_a_plan_applies_is_what_it_was_made_for(found: ReleaseRow, kind: OperationKind) -> None:
    begun = rule.begin_apply_plan(found, PlannedRow(operation=BASE, release_id="r"))
    assert begun.kind is kind


@pytest.mark.parametrize(
    ("found", "row", "more", "error", "message"),
    [
        (release(DEPLOYED, revision=2), BASE, {"changed_by": BUSY}, errors.PlanStale, f"operation {BUSY} has changed"),
        (None, BASE, {}, errors.PlanStale, "its release no longer exists; make another plan"),
        (release(DEPLOYED, revision=2), BASE, {"release_id": "other"}, errors.PlanStale, "no longer exists"),
        (release(DEPLOYED), replace(BASE, state=FAILED), {}, errors.IllegalTransition, "only a plan that SUCCEEDED"),
        (release(DEPLOYED), replace(BASE, state=RUNNING), {}, errors.IllegalTransition, "only a plan that SUCCEEDED"),
        (release(DEPLOYED), replace(BASE, rollback_of=2), {}, errors.IllegalTransition, "about the installed revision"),
        (release(DEPLOYED), replace(BASE, kind=OperationKind.TEST), {}, errors.IllegalTransition, "is of kind TEST"),
    ],
)
def test_any_other_plan_is_refused(
    found: ReleaseRow | None, row: OperationRow, more: dict[str, str], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as refused:
        rule.begin_apply_plan(found, PlannedRow(operation=row, **{"release_id": "r"} | more))
    assert type(refused.value) is error


@pytest.mark.parametrize("kind", LOOKS)
def test_a_plan_that_is_submitted_makes_no_revision_and_leaves_the_release(kind: OperationKind) -> None:
    before = looking(kind, has_plan=False)
    submitted = Submission(
        release=before.release,
        operation=before.operation,
        plan=plan(install("role"), install("db", "role")),
        plan_text="{}",
        has_plugs=True,
    )
    accepted = submission.submit_plan(submitted, hold=HOLD, reporter=OWNER)
    before.apply(accepted.changes)
    assert accepted.revision == before.operation.revision == 0
    assert (before.operation.phase, before.operation.total_nodes) == (Phase.APPLY, 2)
    assert not [each for each in before.written if isinstance(each, change.WriteRelease | change.AddRevision)]


@pytest.mark.parametrize("kind", LOOKS)
@pytest.mark.parametrize("has_plan", [False, True])
@pytest.mark.parametrize("end", [FAILED, TIMEOUT, CANCELLED, SUCCEEDED])
def test_however_it_ends_it_leaves_release_and_revisions_as_they_are(
    kind: OperationKind, has_plan: bool, end: State
) -> None:
    if end is SUCCEEDED and not has_plan:
        return
    before = looking(kind, has_plan=has_plan, is_cancel_requested=True)
    as_it_was, revisions = before.release, dict(before.revisions)
    cause = "" if end is SUCCEEDED else '{"reason": "…"}'
    before.report(FinishReport(state=end, cause=cause, result="{}"))
    assert (before.operation.state, before.result) == (end, "{}")
    assert (before.release, before.revisions, before.follow_up) == (as_it_was, revisions, None)
    assert not before.is_held
    assert not [each for each in before.written if isinstance(each, change.WriteRelease)]


@pytest.mark.parametrize("kind", LOOKS)
def test_what_nobody_holds_ends_and_leaves_all_as_it_is(kind: OperationKind) -> None:
    ends: list[Any] = [
        lambda store: ending.expire(store.operation, store.leftover()),
        lambda store: ending.cancel(store.operation, store.leftover(), reason=""),
    ]
    for end in ends:
        before = with_node(looking(kind), step(1, STATE, RUNNING))
        as_it_was = before.release
        before.apply(end(before))
        assert before.operation.state.is_final
        assert (before.release, before.follow_up) == (as_it_was, None)
        assert before.nodes["db"].row.state is NodeState.FAILED


@pytest.mark.parametrize(
    ("number", "end", "former", "found", "writes"),
    [
        (1, SUCCEEDED, "", "ab", True),
        (1, SUCCEEDED, "ab", "ab", False),
        (1, SUCCEEDED, "ab", "cd", True),
        (1, SUCCEEDED, "ab", "", True),
        (1, SUCCEEDED, "", "", False),
        (1, FAILED, "", "ab", False),
        (0, SUCCEEDED, "", "ab", False),
    ],
)
def test_drift_is_what_a_plan_of_what_is_installed_found(
    number: int, end: State, former: str, found: str, writes: bool
) -> None:
    before = looking(number=number)
    before.release = replace(before.release, drift=former)
    cause = "" if end is SUCCEEDED else '{"reason": "…"}'
    before.report(FinishReport(state=end, cause=cause, result="{}", drift=found))
    assert before.release.drift == (found if writes else former)
    assert any(isinstance(each, change.WriteRelease) for each in before.written) is writes


@pytest.mark.parametrize(
    ("kind", "report", "message"),
    [
        (OperationKind.PLAN, FinishReport(state=SUCCEEDED), "the document of a PLAN that SUCCEEDED"),
        (OperationKind.UNINSTALL, FinishReport(state=SUCCEEDED, result="{}"), "this is UNINSTALL, which ends as SUCC"),
        (OperationKind.UPGRADE, FinishReport(state=State.FAILED, cause="{}", result="{}"), "which ends as FAILED"),
    ],
)
def test_only_what_looks_or_has_brought_something_about_has_a_result_and_a_plan_needs_one(
    kind: OperationKind, report: FinishReport, message: str
) -> None:
    with pytest.raises(errors.InvalidField, match=message):
        looking(kind).report(report)
    looking(OperationKind.TEST).report(FinishReport(state=SUCCEEDED))


def test_a_plan_succeeds_over_what_is_decided_only_at_run_and_not_over_what_failed() -> None:
    passed = with_node(looking(), state=PENDING_NODE)
    passed.report(moved(NodeState.SKIPPED), FinishReport(state=SUCCEEDED, result="{}"))
    assert (passed.operation.state, passed.operation.skipped_nodes) == (SUCCEEDED, 1)
    failed = with_node(looking(), state=PENDING_NODE)
    with pytest.raises(errors.IllegalTransition, match="1 of its nodes"):
        failed.report(moved(NodeState.FAILED), FinishReport(state=SUCCEEDED, result="{}"))
    tested = with_node(looking(OperationKind.TEST), state=PENDING_NODE)
    with pytest.raises(errors.IllegalTransition, match="1 of its nodes"):
        tested.report(moved(NodeState.SKIPPED), FinishReport(state=SUCCEEDED))


ASKED = step(1, STATE, SUCCEEDED)


@pytest.mark.parametrize("kind", StepKind)
def test_a_plan_runs_no_step_but_those_that_ask(kind: StepKind) -> None:
    state = {INIT: PENDING_NODE, DESTROY: NodeState.REMOVING}.get(kind, INSTALLING)
    before = () if kind in (INIT, STATE, DESTROY) else (ASKED, step(2, ACTION, PENDING, 0))
    last = 2 if kind is ACTION else 3 if kind is RECHECK else 1
    found = with_node(looking(), *before, state=state)
    if kind in (INIT, STATE):
        found.report(told(last, kind, RUNNING))
        return
    with pytest.raises(errors.IllegalTransition, match=f"a PLAN runs no step of kind {kind}; it only asks"):
        found.report(told(last, kind, RUNNING))
    tested = with_node(looking(OperationKind.TEST), *before[: last - 1 + (kind is ACTION)], state=state)
    if kind is ACTION:
        tested.report(told(last, kind, RUNNING))


def test_the_actions_of_a_plan_stay_listed() -> None:
    found = with_node(looking(), step(1, STATE, RUNNING))
    found.report(told(1, STATE, SUCCEEDED), told(2, ACTION, PENDING, 0), moved(READY))
    assert [each.row.state for each in found.steps["db"]] == [SUCCEEDED, CANCELLED]


@pytest.mark.parametrize("kind", LOOKS)
def test_of_resources_only_what_is_secret_is_heard(kind: OperationKind) -> None:
    found = with_node(looking(kind))
    seen = resource(secrets=("x",))
    assert found.report(seen) == (change.HearSecrets(seen),)
    assert found.resources == {}
    with pytest.raises(errors.InvalidField, match=f"not removed by a {kind}"):
        found.report(RemovedReport("db"))


def test_what_succeeds_in_bringing_all_about_has_mended_drift() -> None:
    before = looking(OperationKind.UPGRADE, revision=1)
    before.release = replace(before.release, state=ReleaseState.PENDING_UPGRADE, drift="ab")
    before.report(FinishReport(state=SUCCEEDED))
    assert (before.release.state, before.release.drift) == (DEPLOYED, "")


@pytest.mark.parametrize(("result", "found"), [({}, ""), ({"drift": ""}, ""), ({"drift": "0af9"}, "0af9")])
def test_a_result_says_what_has_drifted_by_a_digest(result: dict[str, object], found: str) -> None:
    assert drift_of(result) == found


@pytest.mark.parametrize("drift", [None, 7, "0AF", "xyz", "ab\n", "a" * 129])
def test_anything_else_is_no_digest(drift: object) -> None:
    with pytest.raises(errors.InvalidField, match=r"result\.drift"):
        drift_of({"drift": drift})
