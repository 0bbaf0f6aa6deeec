"""Releases between protobuf and objects, and their JSON shape."""

import pytest

from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.api.v1 import workflow_service_pb2 as workflow_pb
from tinkwell.client import Node, Operation, Step, errors
from tinkwell.client.release import message
from tinkwell.client.release.report import report, to_report
from tinkwell.client.testing import encode
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import (
    NodeState,
    OnFailure,
    OperationKind,
    Phase,
    ResourceStatus,
    StepKind,
)
from tinkwell.core.release.record import Options
from tinkwell.core.release.report import (
    Call,
    FinishReport,
    NodeReport,
    PhaseReport,
    RemovedReport,
    Report,
    ResourceReport,
    StepReport,
)

ID = "6f1c2b1e-8a54-4b7e-9a53-6f3f1f0f2a11"
RUNNING = workflow_pb.STATE_RUNNING
REPORTS: list[Report] = [
    PhaseReport(Phase.RENDER),
    NodeReport(path="db", state=NodeState.READY, changed=True, message="as it should be"),
    StepReport(path="db", ordinal=1, kind=StepKind.INIT, state=State.RUNNING, attempt=1, call=Call(name="init")),
    StepReport(
        path="db",
        ordinal=2,
        kind=StepKind.ACTION,
        state=State.FAILED,
        attempt=3,
        call=Call(name="grant", description="Grant", image="acme/db:1", entrypoint="/run", args=("a", "")),
        exit_code=0,
        message="no",
    ),
    StepReport(path="db", ordinal=3, kind=StepKind.STATE, state=State.RUNNING, attempt=1, call=Call(name="s", args=())),
    ResourceReport(path="db", type="acme/db:1", status=ResourceStatus.VALID),
    ResourceReport(
        path="db",
        type="acme/db:1",
        status=ResourceStatus.STALE,
        image_id="sha256:1",
        init="{}",
        config='{"size": 1.10}',
        state="",
        owned=False,
    ),
    RemovedReport("old"),
    FinishReport(state=State.SUCCEEDED, result='{"drift": ""}'),
    FinishReport(state=State.FAILED, cause='{"reason": "NODE_FAILED"}'),
]


@pytest.mark.parametrize("told", REPORTS, ids=lambda told: type(told).__name__)
def test_a_report_arrives_as_it_was_sent(told: Report) -> None:
    assert report(pb.OperationReport.FromString(to_report(ID, told).SerializeToString())) == told


def test_a_step_has_the_id_that_everybody_finds() -> None:
    steps = [to_report(ID, told).step.id for told in REPORTS if isinstance(told, StepReport)]
    assert len(set(steps)) == 3
    assert steps[0] == to_report(ID, REPORTS[2]).step.id


def test_options_that_are_left_out_are_the_servers_to_choose() -> None:
    assert message.to_options({}) == pb.OperationOptions()
    chosen = message.to_options({"timeout_seconds": 60, "on_failure": "continue", "atomic": True})
    assert chosen == pb.OperationOptions(timeout_seconds=60, on_failure=pb.ON_FAILURE_CONTINUE, atomic=True)
    with pytest.raises(errors.InvalidField, match="on_failure: 'go on' is none of stop, continue"):
        message.to_options({"on_failure": "go on"})
    with pytest.raises(errors.InvalidField, match="parallel"):
        message.to_options({"parallel": "many"})  # type: ignore[typeddict-item]


def operation() -> Operation:
    return Operation(
        id=ID,
        kind=OperationKind.ROLLBACK,
        state=State.RUNNING,
        phase=Phase.APPLY,
        cause={"reason": "x"},
        options=Options(on_failure=OnFailure.CONTINUE, parallel=3),
        remaining_seconds=-1.5,
        lease_token=7,
    )


def test_an_operation_is_read_with_its_options() -> None:
    assert message.operation(encode.fill(pb.Operation(), operation())) == operation()


def test_the_json_shape_of_an_operation_holds_its_options_and_not_what_passes() -> None:
    shape = operation().to_json()
    assert shape["options"]["on_failure"] == "continue"
    assert shape.keys().isdisjoint({"remaining_seconds", "lease_token", "reason", "follows", "cancel_reason"})
    assert Operation.from_json(shape).options == operation().options
    assert Operation.from_json({"id": ID}).options is None


def test_the_json_shape_of_a_node_holds_its_steps() -> None:
    node = Node(ID, path="db", after=("role",), steps=(Step("s1", path="db", args=("a",), exit_code=0),))
    assert Node.from_json(node.to_json()) == node
    bare = Node(ID, path="db").to_json()
    assert bare.keys().isdisjoint({"after", "steps"})


def test_arguments_that_are_none_differ_from_no_arguments() -> None:
    assert message.step(pb.Step(kind=pb.STEP_KIND_STATE, state=RUNNING)).args is None
    assert message.step(pb.Step(kind=pb.STEP_KIND_STATE, state=RUNNING, args=pb.Args())).args == ()


def test_what_only_a_newer_server_knows_says_so() -> None:
    with pytest.raises(errors.Error, match="the server sent node state 77, which this release does not know"):
        message.node(pb.Node(kind=pb.NODE_KIND_RESOURCE, task=pb.NODE_TASK_INSTALL, state=77))  # type: ignore[arg-type]
