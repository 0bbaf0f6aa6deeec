"""Claims: who watches a run, among those who share a state directory."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.lease import run_claim
from tinkwell.provisioner.state_dir import state_dir

WORKFLOW, RELEASE = RunKind
KEY = RunKey(WORKFLOW, "w", "a", 1)
OTHER = RunKey(WORKFLOW, "w", "b.c", 12)


@pytest.fixture
def siblings(tmp_path: Path) -> Iterator[list[state_dir.StateDir]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(contextlib.closing(state_dir.StateDir.open(tmp_path))) for _ in range(2)]


def test_a_claim_is_seen_by_others_while_its_owner_lives(tmp_path: Path) -> None:
    mine, theirs, third = (state_dir.StateDir.open(tmp_path) for _ in range(3))
    for key in (KEY, OTHER):
        run_claim.ClaimFolder(mine).take(key)
    assert run_claim.ClaimFolder(theirs).others(WORKFLOW) == {KEY, OTHER}
    assert run_claim.ClaimFolder(mine).others(WORKFLOW) == frozenset()
    mine.close()
    assert run_claim.ClaimFolder(theirs).others(WORKFLOW) == frozenset()
    assert run_claim.ClaimFolder(third).others(WORKFLOW) == frozenset()
    # Whoever comes back into its slot has the claims of its former self.
    again = state_dir.StateDir.open(tmp_path)
    assert run_claim.ClaimFolder(theirs).others(WORKFLOW) == {KEY, OTHER}
    for directory in (theirs, third, again):
        directory.close()


def test_claims_of_one_workflow_are_told_from_those_of_others(siblings: list[state_dir.StateDir]) -> None:
    mine, theirs = map(run_claim.ClaimFolder, siblings)
    for key in (KEY, OTHER, RunKey(WORKFLOW, "w2", "a", 1)):
        mine.take(key)
    assert theirs.others(WORKFLOW, "w") == {KEY, OTHER}
    assert theirs.others(WORKFLOW, "a") == frozenset()


def test_the_newest_claim_counts_and_nobody_drops_another_one_s(siblings: list[state_dir.StateDir]) -> None:
    mine, theirs = map(run_claim.ClaimFolder, siblings)
    mine.take(KEY)
    theirs.take(KEY)
    mine.drop(KEY)
    mine.keep_only(WORKFLOW, frozenset())
    assert mine.others(WORKFLOW) == {KEY}
    theirs.drop(KEY)
    theirs.drop(KEY)
    assert mine.others(WORKFLOW) == frozenset()


def test_own_claims_are_dropped_but_for_those_that_are_needed(siblings: list[state_dir.StateDir]) -> None:
    mine, theirs = map(run_claim.ClaimFolder, siblings)
    for key in (KEY, OTHER):
        mine.take(key)
    mine.keep_only(WORKFLOW, {OTHER})
    assert theirs.others(WORKFLOW) == {OTHER}


def test_a_claim_of_nobody_is_none_and_may_be_taken(siblings: list[state_dir.StateDir]) -> None:
    mine, theirs = map(run_claim.ClaimFolder, siblings)
    (siblings[0].path / "claims" / "workflow@w@a.1").write_text("whatever this is")
    assert theirs.others(WORKFLOW) == frozenset()
    mine.keep_only(WORKFLOW, frozenset())
    mine.take(KEY)
    mine.take(KEY)
    assert theirs.others(WORKFLOW) == {KEY}


def test_claims_of_one_kind_are_no_business_of_another_one_s(siblings: list[state_dir.StateDir]) -> None:
    mine, theirs = map(run_claim.ClaimFolder, siblings)
    step = RunKey(RELEASE, "w", "a", 1)
    for key in (KEY, step):
        mine.take(key)
    assert theirs.others(WORKFLOW) == {KEY}
    assert theirs.others(RELEASE) == theirs.others(RELEASE, "w") == {step}
    mine.keep_only(RELEASE, frozenset())
    assert theirs.others(RELEASE) == frozenset()
    assert theirs.others(WORKFLOW) == {KEY}


def test_only_the_newest_claim_is_had_and_none_that_was_lifted(siblings: list[state_dir.StateDir]) -> None:
    mine, theirs = map(run_claim.ClaimFolder, siblings)
    assert not mine.has(KEY)
    elsewhere = RunKey(WORKFLOW, "w2", "a", 1)
    for key in (KEY, OTHER, elsewhere):
        mine.take(key)
    theirs.take(KEY)
    assert (mine.has(KEY), theirs.has(KEY), mine.has(OTHER)) == (False, True, True)
    mine.lift(WORKFLOW, "w", needed={OTHER})
    assert [theirs.has(KEY), *map(mine.has, (KEY, OTHER, elsewhere))] == [False, False, True, True]
