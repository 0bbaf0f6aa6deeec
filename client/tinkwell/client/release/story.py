"""What operations emit in the life of releases, and why they are as they are."""

from collections.abc import AsyncIterator

from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.client.release import explanation, message
from tinkwell.client.release.explanation import Explanation
from tinkwell.client.release.looking import LookingClient
from tinkwell.client.release.model import LifecycleRun
from tinkwell.client.value import field


class StoryClient(LookingClient):
    """Tells what has happened to a release, and why."""

    def lifecycle(self, operation_id: str) -> AsyncIterator[LifecycleRun]:
        """Iterate over what an operation emitted, such as pre-install, in its order, with who heard it."""
        request = field.build(pb.ListLifecycleRequest, operation_id=operation_id)
        return self._list(self._stub.ListLifecycle, request, message.lifecycle_run)

    async def explain(
        self, name: str, path: str = "", *, namespace: str = "", operation_id: str = "", with_values: bool = False
    ) -> Explanation:
        """Say why a node of an operation, of the newest by default, is as it is; without a path all that are not done.

            print((await client.releases.explain("shop", "bar:db")).nodes[0].sentence)

        `with_values` asks where the values of a chart are from in their place: all, or that of a path such as
        `bar.image`. Raises `InvalidField` for a path that names nothing.
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
