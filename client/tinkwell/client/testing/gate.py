"""The interceptor of all calls to the fake server: it records them, checks tokens, adds faults, translates errors."""

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import grpc
from grpc import aio
from grpc_status import rpc_status

from tinkwell.client.testing import status
from tinkwell.core import errors

_KEPT_CALLS = 10_000


@dataclass(frozen=True, slots=True)
class ReceivedCall:
    """A call that reached the server. A streaming call is recorded first with None, then with each message."""

    method: str
    metadata: dict[str, str | bytes]
    request: Any


Around = Callable[[ReceivedCall, Callable[[], Awaitable[Any]]], Awaitable[Any]]


class Gate(aio.ServerInterceptor):
    """Intercepts all calls of the services.

    `around` lets a test answer calls: it gets each call, and a function that answers the call as usual.

        async def lose_reports(call: ReceivedCall, answer: Callable[[], Awaitable[Any]]) -> Any:
            response = await answer()                       # the report is stored,
            if call.method == "ReportActionStatus":
                raise errors.Unavailable("the line is cut")   # but its sender gets an error
            return response

    It may wait, raise an error of `tinkwell.core.errors`, or answer by itself. Several reports in one call also pass
    one by one, each as a ReportActionStatus. For calls that stream their answers, it runs before the first answer, and
    its result is ignored.
    """

    def __init__(self, token: str | None) -> None:
        self.token = token
        self.around: Around | None = None
        self._faults: deque[tuple[str, errors.TinkwellError]] = deque()
        self.calls: deque[ReceivedCall] = deque(maxlen=_KEPT_CALLS)

    def fail_next(self, error: errors.TinkwellError, *, method: str, times: int) -> None:
        """Answer the next calls of a method with an error."""
        self._faults.extend([(method, error)] * times)

    async def pass_through(self, call: ReceivedCall, answer: Callable[[], Awaitable[Any]]) -> Any:
        """Answer a call, through `around` if it is set."""
        return await (answer() if self.around is None else self.around(call, answer))

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Wrap the handler of a call in one of the same kind."""
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        method = handler_call_details.method.rpartition("/")[2]
        metadata = dict(handler_call_details.invocation_metadata or ())

        async def answer(request: Any, context: Any) -> Any:
            try:
                if handler.request_streaming:
                    call = await self._admit(method, metadata, None, context)
                    requests = self._recorded(method, metadata, request)
                    return await self.pass_through(call, lambda: handler.stream_unary(requests, context))
                call = await self._admit(method, metadata, request, context)
                return await self.pass_through(call, lambda: handler.unary_unary(request, context))
            except errors.TinkwellError as error:
                return await context.abort_with_status(rpc_status.to_status(status.of(error)))

        async def answers(request: Any, context: Any) -> AsyncIterator[Any]:
            try:
                call = await self._admit(method, metadata, None if handler.request_streaming else request, context)
                await self.pass_through(call, _nothing)
                if handler.request_streaming:
                    responses = handler.stream_stream(self._recorded(method, metadata, request), context)
                else:
                    responses = handler.unary_stream(request, context)
                async for response in responses:
                    yield response
            except errors.TinkwellError as error:
                await context.abort_with_status(rpc_status.to_status(status.of(error)))

        return _handler_like(handler, answer=answer, answers=answers)

    async def _recorded(
        self, method: str, metadata: dict[str, str | bytes], requests: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        async for request in requests:
            self.calls.append(ReceivedCall(method, metadata, request))
            yield request

    async def _admit(self, method: str, metadata: dict[str, str | bytes], request: Any, context: Any) -> ReceivedCall:
        call = ReceivedCall(method, metadata, request)
        self.calls.append(call)
        if self.token is not None and metadata.get("authorization") != f"Bearer {self.token}":
            refusal = status.build(grpc.StatusCode.UNAUTHENTICATED, "no valid token came", reason="UNAUTHENTICATED")
            await context.abort_with_status(rpc_status.to_status(refusal))
        for fault in self._faults:
            if fault[0] in ("", method):
                self._faults.remove(fault)
                raise fault[1]
        return call


async def _nothing() -> None:
    pass


def _handler_like(handler: Any, *, answer: Any, answers: Any) -> Any:
    codecs = (handler.request_deserializer, handler.response_serializer)
    match handler.request_streaming, handler.response_streaming:
        case True, True:
            return grpc.stream_stream_rpc_method_handler(answers, *codecs)
        case False, True:
            return grpc.unary_stream_rpc_method_handler(answers, *codecs)
        case True, False:
            return grpc.stream_unary_rpc_method_handler(answer, *codecs)
        case _:
            return grpc.unary_unary_rpc_method_handler(answer, *codecs)
