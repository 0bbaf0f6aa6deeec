"""What can be wrong with a request, as one tree.

TinkwellError
├── InvalidField        a field of the request is wrong (each one is named)
│   ├── ChartInvalid    a file of a chart is wrong, alone or together with the values
│   ├── CharmRefused    a charm is wrong, or must not replace the charm before it
│   └── CommitRefused   a unit event may not have one of its effects
├── NotFound            the resource does not exist, or is deleted
├── AlreadyExists       a unique value is taken
├── IllegalTransition   the state of the resource does not allow the request
│   ├── PlanStale       the release has changed since the plan was made
│   ├── EndpointMismatch  no pair of endpoints, or more than one, fits a relation
│   ├── NotLeader       only the leader of the application may do this
│   └── UnitInError     an event of the unit has failed
├── MachineBusy         a workflow cannot start, because another one runs on its machine
├── MachineHasUnits     units are on the machine
├── OperationActive     no operation of a release can begin, because another one has not ended
├── LeaseHeld           another living owner holds the resource
├── LeaseLost           the caller's lease is over, or its work was taken over
├── WrongWorker         the action belongs to another worker
├── NotAllowed          neither the caller's role nor a grant to its unit allows this
├── ChartUnknown        the server does not have the chart: upload it, and ask again
├── SecretsDisabled     the server has no key to encrypt or decrypt secrets
├── LostRace            another writer was faster: read again and retry
├── Compacted           the revision is older than the oldest kept one
├── OtherHistory        the revision belongs to another log, or lies beyond its end
├── TooSlow             the watcher stayed too far behind for too long
├── LimitReached        a limit on concurrent use is reached
└── Unavailable         the server is stopping, or has lost its database

Errors carry fields; their text is for people. The one table that maps them to gRPC is `tinkwell.server.rpc.status`, and
its mirror is `tinkwell.client.errors`.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """One wrong field: its path, such as `data.network.interfaces[0].dhcp.mac`, and what was wrong and what to do."""

    field: str
    description: str


class TinkwellError(Exception):
    """The root of every error that a caller can cause or must handle."""


class InvalidField(TinkwellError):
    """One or more fields of the request are wrong."""

    def __init__(self, violations: Iterable[Violation]) -> None:
        self.violations = tuple(violations)
        super().__init__(
            "; ".join(f"{v.field}: {v.description}" if v.field else v.description for v in self.violations)
        )

    @classmethod
    def of(cls, field: str, description: str) -> "InvalidField":
        """Build the error for a single field."""
        return cls([Violation(field, description)])


class ChartInvalid(InvalidField):
    """A file of the chart is wrong, alone or together with the values.

    Each field is the path of a file, followed by a path in that file.
    """


class CharmRefused(InvalidField):
    """The charm is wrong, or must not replace the charm before it. Each field is a path in the charm."""


class CommitRefused(InvalidField):
    """The unit event has failed, because one of its effects is not allowed. The fields name such effects."""


class ChartUnknown(TinkwellError):
    """The server has no chart with this digest."""

    def __init__(self, digest: str) -> None:
        self.digest = digest
        self.subject = f"chart {digest}"
        self.description = "this server does not have it; upload it, and ask again"
        super().__init__(f"{self.subject}: {self.description}")


class NotFound(TinkwellError):
    """The named resource does not exist, or is deleted."""

    def __init__(self, resource_type: str, resource_id: str) -> None:
        self.resource_type = resource_type
        self.resource_id = resource_id
        super().__init__(f"{resource_type.lower()} {resource_id} does not exist")


class AlreadyExists(TinkwellError):
    """A unique value is taken: `what` (such as "mac"), its `value`, and the holder if it is known.

    `advice` says what to do instead.
    """

    def __init__(self, what: str, value: str, *, taken_by: str = "", advice: str = "") -> None:
        self.what = what
        self.value = value
        self.taken_by = taken_by
        owner = f" by {taken_by}" if taken_by else ""
        super().__init__(f"{what} {value} is already taken{owner}{f'; {advice}' if advice else ''}")


class IllegalTransition(TinkwellError):
    """The state of the resource does not allow the request."""

    def __init__(self, subject: str, description: str) -> None:
        self.subject = subject
        self.description = description
        super().__init__(f"{subject}: {description}")


class PlanStale(IllegalTransition):
    """The release has changed since the plan was made: make another plan."""

    def __init__(self, plan: str, description: str) -> None:
        super().__init__(f"plan {plan}", f"{description}; make another plan")


class EndpointMismatch(IllegalTransition):
    """No pair of endpoints fits the relation, or more than one does: `description` says which."""


class NotLeader(IllegalTransition):
    """The unit does not lead its application, and only the leader may do this."""

    def __init__(self, unit: str, *, leader: str = "") -> None:
        self.leader = leader
        leads = f"{leader} does" if leader else "no unit does now"
        super().__init__(f"unit {unit}", f"it does not lead its application, as this needs; {leads}")


class UnitInError(IllegalTransition):
    """An event of the unit, `event`, has failed: resolve it first."""

    def __init__(self, unit: str, *, event: str) -> None:
        self.event = event
        super().__init__(f"unit {unit}", f"its event {event} has failed; resolve that first")


class MachineHasUnits(TinkwellError):
    """Units are on the machine, and the request would disturb them."""

    def __init__(self, worker_id: str, *, units: Iterable[str], advice: str) -> None:
        self.worker_id = worker_id
        self.units = tuple(units)
        named = ", ".join(self.units[:5]) + (f" and {len(self.units) - 5} more" if len(self.units) > 5 else "")
        self.subject = f"machine {worker_id}"
        self.description = f"units are on it: {named}; {advice}"
        super().__init__(f"{self.subject}: {self.description}")


class MachineBusy(TinkwellError):
    """A workflow cannot start yet: another one, `held_by`, runs on one of its machines."""

    def __init__(self, worker_id: str, *, held_by: str) -> None:
        self.worker_id = worker_id
        self.held_by = held_by
        self.subject = f"machine {worker_id}"
        self.description = f"workflow {held_by} runs on it; another one can start when that has ended"
        super().__init__(f"{self.subject}: {self.description}")


class OperationActive(TinkwellError):
    """No operation of a release can begin yet: another one, `operation_id`, has not ended."""

    def __init__(self, release_name: str, *, operation_id: str) -> None:
        self.release_name = release_name
        self.operation_id = operation_id
        self.subject = f"release {release_name}"
        self.description = f"operation {operation_id} of it has not ended; wait for that, or cancel it"
        super().__init__(f"{self.subject}: {self.description}")


class LeaseHeld(TinkwellError):
    """Another living owner holds the resource: `kind` is its kind, such as `machine`, and `id` its id."""

    def __init__(self, kind: str, id: str) -> None:  # noqa: A002  # the word for it
        self.kind = kind
        self.id = id
        self.subject = f"{kind} {id}"
        self.description = "another owner, whose lease is alive, holds it"
        super().__init__(f"{self.subject}: {self.description}")


class LeaseLost(TinkwellError):
    """The caller's lease is over, or the resource it reports on is held under another lease."""

    def __init__(self, lease_token: int, description: str = "it is over; acquire another one") -> None:
        self.lease_token = lease_token
        self.subject = f"lease {lease_token}" if lease_token else "no lease"
        self.description = description
        super().__init__(f"{self.subject}: {description}")


class WrongWorker(TinkwellError):
    """The action belongs to another worker than the one that reports on it."""

    def __init__(self, worker_id: str, expected: str) -> None:
        self.worker_id = worker_id
        self.expected = expected
        super().__init__(f"worker {worker_id} may not report for an action of worker {expected}")


class NotAllowed(TinkwellError):
    """Neither the caller's role nor a grant to its unit allows this. `role` is empty where it is not the reason."""

    def __init__(self, description: str, *, role: str = "") -> None:
        self.role = role
        super().__init__(description)


class SecretsDisabled(TinkwellError):
    """The server has no key to encrypt or decrypt secrets."""

    subject = "secrets"

    def __init__(
        self, description: str = "this server has no keys; give it a file of them by TINKWELL_SECRET_KEYS"
    ) -> None:
        self.description = description
        super().__init__(f"{self.subject}: {description}")


class LostRace(TinkwellError):
    """Another writer was faster: read again and retry."""


class Compacted(TinkwellError):
    """The revision is older than the oldest one that is kept."""

    def __init__(self, revision: int, oldest_revision: int) -> None:
        self.revision = revision
        self.oldest_revision = oldest_revision
        super().__init__(f"revision {revision} is no longer kept; the oldest kept revision is {oldest_revision}")


class OtherHistory(TinkwellError):
    """The revision belongs to another history of the log, or lies beyond its end."""

    def __init__(self, description: str, *, history_id: str) -> None:
        self.history_id = history_id
        super().__init__(f"{description}; list the resources again and watch from there")


class TooSlow(TinkwellError):
    """The watcher stayed too far behind for too long."""


class LimitReached(TinkwellError):
    """A limit on concurrent use is reached; the text names it."""


class Unavailable(TinkwellError):
    """The server is stopping, or has lost its database; try again."""
