"""What the end of an operation changes, whoever brings it about."""

from collections.abc import Sequence
from dataclasses import dataclass

from tinkwell.core.lease import lease
from tinkwell.core.release.report import FinishReport
from tinkwell.core.release.transition.change import Changes
from tinkwell.core.release.transition.row import NodeRow, OperationRow, ReleaseRow, RevisionRow, StepRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """What the end of an operation changes beside itself.

    `revision` is the operation's, None where it has none. `nodes` and `steps` are all that are not final.
    """

    release: ReleaseRow
    revision: RevisionRow | None
    nodes: Sequence[NodeRow]
    steps: Sequence[StepRow]


def finish(operation: OperationRow, leftover: Leftover, finished: FinishReport) -> Changes:
    """Say what its owner's report that an operation has ended changes; `progress.report` uses it.

    Raises `errors.InvalidField` for an end that nobody reports or that has no cause, and `errors.IllegalTransition`
    where an action still runs, or a success is told of what did not succeed.
    """


def cancel(operation: OperationRow, leftover: Leftover, *, reason: str) -> Changes:
    """Say what ending an operation changes that nobody alive holds and that was cancelled."""


def is_due(operation: OperationRow, hold: lease.Hold | None) -> bool:
    """Return whether an operation is past its deadline and nobody alive holds it."""


def expire(operation: OperationRow, leftover: Leftover) -> Changes:
    """Say what ending an operation changes that is due; see `is_due`."""


def follow_up_id(operation_id: str) -> str:
    """Return the id of the operation that makes up for another one."""
