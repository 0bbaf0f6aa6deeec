"""The client's calls for the life of releases: emitted events and explanations."""

from collections.abc import AsyncIterator

from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.client.release import explanation, message
from tinkwell.client.release.explanation import Explanation
from tinkwell.client.release.looking import LookingClient
from tinkwell.client.release.model import LifecycleRun
from tinkwell.client.value import field


class StoryClient(LookingClient):
    """Lists the events of operations, and explains operations."""

    def lifecycle(self, operation_id: str) -> AsyncIterator[LifecycleRun]:
        """Iterate over the events that an operation emitted, such as pre-install, in order, with their handlers."""
        request = field.build(pb.ListLifecycleRequest, operation_id=operation_id)
        return self._list(self._stub.ListLifecycle, request, message.lifecycle_run)

    async def explain(
        self, name: str, path: str = "", *, namespace: str = "", operation_id: str = "", with_values: bool = False
    ) -> Explanation:
        """Explain the state of a node of an operation, by default the newest; without a path, of all unfinished nodes.

            print((await client.releases.explain("shop", "bar:db")).nodes[0].sentence)

        With `with_values` it explains instead where the values of a chart come from: all values, or the one at a path
        such as `bar.image`. Raises `InvalidField` for a path that names nothing.
        """
        request = field.build(
            pb.ExplainRequest,
            namespace=namespace,
            name=name,
            path=path,
            operation_id=operation_id,
            with_values=with_values,
        )
        return explanation.explanation(await self._caller.unary(self._stub.Explain, request, may_repeat=True))
