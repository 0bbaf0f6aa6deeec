"""What reports about charts change: their states, and nothing else."""

import pytest
from unit.core.release_model import INIT, INSTALLING, READY, RUNNING, moved, node, planned, resource, store, told

from tinkwell.core import errors
from tinkwell.core.release.kinds import NodeKind, NodeState, NodeTask
from tinkwell.core.release.report import RemovedReport, Report


@pytest.mark.parametrize("told_of", [told(1, INIT, RUNNING), resource(), RemovedReport("db")])
def test_a_chart_has_neither_steps_nor_a_resource(told_of: Report) -> None:
    with pytest.raises(errors.InvalidField, match=r"^reports\[0\]: db is a chart, which has no "):
        store(node(kind=NodeKind.CHART)).report(told_of)


def test_charts_are_not_counted_and_never_left() -> None:
    found = store(node(kind=NodeKind.CHART), work=planned(total_nodes=0))
    found.report(moved(INSTALLING), moved(READY, changed=True))
    assert found.operation.changed_nodes == 0
    with pytest.raises(errors.IllegalTransition, match="it is a chart, so it cannot become LEFT"):
        store(node(task=NodeTask.REMOVE, kind=NodeKind.CHART)).report(moved(NodeState.LEFT))
