"""WorkService on the wire."""

from tinkwell.api.v1 import work_service_pb2 as pb
from tinkwell.api.v1 import work_service_pb2_grpc
from tinkwell.server.lease.service.operations import WorkService
from tinkwell.server.rpc import auth
from tinkwell.server.rpc.interceptor import Context


class WorkServicer(work_service_pb2_grpc.WorkServiceServicer):
    """Translates between protobuf and the service."""

    def __init__(self, work: WorkService) -> None:
        self._work = work

    async def Acquire(self, request: pb.AcquireRequest, context: Context) -> pb.AcquireResponse:
        acquired = await self._work.acquire(owner=request.owner, engine=request.engine, actor=auth.actor(context))
        return pb.AcquireResponse(
            lease_token=acquired.token, lease_seconds=acquired.seconds, workflow_ids=acquired.workflow_ids
        )

    async def Renew(self, request: pb.RenewRequest, context: Context) -> pb.RenewResponse:
        renewed = await self._work.renew(request.lease_token, actor=auth.actor(context))
        return pb.RenewResponse(lease_seconds=renewed.seconds, lost_workflow_ids=renewed.lost_workflow_ids)

    async def Release(self, request: pb.ReleaseRequest, context: Context) -> pb.ReleaseResponse:
        await self._work.release(
            request.lease_token,
            workflow_id=request.workflow_id,
            worker_id=request.worker_id,
            actor=auth.actor(context),
        )
        return pb.ReleaseResponse()
