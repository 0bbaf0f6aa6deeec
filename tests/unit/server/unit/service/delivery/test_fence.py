"""Who holds a unit is granted its events, and who has lost it ends none."""

import pytest

from tinkwell.core import errors
from tinkwell.core.lease.lease import Hold, Lease
from tinkwell.server.unit.service.delivery import fence
from tinkwell.server.unit.store.agent.hold import Held


def _lease(name: str, *, is_live: bool = True) -> Lease:
    return Lease(id=name, engine=name, is_live=is_live)


def _held(by: Lease | None, own: Lease | None) -> Held:
    hold = Hold(kind="unit", id="u", lease_id=by.id if by is not None else "", lease=by)
    return Held(leads=False, is_dead=False, hold=hold, own=own, serving=None, is_served=False)


@pytest.mark.parametrize("by", [None, _lease("mine"), _lease("other", is_live=False)])
def test_what_nobody_else_alive_holds_is_granted(by: Lease | None) -> None:
    assert fence.check_grant(_held(by, _lease("mine")), 7) == "mine"


def test_what_somebody_else_alive_holds_is_not_granted() -> None:
    with pytest.raises(errors.LeaseHeld, match="unit u"):
        fence.check_grant(_held(_lease("other"), _lease("mine")), 7)


@pytest.mark.parametrize("is_live", [True, False])
def test_who_has_the_engine_of_the_holder_follows_it(is_live: bool) -> None:
    former = Lease(id="former", engine="mine", is_live=is_live)
    held = _held(former, _lease("mine"))
    assert fence.check_grant(held, 7) == "mine"
    assert fence.inherits(held, 7)
    late = _held(former, _lease("mine", is_live=False))
    with pytest.raises(errors.LeaseLost):
        fence.check_grant(late, 7)
    with pytest.raises(errors.LeaseLost):
        fence.inherits(late, 7)


def test_who_holds_a_unit_inherits_nothing_and_strangers_do_not_either() -> None:
    assert not fence.inherits(_held(_lease("mine"), _lease("mine")), 7)
    with pytest.raises(errors.LeaseLost):
        fence.inherits(_held(_lease("other"), _lease("mine")), 7)


@pytest.mark.parametrize("own", [None, _lease("mine", is_live=False)])
def test_who_has_no_lease_is_granted_nothing(own: Lease | None) -> None:
    with pytest.raises(errors.LeaseLost):
        fence.check_grant(_held(None, own), 7)


@pytest.mark.parametrize("is_live", [True, False])
def test_an_end_is_heard_from_who_holds_it_also_late(is_live: bool) -> None:
    mine = _lease("mine", is_live=is_live)
    fence.check_end(_held(mine, mine), 7)


@pytest.mark.parametrize("by", [None, _lease("other", is_live=False)])
@pytest.mark.parametrize("own", [None, _lease("mine")])
def test_an_end_is_not_heard_from_who_does_not_hold_it(by: Lease | None, own: Lease | None) -> None:
    with pytest.raises(errors.LeaseLost):
        fence.check_end(_held(by, own), 7)


@pytest.mark.parametrize("token", [0, -1, 2**63])
def test_agents_have_a_token(token: int) -> None:
    with pytest.raises(errors.InvalidField, match="lease_token"):
        fence.parse_token(token)
