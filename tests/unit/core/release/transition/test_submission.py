"""What the plan of an operation changes."""

from dataclasses import replace
from typing import Any

import pytest
from unit.core.release_model import ENGINE, HOLD, OWNER, install, operation, plan, planned, release, remove

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.lease import lease
from tinkwell.core.release.kinds import OperationKind, Phase, RevisionState
from tinkwell.core.release.plan import Plan
from tinkwell.core.release.transition import submission
from tinkwell.core.release.transition.change import (
    AddNodes,
    AddRevision,
    MoveRevision,
    WriteOperation,
    WriteRelease,
)
from tinkwell.core.release.transition.row import RevisionRow
from tinkwell.core.release.transition.submission import Accepted, Submission

SMALL = plan(install("role"), install("db", "role"), remove("old"))
RELEASE = release(revision=3, latest_revision=4)


def submit(**fields: Any) -> Accepted:
    given: dict[str, Any] = {"release": RELEASE, "operation": operation(), "plan": SMALL, "plan_text": "P"}
    return submission.submit_plan(Submission(**given | fields), hold=HOLD, reporter=OWNER)


def test_a_plan_makes_the_next_revision_and_its_nodes() -> None:
    accepted = submit()
    told = replace(operation(), revision=5, phase=Phase.APPLY, total_nodes=3)
    assert accepted.revision == 5
    assert accepted.changes == (
        AddRevision(5),
        WriteOperation(told),
        AddNodes(tuple(SMALL.nodes)),
        WriteRelease(replace(RELEASE, latest_revision=5)),
    )


def test_a_rollback_makes_a_revision_that_names_the_one_it_brings_back() -> None:
    asked = operation(OperationKind.ROLLBACK, rollback_of=2)
    accepted = submit(operation=asked)
    assert accepted.changes[0] == AddRevision(5, rollback_of=2)


def test_what_is_deployed_already_makes_no_revision() -> None:
    accepted = submit(is_deployed_one=True)
    told = replace(operation(), revision=3, phase=Phase.APPLY, total_nodes=3)
    assert accepted == Accepted(revision=3, changes=(WriteOperation(told), AddNodes(tuple(SMALL.nodes))))


@pytest.mark.parametrize(
    ("state", "moves"),
    [(RevisionState.FAILED, (MoveRevision(4, RevisionState.PENDING),)), (RevisionState.DEPLOYED, ())],
)
def test_a_resumed_revision_is_gone_on_with(state: RevisionState, moves: tuple[MoveRevision, ...]) -> None:
    asked = operation(revision=4)
    accepted = submit(operation=asked, resumed=RevisionRow(revision=4, state=state), is_deployed_one=True)
    told = replace(asked, phase=Phase.APPLY, total_nodes=3)
    assert accepted == Accepted(revision=4, changes=(*moves, WriteOperation(told), AddNodes(tuple(SMALL.nodes))))


def test_a_removal_makes_no_revision() -> None:
    asked = operation(OperationKind.UNINSTALL)
    removals = plan(remove("web"), remove("db", "web"))
    told = replace(asked, phase=Phase.APPLY, total_nodes=2)
    accepted = submit(operation=asked, plan=removals)
    assert accepted == Accepted(revision=0, changes=(WriteOperation(told), AddNodes(tuple(removals.nodes))))


def test_a_release_belongs_to_the_engine_on_which_it_keeps_files() -> None:
    changed = replace(RELEASE, latest_revision=5, engine=ENGINE)
    assert WriteRelease(changed) in submit(has_plugs=True).changes
    bound = replace(RELEASE, engine="b")
    assert WriteRelease(replace(changed, engine="b")) in submit(release=bound).changes
    assert WriteRelease(changed) in submit(release=bound, has_plugs=True).changes


def test_a_repeated_call_changes_nothing() -> None:
    known = planned(revision=5)
    assert submit(operation=known, stored_plan="P") == Accepted(revision=5, changes=())


REFUSED: list[Any] = [
    ({"operation": planned(), "stored_plan": "Q"}, "it has another plan already"),
    ({"operation": operation(is_cancel_requested=True)}, "it was cancelled"),
    ({"operation": operation(remaining_seconds=0.0)}, "its deadline has passed"),
    ({"operation": operation(state=State.PENDING)}, "it is PENDING; acquire it first"),
    *[({"operation": operation(state=end)}, f"it has ended as {end}") for end in State if end.is_final],
]


@pytest.mark.parametrize(("fields", "message"), REFUSED)
def test_an_operation_that_is_to_end_gets_no_plan(fields: Any, message: str) -> None:
    with pytest.raises(errors.IllegalTransition, match=message):
        submit(**fields)


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        (OperationKind.UNINSTALL, SMALL, "installs role, but an UNINSTALL only removes"),
        (OperationKind.UPGRADE, plan(remove("old"), install("db", "old")), "installs db after it removes old"),
    ],
)
def test_a_plan_fits_its_operation(kind: OperationKind, given: Plan, message: str) -> None:
    with pytest.raises(errors.InvalidField, match=f"plan: {message}"):
        submit(operation=operation(kind), plan=given)


def test_only_an_owner_that_lives_submits() -> None:
    given = Submission(release=RELEASE, operation=operation(), plan=SMALL, plan_text="P")
    dead = replace(HOLD, lease=lease.Lease(id=HOLD.lease_id, engine=ENGINE, is_live=False))
    for hold in (None, dead):
        with pytest.raises(errors.LeaseLost):
            submission.submit_plan(given, hold=hold, reporter=OWNER)
