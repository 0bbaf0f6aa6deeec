"""Leases: who may start, take up and end what is held, such as an action on a machine that its workflow holds.

    it is held                      a start, a new attempt   a start, once more       an end
    under no lease, or not at all   taken                    as it is                 heard
    under the reporter's own        taken                    as it is                 heard
    under another, which is alive   LeaseHeld                LeaseHeld                LeaseLost
    under a dead one, same engine   taken                    adopted                  LeaseLost
    under a dead one otherwise      taken                    the attempt is lost      LeaseLost

A lease is dead when it has expired, when its owner came back with another engine, or when it is not known any more. Who
starts or takes up anything under a lease must have one that is alive; an end is heard from a lease that has expired, as
long as nobody took its work away. A reporter without a lease has no engine.

The rules are the same whatever is held. What more there is to a hold, such as the action that runs on a machine, its
own room adds (`tinkwell.core.workflow.hold`).
"""

from dataclasses import dataclass
from enum import Enum

from tinkwell.core import errors


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A lease that is known. Holds refer to its id, which outlives the tokens; the engine says where its runs are."""

    id: str
    engine: str
    is_live: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """What is held: `kind` and `id` are the words for it, such as `machine` and the id of its worker.

    Without a `lease_id` it is held under no lease; `lease` is None where it is not known.
    """

    kind: str
    id: str
    lease_id: str = ""
    lease: Lease | None = None

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
    """What a start does to the hold of what it starts on."""

    STAYS = "it stays as it is"
    TAKEN = "it is the reporter's, and so is what runs there from now on"
    ADOPTED = "it becomes the reporter's, with what runs there"
    LOST = "what ran there is lost"


def judge_start(hold: Hold | None, reporter: Reporter, *, is_again: bool, whatever_the_engine: bool = False) -> Verdict:
    """Say what a start, of a new attempt or of the current one again, does to the hold.

    What runs is found by those who have its engine; `whatever_the_engine` is for what others find, too, such as the
    reboot of a machine.

    Raises `errors.LeaseLost` for a reporter whose lease is over, `errors.LeaseHeld` where another one's is alive.
    """
    if reporter.token and (reporter.lease is None or not reporter.lease.is_live):
        raise errors.LeaseLost(reporter.token)
    if hold is None or not hold.lease_id or hold.lease_id == reporter.lease_id:
        return Verdict.STAYS if is_again else Verdict.TAKEN
    if hold.is_live:
        raise errors.LeaseHeld(hold.kind, hold.id)
    if not is_again:
        return Verdict.TAKEN
    if reporter.lease is not None and (whatever_the_engine or _is_engine(hold, reporter.lease)):
        return Verdict.ADOPTED
    return Verdict.LOST


def check_end(hold: Hold | None, reporter: Reporter) -> None:
    """Raise `errors.LeaseLost` where an end is told by somebody else than the owner of what ran."""
    if hold is not None and hold.lease_id and hold.lease_id != reporter.lease_id:
        raise errors.LeaseLost(reporter.token, "what it reports on is held under another lease")


def _is_engine(hold: Hold, lease: Lease) -> bool:
    return hold.lease is not None and hold.lease.engine == lease.engine
