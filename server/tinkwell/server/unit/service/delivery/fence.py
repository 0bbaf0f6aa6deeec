"""Who may be granted a unit's events, and who may end them. The rules are those of all leases; see `core.lease`.

There is one more: of an engine, one agent at a time serves units, which a lock on the engine's folder sees to. So who
has the engine of a unit's holder is its heir, also where that lease is alive, as it is where its owner has begun anew
and waits for the folder. What the former agent sends late is fenced by the attempt, which the heir makes again.
"""

from tinkwell.core import errors
from tinkwell.core.lease import lease
from tinkwell.core.lease.lease import Verdict
from tinkwell.core.value import parse
from tinkwell.server.unit.store.agent.hold import Held

MAX_TOKEN = 2**63 - 1


def parse_token(lease_token: int) -> int:
    """Check the token of a lease, which every agent has; raises `errors.InvalidField`."""
    return parse.parse_int_range("lease_token", lease_token, low=1, high=MAX_TOKEN)


def check_grant(held: Held, lease_token: int) -> str:
    """Return the id of the caller's lease, under which the unit is to be held from now on.

    Raises `errors.LeaseLost` where it is over, and `errors.LeaseHeld` where another one that is alive holds the unit,
    and has another engine.
    """
    reporter = lease.Reporter(lease_token, held.own)
    hold = None if _is_heir(held) else held.hold
    # What becomes of an event that somebody else has left is not decided by the engine: outcomes come before.
    if lease.judge_start(hold, reporter, is_again=False) is Verdict.LOST:
        raise AssertionError("only what is started again can be lost")
    return reporter.lease_id


def check_end(held: Held, lease_token: int) -> None:
    """Raise `errors.LeaseLost` for who does not hold the unit. An expired lease is heard until somebody takes over."""
    if held.own is None:
        raise errors.LeaseLost(lease_token)
    if held.hold.lease_id != held.own.id:
        raise errors.LeaseLost(lease_token, f"unit {held.hold.id} is not held under it")


def inherits(held: Held, lease_token: int) -> bool:
    """Return whether the caller ends what another agent of its engine has begun, and holds the unit from now on.

    Raises `errors.LeaseLost` for who neither holds the unit nor is the heir of who does.
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
