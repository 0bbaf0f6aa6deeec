"""What reports about an operation change."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tinkwell.core.lease import lease
from tinkwell.core.release.report import FinishReport, NodeReport, RemovedReport, Report, ResourceReport, StepReport
from tinkwell.core.release.transition.change import Changes
from tinkwell.core.release.transition.ending import Leftover
from tinkwell.core.release.transition.row import NodeRow, OperationRow, StepRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a group of reports is judged by: the nodes that it names (`paths`), each with all of its steps in order.

    `leftover` is needed where the group ends the operation (`ends`).
    """

    operation: OperationRow
    nodes: Mapping[str, NodeRow]
    steps: Mapping[str, Sequence[StepRow]]
    leftover: Leftover | None = None


def paths(reports: Iterable[Report]) -> frozenset[str]:
    """Return the paths of the nodes that reports name."""
    named = (NodeReport, StepReport, ResourceReport, RemovedReport)
    return frozenset(report.path for report in reports if isinstance(report, named))


def ends(reports: Iterable[Report]) -> bool:
    """Return whether reports end their operation."""
    return any(isinstance(report, FinishReport) for report in reports)


def report(work: Work, reports: Sequence[Report], *, hold: lease.Hold | None, reporter: lease.Reporter) -> Changes:
    """Say what a group of reports changes, all or none, in their order; nothing where it is a repetition.

    Raises `errors.LeaseLost`; `errors.NotFound` for a node that the plan does not have; `errors.InvalidField` with the
    path `reports[i]` for a report that fits nothing; `errors.IllegalTransition` where the states do not allow it.
    """
