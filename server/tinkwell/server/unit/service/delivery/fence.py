"""Decides who may be granted a unit's events, and who may end them.

The rules are those of all leases; see `core.lease`. There is one more rule. Of each engine only one agent at a time
serves units, which a lock on the engine's folder ensures. So an agent with the engine of the unit's holder is the heir
of that holder, even while the holder's lease is alive, for example after a restart. The attempt's number fences late
calls of the former agent, because the heir begins a new attempt.
"""

from tinkwell.core import errors
from tinkwell.core.lease import lease
from tinkwell.core.lease.lease import Verdict
from tinkwell.core.value import parse
from tinkwell.server.unit.store.agent.hold import Held

MAX_TOKEN = 2**63 - 1


def parse_token(lease_token: int) -> int:
    """Check the token of an agent's lease. Raises `errors.InvalidField`."""
    return parse.parse_int_range("lease_token", lease_token, low=1, high=MAX_TOKEN)


def check_grant(held: Held, lease_token: int) -> str:
    """Return the id of the caller's lease, under which the unit is held from now on.

    Raises `errors.LeaseLost` if the caller's lease is over, and `errors.LeaseHeld` if a live lease of another engine
    holds the unit.
    """
    reporter = lease.Reporter(lease_token, held.own)
    hold = None if _is_heir(held) else held.hold
    # The engine does not decide what happens to an event that another lease has left; the outcomes were checked before.
    if lease.judge_start(hold, reporter, is_again=False) is Verdict.LOST:
        raise AssertionError("only what is started again can be lost")
    return reporter.lease_id


def check_end(held: Held, lease_token: int) -> None:
    """Raise `errors.LeaseLost` if the caller does not hold the unit.

    An expired lease holds it until another one takes it.
    """
    if held.own is None:
        raise errors.LeaseLost(lease_token)
    if held.hold.lease_id != held.own.id:
        raise errors.LeaseLost(lease_token, f"unit {held.hold.id} is not held under it")


def inherits(held: Held, lease_token: int) -> bool:
    """Return whether the caller ends an attempt of another agent of its engine, and holds the unit from now on.

    Raises `errors.LeaseLost` if the caller is neither the holder of the unit nor its heir.
    """
    if _is_heir(held):
        return True
    check_end(held, lease_token)
    return False


def _is_heir(held: Held) -> bool:
    own, former = held.own, held.hold.lease
    if own is None or not own.is_live or former is None:
        return False
    return own.id != former.id and own.engine == former.engine
