"""Who may start, take up and end what is held, and what becomes of the hold."""

import pytest

from tinkwell.core import errors
from tinkwell.core.lease.lease import Hold, Lease, Reporter, Verdict, check_end, judge_start

MINE = Lease(id="mine", engine="here", is_live=True)
EXPIRED = Lease(id="mine", engine="here", is_live=False)
ME = Reporter(1, MINE)
NOBODY = Reporter()


def held(lease_id: str = "", engine: str | None = None, *, is_live: bool = False) -> Hold:
    known = Lease(id=lease_id, engine=engine, is_live=is_live) if engine is not None else None
    return Hold(kind="machine", id="w", lease_id=lease_id, lease=known)


FREE = held()
OWN = held("mine", "here", is_live=True)
ALIVE = held("other", "here", is_live=True)
DEAD = held("other", "here")
ELSEWHERE = held("other", "there")
UNKNOWN = held("other")
NOT_HELD = None
EVERY = [NOT_HELD, FREE, OWN, ALIVE, DEAD, ELSEWHERE, UNKNOWN]


def judge(hold: Hold | None, reporter: Reporter, *, is_again: bool, whatever_the_engine: bool = False) -> Verdict | str:
    try:
        return judge_start(hold, reporter, is_again=is_again, whatever_the_engine=whatever_the_engine)
    except errors.LeaseHeld as error:
        return f"{error.kind} {error.id} is held"
    except errors.LeaseLost as error:
        return f"lost by {error.lease_token}"


@pytest.mark.parametrize(
    ("hold", "first", "again"),
    [
        (NOT_HELD, Verdict.TAKEN, Verdict.STAYS),
        (FREE, Verdict.TAKEN, Verdict.STAYS),
        (OWN, Verdict.TAKEN, Verdict.STAYS),
        (ALIVE, "machine w is held", "machine w is held"),
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
        (ALIVE, "machine w is held"),
        (DEAD, Verdict.LOST),
        (UNKNOWN, Verdict.LOST),
    ],
)
def test_who_has_no_lease_takes_nothing_up_that_was_held_under_one(hold: Hold | None, again: Verdict | str) -> None:
    assert judge(hold, NOBODY, is_again=True) == again


@pytest.mark.parametrize("hold", [DEAD, ELSEWHERE, UNKNOWN])
def test_what_others_find_is_taken_up_whatever_the_engine(hold: Hold) -> None:
    assert judge(hold, ME, is_again=True, whatever_the_engine=True) is Verdict.ADOPTED


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
