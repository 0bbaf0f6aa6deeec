"""What the plan of an operation changes: until it is submitted nothing has been, and from then on it may be."""

from dataclasses import dataclass

from tinkwell.core.lease import lease
from tinkwell.core.release.plan import Plan
from tinkwell.core.release.transition.change import Changes
from tinkwell.core.release.transition.row import OperationRow, ReleaseRow, RevisionRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A plan, and what it is about.

    `resumed` is the revision that the operation resumes, None for none. `is_deployed_one` says that source, manifest
    and late pointers are those of the DEPLOYED revision. `stored_plan` is the text of the plan that the operation has
    already, empty for none, and `plan_text` that of this one.
    """

    release: ReleaseRow
    operation: OperationRow
    plan: Plan
    plan_text: str
    stored_plan: str = ""
    resumed: RevisionRow | None = None
    is_deployed_one: bool = False
    has_plugs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """A plan that was accepted: the revision that is being installed, 0 for a removal; no changes at a repetition."""

    revision: int
    changes: Changes


def submit_plan(submission: Submission, *, hold: lease.Hold | None, reporter: lease.Reporter) -> Accepted:
    """Say what a plan changes.

    Raises `errors.LeaseLost`, `errors.InvalidField` for a plan that does not fit the operation, and
    `errors.IllegalTransition` where it has ended, is to end, or has another plan.
    """
