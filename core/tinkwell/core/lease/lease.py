"""Leases: who may start, take up and end work on a held resource, such as an action on a machine of its workflow.

    it is held                      a start, a new attempt   a start, once more       an end
    under no lease, or not at all   taken                    unchanged                accepted
    under the reporter's own        taken                    unchanged                accepted
    under another, which is alive   LeaseHeld                LeaseHeld                LeaseLost
    under a dead one, same engine   taken                    adopted                  LeaseLost
    under a dead one otherwise      taken                    the attempt is lost      LeaseLost

A lease is dead when it has expired, when its owner came back with another engine, or when it is not known. A start
under a lease needs a living lease. An end is accepted from an expired lease, as long as no other owner took the work
over. A reporter without a lease has no engine.

The rules are the same for all kinds of resources. A room may add to a hold, such as the action that runs on a machine
(`tinkwell.core.workflow.hold`).
"""

from dataclasses import dataclass
from enum import Enum

from tinkwell.core import errors


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A known lease. Holds refer to its id, which outlives the tokens; `engine` says where its runs are."""

    id: str
    engine: str
    is_live: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A held resource: `kind` and `id` name it, such as `machine` and the id of its worker.

    Without a `lease_id` it is held under no lease; `lease` is None if the lease is not known.
    """

    kind: str
    id: str
    lease_id: str = ""
    lease: Lease | None = None

    @property
    def is_live(self) -> bool:
        """Whether a living owner holds it."""
        return self.lease is not None and self.lease.is_live

    @property
    def is_lost(self) -> bool:
        """Whether it was held under a lease that is dead."""
        return bool(self.lease_id) and not self.is_live


@dataclass(frozen=True, slots=True)
class Reporter:
    """The reporter: its token, 0 for none, and the token's lease, None if that is over."""

    token: int = 0
    lease: Lease | None = None

    @property
    def lease_id(self) -> str:
        """The lease id for holds of the reporter; "" without a lease."""
        return self.lease.id if self.lease is not None else ""


class Verdict(Enum):
    """What a start does to the hold."""

    STAYS = "it stays as it is"
    TAKEN = "it is the reporter's, and so is what runs there from now on"
    ADOPTED = "it becomes the reporter's, with what runs there"
    LOST = "what ran there is lost"


def judge_start(hold: Hold | None, reporter: Reporter, *, is_again: bool, whatever_the_engine: bool = False) -> Verdict:
    """Return what a start, of a new attempt or of the current one again, does to the hold.

    A run can be found only with its engine; `whatever_the_engine` is for runs that others find too, such as the reboot
    of a machine. Raises `errors.LeaseLost` for a reporter whose lease is over, `errors.LeaseHeld` if another living
    lease holds it.
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
    """Raise `errors.LeaseLost` if an end is reported by another than the owner of the run."""
    if hold is not None and hold.lease_id and hold.lease_id != reporter.lease_id:
        raise errors.LeaseLost(reporter.token, "what it reports on is held under another lease")


def _is_engine(hold: Hold, lease: Lease) -> bool:
    return hold.lease is not None and hold.lease.engine == lease.engine
