"""What reports about events and hooks change: neither is a resource of the release."""

import pytest
from unit.core.release_model import (
    ACTION,
    DESTROY,
    INIT,
    INSTALLING,
    PENDING,
    READY,
    RECHECK,
    REMOVING,
    RUNNING,
    STATE,
    SUCCEEDED,
    moved,
    node,
    planned,
    resource,
    step,
    store,
    told,
)

from tinkwell.core import errors
from tinkwell.core.release.kinds import NodeKind, NodeState, NodeTask, StepKind
from tinkwell.core.release.report import LifecycleReport, RemovedReport, Report, ResourceReport
from tinkwell.core.release.transition.change import HearSecrets, MoveNode, StoreEmitted

STALE = [step(1, STATE, SUCCEEDED)]


@pytest.mark.parametrize("told_of", [told(1, INIT, RUNNING), resource(), RemovedReport("db")])
def test_an_event_has_neither_steps_nor_a_resource(told_of: Report) -> None:
    with pytest.raises(errors.InvalidField, match=r"^reports\[0\]: db is an event, which has no "):
        store(node(kind=NodeKind.EVENT)).report(told_of)


def test_an_event_is_told_with_how_it_went_by() -> None:
    known = store(node("/pre-install", INSTALLING, kind=NodeKind.EVENT), work=planned(total_nodes=0))
    emitted = LifecycleReport(event="pre-install")
    assert known.report(emitted, moved(READY, "/pre-install")) == (
        StoreEmitted(emitted),
        MoveNode(path="/pre-install", state=READY),
    )


@pytest.mark.parametrize("kind", [NodeKind.EVENT, NodeKind.HOOK])
def test_neither_is_counted_or_left(kind: NodeKind) -> None:
    for end in (READY, NodeState.FAILED):
        found = store(node(kind=kind), work=planned(total_nodes=0))
        found.report(moved(INSTALLING), moved(end, changed=True))
        assert (found.operation.changed_nodes, found.operation.failed_nodes) == (0, 0)
    with pytest.raises(errors.IllegalTransition, match=f"it is an? {kind.lower()}, so it cannot become LEFT"):
        store(node(task=NodeTask.REMOVE, kind=kind)).report(moved(NodeState.LEFT))


@pytest.mark.parametrize(("task", "state"), [(NodeTask.INSTALL, INSTALLING), (NodeTask.REMOVE, REMOVING)])
@pytest.mark.parametrize("kind", [INIT, STATE, RECHECK])
def test_a_hook_that_was_begun_is_asked_whatever_its_operation_does(
    task: NodeTask, state: NodeState, kind: StepKind
) -> None:
    known = store(node(state=state, task=task, kind=NodeKind.HOOK), steps=STALE)
    known.report(told(2, kind, RUNNING))
    assert known.steps["db"][1].row.state is RUNNING


@pytest.mark.parametrize(("task", "state"), [(NodeTask.INSTALL, INSTALLING), (NodeTask.REMOVE, REMOVING)])
def test_actions_of_a_hook_run_whatever_its_operation_does(task: NodeTask, state: NodeState) -> None:
    known = store(node(state=state, task=task, kind=NodeKind.HOOK), steps=STALE)
    known.report(told(2, ACTION, PENDING, 0), told(2, ACTION, RUNNING, 1))
    assert known.steps["db"][1].row.state is RUNNING


def test_a_hook_is_never_destroyed() -> None:
    known = store(node(state=REMOVING, task=NodeTask.REMOVE, kind=NodeKind.HOOK), steps=STALE)
    with pytest.raises(errors.IllegalTransition, match="a step of kind DESTROY needs a resource, not a hook"):
        known.report(told(2, DESTROY, RUNNING))


def test_of_what_a_hook_has_answered_only_secrets_are_heard() -> None:
    known = store(node(state=INSTALLING, kind=NodeKind.HOOK))
    heard = resource(secrets=("hush",))
    assert known.report(heard) == (HearSecrets(heard),)
    assert "hush" not in repr(known.written)


@pytest.mark.parametrize(
    "report",
    [resource(), resource(secrets=("hush",), config="{}"), resource(secrets=("hush",), init="{}"), RemovedReport("db")],
)
def test_a_release_has_no_resource_by_a_hook(report: ResourceReport | RemovedReport) -> None:
    with pytest.raises(errors.InvalidField, match="db is a hook, and only its secrets are kept"):
        store(node(state=INSTALLING, kind=NodeKind.HOOK)).report(report)
