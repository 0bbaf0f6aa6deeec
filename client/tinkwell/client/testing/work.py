"""The WorkService of the fake server."""

# ruff: noqa: N802  # RPC methods carry their names

from typing import Any

from tinkwell.api.v1 import work_service_pb2 as pb
from tinkwell.api.v1 import work_service_pb2_grpc
from tinkwell.client.release.model import Operation
from tinkwell.client.testing.release import row as release_row
from tinkwell.client.testing.world import World
from tinkwell.client.workflow.model import Action
from tinkwell.core import errors
from tinkwell.core.event.kinds import ResourceType, State
from tinkwell.core.lease.lease import Hold


class WorkServicer(work_service_pb2_grpc.WorkServiceServicer):
    """Leases in memory."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def Acquire(self, request: pb.AcquireRequest, context: Any) -> pb.AcquireResponse:
        for field in ("owner", "engine"):
            if not getattr(request, field):
                raise errors.InvalidField.of(field, "must not be empty")
        session = self._world.ledger.acquire(request.owner, request.engine)
        return pb.AcquireResponse(
            lease_token=session.token,
            lease_seconds=self._world.lease_seconds,
            workflow_ids=self._world.ledger.workflow_ids(session.lease.id),
            operation_ids=[hold.id for hold in self._holds() if hold.lease_id == session.lease.id],
        )

    async def Renew(self, request: pb.RenewRequest, context: Any) -> pb.RenewResponse:
        if not self._world.ledger.renew(request.lease_token):
            raise errors.LeaseLost(request.lease_token)
        lost = {
            workflow_id for workflow_id, action_id in self._world.ledger.lost() if self._ends(workflow_id, action_id)
        }
        return pb.RenewResponse(
            lease_seconds=self._world.lease_seconds,
            lost_workflow_ids=sorted(lost),
            lost_operation_ids=[hold.id for hold in self._holds() if hold.is_lost],
        )

    async def Release(self, request: pb.ReleaseRequest, context: Any) -> pb.ReleaseResponse:
        ledger, actions = self._world.ledger, self._world.actions_of(request.workflow_id)
        if not request.workflow_id:
            ledger.end(request.lease_token)
            return pb.ReleaseResponse()
        running = {action.id for action in actions if action.state is State.RUNNING}
        ledger.release(request.lease_token, request.workflow_id, request.worker_id, running=running)
        workflow = self._world.resources[ResourceType.WORKFLOW].get(request.workflow_id)
        if workflow is None or workflow.state.is_final:
            ledger.leave(request.workflow_id)
        return pb.ReleaseResponse()

    def _holds(self) -> list[Hold]:
        """Return the holds of all operations that have not ended."""
        unfinished = (operation for operation in self._world.all(Operation) if not operation.state.is_final)
        return [release_row.hold(self._world, operation) for operation in unfinished]

    def _ends(self, workflow_id: str, action_id: str) -> bool:
        """Whether ExpireWorkflow ends this lost action. An action that reboots its machine ends only by its timeout."""
        workflow = self._world.resources[ResourceType.WORKFLOW].get(workflow_id)
        if workflow is None or workflow.state is not State.RUNNING:
            return True
        action = self._world.find(Action, action_id)
        return action.state is State.RUNNING and not action.reboots
