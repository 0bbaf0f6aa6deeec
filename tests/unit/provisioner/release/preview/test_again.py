"""What is told of a plan that is made once more."""

import pytest

from tinkwell.client.release.model import Node, Step
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeState, Phase, ResourceStatus, StepKind
from tinkwell.core.release.report import NodeReport, PhaseReport, Report, ResourceReport, StepReport
from tinkwell.provisioner.release.preview.again import Again, anew

STEP = Step("s", kind=StepKind.STATE, ordinal=1)
NODES = (
    Node("1", path="new"),
    Node("2", path="begun", state=NodeState.INSTALLING, steps=(STEP,), message="old"),
    Node("3", path="ended", state=NodeState.READY, steps=(STEP,)),
)


def step(path: str, ordinal: int) -> Report:
    return StepReport(path=path, ordinal=ordinal, kind=StepKind.STATE, state=State.SUCCEEDED, attempt=1)


def node(path: str, state: NodeState) -> Report:
    return NodeReport(path=path, state=state)


@pytest.mark.parametrize(
    ("report", "told"),
    [
        (step("new", 3), step("new", 3)),
        (step("begun", 1), step("begun", 1)),
        (step("begun", 2), None),
        (step("ended", 1), None),
        (node("new", NodeState.INSTALLING), node("new", NodeState.INSTALLING)),
        (node("new", NodeState.SKIPPED), node("new", NodeState.SKIPPED)),
        (node("begun", NodeState.INSTALLING), None),
        (node("begun", NodeState.SKIPPED), node("begun", NodeState.READY)),
        (node("begun", NodeState.FAILED), node("begun", NodeState.FAILED)),
        (node("ended", NodeState.FAILED), None),
        (PhaseReport(Phase.APPLY), PhaseReport(Phase.APPLY)),
        *[
            (each, each if each.path != "ended" else None)
            for each in (
                ResourceReport(path=path, type="t", status=ResourceStatus.VALID) for path in ("new", "begun", "ended")
            )
        ],
    ],
)
def test_the_server_is_told_what_fits_to_what_it_has_heard(report: Report, told: Report | None) -> None:
    assert Again(NODES).told([report]) == ([] if told is None else [told])


def test_all_nodes_begin_anew_and_keep_their_steps() -> None:
    assert {each.state for each in anew(NODES)} == {NodeState.PENDING}
    assert [each.steps for each in anew(NODES)] == [each.steps for each in NODES]
