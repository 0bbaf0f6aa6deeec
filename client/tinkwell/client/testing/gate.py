"""What every call to the fake server passes: recording, the token, faults to order, and the translation of errors."""

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
    """A call that reached the server; one that streams is here once for each message, and before them with None."""

    method: str
    metadata: dict[str, str | bytes]
    request: Any


class Gate(aio.ServerInterceptor):
    """Stands before the services."""

    def __init__(self, token: str | None) -> None:
        self._token = token
        self._faults: deque[tuple[str, errors.TinkwellError]] = deque()
        self.calls: deque[ReceivedCall] = deque(maxlen=_KEPT_CALLS)

    def fail_next(self, error: errors.TinkwellError, *, method: str, times: int) -> None:
        """Answer the next calls of a method with an error."""
        self._faults.extend([(method, error)] * times)

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
                    await self._admit(method, metadata, None, context)
                    return await handler.stream_unary(self._recorded(method, metadata, request), context)
                await self._admit(method, metadata, request, context)
                return await handler.unary_unary(request, context)
            except errors.TinkwellError as error:
                return await context.abort_with_status(rpc_status.to_status(status.of(error)))

        async def answers(request: Any, context: Any) -> AsyncIterator[Any]:
            try:
                if handler.request_streaming:
                    await self._admit(method, metadata, None, context)
                    responses = handler.stream_stream(self._recorded(method, metadata, request), context)
                else:
                    await self._admit(method, metadata, request, context)
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

    async def _admit(self, method: str, metadata: dict[str, str | bytes], request: Any, context: Any) -> None:
        self.calls.append(ReceivedCall(method, metadata, request))
        if self._token is not None and metadata.get("authorization") != f"Bearer {self._token}":
            refusal = status.build(grpc.StatusCode.UNAUTHENTICATED, "no valid token came", reason="UNAUTHENTICATED")
            await context.abort_with_status(rpc_status.to_status(refusal))
        for fault in self._faults:
            if fault[0] in ("", method):
                self._faults.remove(fault)
                raise fault[1]


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
