"""The errors that calls raise, as one tree.

Error
├── InvalidField          a field of the request is wrong; `violations` names each one
│   ├── ChartInvalid      a file of a chart is wrong, alone or together with the values
│   ├── CharmRefused      a charm is wrong, or must not replace the charm before it
│   └── CommitRefused     a unit event may not have one of its effects
├── NotFound              the resource does not exist, or is deleted
├── AlreadyExists         something that must be unique is taken
├── IllegalTransition     the state of the resource does not allow this
│   ├── PlanStale         the release has changed since the plan was made
│   ├── EndpointMismatch  no pair of endpoints, or more than one, fits a relation
│   ├── NotLeader         only the unit that leads its application may do this
│   ├── UnitInError       an event of the unit has failed
│   ├── MachineHasUnits   units are on the machine
│   ├── MachineBusy       a workflow cannot start, because another one runs on its machine
│   ├── LeaseHeld         another living owner holds the machine of this workflow, or this operation
│   └── LeaseLost         the lease of the caller is over, or another owner has its work
├── Unauthenticated       no valid token came with the call
├── PermissionDenied      the caller may not do this
│   ├── NotAllowed        neither the caller's role nor a grant to its unit allows this
│   └── WrongWorker       the action belongs to another worker
├── ChartUnknown          the server does not have the chart: upload it, and ask again
├── SecretsDisabled       the server has no key to encrypt or decrypt secrets
├── LostRace              another writer was faster: read again and retry
│   └── OperationActive   the release has an operation that has not ended
├── HistoryGone           the server does not have the events from that revision on: list again, then watch from now
│   ├── Compacted         the revision is older than the oldest kept one
│   └── OtherHistory      the revision belongs to another log, or lies beyond its end
├── ResourceExhausted     a limit of the server or of gRPC is reached
│   ├── TooSlow           the watcher stayed too far behind for too long
│   └── LimitReached      the server has reached its limit of streams or of waiting calls
├── Unavailable           no server answers at the address, or it is stopping
├── DeadlineExceeded      no answer came in time
├── Unimplemented         the server does not know the method
├── Internal              a fault of the server; `reference` finds it in the server's log
├── ReleaseFailed         the operation ended without success (raised by `client.release.handle`)
└── Closed                the client was closed, or is

`from_rpc` turns each error of gRPC into one of these: by the reason in the status details, or without a reason by the
status code. The server has the other half of that table, in `tinkwell.server.rpc.status`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from google.protobuf import message as protobuf_message
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode, aio

from tinkwell.core.errors import Violation

DOMAIN = "tinkwell"
_DETAILS_KEY = "grpc-status-details-bin"


@dataclass(frozen=True, slots=True)
class Details:
    """The details of an error that the server sends with its text."""

    reason: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    violations: tuple[Violation, ...] = ()
    resource_type: str = ""
    resource_id: str = ""


class Error(Exception):
    """The call failed.

    `code` is the name of the gRPC status code, such as `NOT_FOUND`; `reason` the name of an `ErrorReason` without its
    prefix, or empty where the server gave none; `message` the text for people.
    """

    default_code = "UNKNOWN"

    def __init__(self, message: str = "", *, code: str = "", details: Details | None = None) -> None:
        self.message = message or (type(self).__doc__ or "").splitlines()[0]
        self.code = code or self.default_code
        self.details = details or Details()
        super().__init__(self.message)

    @property
    def reason(self) -> str:
        """The machine-readable reason, such as `COMPACTED`; empty where the server gave none."""
        return self.details.reason

    @property
    def metadata(self) -> Mapping[str, str]:
        """Further facts about the error, by name."""
        return self.details.metadata


class InvalidField(Error):
    """One or more fields of the request are wrong."""

    default_code = "INVALID_ARGUMENT"
    own_reason = "INVALID_FIELD"

    @classmethod
    def of(cls, name: str, description: str) -> "InvalidField":
        """Build the error for a single field."""
        return cls.of_all([Violation(name, description)])

    @classmethod
    def of_all(cls, violations: Iterable[Violation]) -> "InvalidField":
        """Build the error for several fields at once."""
        found = tuple(violations)
        text = "; ".join(f"{v.field}: {v.description}" if v.field else v.description for v in found)
        return cls(text, details=Details(reason=cls.own_reason, violations=found))

    @property
    def violations(self) -> tuple[Violation, ...]:
        """Each wrong field with what is wrong about it."""
        return self.details.violations


class ChartInvalid(InvalidField):
    """A file of the chart is wrong, alone or together with the values."""

    own_reason = "CHART_INVALID"


class CharmRefused(InvalidField):
    """The charm is wrong, or must not replace the charm before it."""

    own_reason = "CHARM_REFUSED"


class CommitRefused(InvalidField):
    """The unit event has failed, because one of its effects is not allowed."""

    own_reason = "COMMIT_REFUSED"


class NotFound(Error):
    """The resource does not exist, or is deleted."""

    default_code = "NOT_FOUND"

    @property
    def resource_type(self) -> str:
        """The type of the resource that was not found, such as `hardware`."""
        return self.details.resource_type

    @property
    def resource_id(self) -> str:
        """The id, name or address of the resource that was not found."""
        return self.details.resource_id


class AlreadyExists(Error):
    """Something that must be unique is taken."""

    default_code = "ALREADY_EXISTS"


class IllegalTransition(Error):
    """The state of the resource does not allow this."""

    default_code = "FAILED_PRECONDITION"


class MachineBusy(IllegalTransition):
    """A workflow cannot start yet, because another one runs on its machine."""

    @property
    def worker_id(self) -> str:
        """The id of the machine; empty where the server did not say."""
        return self.metadata.get("worker_id", "")

    @property
    def held_by(self) -> str:
        """The id of the workflow that runs on the machine; empty where the server did not say."""
        return self.metadata.get("workflow_id", "")


class LeaseHeld(IllegalTransition):
    """Another owner, whose lease lives, holds the machine of this workflow, or this operation."""

    @property
    def worker_id(self) -> str:
        """The id of the held machine; empty where an operation is held."""
        return self.metadata.get("worker_id", "")

    @property
    def operation_id(self) -> str:
        """The id of the held operation; empty where a machine is held."""
        return self.metadata.get("operation_id", "")


class EndpointMismatch(IllegalTransition):
    """No pair of endpoints, or more than one, fits the requested relation."""


class NotLeader(IllegalTransition):
    """Only the unit that leads its application may do this."""


class UnitInError(IllegalTransition):
    """An event of the unit has failed: resolve it first."""


class MachineHasUnits(IllegalTransition):
    """Units are on the machine."""

    @property
    def worker_id(self) -> str:
        """The id of the machine; empty where the server did not say."""
        return self.metadata.get("worker_id", "")


class PlanStale(IllegalTransition):
    """The release has changed since the plan was made: make another plan."""


class LeaseLost(IllegalTransition):
    """The lease of the caller is over, or another lease holds what the call is about."""


class Unauthenticated(Error):
    """No valid token came with the call."""

    default_code = "UNAUTHENTICATED"


class PermissionDenied(Error):
    """The caller may not do this."""

    default_code = "PERMISSION_DENIED"


class NotAllowed(PermissionDenied):
    """Neither the caller's role nor a grant to its unit allows this."""

    @property
    def role(self) -> str:
        """The role of the caller; empty where the role is not the reason."""
        return self.metadata.get("role", "")


class WrongWorker(PermissionDenied):
    """The action belongs to another worker than the one that reports on it."""


class ChartUnknown(Error):
    """The server does not have the chart: upload it, and ask again."""

    default_code = "FAILED_PRECONDITION"


class SecretsDisabled(Error):
    """The server has no key to encrypt or decrypt secrets."""

    default_code = "FAILED_PRECONDITION"


class LostRace(Error):
    """Another writer was faster: read again and retry."""

    default_code = "ABORTED"


class OperationActive(LostRace):
    """The release has an operation that has not ended: wait for it, or cancel it."""

    @property
    def operation_id(self) -> str:
        """The id of that operation; empty where the server did not say."""
        return self.metadata.get("operation_id", "")


class HistoryGone(Error):
    """The server does not have the events from that revision on: list again, then watch from now."""

    default_code = "OUT_OF_RANGE"

    @property
    def history_id(self) -> str:
        """The id of the history that the server has now; empty where it did not say."""
        return self.metadata.get("history_id", "")


class Compacted(HistoryGone):
    """The revision is older than the oldest one that is kept."""

    @property
    def oldest_revision(self) -> int:
        """The oldest revision that the server keeps; 0 where it did not say."""
        text = self.metadata.get("oldest_revision", "")
        return int(text) if text.isdecimal() else 0


class OtherHistory(HistoryGone):
    """The revision belongs to another history of the log, or lies beyond its end."""


class ResourceExhausted(Error):
    """A limit of the server or of gRPC is reached."""

    default_code = "RESOURCE_EXHAUSTED"


class TooSlow(ResourceExhausted):
    """The watcher stayed too far behind for too long."""


class LimitReached(ResourceExhausted):
    """The server has reached its limit of streams or of waiting calls."""


class Unavailable(Error):
    """No server answers at the address, or it is stopping."""

    default_code = "UNAVAILABLE"


class DeadlineExceeded(Error):
    """No answer came in time."""

    default_code = "DEADLINE_EXCEEDED"


class Unimplemented(Error):
    """The server does not know the method."""

    default_code = "UNIMPLEMENTED"


class Internal(Error):
    """A fault of the server."""

    default_code = "INTERNAL"

    @property
    def reference(self) -> str:
        """The reference under which the server logged the fault; empty where it gave none."""
        return self.metadata.get("reference", "")


class Closed(Error):
    """The client is closed."""

    default_code = "CANCELLED"


BY_REASON: Mapping[str, type[Error]] = {
    "INVALID_FIELD": InvalidField,
    "NOT_FOUND": NotFound,
    "ALREADY_EXISTS": AlreadyExists,
    "ILLEGAL_TRANSITION": IllegalTransition,
    "MACHINE_BUSY": MachineBusy,
    "LEASE_HELD": LeaseHeld,
    "LEASE_LOST": LeaseLost,
    "WRONG_WORKER": WrongWorker,
    "NOT_ALLOWED": NotAllowed,
    "CHART_INVALID": ChartInvalid,
    "CHARM_REFUSED": CharmRefused,
    "COMMIT_REFUSED": CommitRefused,
    "ENDPOINT_MISMATCH": EndpointMismatch,
    "NOT_LEADER": NotLeader,
    "UNIT_IN_ERROR": UnitInError,
    "MACHINE_HAS_UNITS": MachineHasUnits,
    "CHART_UNKNOWN": ChartUnknown,
    "SECRETS_DISABLED": SecretsDisabled,
    "LOST_RACE": LostRace,
    "OPERATION_ACTIVE": OperationActive,
    "PLAN_STALE": PlanStale,
    "COMPACTED": Compacted,
    "OTHER_HISTORY": OtherHistory,
    "TOO_SLOW": TooSlow,
    "LIMIT_REACHED": LimitReached,
    "UNAVAILABLE": Unavailable,
    "UNAUTHENTICATED": Unauthenticated,
    "INTERNAL": Internal,
}

BY_CODE: Mapping[StatusCode, type[Error]] = {
    StatusCode.INVALID_ARGUMENT: InvalidField,
    StatusCode.NOT_FOUND: NotFound,
    StatusCode.ALREADY_EXISTS: AlreadyExists,
    StatusCode.FAILED_PRECONDITION: IllegalTransition,
    StatusCode.PERMISSION_DENIED: PermissionDenied,
    StatusCode.UNAUTHENTICATED: Unauthenticated,
    StatusCode.ABORTED: LostRace,
    StatusCode.OUT_OF_RANGE: HistoryGone,
    StatusCode.RESOURCE_EXHAUSTED: ResourceExhausted,
    StatusCode.UNAVAILABLE: Unavailable,
    # Calls that this client cancels end with `Closed`. CANCELLED comes from a server that stops, for calls that it had
    # not begun to handle.
    StatusCode.CANCELLED: Unavailable,
    StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
    StatusCode.UNIMPLEMENTED: Unimplemented,
    StatusCode.INTERNAL: Internal,
}


def from_rpc(error: aio.AioRpcError, address: str) -> Error:
    """Turn an error of gRPC into one of this tree; its text names `address` where no server answers."""
    details = _details(error)
    code = error.code()
    kind = BY_REASON.get(details.reason) or BY_CODE.get(code, Error)
    text = error.details() or ""
    if kind is Unavailable:
        text = f"no server is available at {address}: {_why(text)}"
    elif kind is DeadlineExceeded:
        text = f"the server at {address} did not answer in time"
    return kind(text, code=code.name, details=details)


def from_status(status: status_pb2.Status) -> Error:
    """Turn a status in an answer into the error that a call with this status raises."""
    details = _unpack(status)
    code = next((code for code in StatusCode if code.value[0] == status.code), StatusCode.UNKNOWN)
    kind = BY_REASON.get(details.reason) or BY_CODE.get(code, Error)
    return kind(status.message, code=code.name, details=details)


def _why(text: str) -> str:
    # gRPC's text about a failed connection ends with the reason that the operating system gave.
    return text.rpartition(": ")[2] if text.startswith("failed to connect") else text or "the connection was lost"


def _details(error: aio.AioRpcError) -> Details:
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS_KEY and isinstance(value, bytes):
            try:
                return _unpack(status_pb2.Status.FromString(value))
            except protobuf_message.DecodeError:
                return Details()  # another program sent these details; code and text still say what is wrong
    return Details()


def _unpack(status: status_pb2.Status) -> Details:
    info, bad, resource = (
        error_details_pb2.ErrorInfo(),
        error_details_pb2.BadRequest(),
        error_details_pb2.ResourceInfo(),
    )
    for detail in status.details:
        for target in (info, bad, resource):
            detail.Unpack(target)
    return Details(
        reason=info.reason if info.domain == DOMAIN else "",
        metadata=dict(info.metadata),
        violations=tuple(Violation(v.field, v.description) for v in bad.field_violations),
        resource_type=resource.resource_type,
        resource_id=resource.resource_name,
    )
