"""gRPC's reflection, by which tools such as grpcurl ask for the services' descriptions, with a bound to its streams."""

import contextlib
from collections.abc import AsyncGenerator, AsyncIterable, Iterable
from typing import Any, TypeAlias

import grpc.aio
from grpc_reflection.v1alpha import reflection, reflection_pb2, reflection_pb2_grpc
from grpc_reflection.v1alpha._async import ReflectionServicer

from tinkwell.core import errors
from tinkwell.server.rpc.quota import Quota

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"

# Each answer takes the event loop some milliseconds, and a tool asks for a handful of them within a second.
MAX_STREAMS = 50
MAX_STREAMS_EACH_HOST = 20
# An answer repeats its request, which holds no more than a name.
_MAX_REQUEST_BYTES = 4_096


class Reflection(ReflectionServicer):
    """The service, for those of the names and itself."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__((*names, reflection.SERVICE_NAME))
        self._quota = Quota("reflection streams", total=MAX_STREAMS, each_host=MAX_STREAMS_EACH_HOST)

    async def ServerReflectionInfo(  # type: ignore[override] # the stubs take it for a coroutine
        self, request_iterator: AsyncIterable[reflection_pb2.ServerReflectionRequest], context: Context
    ) -> AsyncGenerator[reflection_pb2.ServerReflectionResponse, None]:
        """Answer one request after another. Raises `errors.LimitReached` and `errors.InvalidField`."""
        with self._quota.one(context.peer()):
            answers: Any = super().ServerReflectionInfo(_bounded(request_iterator), context)
            async with contextlib.aclosing(answers):
                async for answer in answers:
                    yield answer


def add_to(server: grpc.aio.Server, names: Iterable[str]) -> None:
    """Let a server that has not started describe services."""
    reflection_pb2_grpc.add_ServerReflectionServicer_to_server(Reflection(names), server)  # type: ignore[no-untyped-call]


async def _bounded(
    requests: AsyncIterable[reflection_pb2.ServerReflectionRequest],
) -> AsyncGenerator[reflection_pb2.ServerReflectionRequest, None]:
    async for request in requests:
        if request.ByteSize() > _MAX_REQUEST_BYTES:
            raise errors.InvalidField.of("", f"ask with no more than {_MAX_REQUEST_BYTES:,} bytes; no name is longer")
        yield request
