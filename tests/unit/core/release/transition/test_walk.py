"""Random lives of a release, by all kinds of operations: each move is legal, and what only looks moves nothing."""

import random
from dataclasses import replace
from typing import Any

import pytest
from unit.core.release_model import HOLD, OWNER, Store, install, operation, plan, release

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.release import lifecycle
from tinkwell.core.release.kinds import NodeState, OperationKind, ReleaseState
from tinkwell.core.release.record import Options
from tinkwell.core.release.report import FinishReport, NodeReport
from tinkwell.core.release.transition import ending, submission
from tinkwell.core.release.transition import operation as rule
from tinkwell.core.release.transition.operation import Begun
from tinkwell.core.release.transition.row import OperationRow, PlannedRow, ReleaseRow, RevisionRow
from tinkwell.core.release.transition.submission import Submission

STEPS = 60
WAY = plan(install("db"))
FAILS = '{"reason": "…"}'


class Life:
    """A name, and whatever release it has."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)  # any would do
        self.release: ReleaseRow | None = None
        self.revisions: dict[int, Any] = {}
        self.plans: list[PlannedRow] = []
        self.newest: OperationRow | None = None
        self.kinds: set[OperationKind] = set()

    def step(self, number: int) -> None:
        """Begin something, or be refused, and bring it to some end."""
        former = self.release
        try:
            begun = self._begin()
        except (errors.NotFound, errors.IllegalTransition, errors.AlreadyExists):
            assert self.release == former
            return
        found = former or release(begun.release_state)
        if begun.release_state is not found.state:
            assert begun.release_state in lifecycle.RELEASE[found.state]
        row = operation(
            begun.kind,
            State.RUNNING,
            former_state=begun.former_state,
            revision=begun.revision,
            rollback_of=begun.rollback_of,
            options=Options(atomic=self.chance.random() < 0.3),
        )
        busy = replace(found, state=begun.release_state, active_operation_id=row.id)
        self._refuse_all(busy)
        self._carry_out(replace(row, id=f"{number:08}-0000-4000-8000-000000000000"), busy)

    def _begin(self) -> Begun:
        name, found, chosen = "shop", self.release, self.chance.randrange(8)
        if chosen == 0:
            return rule.begin_apply(found)
        if chosen == 1:
            last = max(self.revisions, default=0)
            target = RevisionRow(revision=last, state=self.revisions[last]) if last else None
            return rule.begin_rollback(found, name=name, wanted=last, target=target)
        if chosen == 2:
            return rule.begin_uninstall(found, name=name)
        if chosen == 3:
            return rule.begin_resume(found, name=name, newest=self.newest, options=Options())
        if chosen == 4:
            return rule.begin_test(found, name=name)
        if chosen == 5 and self.plans:
            return rule.begin_apply_plan(found, self.chance.choice(self.plans))
        return rule.begin_plan(found, name=name, has_source=chosen == 6)

    def _refuse_all(self, busy: ReleaseRow) -> None:
        begins: list[Any] = [
            lambda: rule.begin_apply(busy),
            lambda: rule.begin_plan(busy, name="shop", has_source=True),
            lambda: rule.begin_test(busy, name="shop"),
        ]
        for begin in begins:
            with pytest.raises((errors.OperationActive, errors.NotFound)):
                begin()

    def _carry_out(self, row: OperationRow, busy: ReleaseRow) -> None:
        store = Store(release=busy, operation=row, revisions=self.revisions)
        before = dict(self.revisions)
        if self.chance.random() < 0.8:
            self._submit(store)
        end = self.chance.choice([State.SUCCEEDED, State.FAILED, State.CANCELLED, State.TIMEOUT])
        if store.operation.has_plan and end is State.SUCCEEDED:
            states = (NodeState.INSTALLING, NodeState.READY)
            if store.nodes:
                store.report(*(NodeReport(path="db", state=state) for state in states))
            store.report(FinishReport(state=end, result="" if row.kind.changes_release else "{}"))
        elif end is State.TIMEOUT:
            store.apply(ending.expire(replace(store.operation, remaining_seconds=-1.0), store.leftover()))
        else:
            store.report(FinishReport(state=State.FAILED, cause=FAILS))
        self._look_at(store, busy, before)

    def _submit(self, store: Store) -> None:
        kind = store.operation.kind
        number = store.operation.revision
        way = plan() if kind is OperationKind.UNINSTALL else WAY
        resumed = RevisionRow(revision=number, state=self.revisions[number]) if number in self.revisions else None
        given = Submission(
            release=store.release, operation=store.operation, plan=way, plan_text=way.dump(), resumed=resumed
        )
        store.apply(submission.submit_plan(given, hold=HOLD, reporter=OWNER).changes)

    def _look_at(self, store: Store, busy: ReleaseRow, before: dict[int, Any]) -> None:
        ended = store.operation
        self.kinds.add(ended.kind)
        assert ended.state.is_final
        if not ended.kind.changes_release:
            assert (store.release, store.revisions, store.follow_up) == (busy, before, None)
            if ended.kind is OperationKind.PLAN and not ended.looks_for_drift:
                self.plans.append(PlannedRow(operation=ended, release_id=busy.id))
        elif ended.has_plan:
            self.newest = ended
            self.plans = [replace(each, changed_by=ended.id) for each in self.plans]
        settled = store.release
        if store.follow_up is not None:
            # What makes up for it ends before it has a plan.
            settled = replace(settled, state=ReleaseState.FAILED)
        self.release = replace(settled, active_operation_id="")
        assert not self.release.is_busy
        if self.release.state is ReleaseState.UNINSTALLED:
            self.release, self.revisions, self.newest = None, {}, None


@pytest.mark.parametrize("seed", range(40))
def test_whatever_happens_to_a_release_its_moves_are_legal(seed: int) -> None:
    life = Life(seed)
    for number in range(STEPS):
        life.step(number)
    assert len(life.kinds) >= 3


def test_such_lives_have_all_kinds_of_operations() -> None:
    found: set[OperationKind] = set()
    for seed in range(20):
        life = Life(seed)
        for number in range(STEPS):
            life.step(number)
        found |= life.kinds
    assert found == set(OperationKind)
