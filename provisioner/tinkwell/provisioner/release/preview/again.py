"""Repeats a plan whose owner died: its findings are lost, but the server has stored its reports.

Every node is looked at again. The new reports are reduced to those that the server still accepts:

    a node that has ended                   no reports
    a node that had begun                   its end, READY if it is not looked at now; and only the ends of calls that
                                            the server knows, since it accepts no further `init` of a begun node
    a node that had not begun               all reports
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tinkwell.client.release.model import Node
from tinkwell.core.release.kinds import NodeState
from tinkwell.core.release.report import NodeReport, Report, StepReport

RENDERED_ANEW = (
    "the former owner has died, and what comes of the chart or the manifests differs from what it was for that; "
    "make a new plan"
)


class Again:
    """Selects the reports that the server accepts about nodes which it has stored in these states."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._ended: set[str] = set()
        # The nodes that had begun, each with the number of its steps.
        self._begun: dict[str, int] = {}
        for node in nodes:
            if node.state.is_final:
                self._ended.add(node.path)
            elif node.state is not NodeState.PENDING:
                self._begun[node.path] = len(node.steps)

    def told(self, reports: Sequence[Report]) -> Sequence[Report]:
        """Return the reports to send instead of these."""
        return [told for each in reports if (told := self._told(each)) is not None]

    def _told(self, report: Report) -> Report | None:
        if getattr(report, "path", None) in self._ended:
            return None
        match report:
            case StepReport() if report.ordinal > self._begun.get(report.path, report.ordinal):
                return None
            case NodeReport(state=NodeState.INSTALLING) if report.path in self._begun:
                return None
            case NodeReport(state=NodeState.SKIPPED) if report.path in self._begun:
                return replace(report, state=NodeState.READY)
            case _:
                return report


def anew(nodes: Iterable[Node]) -> Sequence[Node]:
    """Return the nodes as PENDING, with their stored steps."""
    return [replace(node, state=NodeState.PENDING, message="") for node in nodes]
