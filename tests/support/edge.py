"""A gRPC server in this process, as the real one surrounds its services, and ways to call it with any bytes."""

import contextlib
import typing
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass

import grpc
import grpc.aio
import prometheus_client
from google.protobuf import any_pb2
from google.protobuf import message as protobuf
from google.rpc import error_details_pb2, status_pb2

from tinkwell.server.rpc import auth, interceptor, metric

_DETAILS = {
    detail.DESCRIPTOR.full_name: detail
    for detail in (
        error_details_pb2.ErrorInfo,
        error_details_pb2.BadRequest,
        error_details_pb2.ResourceInfo,
        error_details_pb2.PreconditionFailure,
        error_details_pb2.RetryInfo,
    )
}
_DEADLINE_SECONDS = 30


@dataclass(frozen=True)
class Refusal:
    """What a client was told about a call that failed."""

    code: grpc.StatusCode
    message: str
    details: Mapping[str, protobuf.Message]

    @property
    def reason(self) -> str:
        """The reason in google.rpc.ErrorInfo."""
        return str(self._info.reason)

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata in google.rpc.ErrorInfo."""
        return dict(self._info.metadata)

    @property
    def fields(self) -> dict[str, str]:
        """The wrong fields and their descriptions."""
        request = typing.cast("error_details_pb2.BadRequest", self.details["google.rpc.BadRequest"])
        return {violation.field: violation.description for violation in request.field_violations}

    @property
    def _info(self) -> error_details_pb2.ErrorInfo:
        return typing.cast("error_details_pb2.ErrorInfo", self.details["google.rpc.ErrorInfo"])


def refusal(error: grpc.aio.AioRpcError) -> Refusal:
    """Read the status and its details from a failed call."""
    details: Mapping[str, protobuf.Message] = {}
    for key, content in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            assert isinstance(content, bytes)
            details = _details(status_pb2.Status.FromString(content))
    return Refusal(error.code(), error.details() or "", details)


def refusal_in(packed: any_pb2.Any) -> Refusal:
    """Read a status that is a part of an answer, about one of several things that a call was about."""
    status = status_pb2.Status()
    packed.Unpack(status)
    code = next(code for code in grpc.StatusCode if code.value[0] == status.code)
    return Refusal(code, status.message, _details(status))


def _details(status: status_pb2.Status) -> Mapping[str, protobuf.Message]:
    details: dict[str, protobuf.Message] = {}
    for packed in status.details:
        detail = _DETAILS[packed.TypeName()]()
        packed.Unpack(detail)
        details[packed.TypeName()] = detail
    return details


async def refused(call: typing.Awaitable[object]) -> Refusal:
    """Await a call that must fail, and return what the client was told."""
    try:
        answer = await call
    except grpc.aio.AioRpcError as error:
        return refusal(error)
    raise AssertionError(f"the call was answered: {answer}")


@dataclass(frozen=True)
class Edge:
    """A running server."""

    channel: grpc.aio.Channel
    address: str
    registry: prometheus_client.CollectorRegistry

    async def send(self, method: str, request: bytes, *, metadata: tuple[tuple[str, str], ...] = ()) -> bytes:
        """Call a unary method with these very bytes."""
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = self.channel.unary_unary(method)
        return await call(request, timeout=_DEADLINE_SECONDS, metadata=metadata)


@contextlib.asynccontextmanager
async def serving(
    *register: Callable[[grpc.aio.Server], None],
    tokens: Mapping[str, str] | None = None,
    **timeouts: float,
) -> AsyncIterator[Edge]:
    """Serve on a free port of the loopback interface. Each argument adds a service; timeouts are the interceptor's."""
    registry = prometheus_client.CollectorRegistry()
    around = interceptor.CallInterceptor(auth.Authenticator(tokens or {}), metric.CallMetrics(registry), **timeouts)
    server = grpc.aio.server(interceptors=[around])
    for add in register:
        add(server)
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    try:
        async with grpc.aio.insecure_channel(address) as channel:
            yield Edge(channel, address, registry)
    finally:
        await server.stop(None)
