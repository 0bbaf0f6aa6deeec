"""Leases of the server in memory, and what is held under them."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace

from tinkwell.client import errors
from tinkwell.client.lease.model import Lease, Renewed
from tinkwell.client.testing.lease import Ledger
from tinkwell.core import errors as core_errors
from tinkwell.core.lease import lease
from tinkwell.core.workflow import transition
from tinkwell.core.workflow.hold import MachineHold

LEASE_SECONDS = 30.0


class FakeLeases:
    """Grants leases. A lease is over when a test says so, or when its owner comes back."""

    def __init__(self, answer: Callable[[], Awaitable[None]]) -> None:
        self._answer = answer
        self.ledger = Ledger()
        self.seconds = LEASE_SECONDS
        self.released: list[str] = []
        self.renewals = 0
        # Releases are lost, as when their sender dies before.
        self.loses_releases = False

    def expire(self, owner: str) -> None:
        """Let the lease of an owner be over, as if it had not been heard of."""
        self.ledger.expire(self.ledger.sessions[owner].token)

    # What a provisioner asks.

    async def acquire(self, owner: str, engine: str) -> Lease:
        await self._answer()
        session = self.ledger.acquire(owner, engine)
        return Lease(session.token, self.seconds, tuple(self.ledger.workflow_ids(session.lease.id)))

    async def renew(self, lease_token: int) -> Renewed:
        await self._answer()
        self.renewals += 1
        if not self.ledger.renew(lease_token):
            raise errors.LeaseLost
        return Renewed(self.seconds, tuple({workflow_id for workflow_id, _ in self.ledger.lost()}))

    async def release(self, lease_token: int, *, workflow_id: str = "", worker_id: str = "") -> None:
        await self._answer()
        if self.loses_releases:
            return
        if not workflow_id:
            self.ledger.end(lease_token)
            return
        self.released.append(workflow_id)
        mine = self.ledger.reporter(lease_token).lease_id
        for key, hold in list(self.ledger.holds.items()):
            if key[0] == workflow_id and mine and hold.lease_id == mine:
                del self.ledger.holds[key]

    # What becomes of the holds.

    def judge(
        self, hold: lease.Hold | None, reporter: lease.Reporter, worker_id: str, *, is_again: bool
    ) -> lease.Verdict:
        try:
            return lease.judge_start(hold, reporter, is_again=is_again)
        except core_errors.LeaseHeld as error:
            raise errors.LeaseHeld(str(error)) from error
        except core_errors.LeaseLost as error:
            raise errors.LeaseLost(str(error)) from error

    def check_end(self, hold: lease.Hold | None, reporter: lease.Reporter) -> None:
        try:
            lease.check_end(hold, reporter)
        except core_errors.LeaseLost as error:
            raise errors.LeaseLost(str(error)) from error

    def start(self, workflow_id: str, machines: Iterable[str]) -> None:
        """Let a workflow have its machines, which nobody has."""
        wanted = set(machines)
        for key in [key for key in self.ledger.holds if key[1] in wanted]:
            del self.ledger.holds[key]
        for machine in wanted:
            self.ledger.holds[workflow_id, machine] = MachineHold(id=machine)

    def hold(self, workflow_id: str, worker_id: str, *, lease_id: str, action_id: str) -> None:
        self.ledger.holds[workflow_id, worker_id] = MachineHold(id=worker_id, lease_id=lease_id, action_id=action_id)

    def vacate(self, workflow_id: str, worker_id: str) -> None:
        """Take note that nothing runs on a machine."""
        if hold := self.ledger.holds.get((workflow_id, worker_id)):
            self.ledger.holds[workflow_id, worker_id] = replace(hold, action_id="")

    def end(self, workflow_id: str) -> None:
        """Let the machines of a workflow that is over go, but for those where something may still be."""
        for key, hold in list(self.ledger.holds.items()):
            if key[0] == workflow_id and not hold.action_id:
                del self.ledger.holds[key]

    def clear_dead(self, workflow_id: str) -> None:
        for key in list(self.ledger.holds):
            if key[0] == workflow_id and not self.is_live(*key):
                del self.ledger.holds[key]

    def is_live(self, workflow_id: str, worker_id: str) -> bool:
        hold = self.ledger.hold(workflow_id, worker_id)
        return hold is not None and hold.is_live

    def is_lost(self, workflow_id: str, action: transition.Action) -> bool:
        hold = self.ledger.hold(workflow_id, action.worker_id)
        return hold is not None and hold.is_lost and hold.action_id == action.id
