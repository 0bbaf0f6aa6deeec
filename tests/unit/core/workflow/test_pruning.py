"""Which workflows are past their time."""

import datetime

import pytest

from tinkwell.core.event.kinds import State
from tinkwell.core.workflow import pruning
from tinkwell.core.workflow.pruning import Candidate

NOW = datetime.datetime(2026, 5, 17, 8, tzinfo=datetime.UTC)
PAST = NOW - datetime.timedelta(seconds=1)
LONG_PAST = NOW - datetime.timedelta(days=400)
FINAL = [state for state in State if state.is_final]
UNFINISHED = [state for state in State if not state.is_final]


def candidate(id_: str = "w", state: State = State.SUCCEEDED, **more: object) -> Candidate:
    return Candidate(**{"id": id_, "state": state, "finished_at": PAST, "deleted_at": None} | more)  # type: ignore[arg-type] # as a test gives them


def forgotten(*candidates: Candidate, gone: tuple[str, ...] = ()) -> list[str]:
    return [found.id for found in pruning.forgettable(candidates, ended_before=NOW, gone=gone)]


@pytest.mark.parametrize("state", FINAL)
@pytest.mark.parametrize("deleted_at", [None, PAST, NOW])
def test_one_that_was_finished_long_enough_ago_is_forgotten_whenever_it_was_deleted(
    state: State, deleted_at: datetime.datetime | None
) -> None:
    assert forgotten(candidate(state=state, deleted_at=deleted_at)) == ["w"]


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("finished_at", [None, NOW])
def test_one_that_was_deleted_long_enough_ago_is_forgotten_in_whatever_state(
    state: State, finished_at: datetime.datetime | None
) -> None:
    assert forgotten(candidate(state=state, finished_at=finished_at, deleted_at=PAST)) == ["w"]


@pytest.mark.parametrize("state", UNFINISHED)
@pytest.mark.parametrize("finished_at", [None, LONG_PAST])
def test_an_unfinished_one_is_kept_whatever_is_written_about_its_end(
    state: State, finished_at: datetime.datetime | None
) -> None:
    assert forgotten(candidate(state=state, finished_at=finished_at)) == []


@pytest.mark.parametrize("finished_at", [NOW, NOW + datetime.timedelta(days=1), None])
def test_one_that_ended_too_recently_or_nobody_knows_when_is_kept(finished_at: datetime.datetime | None) -> None:
    assert forgotten(candidate(finished_at=finished_at)) == []


def test_one_whose_machine_is_held_is_kept_even_when_it_was_deleted() -> None:
    assert forgotten(candidate(is_held=True), candidate(is_held=True, deleted_at=LONG_PAST)) == []


def test_a_chain_of_recoveries_is_forgotten_from_its_last_one_on() -> None:
    last = candidate("last", recovers="middle")
    middle = candidate("middle", recovers="first", recovered_by=["last"])
    first = candidate("first", recovered_by=["middle"])
    assert forgotten(last, middle, first) == ["last", "middle", "first"]
    assert forgotten(middle, first) == []
    assert forgotten(middle, first, gone=("last",)) == ["middle", "first"]


@pytest.mark.parametrize(
    "kept", [{"state": State.RUNNING, "finished_at": None}, {"finished_at": NOW}, {"is_held": True}]
)
def test_a_chain_is_kept_while_its_last_one_is(kept: dict[str, object]) -> None:
    last = candidate("last", **{"recovers": "first", **kept})  # type: ignore[arg-type] # as above
    assert forgotten(last, candidate("first", recovered_by=["last"]), candidate("other")) == ["other"]


@pytest.mark.parametrize(
    ("rows", "count"), [([], 0), ([3], 1), ([11], 1), ([5, 5], 2), ([5, 5, 1], 2), ([11, 1], 1), ([1, 11], 1)]
)
def test_a_portion_has_no_more_rows_than_it_may_but_one_workflow_at_least(rows: list[int], count: int) -> None:
    candidates = [candidate(str(number), rows=each) for number, each in enumerate(rows)]
    assert list(pruning.portion(candidates, max_rows=10)) == candidates[:count]
