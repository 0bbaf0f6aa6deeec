"""Leases, in memory, by the core's rules. No time passes in this world: a lease is over when the test says so."""

# ruff: noqa: N802  # RPC methods carry their names

import dataclasses
import uuid
from typing import Any

from tinkwell.api.v1 import work_service_pb2 as pb
from tinkwell.api.v1 import work_service_pb2_grpc
from tinkwell.client.model import MachineHold
from tinkwell.core import errors
from tinkwell.core.lease import Hold, Lease, Reporter

LEASE_SECONDS = 30.0


@dataclasses.dataclass(frozen=True, slots=True)
class Session:
    """What is known of an owner: the token that it has now, and its lease."""

    token: int
    lease: Lease


class Ledger:
    """Who holds which machine of which workflow."""

    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}
        # By workflow and worker.
        self.holds: dict[tuple[str, str], Hold] = {}
        self._tokens = 0

    def acquire(self, owner: str, engine: str) -> Session:
        """Begin a lease for an owner."""
        self._tokens += 1
        former = self.sessions.get(owner)
        is_heir = former is not None and former.lease.engine == engine
        id_ = former.lease.id if former is not None and is_heir else str(uuid.uuid4())
        session = Session(self._tokens, Lease(id=id_, engine=engine, is_live=True))
        self.sessions[owner] = session
        return session

    def expire(self, token: int) -> None:
        """Let a lease be over, as if its owner had not been heard of for too long."""
        self._set_live(token, is_live=False)

    def renew(self, token: int) -> bool:
        """Let a lease live on; False where it is none any more."""
        return self._set_live(token, is_live=True)

    def end(self, token: int) -> None:
        """Forget a token; its lease is over."""
        for owner, session in self.sessions.items():
            if session.token == token:
                self.sessions[owner] = Session(-token, dataclasses.replace(session.lease, is_live=False))

    def reporter(self, token: int) -> Reporter:
        """Find out who reports."""
        found = (session.lease for session in self.sessions.values() if session.token == token)
        return Reporter(token, next(found, None))

    def hold(self, workflow_id: str, worker_id: str) -> Hold | None:
        """Get the hold of a machine of a workflow, with what its lease is now."""
        hold = self.holds.get((workflow_id, worker_id))
        return dataclasses.replace(hold, lease=self._lease(hold.lease_id)) if hold is not None else None

    def holds_of(self, workflow_id: str) -> tuple[MachineHold, ...]:
        """Get the holds of a workflow as answers tell them."""
        tokens = {session.lease.id: session.token for session in self.sessions.values() if session.token > 0}
        found = (self.hold(*key) for key in sorted(self.holds) if key[0] == workflow_id)
        return tuple(
            MachineHold(hold.worker_id, hold.action_id, tokens.get(hold.lease_id, 0), hold.is_live)
            for hold in found
            if hold is not None
        )

    def workflow_ids(self, lease_id: str) -> list[str]:
        """Get the workflows of which something is held under a lease."""
        return sorted({workflow_id for (workflow_id, _), hold in self.holds.items() if hold.lease_id == lease_id})

    def lost(self) -> list[str]:
        """Get the workflows of which something may run on a machine that nobody alive holds."""
        found = ((key[0], self.hold(*key)) for key in self.holds)
        return sorted({workflow_id for workflow_id, hold in found if hold and hold.is_lost and hold.action_id})

    def _lease(self, lease_id: str) -> Lease | None:
        return next((s.lease for s in self.sessions.values() if s.lease.id == lease_id), None)

    def _set_live(self, token: int, *, is_live: bool) -> bool:
        for owner, session in self.sessions.items():
            if session.token == token:
                self.sessions[owner] = Session(token, dataclasses.replace(session.lease, is_live=is_live))
                return True
        return False


class WorkServicer(work_service_pb2_grpc.WorkServiceServicer):
    """Leases in memory."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def Acquire(self, request: pb.AcquireRequest, context: Any) -> pb.AcquireResponse:
        for field in ("owner", "engine"):
            if not getattr(request, field):
                raise errors.InvalidField.of(field, "must not be empty")
        session = self._ledger.acquire(request.owner, request.engine)
        return pb.AcquireResponse(
            lease_token=session.token,
            lease_seconds=LEASE_SECONDS,
            workflow_ids=self._ledger.workflow_ids(session.lease.id),
        )

    async def Renew(self, request: pb.RenewRequest, context: Any) -> pb.RenewResponse:
        if not self._ledger.renew(request.lease_token):
            raise errors.LeaseLost(request.lease_token)
        return pb.RenewResponse(lease_seconds=LEASE_SECONDS, lost_workflow_ids=self._ledger.lost())

    async def Release(self, request: pb.ReleaseRequest, context: Any) -> pb.ReleaseResponse:
        if not request.workflow_id:
            self._ledger.end(request.lease_token)
        return pb.ReleaseResponse()
