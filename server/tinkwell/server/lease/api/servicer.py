"""WorkService on the wire."""

from typing import Protocol

from tinkwell.api.v1 import work_service_pb2 as pb
from tinkwell.api.v1 import work_service_pb2_grpc
from tinkwell.server.lease.service.operations import Holder, LeaseService
from tinkwell.server.rpc import auth
from tinkwell.server.rpc.interceptor import Context

WORKFLOW = "workflow"
OPERATION = "operation"


class WorkflowHolder(Holder, Protocol):
    """Workflows, whose machines are released one by one."""

    async def release(self, token: int, *, workflow_id: str, worker_id: str, actor: str) -> None:
        """Release a machine that a workflow holds under a lease, or all of them if `worker_id` is empty."""


class WorkServicer(work_service_pb2_grpc.WorkServiceServicer):
    """Translates between protobuf and the lease services."""

    def __init__(self, leases: LeaseService, workflows: WorkflowHolder) -> None:
        self._leases = leases
        self._workflows = workflows

    async def Acquire(self, request: pb.AcquireRequest, context: Context) -> pb.AcquireResponse:
        acquired = await self._leases.acquire(owner=request.owner, engine=request.engine, actor=auth.actor(context))
        return pb.AcquireResponse(
            lease_token=acquired.token,
            lease_seconds=acquired.seconds,
            workflow_ids=acquired.inherited[WORKFLOW],
            operation_ids=acquired.inherited[OPERATION],
        )

    async def Renew(self, request: pb.RenewRequest, context: Context) -> pb.RenewResponse:
        renewed = await self._leases.renew(request.lease_token, actor=auth.actor(context))
        return pb.RenewResponse(
            lease_seconds=renewed.seconds,
            lost_workflow_ids=renewed.lost[WORKFLOW],
            lost_operation_ids=renewed.lost[OPERATION],
        )

    async def Release(self, request: pb.ReleaseRequest, context: Context) -> pb.ReleaseResponse:
        actor = auth.actor(context)
        if request.workflow_id or request.worker_id:
            await self._workflows.release(
                request.lease_token, workflow_id=request.workflow_id, worker_id=request.worker_id, actor=actor
            )
        else:
            await self._leases.end(request.lease_token, actor=actor)
        return pb.ReleaseResponse()
