"""Leases in memory, by the core's rules. They do not follow the clock: a lease is over only when the test says so."""

import dataclasses
import uuid
from collections.abc import Collection

from tinkwell.client.workflow import model
from tinkwell.core.lease.lease import Lease, Reporter
from tinkwell.core.workflow.hold import MachineHold


@dataclasses.dataclass(frozen=True, slots=True)
class Session:
    """An owner's present token and its lease."""

    token: int
    lease: Lease


class Ledger:
    """Knows which lease holds which machine of which workflow."""

    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}
        # By workflow and worker.
        self.holds: dict[tuple[str, str], MachineHold] = {}
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
        """End a lease, as if its owner had been silent for too long."""
        self._set_live(token, is_live=False)

    def renew(self, token: int) -> bool:
        """Renew a lease. Returns False if no lease has this token."""
        return self._set_live(token, is_live=True)

    def end(self, token: int) -> None:
        """Forget a token and end its lease."""
        for owner, session in self.sessions.items():
            if session.token == token:
                self.sessions[owner] = Session(-token, dataclasses.replace(session.lease, is_live=False))

    def begin(self, workflow_id: str, worker_ids: Collection[str]) -> None:
        """Give a starting workflow its machines. Workflows that held them before are over, and run nothing there."""
        for key in [key for key in self.holds if key[1] in worker_ids]:
            del self.holds[key]
        for worker_id in worker_ids:
            self.holds[workflow_id, worker_id] = MachineHold(id=worker_id)

    def take(self, workflow_id: str, worker_id: str, *, lease_id: str, action_id: str) -> None:
        """Put a machine of a workflow under a lease, or under none; the action, if there is one, may run there."""
        hold = MachineHold(id=worker_id, lease_id=lease_id, action_id=action_id if lease_id else "")
        self.holds[workflow_id, worker_id] = hold

    def leave(self, workflow_id: str) -> None:
        """Release the machines of a workflow that has ended, except those on which an action may run."""
        for key in [key for key, hold in self.holds.items() if key[0] == workflow_id and not hold.action_id]:
            del self.holds[key]

    def release(self, token: int, workflow_id: str, worker_id: str, *, running: Collection[str]) -> None:
        """Note that nothing runs on a machine under the lease, or for "" on any of the workflow's, except `running`."""
        lease_id = self.reporter(token).lease_id
        for key, hold in list(self.holds.items()):
            is_meant = key[0] == workflow_id and worker_id in ("", key[1]) and hold.lease_id == lease_id
            if is_meant and hold.action_id not in running:
                self.holds[key] = dataclasses.replace(hold, action_id="")

    def vacate(self, workflow_id: str, worker_id: str) -> None:
        """Note that nothing runs on a machine of a workflow now."""
        if (hold := self.holds.get((workflow_id, worker_id))) is not None:
            self.holds[workflow_id, worker_id] = dataclasses.replace(hold, action_id="")

    def forget_lost(self, workflow_id: str) -> bool:
        """Release the machines of a workflow that is over and that no living lease holds. False if there are none."""
        found = [key for key in self.holds if key[0] == workflow_id]
        dead = [key for key in found if (hold := self.hold(*key)) is not None and not hold.is_live]
        for key in dead:
            del self.holds[key]
        return bool(dead)

    def busy(self, worker_id: str) -> set[str]:
        """Return the workflows for which a living lease holds a machine."""
        keys = (key for key in self.holds if key[1] == worker_id)
        return {key[0] for key in keys if (hold := self.hold(*key)) is not None and hold.is_live}

    def reporter(self, token: int) -> Reporter:
        """Return the reporter with this token."""
        found = (session.lease for session in self.sessions.values() if session.token == token)
        return Reporter(token, next(found, None))

    def hold(self, workflow_id: str, worker_id: str) -> MachineHold | None:
        """Return the hold of a machine of a workflow, with the present state of its lease."""
        hold = self.holds.get((workflow_id, worker_id))
        return dataclasses.replace(hold, lease=self.lease(hold.lease_id)) if hold is not None else None

    def holds_of(self, workflow_id: str) -> tuple[model.MachineHold, ...]:
        """Return the holds of a workflow as the client's model has them."""
        tokens = {session.lease.id: session.token for session in self.sessions.values() if session.token > 0}
        found = (self.hold(*key) for key in sorted(self.holds) if key[0] == workflow_id)
        return tuple(
            model.MachineHold(hold.id, hold.action_id, tokens.get(hold.lease_id, 0), hold.is_live)
            for hold in found
            if hold is not None
        )

    def workflow_ids(self, lease_id: str) -> list[str]:
        """Return the workflows of which a lease holds a machine."""
        return sorted({workflow_id for (workflow_id, _), hold in self.holds.items() if hold.lease_id == lease_id})

    def lost(self) -> list[tuple[str, str]]:
        """Return the workflow and the action of each action that may run on a machine without a living lease."""
        found = ((key[0], self.hold(*key)) for key in self.holds)
        return [
            (workflow_id, hold.action_id) for workflow_id, hold in found if hold and hold.is_lost and hold.action_id
        ]

    def token_of(self, lease_id: str) -> int:
        """Return the present token of a lease; 0 if it has none."""
        found = (s.token for s in self.sessions.values() if s.lease.id == lease_id and s.token > 0)
        return next(found, 0)

    def lease(self, lease_id: str) -> Lease | None:
        """Return a lease by its id; None if it is unknown."""
        return next((s.lease for s in self.sessions.values() if s.lease.id == lease_id), None)

    def _set_live(self, token: int, *, is_live: bool) -> bool:
        for owner, session in self.sessions.items():
            if session.token == token:
                self.sessions[owner] = Session(token, dataclasses.replace(session.lease, is_live=is_live))
                return True
        return False
