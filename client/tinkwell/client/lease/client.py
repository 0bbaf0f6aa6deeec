"""The client of leases. A process that runs actions holds them under a lease, so that others take over when it dies."""

from tinkwell.api.v1 import work_service_pb2 as pb
from tinkwell.api.v1 import work_service_pb2_grpc
from tinkwell.client import call
from tinkwell.client.lease.model import Lease, Renewed
from tinkwell.client.value import field


class WorkClient:
    """Acquires, renews and releases leases."""

    def __init__(self, caller: call.Caller) -> None:
        self._caller = caller
        self._stub = work_service_pb2_grpc.WorkServiceStub(caller.channel)

    async def acquire(self, owner: str, engine: str) -> Lease:
        """Begin a lease for an owner, which ends its former lease.

            lease = await client.work.acquire("rack1-node03", "docker:4f1c…")
            await client.workflows.report(…, lease_token=lease.token)

        If the former lease had the same engine, the new one holds the work of the former. A call whose answer was lost
        is repeated, and then returns another token.
        """
        request = field.build(pb.AcquireRequest, owner=owner, engine=engine)
        answer = await self._caller.unary(self._stub.Acquire, request, may_repeat=True)
        return Lease(answer.lease_token, answer.lease_seconds, tuple(answer.workflow_ids), tuple(answer.operation_ids))

    async def renew(self, lease_token: int) -> Renewed:
        """Renew a lease; raises `LeaseLost` if it is over for good."""
        request = field.build(pb.RenewRequest, lease_token=lease_token)
        answer = await self._caller.unary(self._stub.Renew, request, may_repeat=True)
        lost = tuple(answer.lost_workflow_ids), tuple(answer.lost_operation_ids)
        return Renewed(answer.lease_seconds, *lost)

    async def release(self, lease_token: int, *, workflow_id: str = "", worker_id: str = "") -> None:
        """Release the machines of a workflow, of which nothing runs there any more; without a workflow, end the lease.

        `worker_id` names one machine; without it, the call releases each machine of the workflow that the lease holds.
        The call does not release a machine that another lease holds, or on which an action runs according to the
        server.
        """
        request = field.build(pb.ReleaseRequest, lease_token=lease_token, workflow_id=workflow_id, worker_id=worker_id)
        await self._caller.unary(self._stub.Release, request, may_repeat=True)
