"""Claims: who watches a run, among those who share a state directory."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tinkwell.core.workflow.decide import RunKey
from tinkwell.provisioner.lease import run_claim
from tinkwell.provisioner.state_dir import state_dir

KEY = RunKey("w", "a", 1)
OTHER = RunKey("w", "b.c", 12)


@pytest.fixture
def siblings(tmp_path: Path) -> Iterator[list[state_dir.StateDir]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(contextlib.closing(state_dir.StateDir.open(tmp_path))) for _ in range(2)]


def test_a_claim_is_seen_by_others_while_its_owner_lives(tmp_path: Path) -> None:
    mine, theirs, third = (state_dir.StateDir.open(tmp_path) for _ in range(3))
    for key in (KEY, OTHER):
        run_claim.ClaimFolder(mine).take(key)
    assert run_claim.ClaimFolder(theirs).others() == {KEY, OTHER}
    assert run_claim.ClaimFolder(mine).others() == frozenset()
    mine.close()
    assert run_claim.ClaimFolder(theirs).others() == frozenset()
    assert run_claim.ClaimFolder(third).others() == frozenset()
    # Whoever comes back into its slot has the claims of its former self.
    again = state_dir.StateDir.open(tmp_path)
    assert run_claim.ClaimFolder(theirs).others() == {KEY, OTHER}
    for directory in (theirs, third, again):
        directory.close()


def test_claims_of_one_workflow_are_told_from_those_of_others(siblings: list[state_dir.StateDir]) -> None:
    mine, theirs = map(run_claim.ClaimFolder, siblings)
    for key in (KEY, OTHER, RunKey("w2", "a", 1)):
        mine.take(key)
    assert theirs.others("w") == {KEY, OTHER}
    assert theirs.others("a") == frozenset()


def test_the_newest_claim_counts_and_nobody_drops_another_one_s(siblings: list[state_dir.StateDir]) -> None:
    mine, theirs = map(run_claim.ClaimFolder, siblings)
    mine.take(KEY)
    theirs.take(KEY)
    mine.drop(KEY)
    mine.keep_only(frozenset())
    assert mine.others() == {KEY}
    theirs.drop(KEY)
    theirs.drop(KEY)
    assert mine.others() == frozenset()


def test_own_claims_are_dropped_but_for_those_that_are_needed(siblings: list[state_dir.StateDir]) -> None:
    mine, theirs = map(run_claim.ClaimFolder, siblings)
    for key in (KEY, OTHER):
        mine.take(key)
    mine.keep_only({OTHER})
    assert theirs.others() == {OTHER}


def test_a_claim_of_nobody_is_none_and_may_be_taken(siblings: list[state_dir.StateDir]) -> None:
    mine, theirs = map(run_claim.ClaimFolder, siblings)
    (siblings[0].path / "claims" / "w@a.1").write_text("whatever this is")
    assert theirs.others() == frozenset()
    mine.keep_only(frozenset())
    mine.take(KEY)
    mine.take(KEY)
    assert theirs.others() == {KEY}
