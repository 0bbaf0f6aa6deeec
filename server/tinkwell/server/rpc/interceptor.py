"""Around every call: callers are known and may make it, requests are read, errors become statuses, calls are counted.

Handlers of all four kinds are wrapped once for each method. The wrapped ones take and give bytes as gRPC sees them:

    bytes ──▶ authenticate, may he? ──▶ decode, may he? ──▶ handler ──▶ encode ──▶ bytes
                   └─────────────────────────┴───────────────────┴── any error ──▶ status with details

A handler that streams responses is iterated here and written by hand, because gRPC leaves the generator of a cancelled
call to the garbage collector, and what the handler holds must be freed when the call ends.
"""

import asyncio
import contextlib
import inspect
import logging
import uuid
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn, TypeAlias, TypeVar

import grpc
import grpc.aio
from google.protobuf import message as protobuf
from google.rpc import status_pb2
from grpc_status import rpc_status

from tinkwell.core import errors
from tinkwell.server.rpc import access, auth, decode, metric, status

logger = logging.getLogger(__name__)

T = TypeVar("T")

# Quoted, because the classes are generic for type checkers only.
Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"

UNARY_TIMEOUT_SECONDS = 30.0
# A list holds a snapshot of the database; whoever reads it on and on, or not at all, must not keep it from others.
LIST_TIMEOUT_SECONDS = 300.0
WRITE_TIMEOUT_SECONDS = 30.0

# A status waits behind the responses that a client has not read.
_GOODBYE_SECONDS = 5.0
# Longer than gRPC takes to cancel the call of a client that has gone.
_GONE_SECONDS = 1.0

# Only our own messages are read strictly: health checks and reflection may be newer at the other end.
_STRICT_PREFIX = "/tinkwell."


class CallInterceptor(grpc.aio.ServerInterceptor):
    """Surrounds every call.

    None hangs for ever: a unary call may take `unary_timeout_seconds`, and a stream `list_timeout_seconds` in all and
    `write_timeout_seconds` until its client takes a response. Only watches may last: they hold nothing while they wait.
    Handlers that take a stream of requests, or write their responses themselves, keep time by themselves.
    """

    def __init__(
        self,
        authenticator: auth.Authenticator,
        metrics: metric.CallMetrics,
        *,
        unary_timeout_seconds: float = UNARY_TIMEOUT_SECONDS,
        list_timeout_seconds: float = LIST_TIMEOUT_SECONDS,
        write_timeout_seconds: float = WRITE_TIMEOUT_SECONDS,
    ) -> None:
        self._authenticator = authenticator
        self._metrics = metrics
        self._unary_timeout_seconds = unary_timeout_seconds
        self._list_timeout_seconds = list_timeout_seconds
        self._write_timeout_seconds = write_timeout_seconds
        self._wrapped: dict[str, Handler] = {}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable["Handler | None"]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "Handler | None":
        """Return the wrapped handler of the method, None if there is no such method."""
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        method = handler_call_details.method
        if method not in self._wrapped:
            self._wrapped[method] = self._wrap(method, handler)
        return self._wrapped[method]

    def _wrap(self, method: str, handler: Handler) -> Handler:
        assert handler.request_deserializer is not None
        asks_for_stream = handler.response_streaming and not handler.request_streaming
        decoder = decode.Decoder(
            handler.request_deserializer,
            strict=method.startswith(_STRICT_PREFIX),
            max_bytes=decode.MAX_STREAM_REQUEST_BYTES if asks_for_stream else None,
        )
        receive = decoder.decode_each if handler.request_streaming else decoder.decode
        encode = _encoder(handler)
        match handler.request_streaming, handler.response_streaming:
            case False, False:
                serve = self._answer(method, handler.unary_unary, receive, timeout_seconds=self._unary_timeout_seconds)
                return grpc.unary_unary_rpc_method_handler(serve, None, encode)
            case True, False:
                serve = self._answer(method, handler.stream_unary, receive, timeout_seconds=None)
                return grpc.stream_unary_rpc_method_handler(serve, None, encode)
            case False, _:
                serve = self._stream(method, handler.unary_stream, receive)
                return grpc.unary_stream_rpc_method_handler(serve, None, encode)
            case _:
                serve = self._stream(method, handler.stream_stream, receive)
                return grpc.stream_stream_rpc_method_handler(serve, None, encode)

    def _answer(
        self, method: str, handle: Any, receive: Callable[[Any], Any], *, timeout_seconds: float | None
    ) -> Callable[[Any, Context], Awaitable[Any]]:
        async def serve(received: Any, context: Context) -> Any:
            async def work(known: auth.CallContext) -> Any:
                async with asyncio.timeout(timeout_seconds):
                    return await handle(_checked(method, receive(received), known), known)

            return await self._guard(method, context, work)

        return serve

    def _stream(
        self, method: str, handle: Any, receive: Callable[[Any], Any]
    ) -> Callable[[Any, Context], Awaitable[None]]:
        is_watch = method.rpartition("/")[2].startswith("Watch")
        list_seconds = None if is_watch else self._list_timeout_seconds
        write_seconds = None if is_watch else self._write_timeout_seconds

        async def send(responses: Any, context: Context) -> None:
            async with asyncio.timeout(list_seconds), contextlib.aclosing(responses):
                async for response in responses:
                    await write(context, response, write_seconds)

        async def serve(received: Any, context: Context) -> None:
            def work(known: auth.CallContext) -> Awaitable[None]:
                responses: Any = handle(_checked(method, receive(received), known), known)
                # A handler that can be awaited writes its responses itself.
                return responses if inspect.isawaitable(responses) else send(responses, context)

            await self._guard(method, context, work)

        return serve

    async def _guard(self, method: str, context: Context, work: Callable[[auth.CallContext], Awaitable[T]]) -> T:
        with self._metrics.call(method) as outcome:
            try:
                caller = self._authenticator.authenticate(method, context.invocation_metadata() or ())
                access.check(method, caller)
                answer = await work(auth.CallContext(context, caller))
            except grpc.aio.AbortError:
                # The handler chose its status itself.
                outcome.code = _code(context.code())
                raise
            except grpc.aio.InternalError:
                await _await_cancellation()
            except Exception as error:
                refusal = _refuse(method, error)
                outcome.code = _code(refusal.code)
            else:
                outcome.code = _code(context.code())
                return answer
        # A client that reads nothing receives this late or never. By now that costs nothing but this task.
        return await _abort(context, refusal)


def _checked(method: str, request: T, known: auth.CallContext) -> T:
    """Return a request that the caller may make; raises `errors.NotAllowed`."""
    access.check_request(method, known.caller, request)
    return request


async def write(context: Context, response: protobuf.Message | bytes, timeout_seconds: float | None) -> None:
    """Write a response; raises `errors.TooSlow` when the client takes none for so long, and ends a call without one."""
    try:
        async with asyncio.timeout(timeout_seconds):
            await context.write(response)
    except TimeoutError as error:
        raise errors.TooSlow(f"the client took no response for {timeout_seconds:g} seconds") from error
    except grpc.aio.InternalError:
        await _await_cancellation()


async def _abort(context: Context, refusal: status_pb2.Status) -> NoReturn:
    try:
        async with asyncio.timeout(_GOODBYE_SECONDS):
            await context.abort_with_status(rpc_status.to_status(refusal))
    except TimeoutError as error:
        # gRPC drops the call with what it still holds for it; the client sees a cancelled one when it reads again.
        raise asyncio.CancelledError("the client reads nothing") from error
    except grpc.aio.InternalError as error:
        # Nothing is held any more, so nothing is lost if gRPC's own cancellation comes as well.
        raise asyncio.CancelledError("the client has gone") from error


async def _await_cancellation() -> NoReturn:
    """Wait for the cancellation that gRPC is about to send, after it failed to send to a client that has just gone.

    Going on without it would let it come while the handler frees what it holds, and interrupt that.
    """
    await asyncio.sleep(_GONE_SECONDS)
    raise asyncio.CancelledError("the client has gone")


def _refuse(method: str, error: Exception) -> status_pb2.Status:
    """Return the status for an error, and log it: a caller's mistake in passing, our own fault in full."""
    match error:
        case TimeoutError():
            logger.warning("call took too long", extra={"method": method})
            return status.of_error(errors.Unavailable("the server did not finish in time; try again"))
        case errors.Unavailable():
            logger.warning("call was not served", extra={"method": method, "error": str(error)})
            return status.of_error(error)
        case errors.TinkwellError():
            logger.info("call was refused", extra={"method": method, "error": str(error)})
            return status.of_error(error)
        case _:
            reference = str(uuid.uuid4())
            logger.error("call failed", extra={"method": method, "reference": reference}, exc_info=error)
            return status.of_fault(reference)


def _encoder(handler: Handler) -> Callable[[protobuf.Message | bytes], bytes]:
    """Take messages, and also bytes, which watchers share as they were encoded once."""
    serialize = handler.response_serializer
    assert serialize is not None

    def encode(response: protobuf.Message | bytes) -> bytes:
        return response if isinstance(response, bytes) else serialize(response)

    return encode


_CODES = {code.value[0]: code for code in grpc.StatusCode}


def _code(code: grpc.StatusCode | int | None) -> grpc.StatusCode:
    # The context holds a number, and nothing before a handler sets it.
    return code if isinstance(code, grpc.StatusCode) else _CODES.get(code or 0, grpc.StatusCode.UNKNOWN)
