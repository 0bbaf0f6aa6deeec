"""Turns errors into the statuses of the fake server, with the codes and details that the real server sends."""

from collections.abc import Mapping

from google.protobuf import any_pb2, message
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode

from tinkwell.client.errors import DOMAIN
from tinkwell.core import errors

_TABLE: Mapping[type[errors.TinkwellError], tuple[StatusCode, str]] = {
    errors.InvalidField: (StatusCode.INVALID_ARGUMENT, "INVALID_FIELD"),
    errors.NotFound: (StatusCode.NOT_FOUND, "NOT_FOUND"),
    errors.AlreadyExists: (StatusCode.ALREADY_EXISTS, "ALREADY_EXISTS"),
    errors.IllegalTransition: (StatusCode.FAILED_PRECONDITION, "ILLEGAL_TRANSITION"),
    errors.PlanStale: (StatusCode.FAILED_PRECONDITION, "PLAN_STALE"),
    errors.MachineBusy: (StatusCode.FAILED_PRECONDITION, "MACHINE_BUSY"),
    errors.LeaseHeld: (StatusCode.FAILED_PRECONDITION, "LEASE_HELD"),
    errors.LeaseLost: (StatusCode.FAILED_PRECONDITION, "LEASE_LOST"),
    errors.WrongWorker: (StatusCode.PERMISSION_DENIED, "WRONG_WORKER"),
    errors.NotAllowed: (StatusCode.PERMISSION_DENIED, "NOT_ALLOWED"),
    errors.OperationActive: (StatusCode.ABORTED, "OPERATION_ACTIVE"),
    errors.ChartInvalid: (StatusCode.INVALID_ARGUMENT, "CHART_INVALID"),
    errors.ChartUnknown: (StatusCode.FAILED_PRECONDITION, "CHART_UNKNOWN"),
    errors.SecretsDisabled: (StatusCode.FAILED_PRECONDITION, "SECRETS_DISABLED"),
    errors.CharmRefused: (StatusCode.INVALID_ARGUMENT, "CHARM_REFUSED"),
    errors.CommitRefused: (StatusCode.INVALID_ARGUMENT, "COMMIT_REFUSED"),
    errors.EndpointMismatch: (StatusCode.FAILED_PRECONDITION, "ENDPOINT_MISMATCH"),
    errors.NotLeader: (StatusCode.FAILED_PRECONDITION, "NOT_LEADER"),
    errors.UnitInError: (StatusCode.FAILED_PRECONDITION, "UNIT_IN_ERROR"),
    errors.MachineHasUnits: (StatusCode.FAILED_PRECONDITION, "MACHINE_HAS_UNITS"),
    errors.LostRace: (StatusCode.ABORTED, "LOST_RACE"),
    errors.Compacted: (StatusCode.OUT_OF_RANGE, "COMPACTED"),
    errors.OtherHistory: (StatusCode.OUT_OF_RANGE, "OTHER_HISTORY"),
    errors.TooSlow: (StatusCode.RESOURCE_EXHAUSTED, "TOO_SLOW"),
    errors.LimitReached: (StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED"),
    errors.Unavailable: (StatusCode.UNAVAILABLE, "UNAVAILABLE"),
    errors.TinkwellError: (StatusCode.INTERNAL, "INTERNAL"),
}


def of(error: errors.TinkwellError) -> status_pb2.Status:
    """Build the status of a domain error, with its details."""
    code, reason = next(_TABLE[kind] for kind in type(error).__mro__ if kind in _TABLE)
    return build(code, str(error), reason=reason, metadata=_metadata(error), details=_details(error))


def build(
    code: StatusCode,
    text: str,
    *,
    reason: str = "",
    metadata: Mapping[str, str] | None = None,
    details: tuple[any_pb2.Any, ...] = (),
) -> status_pb2.Status:
    """Build a status with an ErrorInfo and further details."""
    info = error_details_pb2.ErrorInfo(reason=reason, domain=DOMAIN, metadata=metadata or {})
    return status_pb2.Status(code=code.value[0], message=text, details=[_packed(info), *details])


def _metadata(error: errors.TinkwellError) -> dict[str, str]:
    match error:
        case errors.Compacted():
            return {"oldest_revision": str(error.oldest_revision)}
        case errors.OtherHistory():
            return {"history_id": error.history_id}
        case errors.NotAllowed():
            return {"role": error.role} if error.role else {}
        case errors.MachineBusy():
            return {"worker_id": error.worker_id, "workflow_id": error.held_by}
        case errors.MachineHasUnits():
            return {"worker_id": error.worker_id}
        case errors.OperationActive():
            return {"operation_id": error.operation_id}
        case errors.LeaseHeld():
            return {"worker_id" if error.kind == "machine" else f"{error.kind}_id": error.id}
        case errors.AlreadyExists():
            return {"what": error.what, "value": error.value, "taken_by": error.taken_by}
        case _:
            return {}


def _details(error: errors.TinkwellError) -> tuple[any_pb2.Any, ...]:
    match error:
        case errors.InvalidField():
            field_violation = error_details_pb2.BadRequest.FieldViolation
            violations = [field_violation(field=v.field, description=v.description) for v in error.violations]
            return (_packed(error_details_pb2.BadRequest(field_violations=violations)),)
        case errors.NotFound():
            info = error_details_pb2.ResourceInfo(resource_type=error.resource_type, resource_name=error.resource_id)
            return (_packed(info),)
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
                type="state", subject=error.subject, description=error.description
            )
            return (_packed(error_details_pb2.PreconditionFailure(violations=[violation])),)
        case _:
            return ()


def _packed(detail: message.Message) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(detail)
    return packed
