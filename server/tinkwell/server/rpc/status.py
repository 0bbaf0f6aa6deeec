"""The one table from domain errors to gRPC: status code, reason and details. Its mirror is `tinkwell.client.errors`.

Details travel in the trailing metadata, of which clients accept eight kilobytes. Long texts are cut to fit.
"""

from collections.abc import Iterator, Mapping
from typing import TypeVar

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.protobuf import message as protobuf
from google.rpc import error_details_pb2, status_pb2

from tinkwell.api.v1 import error_reason_pb2
from tinkwell.core import errors
from tinkwell.server.rpc import auth

DOMAIN = "tinkwell"

_Code = grpc.StatusCode
_Reason = error_reason_pb2.ErrorReason

CODES: Mapping[type[errors.TinkwellError], tuple[grpc.StatusCode, _Reason.ValueType]] = {
    errors.InvalidField: (_Code.INVALID_ARGUMENT, _Reason.ERROR_REASON_INVALID_FIELD),
    errors.NotFound: (_Code.NOT_FOUND, _Reason.ERROR_REASON_NOT_FOUND),
    errors.AlreadyExists: (_Code.ALREADY_EXISTS, _Reason.ERROR_REASON_ALREADY_EXISTS),
    errors.IllegalTransition: (_Code.FAILED_PRECONDITION, _Reason.ERROR_REASON_ILLEGAL_TRANSITION),
    errors.PlanStale: (_Code.FAILED_PRECONDITION, _Reason.ERROR_REASON_PLAN_STALE),
    errors.EndpointMismatch: (_Code.FAILED_PRECONDITION, _Reason.ERROR_REASON_ENDPOINT_MISMATCH),
    errors.NotLeader: (_Code.FAILED_PRECONDITION, _Reason.ERROR_REASON_NOT_LEADER),
    errors.UnitInError: (_Code.FAILED_PRECONDITION, _Reason.ERROR_REASON_UNIT_IN_ERROR),
    errors.MachineHasUnits: (_Code.FAILED_PRECONDITION, _Reason.ERROR_REASON_MACHINE_HAS_UNITS),
    errors.MachineBusy: (_Code.FAILED_PRECONDITION, _Reason.ERROR_REASON_MACHINE_BUSY),
    errors.OperationActive: (_Code.ABORTED, _Reason.ERROR_REASON_OPERATION_ACTIVE),
    errors.LeaseHeld: (_Code.FAILED_PRECONDITION, _Reason.ERROR_REASON_LEASE_HELD),
    errors.LeaseLost: (_Code.FAILED_PRECONDITION, _Reason.ERROR_REASON_LEASE_LOST),
    errors.WrongWorker: (_Code.PERMISSION_DENIED, _Reason.ERROR_REASON_WRONG_WORKER),
    errors.NotAllowed: (_Code.PERMISSION_DENIED, _Reason.ERROR_REASON_NOT_ALLOWED),
    errors.ChartInvalid: (_Code.INVALID_ARGUMENT, _Reason.ERROR_REASON_CHART_INVALID),
    errors.CharmRefused: (_Code.INVALID_ARGUMENT, _Reason.ERROR_REASON_CHARM_REFUSED),
    errors.CommitRefused: (_Code.INVALID_ARGUMENT, _Reason.ERROR_REASON_COMMIT_REFUSED),
    errors.ChartUnknown: (_Code.FAILED_PRECONDITION, _Reason.ERROR_REASON_CHART_UNKNOWN),
    errors.SecretsDisabled: (_Code.FAILED_PRECONDITION, _Reason.ERROR_REASON_SECRETS_DISABLED),
    errors.LostRace: (_Code.ABORTED, _Reason.ERROR_REASON_LOST_RACE),
    errors.Compacted: (_Code.OUT_OF_RANGE, _Reason.ERROR_REASON_COMPACTED),
    errors.OtherHistory: (_Code.OUT_OF_RANGE, _Reason.ERROR_REASON_OTHER_HISTORY),
    errors.TooSlow: (_Code.RESOURCE_EXHAUSTED, _Reason.ERROR_REASON_TOO_SLOW),
    errors.LimitReached: (_Code.RESOURCE_EXHAUSTED, _Reason.ERROR_REASON_LIMIT_REACHED),
    errors.Unavailable: (_Code.UNAVAILABLE, _Reason.ERROR_REASON_UNAVAILABLE),
    auth.Unauthenticated: (_Code.UNAUTHENTICATED, _Reason.ERROR_REASON_UNAUTHENTICATED),
}

_MAX_MESSAGE_BYTES = 1_000
_MAX_FIELD_BYTES = 200
_MAX_DESCRIPTION_BYTES = 400
_MAX_STATUS_BYTES = 3_000

_RETRY_SECONDS: Mapping[type[errors.TinkwellError], float] = {errors.LostRace: 0.1, errors.Unavailable: 1.0}

_T = TypeVar("_T")


def of_error(error: errors.TinkwellError) -> status_pb2.Status:
    """Return the status that tells a caller about a domain error."""
    code, reason = _look_up(CODES, error)
    return _status(code, reason, str(error), metadata=_metadata(error), details=_details(error))


def of_fault(reference: str) -> status_pb2.Status:
    """Return the status for a fault of the server; the reference is where its log says more."""
    return _status(
        _Code.INTERNAL,
        _Reason.ERROR_REASON_INTERNAL,
        f"the server failed; its log has the details under the reference {reference}",
        metadata={"reference": reference},
        details=iter(()),
    )


def _look_up(table: Mapping[type[errors.TinkwellError], _T], error: errors.TinkwellError) -> _T:
    return next(table[kind] for kind in type(error).__mro__ if kind in table)


def _status(
    code: grpc.StatusCode,
    reason: _Reason.ValueType,
    message: str,
    *,
    metadata: Mapping[str, str],
    details: Iterator[protobuf.Message],
) -> status_pb2.Status:
    status = status_pb2.Status(code=code.value[0], message=_cut(message, _MAX_MESSAGE_BYTES))
    info = error_details_pb2.ErrorInfo(
        reason=_Reason.Name(reason).removeprefix("ERROR_REASON_"),
        domain=DOMAIN,
        metadata={key: _cut(text, _MAX_FIELD_BYTES) for key, text in metadata.items()},
    )
    status.details.append(_pack(info))
    status.details.extend(_pack(detail) for detail in details)
    return status


def _metadata(error: errors.TinkwellError) -> dict[str, str]:
    match error:
        case errors.NotFound():
            return {"resource_type": error.resource_type, "resource_id": error.resource_id}
        case errors.AlreadyExists():
            taken = {"what": error.what, "value": error.value}
            return taken | ({"taken_by": error.taken_by} if error.taken_by else {})
        case errors.MachineBusy() | errors.MachineHasUnits():
            held = {"workflow_id": error.held_by} if isinstance(error, errors.MachineBusy) else {}
            return {"subject": error.subject, "worker_id": error.worker_id, **held}
        case errors.OperationActive():
            return {"subject": error.subject, "operation_id": error.operation_id}
        case errors.LeaseHeld():
            return {"subject": error.subject, _held_key(error.kind): error.id}
        case errors.IllegalTransition() | errors.LeaseLost() | errors.SecretsDisabled() | errors.ChartUnknown():
            return {"subject": error.subject}
        case errors.WrongWorker() | errors.NotAllowed():
            return _about_caller(error)
        case errors.Compacted():
            return {"revision": str(error.revision), "oldest_revision": str(error.oldest_revision)}
        case errors.OtherHistory():
            return {"history_id": error.history_id}
        case _:
            return {}


def _about_caller(error: errors.WrongWorker | errors.NotAllowed) -> dict[str, str]:
    if isinstance(error, errors.WrongWorker):
        return {"worker_id": error.worker_id, "expected": error.expected}
    return {"role": error.role} if error.role else {}


def _held_key(kind: str) -> str:
    """Return the key under which an error tells what is held; a machine goes by the id of its worker."""
    return "worker_id" if kind == "machine" else f"{kind}_id"


def _details(error: errors.TinkwellError) -> Iterator[protobuf.Message]:
    match error:
        case errors.InvalidField():
            yield _bad_request(error)
        case errors.NotFound():
            yield error_details_pb2.ResourceInfo(
                resource_type=_cut(error.resource_type, _MAX_FIELD_BYTES),
                resource_name=_cut(error.resource_id, _MAX_FIELD_BYTES),
            )
        case (
            errors.IllegalTransition()
            | errors.MachineBusy()
            | errors.MachineHasUnits()
            | errors.LeaseHeld()
            | errors.LeaseLost()
            | errors.SecretsDisabled()
            | errors.ChartUnknown()
        ):
            violation = error_details_pb2.PreconditionFailure.Violation(
                type="STATE",
                subject=_cut(error.subject, _MAX_FIELD_BYTES),
                description=_cut(error.description, _MAX_DESCRIPTION_BYTES),
            )
            yield error_details_pb2.PreconditionFailure(violations=[violation])
        case errors.LostRace() | errors.Unavailable():
            delay = duration_pb2.Duration()
            delay.FromNanoseconds(int(_look_up(_RETRY_SECONDS, error) * 1e9))
            yield error_details_pb2.RetryInfo(retry_delay=delay)
        case _:
            return


def _bad_request(error: errors.InvalidField) -> error_details_pb2.BadRequest:
    """Name as many of the wrong fields as there is room for; there is always room for the first."""
    request = error_details_pb2.BadRequest()
    room = _MAX_STATUS_BYTES - _MAX_MESSAGE_BYTES
    for violation in error.violations:
        named = error_details_pb2.BadRequest.FieldViolation(
            field=_cut(violation.field, _MAX_FIELD_BYTES),
            description=_cut(violation.description, _MAX_DESCRIPTION_BYTES),
        )
        room -= named.ByteSize()
        if room < 0:
            break
        request.field_violations.append(named)
    return request


def _pack(detail: protobuf.Message) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(detail)
    return packed


def _cut(text: str, max_bytes: int) -> str:
    """Shorten a text to what a message may hold, and replace what is not UTF-8."""
    encoded = text.encode(errors="replace")
    if len(encoded) <= max_bytes:
        return encoded.decode()
    return encoded[: max_bytes - len("…".encode())].decode(errors="ignore") + "…"
