"""Every way a call can fail reaches the caller as an error of one tree, with its facts in fields."""

import grpc
import pytest
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc import aio

from tinkwell.api.v1 import error_reason_pb2
from tinkwell.client import Client, errors, testing
from tinkwell.client.testing import status
from tinkwell.core import errors as core

ADDRESS = "localhost:50051"

RAISED: list[tuple[core.TinkwellError, type[errors.Error], str]] = [
    (core.InvalidField.of("data.id", "must be a UUID"), errors.InvalidField, "INVALID_ARGUMENT"),
    (core.NotFound("hardware", "m1"), errors.NotFound, "NOT_FOUND"),
    (core.AlreadyExists("mac", "52:54:00:00:00:01", taken_by="m2"), errors.AlreadyExists, "ALREADY_EXISTS"),
    (core.IllegalTransition("action a1", "is over"), errors.IllegalTransition, "FAILED_PRECONDITION"),
    (core.MachineBusy("m1", held_by="w1"), errors.MachineBusy, "FAILED_PRECONDITION"),
    (core.LeaseHeld("machine", "m1"), errors.LeaseHeld, "FAILED_PRECONDITION"),
    (core.LeaseHeld("operation", "o1"), errors.LeaseHeld, "FAILED_PRECONDITION"),
    (core.LeaseLost(7), errors.LeaseLost, "FAILED_PRECONDITION"),
    (core.WrongWorker("m1", "m2"), errors.WrongWorker, "PERMISSION_DENIED"),
    (core.NotAllowed("bob may not", role="reader"), errors.NotAllowed, "PERMISSION_DENIED"),
    (core.SecretsDisabled(), errors.SecretsDisabled, "FAILED_PRECONDITION"),
    (core.LostRace("again"), errors.LostRace, "ABORTED"),
    (core.PlanStale("p", "it is old"), errors.PlanStale, "FAILED_PRECONDITION"),
    (core.OperationActive("shop", operation_id="o1"), errors.OperationActive, "ABORTED"),
    (core.Compacted(3, 10), errors.Compacted, "OUT_OF_RANGE"),
    (core.OtherHistory("revision 9 is of another history", history_id="h2"), errors.OtherHistory, "OUT_OF_RANGE"),
    (core.TooSlow("behind"), errors.TooSlow, "RESOURCE_EXHAUSTED"),
    (core.LimitReached("too many watches"), errors.LimitReached, "RESOURCE_EXHAUSTED"),
    (core.TinkwellError("fault"), errors.Internal, "INTERNAL"),
]


def rpc_error(code: grpc.StatusCode, text: str = "", details: bytes | None = None) -> aio.AioRpcError:
    trailing = aio.Metadata() if details is None else aio.Metadata(("grpc-status-details-bin", details))
    return aio.AioRpcError(code, aio.Metadata(), trailing, text)


@pytest.mark.parametrize(("raised", "kind", "code"), RAISED, ids=lambda value: type(value).__name__)
async def test_what_a_server_raises_arrives_as_its_mirror(
    server: testing.FakeServer, client: Client, raised: core.TinkwellError, kind: type[errors.Error], code: str
) -> None:
    server.fail_next(raised)
    with pytest.raises(errors.Error) as caught:
        await client.hardware.by_id("m1")
    assert type(caught.value) is kind
    assert (caught.value.code, caught.value.message) == (code, str(raised))


async def test_an_unavailable_server_is_named_by_its_address(server: testing.FakeServer, client: Client) -> None:
    server.fail_next(core.Unavailable("the server is stopping"), times=10)
    with pytest.raises(errors.Unavailable, match=f"{server.address}: the server is stopping"):
        await client.hardware.by_id("m1")


async def test_errors_carry_their_facts_in_fields(server: testing.FakeServer, client: Client) -> None:
    for raised, _, _ in RAISED:
        server.fail_next(raised)
    caught: dict[type, errors.Error] = {}
    for _ in RAISED:
        try:
            await client.hardware.by_id("m1")
        except errors.Error as error:
            caught[type(error)] = error
    match caught:
        case {
            errors.InvalidField: errors.InvalidField(violations=(core.Violation("data.id", "must be a UUID"),)),
            errors.NotFound: errors.NotFound(resource_type="hardware", resource_id="m1"),
            errors.AlreadyExists: errors.AlreadyExists(metadata={"what": "mac", "taken_by": "m2"}),
            errors.OperationActive: errors.OperationActive(operation_id="o1"),
            errors.NotAllowed: errors.NotAllowed(role="reader"),
            errors.LeaseHeld: errors.LeaseHeld(worker_id="", operation_id="o1"),
            errors.Compacted: errors.Compacted(oldest_revision=10),
            errors.OtherHistory: errors.OtherHistory(history_id="h2"),
        }:
            pass
        case _:
            pytest.fail(f"{caught}")


def test_every_reason_of_the_api_has_its_error() -> None:
    names = set(error_reason_pb2.ErrorReason.keys()) - {"ERROR_REASON_UNSPECIFIED"}
    reasons = {name.removeprefix("ERROR_REASON_") for name in names}
    for reason in reasons:
        built = status.build(grpc.StatusCode.UNKNOWN, "text", reason=reason)
        error = errors.from_rpc(rpc_error(grpc.StatusCode.UNKNOWN, "text", built.SerializeToString()), ADDRESS)
        assert type(error) is not errors.Error, reason
        assert error.reason == reason


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (grpc.StatusCode.INVALID_ARGUMENT, errors.InvalidField),
        (grpc.StatusCode.NOT_FOUND, errors.NotFound),
        (grpc.StatusCode.ALREADY_EXISTS, errors.AlreadyExists),
        (grpc.StatusCode.FAILED_PRECONDITION, errors.IllegalTransition),
        (grpc.StatusCode.PERMISSION_DENIED, errors.PermissionDenied),
        (grpc.StatusCode.UNAUTHENTICATED, errors.Unauthenticated),
        (grpc.StatusCode.ABORTED, errors.LostRace),
        (grpc.StatusCode.OUT_OF_RANGE, errors.HistoryGone),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, errors.ResourceExhausted),
        (grpc.StatusCode.UNAVAILABLE, errors.Unavailable),
        (grpc.StatusCode.CANCELLED, errors.Unavailable),
        (grpc.StatusCode.DEADLINE_EXCEEDED, errors.DeadlineExceeded),
        (grpc.StatusCode.UNIMPLEMENTED, errors.Unimplemented),
        (grpc.StatusCode.INTERNAL, errors.Internal),
        (grpc.StatusCode.UNKNOWN, errors.Error),
        (grpc.StatusCode.DATA_LOSS, errors.Error),
    ],
)
def test_without_a_reason_the_code_decides(code: grpc.StatusCode, kind: type[errors.Error]) -> None:
    error = errors.from_rpc(rpc_error(code, "text"), ADDRESS)
    assert (type(error), error.code, error.reason) == (kind, code.name, "")


@pytest.mark.parametrize("details", [b"\xff\xff", b"", status_pb2.Status(code=5).SerializeToString()])
def test_details_that_cannot_be_read_leave_code_and_text(details: bytes) -> None:
    error = errors.from_rpc(rpc_error(grpc.StatusCode.NOT_FOUND, "no such thing", details), ADDRESS)
    assert (type(error), error.message) == (errors.NotFound, "no such thing")


def test_the_reason_of_another_domain_is_not_ours() -> None:
    info = any_pb2.Any()
    info.Pack(error_details_pb2.ErrorInfo(reason="COMPACTED", domain="storage.example"))
    details = status_pb2.Status(code=13, details=[info]).SerializeToString()
    error = errors.from_rpc(rpc_error(grpc.StatusCode.INTERNAL, "fault", details), ADDRESS)
    assert (type(error), error.reason) == (errors.Internal, "")


def test_a_reference_finds_a_fault_in_the_servers_log() -> None:
    built = status.build(grpc.StatusCode.INTERNAL, "a fault", reason="INTERNAL", metadata={"reference": "f00"})
    error = errors.from_rpc(rpc_error(grpc.StatusCode.INTERNAL, "a fault", built.SerializeToString()), ADDRESS)
    assert isinstance(error, errors.Internal)
    assert error.reference == "f00"


def test_an_error_without_a_text_says_what_it_is() -> None:
    assert str(errors.Closed()) == "The client is closed."


def test_every_error_stands_in_the_tree_at_the_top_of_the_module() -> None:
    tree = (errors.__doc__ or "").split("Whatever gRPC raises")[0]
    kinds: list[type[errors.Error]] = [errors.Error, *_below(errors.Error)]
    assert [kind.__name__ for kind in kinds if kind.__name__ not in tree.split()] == []


def _below(kind: type[errors.Error]) -> list[type[errors.Error]]:
    return [each for child in kind.__subclasses__() for each in (child, *_below(child))]
