"""Leases: what becomes of a report, given who holds the action's machine for its workflow.

    the machine is held             RUNNING, a new attempt   RUNNING, once more       an end
    under no lease, or not at all   taken                    as it is                 heard
    under the reporter's own        taken                    as it is                 heard
    under another, which is alive   LeaseHeld                LeaseHeld                LeaseLost
    under a dead one, same engine   taken                    adopted                  LeaseLost
    under a dead one otherwise      taken                    the attempt is lost      LeaseLost

A lease is dead when it has expired, when its owner came back with another engine, or when it is not known any more. Who
starts or takes up anything under a lease must have one that is alive; an end is heard from a lease that has expired, as
long as nobody took its work away. A reporter without a lease has no engine.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.workflow import transition


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A lease that is known. Holds refer to its id, which outlives the tokens; the engine says where its runs are."""

    id: str
    engine: str
    is_live: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A machine of a workflow. Without a `lease_id` it is held under none; `lease` is None where it is not known."""

    worker_id: str
    lease_id: str = ""
    lease: Lease | None = None
    action_id: str = ""

    @property
    def is_live(self) -> bool:
        """Whether somebody alive holds it."""
        return self.lease is not None and self.lease.is_live

    @property
    def is_lost(self) -> bool:
        """Whether it was held under a lease that is dead."""
        return bool(self.lease_id) and not self.is_live


@dataclass(frozen=True, slots=True)
class Reporter:
    """Who reports: the token that came along, 0 for none, and the lease that it belongs to, None where it is over."""

    token: int = 0
    lease: Lease | None = None

    @property
    def lease_id(self) -> str:
        """What a hold of the reporter's refers to; empty without a lease."""
        return self.lease.id if self.lease is not None else ""


class Verdict(Enum):
    """What a report that an action runs does to the hold of its machine."""

    STAYS = "it stays as it is"
    TAKEN = "it is the reporter's, and so is what runs there from now on"
    ADOPTED = "it becomes the reporter's, with what runs there"
    LOST = "what ran there is lost"


def judge_running(
    hold: Hold | None, reporter: Reporter, *, worker_id: str, is_again: bool, reboots: bool = False
) -> Verdict:
    """Say what a RUNNING report, of a new attempt or of the current one again, does to the hold of the machine.

    What reboots its machine is adopted whatever the engine, which may be another one after that.

    Raises `errors.LeaseLost` for a reporter whose lease is over, `errors.LeaseHeld` where another one's is alive.
    """
    if reporter.token and (reporter.lease is None or not reporter.lease.is_live):
        raise errors.LeaseLost(reporter.token)
    if hold is None or not hold.lease_id or hold.lease_id == reporter.lease_id:
        return Verdict.STAYS if is_again else Verdict.TAKEN
    if hold.is_live:
        raise errors.LeaseHeld(worker_id)
    if not is_again:
        return Verdict.TAKEN
    if reporter.lease is not None and (reboots or _is_engine(hold, reporter.lease)):
        return Verdict.ADOPTED
    return Verdict.LOST


def check_end(hold: Hold | None, reporter: Reporter) -> None:
    """Raise `errors.LeaseLost` where an end is told by somebody else than the owner of what ran."""
    if hold is not None and hold.lease_id and hold.lease_id != reporter.lease_id:
        raise errors.LeaseLost(reporter.token, "what it reports on is held under another lease")


def _is_engine(hold: Hold, lease: Lease) -> bool:
    return hold.lease is not None and hold.lease.engine == lease.engine


def is_vacant(action: transition.Action, steps: Iterable[transition.Step]) -> bool:
    """Whether nothing of an action is on its machine once its owner has told its end.

    A hook, if one is to run, is there until the owner releases the machine.
    """
    hooks = {State.FAILED: action.on_failure, State.TIMEOUT: action.on_timeout}
    ended = (s for s in steps if isinstance(s, transition.EndAction) and s.action_id == action.id)
    return not any(hooks.get(step.state) for step in ended)
