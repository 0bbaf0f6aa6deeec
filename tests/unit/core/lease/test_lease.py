"""Who may report what, given who holds the machine; and what becomes of the hold."""

import dataclasses

import pytest

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.lease.lease import Hold, Lease, Reporter, Verdict, check_end, is_vacant, judge_running
from tinkwell.core.workflow import transition

WORKER = "w"
MINE = Lease(id="mine", engine="here", is_live=True)
EXPIRED = Lease(id="mine", engine="here", is_live=False)
ME = Reporter(1, MINE)
NOBODY = Reporter()


def held(lease_id: str = "", engine: str | None = None, *, is_live: bool = False) -> Hold:
    known = Lease(id=lease_id, engine=engine, is_live=is_live) if engine is not None else None
    return Hold(worker_id=WORKER, lease_id=lease_id, lease=known, action_id="a" if lease_id else "")


FREE = held()
OWN = held("mine", "here", is_live=True)
ALIVE = held("other", "here", is_live=True)
DEAD = held("other", "here")
ELSEWHERE = held("other", "there")
UNKNOWN = held("other")
NOT_HELD = None
EVERY = [NOT_HELD, FREE, OWN, ALIVE, DEAD, ELSEWHERE, UNKNOWN]


def judge(hold: Hold | None, reporter: Reporter, *, is_again: bool, reboots: bool = False) -> Verdict | str:
    try:
        return judge_running(hold, reporter, worker_id=WORKER, is_again=is_again, reboots=reboots)
    except errors.LeaseHeld as error:
        return f"held on {error.worker_id}"
    except errors.LeaseLost as error:
        return f"lost by {error.lease_token}"


@pytest.mark.parametrize(
    ("hold", "first", "again"),
    [
        (NOT_HELD, Verdict.TAKEN, Verdict.STAYS),
        (FREE, Verdict.TAKEN, Verdict.STAYS),
        (OWN, Verdict.TAKEN, Verdict.STAYS),
        (ALIVE, "held on w", "held on w"),
        (DEAD, Verdict.TAKEN, Verdict.ADOPTED),
        (ELSEWHERE, Verdict.TAKEN, Verdict.LOST),
        (UNKNOWN, Verdict.TAKEN, Verdict.LOST),
    ],
)
def test_the_table_of_starts_holds(hold: Hold | None, first: Verdict | str, again: Verdict | str) -> None:
    assert judge(hold, ME, is_again=False) == first
    assert judge(hold, ME, is_again=True) == again


@pytest.mark.parametrize("hold", EVERY)
@pytest.mark.parametrize("reporter", [Reporter(1), Reporter(1, EXPIRED)], ids=["unknown", "expired"])
@pytest.mark.parametrize("is_again", [False, True])
def test_who_comes_with_a_lease_that_is_over_starts_nothing(
    hold: Hold | None, reporter: Reporter, is_again: bool
) -> None:
    assert judge(hold, reporter, is_again=is_again) == "lost by 1"


@pytest.mark.parametrize(
    ("hold", "again"),
    [
        (NOT_HELD, Verdict.STAYS),
        (FREE, Verdict.STAYS),
        (ALIVE, "held on w"),
        (DEAD, Verdict.LOST),
        (UNKNOWN, Verdict.LOST),
    ],
)
def test_who_has_no_lease_takes_nothing_up_that_was_held_under_one(hold: Hold | None, again: Verdict | str) -> None:
    assert judge(hold, NOBODY, is_again=True) == again


@pytest.mark.parametrize("hold", [DEAD, ELSEWHERE, UNKNOWN])
def test_what_reboots_its_machine_is_taken_up_whatever_the_engine(hold: Hold) -> None:
    assert judge(hold, ME, is_again=True, reboots=True) is Verdict.ADOPTED


@pytest.mark.parametrize("hold", EVERY)
@pytest.mark.parametrize("reporter", [ME, Reporter(1, EXPIRED), Reporter(1), NOBODY])
def test_an_end_is_heard_from_the_owner_alone_also_when_its_lease_has_expired(
    hold: Hold | None, reporter: Reporter
) -> None:
    is_owner = hold is None or not hold.lease_id or hold.lease_id == reporter.lease_id
    if is_owner:
        check_end(hold, reporter)
        return
    with pytest.raises(errors.LeaseLost):
        check_end(hold, reporter)


def ends(state: State) -> list[transition.Step]:
    return [transition.EndAction("a", state, ""), transition.EndAction("b", State.CANCELLED, "")]


@pytest.mark.parametrize(
    ("steps", "is_left"),
    [
        (ends(State.SUCCEEDED), False),
        (ends(State.FAILED), True),
        (ends(State.TIMEOUT), True),
        ([transition.RetryAction("a", State.FAILED, "", 1, 5)], False),
    ],
)
def test_only_a_hook_that_is_to_run_keeps_something_on_the_machine(steps: list[transition.Step], is_left: bool) -> None:
    action = transition.Action(id="a", index=0, task_name="t", name="x", worker_id=WORKER)
    assert is_vacant(action, steps)
    with_hooks = dataclasses.replace(action, on_failure=("x",), on_timeout=("x",))
    assert is_vacant(with_hooks, steps) is not is_left
